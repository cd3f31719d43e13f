#ifndef VELLUM_NN_MODULE_H_
#define VELLUM_NN_MODULE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/device/thread_state.h"
#include "vellum/tensor/tensor.h"

namespace vellum::nn {

class Module;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using NamedModules = std::vector<std::pair<std::string, Module*>>;

// Attributes the memory that this thread allocates to a module while it lives. See Module::annotate.
class ModuleScope {
 public:
  explicit ModuleScope(std::string_view name) {
    if (!name.empty()) scope_.emplace(Annotation::Kind::kModule, name);
  }

 private:
  std::optional<AnnotationScope> scope_;
};

// A part of a network: parameters, buffers and further modules, each under a name. A custom module derives from it:
//
//   class Net : public nn::Module {
//    public:
//     Tensor forward(const Tensor& x) override { return second_(relu(first_(x))); }
//
//    private:
//     nn::Linear first_ = register_module("first", nn::Linear(64, 32));
//     nn::Linear second_ = register_module("second", nn::Linear(32, 10));
//   };
//
// Its parameters are then "first.weight", "first.bias" and so on. Modules move, but cannot be copied or assigned: a
// parent knows a child wherever the child has been moved to, and keeps the child's parameters alive. Names must not be
// empty, hold a dot or repeat within a module; what breaks this throws InvalidArgumentError.
//
// Distinct threads may call one module at the same time; changing it needs the caller's own order.
class Module {
 public:
  Module();
  virtual ~Module();
  Module(Module&& other) noexcept;
  Module& operator=(Module&&) = delete;

  // Maps an input to an output. A module with other operands declares a forward of its own instead, and opens its
  // scope with annotate(); this one then throws NotImplementedError.
  virtual Tensor forward(const Tensor& input);
  // forward(input) inside annotate().
  Tensor operator()(const Tensor& input);
  // While the scope lives, memory is attributed to this module, below those that are already open: with names as
  // above annotation_path(kModule) is "first". A module without a name adds nothing.
  ModuleScope annotate() const;

  // The name under which this module was registered first; empty for an outermost one.
  const std::string& name() const;

  // Own tensors first, then those of the children, in the order of registration. The name is the path, "first.weight".
  // A tensor that is reached twice is listed once. The handles share the tensors.
  NamedTensors named_parameters() const;
  std::vector<Tensor> parameters() const;
  NamedTensors named_buffers() const;
  std::vector<Tensor> buffers() const;
  // Direct children. One that was destroyed is left out, its parameters are not.
  NamedModules named_children() const;
  std::vector<Module*> children() const;

  // Training mode, for this module and all below it. It is on at first; Dropout and the like read it.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const;

  // Moves or converts all parameters, buffers and gradients. The tensors stay the same objects, so an optimizer and
  // every other handle follow; memory that a recorded graph saved stays as it was. Only floating and complex tensors
  // are converted, and a complex one stays complex (to(kFloat64) makes it complex128). Converts everything before it
  // changes anything: on a throw the module is as it was, and on one device both versions exist for a moment. Throws
  // DTypeError when `dtype` is neither floating nor complex.
  void to(Device device);
  void to(DType dtype);
  void to(Device device, DType dtype);

  // Drops the gradients of all parameters, or fills those that exist with zeros.
  void zero_grad(bool set_to_none = true);
  // Freezes all parameters or makes them trainable again.
  void requires_grad_(bool requires_grad = true);

  // Each returns what it was given, for use as a member's initializer.

  // `parameter` must be a leaf that is not a view. It then requires grad as asked; a label is added if it has none.
  Tensor register_parameter(std::string_view name, Tensor parameter, bool requires_grad = true);
  // State that is not trained, such as running statistics. Write it in place: the module knows this tensor, not the
  // member that holds it.
  Tensor register_buffer(std::string_view name, Tensor buffer);
  // Either a member, by reference, or a temporary, which is moved through. Throws InvalidArgumentError when `module`
  // contains this one.
  template <typename M>
  M register_module(std::string_view name, M&& module) {
    add_child(name, module);
    return std::forward<M>(module);
  }

 private:
  struct State;

  State& state() const;
  void add_child(std::string_view name, Module& module);
  void convert(std::optional<Device> device, std::optional<DType> dtype);

  // Apart from the object, so that parents can refer to it while the object moves.
  std::shared_ptr<State> state_;
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_MODULE_H_
