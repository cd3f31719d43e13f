#include "vellum/tensor/internal/norm_gradient.h"

#include "vellum/device/error.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum::internal {
namespace {

NormLayout make_layout(const Dims& x, const auto& is_stat_dim, const auto& is_param_dim) {
  NormLayout layout{{}, x, {}, x};
  for (int i = 0; i < x.size(); ++i) {
    if (is_stat_dim(i)) layout.stat_dims.push_back(i), layout.stat_shape[i] = 1;
    if (!is_param_dim(i)) layout.param_dims.push_back(i), layout.param_shape[i] = 1;
  }
  return layout;
}

void accumulate(Tensor& into, const Tensor& term) { into = into.defined() ? add(into, term) : term; }

// The derivative of the fused gradient. With a = grad * weight, z = (x - mean) * rstd and averages <...> over what
// shares a mean, it is gx = rstd (a - <a> - z <a z>), gweight = sum grad z, gbias = sum grad. The cotangents are hx, hw
// and hb; `through_z` is the derivative by z where mean and rstd are held.
class NormBackwardVjp {
 public:
  NormBackwardVjp(Vjp& v, const NormLayout& layout, uint8_t wanted, bool centred)
      : v_(v), layout_(layout), centred_(centred) {
    const auto cotangent = [&](int i) { return wanted >> i & 1 ? v.cotangent(i) : Tensor(); };
    hx_ = cotangent(0), hw_ = as_parameter(cotangent(1)), hb_ = as_parameter(cotangent(2));
    mean_ = v.input(2).reshape(layout.stat_shape);
    rstd_ = v.input(3).reshape(layout.stat_shape);
    deviation_ = sub(v.input(1), mean_);
    z_ = mul(deviation_, rstd_);
    if (!hx_.defined()) return;
    u_ = mul(hx_, rstd_);
    through_a_ = u_;
    if (!centred_) return;
    uz_ = average(mul(u_, z_));
    through_a_ = sub(sub(u_, average(u_)), mul(z_, uz_));
  }

  void grad() const {
    Tensor total;
    if (hx_.defined()) accumulate(total, weighted(through_a_));
    if (hw_.defined()) accumulate(total, mul(z_, hw_));
    if (hb_.defined()) accumulate(total, hb_.expand(v_.input_shape(0)));
    v_.grad(0) = total;
  }

  void weight() const {
    if (hx_.defined()) v_.grad(4) = to_parameter(mul(through_a_, v_.input(0)));
  }

  void statistics() const {
    const Tensor& g = v_.input(0);
    Tensor through_z, through_rstd;
    if (hx_.defined()) {
      const Tensor a = weighted(g);
      Tensor inner = a;
      if (centred_) {
        const Tensor az = average(mul(a, z_));
        through_z = neg(add(mul(u_, az), mul(a, uz_)));
        inner = sub(sub(a, average(a)), mul(z_, az));
      }
      through_rstd = mul(hx_, inner);
    }
    if (hw_.defined()) accumulate(through_z, mul(hw_, g));
    if (through_z.defined()) {
      const Tensor through_deviation = mul(through_z, rstd_);
      v_.grad(1) = through_deviation;
      if (v_.needs(2)) v_.grad(2) = to_statistic(neg(through_deviation), 2);
      accumulate(through_rstd, mul(through_z, deviation_));
    }
    if (v_.needs(3) && through_rstd.defined()) v_.grad(3) = to_statistic(through_rstd, 3);
  }

 private:
  Tensor average(const Tensor& t) const { return mean(t, layout_.stat_dims, true); }
  Tensor as_parameter(const Tensor& t) const { return t.defined() ? t.reshape(layout_.param_shape) : t; }
  Tensor to_parameter(const Tensor& t) const { return sum_over(t, layout_.param_dims).reshape(v_.input_shape(4)); }
  Tensor to_statistic(const Tensor& t, int input) const {
    return sum_over(t, layout_.stat_dims).reshape(v_.input_shape(input));
  }
  Tensor weighted(const Tensor& t) const {
    const Tensor& weight = v_.input(4);
    return weight.defined() ? mul(t, as_parameter(weight)) : t;
  }

  Vjp& v_;
  const NormLayout& layout_;
  bool centred_;
  Tensor hx_, hw_, hb_, mean_, rstd_, deviation_, z_;
  Tensor u_, uz_, through_a_;  // hx rstd, <u z>, and the derivative by a
};

}  // namespace

NormLayout layer_norm_layout(const Dims& x, int rank) {
  const auto is_normalized = [first = x.size() - rank](int i) { return i >= first; };
  return make_layout(x, is_normalized, is_normalized);
}

NormLayout batch_norm_layout(const Dims& x) {
  return make_layout(
      x, [](int i) { return i != 1; }, [](int i) { return i == 1; });
}

Tensor sum_over(const Tensor& x, const Dims& dims, bool keepdim) { return dims.empty() ? x : sum(x, dims, keepdim); }

