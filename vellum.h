#ifndef VELLUM_VELLUM_H_
#define VELLUM_VELLUM_H_

// Everything that a program needs, from //:vellum, which brings the CPU backend with it.

// IWYU pragma: begin_exports
#include "vellum/allocator/arena_plan.h"
#include "vellum/allocator/arena_scope.h"
#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/device/device.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/device/thread_state.h"
#include "vellum/memory/leak_scope.h"
#include "vellum/memory/ledger.h"
#include "vellum/memory/predict.h"
#include "vellum/memory/snapshot.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/batch_norm.h"
#include "vellum/nn/data/data_loader.h"
#include "vellum/nn/data/tensor_dataset.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/init.h"
#include "vellum/nn/layer_norm.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/module.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/optimizer.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/nn/serialization/safetensors.h"
#include "vellum/profiler/profiler.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/tensor.h"
// IWYU pragma: end_exports

#endif  // VELLUM_VELLUM_H_
