#ifndef VELLUM_TENSOR_OP_DEF_H_
#define VELLUM_TENSOR_OP_DEF_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "vellum/tensor/backend.h"
#include "vellum/tensor/reference.h"
#include "vellum/tensor/tensor.h"

namespace vellum {

// The inputs of a call, borrowed. An undefined tensor is an optional input that was left out.
using Inputs = std::span<const Tensor* const>;

inline constexpr int kMaxInputs = 8;     // of an operator that names its inputs
inline constexpr int kMaxSaved = 12;     // tensors that one call keeps for its gradients
inline constexpr int8_t kVariadic = -1;  // cat's inputs, split's outputs

// What a gradient reads, as a bit mask over inputs, outputs and by-products.
struct Saves {
  uint32_t bits = 0;

  constexpr bool has_input(int i) const { return bits >> i & 1; }
  constexpr bool has_output(int i) const { return bits >> (8 + i) & 1; }
  constexpr bool has_by_product(int i) const { return bits >> (16 + i) & 1; }
  constexpr bool any_by_product() const { return bits >> 16; }
  friend constexpr Saves operator|(Saves a, Saves b) { return {a.bits | b.bits}; }
};
constexpr Saves saves_nothing() { return {}; }
constexpr Saves saves_input(int i) { return {1u << i}; }
constexpr Saves saves_output(int i = 0) { return {1u << (8 + i)}; }
constexpr Saves saves_by_product(int i = 0) { return {1u << (16 + i)}; }

struct OpDef;

// The dtype that inputs are cast to, and that of the output.
struct DTypes {
  DType compute = DType::kUndefined;
  DType output = DType::kUndefined;
};

// The result of shape inference for one output. Views also say how they lie in input 0's storage.
struct OutputSpec {
  Dims shape;
  DType dtype = DType::kUndefined;
  Dims strides;        // views only, elements of `dtype`
  int64_t offset = 0;  // views only, elements of `dtype` from the start of the storage
};

// One call, as the rules of a definition see it.
struct OpCall {
  const OpDef& op;
  Inputs inputs;
  const void* attrs;

  const Tensor& input(int i) const { return *inputs[i]; }
  template <typename Attrs>
  const Attrs& attributes() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// A call on its way through shape inference, which fills the specs.
struct Inference : OpCall {
  Inference(const OpCall& call, DTypes types) : OpCall(call), dtypes(types) {}

  DTypes dtypes;
  absl::InlinedVector<OutputSpec, 2> outputs;
  absl::InlinedVector<OutputSpec, 1> by_products;

  void add_output(const Dims& shape, DType dtype) { outputs.push_back({shape, dtype, {}, 0}); }
  void add_output(const Dims& shape) { add_output(shape, dtypes.output); }
  void add_by_product(const Dims& shape, DType dtype) { by_products.push_back({shape, dtype, {}, 0}); }
  void add_view(const Dims& shape, const Dims& strides, int64_t offset) {
    outputs.push_back({shape, dtypes.output, strides, offset});
  }
};

// What a gradient sees. Saved tensors are those that the definition declared for the gradients that are needed; any
// other is undefined. A cotangent is undefined where that output was not used. Shapes and dtypes are always there.
class Vjp {
 public:
  virtual const Tensor& input(int i = 0) const = 0;
  virtual const Tensor& output(int i = 0) const = 0;
  virtual const Tensor& by_product(int i = 0) const = 0;
  virtual Dims input_shape(int i = 0) const = 0;
  virtual DType input_dtype(int i = 0) const = 0;
  virtual Dims output_shape(int i = 0) const = 0;
  virtual DType output_dtype(int i = 0) const = 0;
  virtual Device device() const = 0;

  int inputs() const { return static_cast<int>(gradients_.size()); }
  int outputs() const { return static_cast<int>(cotangents_.size()); }
  // Whether input i needs a gradient.
  virtual bool needs(int i) const = 0;
  const Tensor& cotangent(int i = 0) const { return cotangents_[i]; }
  // Cotangent i, or zeros where that output was not used.
  Tensor cotangent_or_zeros(int i) const;
  // Where the gradient of input i goes; left undefined it is zero. The engine sums it over broadcast dimensions and
  // casts it to the input's dtype (a real input takes the real part).
  Tensor& grad(int i = 0) { return gradients_[i]; }

