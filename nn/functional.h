#ifndef VELLUM_NN_FUNCTIONAL_H_
#define VELLUM_NN_FUNCTIONAL_H_

#include "vellum/tensor/ops/ops.h"

namespace vellum::nn::functional {

// The same functions as in the outer namespace, so that both names can be used side by side.
using vellum::batch_norm;
using vellum::binary_cross_entropy_with_logits;
using vellum::cross_entropy;
using vellum::dropout;
using vellum::l1_loss;
using vellum::layer_norm;
using vellum::linear;
using vellum::log_softmax;
using vellum::mse_loss;
using vellum::nll_loss;
using vellum::relu;
using vellum::smooth_l1_loss;

using vellum::BinaryCrossEntropyOptions;
using vellum::CrossEntropyOptions;
using vellum::L1LossOptions;
using vellum::MseLossOptions;
using vellum::NllLossOptions;
using vellum::SmoothL1LossOptions;

}  // namespace vellum::nn::functional

#endif  // VELLUM_NN_FUNCTIONAL_H_
