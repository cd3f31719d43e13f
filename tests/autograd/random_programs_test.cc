// Random programs of views and writes in place: a gradient is that of finite differences, or it is refused. Never is it
// silently another one.

#include <random>
#include <set>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

constexpr int kPrograms = 1500;
constexpr int kSteps = 12;
constexpr double kStep = 1e-5;  // of the finite differences

// One program, chosen by its seed. It runs several times, at different points, and then takes the same decisions.
class Program {
 public:
  explicit Program(unsigned seed) : seed_(seed) {}

  // A number that depends on all tensors that the steps left behind.
  Tensor loss(const Tensor& x) {
    pool_ = {x * 1, (x * 0.5).view({2, 4}), complex(x * 0.25, x)};
    // A base that has no history of its own at first.
    pool_.push_back(ones({4}, kFloat64));
    for (int i = 0; i < kSteps; ++i) {
      if (refused_.contains(i)) continue;
      random_.seed(kSteps * seed_ + static_cast<unsigned>(i));
      try {
        step();
      } catch (const AutogradError&) {
        refused_.insert(i);          // only where gradients are recorded; left out of the other runs too
      } catch (const ShapeError&) {  // the view does not exist, in any run
      } catch (const IndexError&) {
      }
    }
    Tensor total = scalar_tensor(0.0, kFloat64);
    double weight = 1;
    for (const Tensor& t : pool_) {
      const Tensor part = t.is_complex() ? t.real() * 0.7 + t.imag() * 0.4 : t;
      total = total + (part * part * (weight * 0.1) + part).sum();
      weight = weight > 3 ? 1 : weight + 0.37;
    }
    return total;
  }

 private:
  size_t choose(size_t n) { return random_() % n; }
  Tensor& any() { return pool_[choose(pool_.size())]; }

  // Another tensor that fits t in shape, or else the sum of one; real where t is.
  Tensor partner(const Tensor& t) {
    Tensor u = any();
    if (u.is_complex() && !t.is_complex()) u = choose(2) ? u.real() : u.imag();
    return u.shape() == t.shape() ? u : u.sum() * 0.1;
  }

  Tensor view_of(const Tensor& t) {
    switch (choose(6)) {
      case 0:
        return t.slice(0, 0, t.size(0) - 1);
      case 1:
        return t.slice(0, static_cast<int64_t>(choose(2)), {}, 2);
      case 2:
        return t.select(0, 0).unsqueeze(0);
      case 3:
        return t.view({2, -1}).t();
      case 4:
        return t.view({-1});
      default:
        break;
    }
    if (!t.is_complex()) return t.transpose(0, -1);
    return choose(3) == 0 ? t.view_as_real() : choose(2) ? t.real() : t.imag();
  }

  Tensor function_of(const Tensor& t) {
    switch (choose(4)) {
      case 0:
        return t * partner(t);
      case 1:
        return (t * 0.2).exp();
      case 2:
        return t * 0.5 + partner(t);
      default:
        return t / (partner(t) * 0.1 + 2);
    }
  }

  void write(Tensor& t) {
    const Tensor u = partner(t);
    switch (choose(7)) {
      case 0:
        t.mul_(u);
        return;
      case 1:
        t.add_(u, 0.5);
        return;
      case 2:
        t.copy_(u);
        return;
      case 3:
        t.zero_();
        return;
      case 4:
        t.mul_(0.3).exp_();
        return;
      case 5:
        t.div_(u * 0.1 + 2);
        return;
      default:
        t.mul_(0.5);
        return;
    }
  }

  void step() {
    // A copy of the handle, since the pool grows.
    Tensor t = any();
    switch (choose(5)) {
      case 0:
      case 1:
        pool_.push_back(view_of(t));
        return;
      case 2:
        pool_.push_back(function_of(t));
        return;
      default:
        write(t);
        return;
    }
  }

  unsigned seed_;
  std::mt19937 random_;
  std::vector<Tensor> pool_;
  std::set<int> refused_;
};

Tensor start() { return leaf({0.9, 1.1, 0.7, 1.2, 0.8, 1.05, 0.95, 1.3}); }

Tensor moved(const Tensor& x, int64_t i, double by) {
  Tensor y = x.detach().clone();
  y.mutable_data<double>()[i] += by;
  return y;
}

double tolerance(double size) { return 2e-6 * (1 + std::abs(size)); }

TEST(RandomPrograms, HaveTheGradientOfFiniteDifferencesOrNone) {
  int compared = 0;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    Program program(seed);
    const Tensor x = start();
    const Tensor y = program.loss(x);
    if (!std::isfinite(y.item()) || std::abs(y.item()) > 1e4) continue;
    try {
      y.backward();
    } catch (const AutogradError& error) {
      EXPECT_THAT(error.what(), HasSubstr("modified by an inplace operation"));
      continue;
    }
    const std::vector<double> gradient = values(x.grad());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double difference = program.loss(moved(x, i, kStep)).item() - program.loss(moved(x, i, -kStep)).item();
      EXPECT_NEAR(gradient[i], difference / (2 * kStep), tolerance(gradient[i]))
          << "program " << seed << ", input " << i;
    }
    ++compared;
  }
  EXPECT_GT(compared, kPrograms / 3);
}

TEST(RandomPrograms, HaveTheSecondDerivativeOfFiniteDifferencesOrNone) {
  const Tensor direction = constant({0.3, -0.2, 0.5, 0.1, -0.4, 0.25, 0.15, -0.1});
  const auto slope = [&](Program& program, Tensor x, bool create_graph) {
    if (!x.requires_grad()) x.requires_grad_();
    return (grad({program.loss(x)}, {x}, {}, {.create_graph = create_graph})[0] * direction).sum();
  };
  int compared = 0;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    Program program(seed);
    const Tensor x = start();
    Tensor second;
    double size = 0;
    try {
      size = program.loss(x).item();
      second = grad({slope(program, x, true)}, {x})[0];
    } catch (const AutogradError& error) {
      EXPECT_THAT(error.what(), HasSubstr("modified by an inplace operation"));
      continue;
    }
    if (!std::isfinite(size) || std::abs(size) > 1e3) continue;
    const std::vector<double> gradient = values(second);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double difference =
          slope(program, moved(x, i, kStep), false).item() - slope(program, moved(x, i, -kStep), false).item();
      EXPECT_NEAR(gradient[i], difference / (2 * kStep), 10 * tolerance(gradient[i]))
          << "program " << seed << ", input " << i;
    }
    ++compared;
  }
  EXPECT_GT(compared, kPrograms / 3);
}

TEST(RandomPrograms, LeaveNoBytes) {
  const int64_t before = live_bytes();
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    Program program(seed);
    program.loss(start());
  }
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace vellum
