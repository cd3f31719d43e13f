#include "vellum/allocator/default_strategy.h"

int main() { return static_cast<int>(vellum::default_strategy().size()); }
