#include "vellum/allocator/adaptors/adaptor.h"

#include <utility>

#include "vellum/device/error.h"

namespace vellum {

Adaptor::Adaptor(std::string_view adaptor, std::unique_ptr<Allocator> upstream) : upstream_(std::move(upstream)) {
  if (!upstream_)
    throw_error<InvalidArgumentError>("the allocator to be wrapped by '", adaptor,
                                      "' is null; pass make_default_allocator(device)");
  name_ = str_cat(adaptor, "(", upstream_->name(), ")");
}

}  // namespace vellum
