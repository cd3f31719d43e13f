#include "vellum/nn/sequential.h"

#include "vellum/device/error.h"

namespace vellum::nn {

void Sequential::push_back(std::unique_ptr<Module> module) {
  push_back(std::to_string(modules_.size()), std::move(module));
}

void Sequential::push_back(std::string_view name, std::unique_ptr<Module> module) {
  if (!module) throw_error<InvalidArgumentError>("Sequential: module '", name, "' is null");
  modules_.reserve(modules_.size() + 1);
  register_module(name, *module);
  modules_.push_back(std::move(module));
}

Module& Sequential::operator[](size_t i) const {
  if (i >= modules_.size()) throw_error<IndexError>("Sequential: there is no module ", i, "; it has ", modules_.size());
  return *modules_[i];
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor x = input;
  for (const auto& module : modules_) x = (*module)(x);
  return x;
}

}  // namespace vellum::nn