  template <typename Attrs>
  const Attrs& attributes() const {
    return *static_cast<const Attrs*>(attrs_);
  }
  const void* attrs() const { return attrs_; }

 protected:
  Vjp(const void* attrs, std::span<const Tensor> cotangents, std::span<Tensor> gradients)
      : attrs_(attrs), cotangents_(cotangents), gradients_(gradients) {}
  ~Vjp() = default;

 private:
  const void* attrs_;
  std::span<const Tensor> cotangents_;
  std::span<Tensor> gradients_;
};

// How to handle an attribute struct that the graph keeps.
struct AttrsType {
  size_t size = 0;
  void (*copy)(void* to, const void* from) = nullptr;
  void (*destroy)(void* attrs) = nullptr;
};

template <typename T>
inline constexpr AttrsType attrs_type{
    sizeof(T), [](void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); },
    std::is_trivially_destructible_v<T> ? nullptr : +[](void* attrs) { static_cast<T*>(attrs)->~T(); }};

enum class OpKind : uint8_t {
  kElementwise,  // inputs broadcast; one output; the kernel gets a LoopPlan
  kReduction,    // one input; `infer` gives the shape with kept sizes of 1 (see reduced_dims); LoopPlan
  kGeneral,      // the kernel gets TensorArgs
  kView,         // no kernel: `infer` says how the outputs lie in input 0's storage
  kComposite,    // defined from other operators by `composite`; a backend's own kernel goes before it
};

// The single definition of an operator: name, dtype rule, shape rule, gradient, what each gradient keeps alive, and
// reference. Aggregate of plain data and captureless functions; constant-initialized; lives as long as the program.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::kElementwise;
  int8_t inputs = 1;   // or kVariadic
  int8_t outputs = 1;  // or kVariadic
  int8_t by_products = 0;
  uint8_t optional_inputs = 0;   // bit mask of inputs that may be undefined
  std::string_view kernel = {};  // the kernel's name when it is another operator's; empty: `name`

  // --- dtypes
  // Which inputs are cast to the compute dtype (bit mask); the others keep theirs (conditions, indices).
  uint8_t cast_inputs = 0xff;
  // Compute and output dtype. Throws DTypeError for what the operator does not take.
  DTypes (*dtypes)(const OpCall&) = nullptr;
  // Compute dtypes that the operator is defined for; conformance runs each of them on every backend.
  DTypeSet domain = kAllDTypes;

  // --- shapes
  // Fills outputs and by_products. Elementwise operators broadcast and need none. Throws ShapeError and
  // IndexError before anything is changed.
  void (*infer)(Inference&) = nullptr;
  // A reduction's dimensions as a bit mask over input 0's.
  uint32_t (*reduced_dims)(const OpCall&) = nullptr;

  // --- attributes
  AttrsType attrs = {};

  // --- random numbers
  // How many 32-bit draws the call takes from the generator.
  uint64_t (*draws)(const OpCall&) = nullptr;

  // --- gradient
  // Element i: what the gradient of input i reads.
  std::array<Saves, kMaxInputs> saves{};
  // Refines saves[i] where it depends on the attributes or on which inputs need a gradient (`needs` is a bit mask).
  Saves (*refine_saves)(const void* attrs, int input, uint32_t needs, Saves declared) = nullptr;
  // Vector-Jacobian product, written with operators. Null: not differentiable.
  void (*vjp)(Vjp&) = nullptr;
  // Outputs that never carry a gradient (bit mask): the indices of max.
  uint8_t non_differentiable_outputs = 0;

  // --- in place
  // Input 0 is overwritten and its old values are not read (copy_, fill_): there is an in-place form only.
  bool overwrites = false;

  // The kernel of a general operator may be given input 0's memory as output 0, and then changes it where it lies.
  bool may_update_self = false;

  // --- composite
  void (*composite)(const OpCall& call, std::span<Tensor> outputs) = nullptr;

  // --- reference: the scalar definition in double precision that kernels are checked against.
  Reference reference = {};
};

// How a call was resolved for a device.
enum class Provenance : uint8_t { kNative, kComposite, kHostFallback, kShapeOnly, kNone };

