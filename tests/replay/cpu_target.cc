#include "vellum/tests/replay/target.h"

vellum::Device vellum::replay::target() { return Device(kCPU); }
