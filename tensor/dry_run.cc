#include "vellum/tensor/internal/dry_run.h"

#include <string>

#include "vellum/device/error.h"

namespace vellum::internal {
namespace {

std::string describe(const TensorImpl& t) {
  const std::string name = t.name && !t.name->empty() ? str_cat(" '", *t.name, "'") : std::string();
  return str_cat("the tensor", name, " ", t.dtype, Dims(t.shape_span()));
}

bool is_foreign(const TensorImpl& t) { return !hooks().dry_run->owns(*t.storage); }

}  // namespace

bool has_values(const Tensor& t) {
  const TensorImpl& impl = t.impl();
  if (is_dry_address(impl.data)) return false;
  return !is_dry_address(impl.storage->data()) || impl.storage->version() == 0;
}

void check_values(std::string_view what, const Tensor& t, const Tensor& host) {
  if (has_values(host)) return;
  throw_error<InvalidArgumentError>(
      what, ": ", describe(t.impl()),
      " has no values here: a dry run (predict_peak) computes nothing; keep what reads values "
      "(item, data, to_vector, printing, branches on them) out of the predicted "
      "function");
}

void check_shape_source(std::string_view what, const Tensor& t) {
  if (!is_dry_run()) return;
  throw_error<InvalidArgumentError>(what, ": shapes that depend on values cannot be predicted, and ",
                                    describe(t.impl()),
                                    " has no values in a dry run; use a form whose shape is known, such as where() or "
                                    "a mask that is multiplied");
}

void refuse_foreign_write(std::string_view what, const Tensor& t) {
  if (!is_foreign(t.impl())) return;
  throw_error<InvalidArgumentError>(
      what, ": ", describe(t.impl()),
      " was not made by the dry run (predict_peak), which changes nothing else; make it within "
      "the predicted function, or write to a clone()");
}

void refuse_foreign_history(std::string_view what, Inputs inputs) {
  for (const Tensor* t : inputs) {
    const TensorImpl* impl = t->impl_or_null();
    if (!impl || !impl->needs_grad() || (!impl->grad_fn && !impl->base) || !is_foreign(*impl)) continue;
    // A view of a leaf, whenever it was made: views keep nothing for the backward pass, so none is consumed. Where they
    // or the leaf would keep a gradient, that is refused as it arrives.
    if (impl->grad_fn && impl->base && !impl->base->grad_fn && impl->base->flags & TensorImpl::kRequiresGrad) continue;
    throw_error<AutogradError>(what, ": ", describe(*impl),
                               " has a history from before the dry run (predict_peak), which a backward pass would "
                               "consume; compute it within the predicted function, or detach() it");
  }
}

void refuse_foreign_gradient(const TensorImpl& leaf) {
  if (!is_foreign(leaf)) return;
  throw_error<AutogradError>("backward: ", describe(leaf),
                             " was not made by the dry run (predict_peak), which must not set its .grad; build the "
                             "model within the predicted function, which then counts its memory too, or use grad()");
}

}  // namespace vellum::internal
