#include "vellum/backends/cpu/kernels/onednn_product.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "dnnl.hpp"
#include "vellum/backends/cpu/parallel.h"

namespace vellum::cpu {
namespace {

// Leaked, as handles in caches of threads may outlive statics.
const dnnl::engine& engine() {
  static const dnnl::engine& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

// Multiply-adds that are worth a thread of their own: some ten times what it costs to wake one.
constexpr int64_t kWorkPerThread = 1 << 20;

// oneDNN takes the number of threads from OpenMP, which keeps one for each calling thread.
int adopt_num_threads(int64_t work) {
  if (omp_in_parallel()) return 1;
  const int threads = static_cast<int>(std::clamp<int64_t>(work / kWorkPerThread, 1, get_num_threads()));
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
  return threads;
}

struct Key {
  int64_t m, n, k, a_row, a_column, b_row, b_column;
  DType dtype;
  bool bias;
  int threads;

  friend bool operator==(const Key&, const Key&) = default;
};

size_t slot_of(const Key& key, size_t slots) {
  uint64_t hash = static_cast<uint64_t>(key.threads) * 2 + key.bias;
  for (const int64_t part :
       {key.m, key.n, key.k, key.a_row, key.a_column, key.b_row, key.b_column, static_cast<int64_t>(key.dtype)})
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
  return hash >> 32 & (slots - 1);
}

// Makes (row, column) strides that a plain format can have; a size of 1 leaves its stride free. False where neither
// is 1.
bool make_plain(int64_t rows, int64_t columns, int64_t* row, int64_t* column) {
  if (columns == 1) *column = 1;
  if (*column == 1 && rows == 1)
    *row = columns;
  else if (rows == 1)
    *row = 1;
  if (*column == 1) return *row >= columns;
  return *row == 1 && *column >= rows;
}

dnnl::memory::data_type data_type(DType t) {
  return t == kBFloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

}  // namespace

class OneDnnProduct {
 public:
  explicit OneDnnProduct(const Key& key) : key_(key) {
    using Desc = dnnl::memory::desc;
    const auto type = data_type(key.dtype);
    const Desc a({key.m, key.k}, type, {key.a_row, key.a_column});
    const Desc b({key.k, key.n}, type, {key.b_row, key.b_column});
    const Desc c({key.m, key.n}, type, {key.n, int64_t{1}});
    const Desc bias = key.bias ? Desc({1, key.n}, type, {key.n, int64_t{1}}) : Desc();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto op = key.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc prepared(op, attributes, engine());
    product_ = dnnl::matmul(prepared);
    stream_ = dnnl::stream(engine());
    scratch_bytes_ = prepared.scratchpad_desc().get_size();
    add(DNNL_ARG_SRC, a);
    add(DNNL_ARG_WEIGHTS, b);
    add(DNNL_ARG_DST, c);
    add(DNNL_ARG_SCRATCHPAD, prepared.scratchpad_desc());
    if (key.bias) add(DNNL_ARG_BIAS, bias);
  }

  const Key& key() const { return key_; }
  size_t scratch_bytes() const { return scratch_bytes_; }

  Status run(const Gemm& g, void* scratch) {
    const void* data[] = {g.a, g.b, g.c, scratch, g.bias};
    for (int i = 0; i < count_; ++i)
      if (dnnl_memory_set_data_handle(arguments_[i].memory, const_cast<void*>(data[i])) != dnnl_success)
        return {StatusCode::kDeviceError, "oneDNN refused an operand"};
    if (dnnl_primitive_execute(product_.get(), stream_.get(), count_, arguments_.data()) != dnnl_success)
      return {StatusCode::kDeviceError, "oneDNN could not run a matrix product"};
    return ok_status();
  }

 private:
  void add(int name, const dnnl::memory::desc& desc) {
    memories_[count_] = dnnl::memory(desc, engine(), nullptr);
    arguments_[count_] = {name, memories_[count_].get()};
    ++count_;
  }

  Key key_;
  dnnl::matmul product_;
  dnnl::stream stream_;
  size_t scratch_bytes_ = 0;
  std::array<dnnl::memory, 5> memories_;
  std::array<dnnl_exec_arg_t, 5> arguments_;
  int count_ = 0;
};

namespace {

// Direct-mapped: a geometry that shares its slot with another evicts it. A product that oneDNN does not offer is
// remembered by its key alone.
struct Cache {
  static constexpr size_t kSlots = 128;
  struct Slot {
    Key key{};
    std::unique_ptr<OneDnnProduct> product;
  };
  std::array<Slot, kSlots> slots;
};

thread_local std::unique_ptr<Cache> cache;

}  // namespace

OneDnnProduct* find_onednn_product(DType dtype, const Gemm& g) noexcept {
  Key key{g.m,     g.n,        g.k,   g.a_row,           g.a_column,
          g.b_row, g.b_column, dtype, g.bias != nullptr, adopt_num_threads(g.m * g.n * g.k)};
  if (!make_plain(g.m, g.k, &key.a_row, &key.a_column) || !make_plain(g.k, g.n, &key.b_row, &key.b_column))
    return nullptr;
  if (!cache) cache = std::make_unique<Cache>();
  Cache::Slot& slot = cache->slots[slot_of(key, Cache::kSlots)];
  if (slot.key == key) return slot.product.get();
  slot.key = key;
  slot.product = nullptr;
  try {
    slot.product = std::make_unique<OneDnnProduct>(key);
  } catch (const dnnl::error&) {
    // Not offered on this machine: own kernels serve.
  }
  return slot.product.get();
}

size_t onednn_scratch(const OneDnnProduct& product) noexcept { return product.scratch_bytes(); }

Status run_onednn_product(OneDnnProduct& product, const Gemm& operands, void* scratch) noexcept {
  return product.run(operands, scratch);
}

}  // namespace vellum::cpu
