#include "vellum/nn/module.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/nn/gradients.h"
#include "vellum/tensor/ledger.h"

namespace vellum::nn {

struct Module::State {
  std::string name;
  NamedTensors parameters;
  NamedTensors buffers;
  std::vector<std::pair<std::string, std::shared_ptr<State>>> children;
  Module* owner = nullptr;  // where the module lives; null once it was destroyed
  bool training = true;

  bool has(std::string_view entry) const {
    const auto is_entry = [entry](const auto& item) { return item.first == entry; };
    return std::ranges::any_of(parameters, is_entry) || std::ranges::any_of(buffers, is_entry) ||
           std::ranges::any_of(children, is_entry);
  }

  bool contains(const State& other) const {
    return this == &other ||
           std::ranges::any_of(children, [&](const auto& child) { return child.second->contains(other); });
  }

  void check_name(const char* function, std::string_view entry) const {
    if (entry.empty()) throw_error<InvalidArgumentError>(function, ": the name is empty");
    if (entry.find('.') != std::string_view::npos)
      throw_error<InvalidArgumentError>(function, ": the name '", entry,
                                        "' holds a dot; dots separate the parts of a path");
    if (has(entry))
      throw_error<InvalidArgumentError>(function, ": the name '", entry,
                                        "' is already taken in this module; choose another");
  }

  // Calls visit(path prefix, state) for this and everything below, parents first.
  void walk(const std::string& prefix, const std::function<void(const std::string&, State&)>& visit) {
    visit(prefix, *this);
    for (const auto& [entry, child] : children) child->walk(prefix + entry + ".", visit);
  }

  NamedTensors collect(NamedTensors State::*kind) {
    NamedTensors found;
    std::unordered_set<const internal::TensorImpl*> seen;
    walk("", [&](const std::string& prefix, State& state) {
      for (const auto& [entry, tensor] : state.*kind)
        if (seen.insert(tensor.impl_or_null()).second) found.emplace_back(prefix + entry, tensor);
    });
    return found;
  }
};

namespace {

void check_registered(const char* function, std::string_view name, const Tensor& tensor) {
  if (!tensor.defined())
    throw_error<InvalidArgumentError>(function, ": '", name,
                                      "' is undefined; do not register what the module does without");
  if (!tensor.is_leaf() || tensor.is_view())
    throw_error<InvalidArgumentError>(
        function, ": '", name, "' ", tensor.dtype(), tensor.shape(),
        " is a view or has a history, which a module cannot keep or move; take detach() or "
        "clone() of it");
}

std::vector<Tensor> without_names(NamedTensors named) {
  std::vector<Tensor> tensors;
  tensors.reserve(named.size());
  for (auto& [name, tensor] : named) tensors.push_back(std::move(tensor));
  return tensors;
}

// What to(wanted) makes of a tensor of dtype `now`.
DType converted(DType now, DType wanted) {
  if (!is_differentiable(now)) return now;
  return is_complex(now) ? to_complex(wanted) : wanted;
}

}  // namespace

Module::Module() : state_(std::make_shared<State>()) { state_->owner = this; }

Module::~Module() {
  if (state_) state_->owner = nullptr;
}

Module::Module(Module&& other) noexcept : state_(std::move(other.state_)) {
  if (state_) state_->owner = this;
}

Module::State& Module::state() const {
  if (!state_) throw_error<InvalidArgumentError>("a module was used that has been moved from");
  return *state_;
}

Tensor Module::forward(const Tensor&) {
  throw_error<NotImplementedError>("forward: this module ('", name(),
                                   "') has no forward(const Tensor&); override it, or call ",
                                   "the forward that it has");
}

Tensor Module::operator()(const Tensor& input) {
  const ModuleScope scope = annotate();
  return forward(input);
}

ModuleScope Module::annotate() const { return ModuleScope(name()); }

const std::string& Module::name() const { return state().name; }

NamedTensors Module::named_parameters() const { return state().collect(&State::parameters); }
std::vector<Tensor> Module::parameters() const { return without_names(named_parameters()); }
NamedTensors Module::named_buffers() const { return state().collect(&State::buffers); }
std::vector<Tensor> Module::buffers() const { return without_names(named_buffers()); }

NamedModules Module::named_children() const {
  NamedModules found;
  for (const auto& [entry, child] : state().children)
    if (child->owner) found.emplace_back(entry, child->owner);
  return found;
}

std::vector<Module*> Module::children() const {
  std::vector<Module*> found;
  for (const auto& [entry, child] : named_children()) found.push_back(child);
  return found;
}

void Module::train(bool on) {
  state().walk("", [on](const std::string&, State& s) { s.training = on; });
}

bool Module::is_training() const { return state().training; }

void Module::to(Device device) { convert(device, {}); }
void Module::to(DType dtype) { convert({}, dtype); }
void Module::to(Device device, DType dtype) { convert(device, dtype); }

void Module::convert(std::optional<Device> device, std::optional<DType> dtype) {
  if (dtype && !is_differentiable(*dtype))
    throw_error<DTypeError>("to: a module can become floating or complex, not ", *dtype);
  const NoGradGuard no_grad;
  struct Change {
    Tensor tensor, data, grad;
  };
  std::vector<Change> changes;
  const auto plan = [&](const std::string& name, const Tensor& t) {
    check_registered("to", name, t);
    const Device where = device.value_or(t.device());
    const DType what = dtype ? converted(t.dtype(), *dtype) : t.dtype();
    if (where == t.device() && what == t.dtype()) return;
    const Tensor grad = t.grad();
    changes.push_back({t, t.detach().to(where, what), grad.defined() ? grad.to(where, what) : Tensor()});
  };
  for (const auto& [name, t] : named_parameters()) plan(name, t);
  for (const auto& [name, t] : named_buffers()) plan(name, t);
  for (Change& change : changes) {
    change.tensor.set_grad({});
    change.tensor.set_data(change.data);
    if (change.grad.defined()) change.tensor.set_grad(change.grad);
  }
}

void Module::zero_grad(bool set_to_none) { clear_gradients(parameters(), set_to_none); }

void Module::requires_grad_(bool requires_grad) {
  for (Tensor& parameter : parameters()) parameter.requires_grad_(requires_grad);
}

Tensor Module::register_parameter(std::string_view name, Tensor parameter, bool requires_grad) {
  state().check_name("register_parameter", name);
  check_registered("register_parameter", name, parameter);
  parameter.requires_grad_(requires_grad);
  if (parameter.name().empty()) parameter.set_name(name);
  set_memory_role(parameter, MemoryRole::kParameter);
  state().parameters.emplace_back(name, parameter);
  return parameter;
}

Tensor Module::register_buffer(std::string_view name, Tensor buffer) {
  state().check_name("register_buffer", name);
  check_registered("register_buffer", name, buffer);
  if (buffer.name().empty()) buffer.set_name(name);
  set_memory_role(buffer, MemoryRole::kBuffer);
  state().buffers.emplace_back(name, buffer);
  return buffer;
}

void Module::add_child(std::string_view name, Module& module) {
  state().check_name("register_module", name);
  State& child = module.state();
  if (child.contains(state()))
    throw_error<InvalidArgumentError>("register_module: '", name,
                                      "' contains the module that it would be registered in");
  // Labels follow the path as it grows, unless the user gave others.
  for (auto kind : {&State::parameters, &State::buffers})
    for (auto& [path, tensor] : child.collect(kind))
      if (tensor.name() == path) tensor.set_name(std::string(name) + "." + path);
  if (child.name.empty()) child.name = name;
  state().children.emplace_back(name, module.state_);
}

}  // namespace vellum::nn