Statistics recorded_statistics(const Tensor& x, const NormLayout& layout) {
  const Tensor values = x.to(statistics_dtype(x.dtype()));
  const Tensor centre = mean(values, layout.stat_dims, true);
  const Tensor deviation = sub(values, centre);
  return {centre, mean(mul(deviation, deviation), layout.stat_dims, true)};
}

Tensor reciprocal_deviation(const Tensor& var, double eps) { return 1.0 / sqrt(add(var, eps)); }

void check_operand(const OpCall& call, const char* what, const Tensor& t, const Dims& expected) {
  if (!t.defined()) return;
  if (t.shape() != expected)
    throw_error<ShapeError>(call.op.name, ": ", what, " has shape ", t.shape(), "; it must be ", expected);
  if (is_complex(t.dtype()))
    throw_error<DTypeError>(call.op.name, ": ", what, " must be real, it is ", t.dtype(), "; take its real() part");
}

DTypes norm_backward_dtypes(const OpCall& call) {
  return dtype_rules::same({call.op, call.inputs.subspan(1), call.attrs});
}

void infer_norm_backward(Inference& call, const Dims& statistics, const Dims& parameters, uint8_t wanted) {
  const Dims shape = call.input(1).shape();
  shape_rules::check_cotangent(call, shape);
  check_operand(call, "mean", call.input(2), statistics);
  check_operand(call, "rstd", call.input(3), statistics);
  check_operand(call, "weight", call.input(4), parameters);
  if (!is_floating(call.input(2).dtype()) || !is_floating(call.input(3).dtype()))
    throw_error<DTypeError>(call.op.name, ": mean and rstd must be floating, they are ", call.input(2).dtype(), " and ",
                            call.input(3).dtype());
  call.add_output(wanted & kWantsInput ? shape : Dims{0});
  call.add_output(wanted & kWantsWeight ? parameters : Dims{0});
  call.add_output(wanted & kWantsBias ? parameters : Dims{0});
}

void norm_backward_vjp(Vjp& v, const NormLayout& layout, uint8_t wanted, bool centred) {
  const NormBackwardVjp gradient(v, layout, wanted, centred);
  if (v.needs(0)) gradient.grad();
  if (v.needs(4)) gradient.weight();
  if (v.needs(1) || v.needs(2) || v.needs(3)) gradient.statistics();
}

NormIndex::NormIndex(const Dims& x, const NormLayout& layout)
    : stats(static_cast<size_t>(numel_of(layout.stat_shape))),
      params(static_cast<size_t>(numel_of(layout.param_shape))),
      count(1) {
  Dims stat_strides = contiguous_strides(layout.stat_shape), param_strides = contiguous_strides(layout.param_shape);
  for (const int64_t d : layout.stat_dims) stat_strides[static_cast<int>(d)] = 0;
  for (const int64_t d : layout.param_dims) param_strides[static_cast<int>(d)] = 0;
  for (const int64_t d : layout.stat_dims) count *= static_cast<double>(x[static_cast<int>(d)]);
  for (int64_t i = 0; i < numel_of(x); ++i) {
    stat.push_back(static_cast<size_t>(reference::strided_index(i, x, stat_strides)));
    param.push_back(static_cast<size_t>(reference::strided_index(i, x, param_strides)));
  }
}

std::vector<RefTensor> norm_backward_reference(const RefCall& call, const NormLayout& layout, const Dims& parameters,
                                               uint8_t wanted, bool centred) {
  const RefTensor &g = call.inputs[0], &x = call.inputs[1], &mean = call.inputs[2], &rstd = call.inputs[3];
  const RefTensor& weight = call.inputs[4];
  const NormIndex at(x.shape, layout);
  std::vector<double> a(x.values.size()), z(x.values.size()), sum_a(at.stats), sum_az(at.stats);
  RefTensor gx = reference::zeros(x.shape, x.dtype), gw = reference::zeros(parameters, x.dtype), gb = gw;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t s = at.stat[i], p = at.param[i];
    a[i] = g.values[i].real() * (weight.values.empty() ? 1 : weight.values[p].real());
    z[i] = (x.values[i].real() - mean.values[s].real()) * rstd.values[s].real();
    sum_a[s] += a[i];
    sum_az[s] += a[i] * z[i];
    gw.values[p] += g.values[i].real() * z[i];
    gb.values[p] += g.values[i].real();
  }
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t s = at.stat[i];
    const double own = centred ? (sum_a[s] + z[i] * sum_az[s]) / at.count : 0;
    gx.values[i] = rstd.values[s].real() * (a[i] - own);
  }
  const RefTensor nothing = reference::zeros({0}, x.dtype);
  return {wanted & kWantsInput ? gx : nothing, wanted & kWantsWeight ? gw : nothing,
          wanted & kWantsBias ? gb : nothing};
}

}  // namespace vellum::internal
