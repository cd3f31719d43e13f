#ifndef VELLUM_NN_SEQUENTIAL_H_
#define VELLUM_NN_SEQUENTIAL_H_

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/nn/module.h"

namespace vellum::nn {

// Modules one after the other, each fed with the output of the one before it. It owns them, and they are named "0",
// "1", ... unless they are given names:
//
//   nn::Sequential model(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 1));
//
// Note that a Sequential made from nothing but one temporary Sequential *is* that one; use push_back to nest it.
class Sequential : public Module {
 public:
  template <std::derived_from<Module>... Modules>
  explicit Sequential(Modules... modules) {
    modules_.reserve(sizeof...(modules));
    (push_back(std::move(modules)), ...);
  }

  template <std::derived_from<Module> M>
  void push_back(M module) {
    push_back(std::make_unique<M>(std::move(module)));
  }
  template <std::derived_from<Module> M>
  void push_back(std::string_view name, M module) {
    push_back(name, std::make_unique<M>(std::move(module)));
  }
  void push_back(std::unique_ptr<Module> module);
  // Throws InvalidArgumentError when `module` is null or the name does not fit.
  void push_back(std::string_view name, std::unique_ptr<Module> module);

  size_t size() const { return modules_.size(); }
  // Throws IndexError beyond the end.
  Module& operator[](size_t i) const;

  // The input itself when there are no modules.
  Tensor forward(const Tensor& input) override;

 private:
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_SEQUENTIAL_H_
