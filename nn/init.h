#ifndef VELLUM_NN_INIT_H_
#define VELLUM_NN_INIT_H_

#include "vellum/tensor/tensor.h"

// Fills tensors in place, without recording, from the default generator of the tensor's device, and returns them.
// Complex tensors get the variance E|w|^2 that a real one would have, half of it in each part.
namespace vellum::nn::init {

Tensor constant_(Tensor tensor, const Scalar& value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
Tensor uniform_(Tensor tensor, double from = 0, double to = 1);  // complex: each part from this range by sqrt(2)
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);

// How many inputs each output of a weight [out, in, ...] is computed from, and how many outputs each input reaches; the
// product of further sizes (a kernel's window) counts into both. Throws ShapeError below rank 2.
struct Fans {
  int64_t in, out;
};
Fans fans_of(const Tensor& weight);

enum class FanMode { kFanIn, kFanOut };
enum class Nonlinearity { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };

// The factor that keeps the variance through a nonlinearity; `negative_slope` matters to leaky ReLU alone.
double calculate_gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

// Glorot, Bengio: "Understanding the difficulty of training deep feedforward neural networks", 2010.
// U(-b, b) with b = gain sqrt(6 / (in + out)), or a normal distribution of std gain sqrt(2 / (in + out)).
Tensor xavier_uniform_(Tensor tensor, double gain = 1);
Tensor xavier_normal_(Tensor tensor, double gain = 1);

struct KaimingOptions {
  double a = 0;  // negative slope of the leaky ReLU
  FanMode mode = FanMode::kFanIn;
  Nonlinearity nonlinearity = Nonlinearity::kLeakyRelu;
};

// He, Zhang, Ren, Sun: "Delving deep into rectifiers", 2015. U(-b, b) with b = gain sqrt(3 / fan), or a normal
// distribution of std gain / sqrt(fan).
Tensor kaiming_uniform_(Tensor tensor, const KaimingOptions& options = {});
Tensor kaiming_normal_(Tensor tensor, const KaimingOptions& options = {});

}  // namespace vellum::nn::init

#endif  // VELLUM_NN_INIT_H_
