#ifndef VELLUM_NN_BATCH_NORM_H_
#define VELLUM_NN_BATCH_NORM_H_

#include <optional>

#include "vellum/nn/module.h"

namespace vellum::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // the share of a batch in the running statistics; none: their plain average
  bool affine = true;                    // learn a weight and a bias for each channel
  bool track_running_stats = true;       // without, the batch's own statistics serve in evaluation too
  DType dtype = kFloat32;
  std::optional<Device> device = {};  // none: current_device()
};

// Batch normalization (Ioffe & Szegedy 2015) of each channel of [N, C, ...]: (x - mean) / sqrt(variance + eps) * weight
// + bias, with parameters "weight", at first 1, and "bias", at first 0, and buffers "running_mean", at first 0,
// "running_var", at first 1, all [C], and "num_batches_tracked", int64 []. In training the statistics are the batch's,
// and the running ones follow them in place, so that a forward pass changes the module: threads must not share one
// then. See batch_norm() for what a backward pass keeps.
class BatchNormBase : public Module {
 public:
  // Throws ShapeError unless the input has as many dimensions as the class takes and C channels.
  Tensor forward(const Tensor& input) override;
  void reset_parameters();  // and the running statistics
  void reset_running_stats();

  int64_t num_features() const { return num_features_; }
  double eps() const { return eps_; }
  Tensor weight() const { return weight_; }  // undefined without affine
  Tensor bias() const { return bias_; }
  Tensor running_mean() const { return running_mean_; }  // undefined without track_running_stats
  Tensor running_var() const { return running_var_; }
  Tensor num_batches_tracked() const { return num_batches_tracked_; }

 protected:
  // `ranks` is a bit mask. Throws InvalidArgumentError unless num_features is positive.
  BatchNormBase(const char* name, uint32_t ranks, int64_t num_features, const BatchNormOptions& options);

 private:
  const char* class_name_;
  uint32_t ranks_;
  int64_t num_features_;
  double eps_;
  std::optional<double> momentum_;
  Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_;
};

// Of [N, C] or [N, C, L].
class BatchNorm1d : public BatchNormBase {
 public:
  explicit BatchNorm1d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNormBase("BatchNorm1d", 1u << 2 | 1u << 3, num_features, options) {}
};

// Of [N, C, H, W].
class BatchNorm2d : public BatchNormBase {
 public:
  explicit BatchNorm2d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNormBase("BatchNorm2d", 1u << 4, num_features, options) {}
};

// Of [N, C, D, H, W].
class BatchNorm3d : public BatchNormBase {
 public:
  explicit BatchNorm3d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNormBase("BatchNorm3d", 1u << 5, num_features, options) {}
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_BATCH_NORM_H_