std::string_view provenance_name(Provenance p);

// The mutable side of a definition: its dense id and the kernels that were resolved. A slot with static storage
// duration joins the list of all operators when it is constructed; the definition may be in any workspace.
class OpSlot {
 public:
  explicit OpSlot(const OpDef& def, std::string_view family);
  OpSlot(const OpSlot&) = delete;
  OpSlot& operator=(const OpSlot&) = delete;

  const OpDef& def() const { return def_; }
  std::string_view family() const { return family_; }
  std::string_view gradient_name() const { return gradient_name_; }  // of nodes: "LogSoftmaxBackward"
  int id() const { return id_; }
  const OpSlot* next() const { return next_; }

  // The kernel for a compute dtype on a device, or null where another provenance serves the call.
  const KernelEntry* kernel(DeviceType device, DType compute) {
    const KernelEntry* entry = kernels_[device.id][static_cast<int>(compute)].load(std::memory_order_acquire);
    return entry ? entry : resolve(device, compute);
  }
  Provenance provenance(DeviceType device, DType compute);

 private:
  const KernelEntry* resolve(DeviceType device, DType compute);

  const OpDef& def_;
  std::string_view family_;
  const std::string& gradient_name_;  // never destroyed: nodes may outlive any static object
  int id_;
  const OpSlot* next_;
  std::atomic<const KernelEntry*> kernels_[kMaxDeviceTypes][kDTypeCount] = {};
};

// All operators that are linked in, in registration order.
std::vector<OpSlot*> all_operators();
// By name, or null.
OpSlot* find_operator(std::string_view name);

// --- Calling.

// One output.
Tensor call(OpSlot& slot, Inputs inputs, const void* attrs = nullptr);
inline Tensor call(OpSlot& slot, std::initializer_list<const Tensor*> inputs, const void* attrs = nullptr) {
  return call(slot, Inputs(inputs.begin(), inputs.size()), attrs);
}
// All outputs.
std::vector<Tensor> call_all(OpSlot& slot, Inputs inputs, const void* attrs = nullptr);
// Writes into `out`, which must have the result's shape (or be empty, and is then resized), the device and a dtype
// that the result can be cast to. Not recorded: throws AutogradError when a gradient would be needed.
void call_out(OpSlot& slot, Tensor& out, Inputs inputs, const void* attrs = nullptr);
// The same for an operator with several results, of which each has a tensor with storage of its own.
void call_out_all(OpSlot& slot, std::span<Tensor* const> outs, Inputs inputs, const void* attrs = nullptr);
// inputs[0] is `self`: it receives the result, its version is bumped, its history rewritten.
void call_in_place(OpSlot& slot, Tensor& self, Inputs inputs, const void* attrs = nullptr);

// With strict mode on, a host fallback is an error instead of a logged detour. Process-wide.
void set_strict_dispatch(bool strict);
bool strict_dispatch();

// --- Dtype rules for definitions.
namespace dtype_rules {
DTypes promote(const OpCall&);                    // result_type of the inputs
DTypes promote_integers_to_float(const OpCall&);  // integers become float32
DTypes compare(const OpCall&);                    // promote; bool out
DTypes same(const OpCall&);                       // dtype of input 0
}  // namespace dtype_rules

// --- Shape rules for definitions.
namespace shape_rules {
void same(Inference&);   // one output with the shape of input 0
void equal(Inference&);  // the same, and every input must have that shape
// Throws ShapeError unless input 0, a cotangent, has the shape that the other operands and attributes imply.
void check_cotangent(const OpCall&, const Dims& expected);
}  // namespace shape_rules

// PyTorch's result type of operands: tensors of rank > 0 before scalars before C++ numbers, a later group counts
// only if its category is higher.
DType result_type(Inputs inputs);

// Throws DTypeError naming `op` when a tensor of that dtype cannot hold the number: a complex one in a real tensor, one
// beyond the range of an integer.
void check_fits(std::string_view op, const Scalar& value, DType dtype);

// A 0-dimensional tensor that promotes like a C++ number beside `like`, with the dtype that the result will have.
Tensor wrap_number(const Scalar& value, const Tensor& like);

}  // namespace vellum

#endif  // VELLUM_TENSOR_OP_DEF_H_
