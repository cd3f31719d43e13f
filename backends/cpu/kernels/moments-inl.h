// Per-target (included once per instruction set): mean and variance.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_MOMENTS_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_MOMENTS_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_MOMENTS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Mean and sum of squared deviations of what was added. A block is read twice while it is in the L1 cache (the second
// time around its own mean, whose rounding error is then corrected: Chan, Golub & LeVeque 1983, "Algorithms for
// computing the sample variance"), and blocks meet in double precision by their formula for pairs.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  double variance() const { return squares / count; }

  // At most kBlockSize elements.
  template <typename R>
  HWY_INLINE void add_block(const R* x, int64_t n) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<R> d;
    const double own_count = static_cast<double>(n);
    double sum = 0, unused = 0;
    sum_pairs<R>(n, &sum, &unused, [&](auto at, auto& a, auto&) HWY_ATTR { a = hn::Add(a, at.load(x)); });
    const R centre = R(sum / own_count);
    const auto around = hn::Set(d, centre);
    double rest = 0, own_squares = 0;
    sum_pairs<R>(n, &rest, &own_squares, [&](auto at, auto& a, auto& b) HWY_ATTR {
      const auto deviation = at.keep(hn::Sub(at.load(x), around));
      a = hn::Add(a, deviation);
      b = hn::MulAdd(deviation, deviation, b);
    });
    const double correction = rest / own_count;
    merge(own_count, static_cast<double>(centre) + correction, own_squares - rest * correction);
  }

  void merge(double other_count, double other_mean, double other_squares) {
    const double total = count + other_count, gap = other_mean - mean;
    mean += gap * (other_count / total);
    squares += other_squares + gap * gap * (count * other_count / total);
    count = total;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
