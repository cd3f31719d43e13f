// Per-target (included once per instruction set): matrix products.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_GEMM_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_GEMM_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_GEMM_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/gemm.h"
#include "vellum/backends/cpu/kernels/gemm_plain-inl.h"
#include "vellum/backends/cpu/kernels/targets.h"
#include "vellum/backends/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Whether a T has a register-tiled kernel on this instruction set; else the plain loops serve.
template <typename T>
inline constexpr bool kHasTiles = HWY_TARGET != HWY_SCALAR && (std::is_floating_point_v<T> || kIsComplex<T>);

#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct RealOf {
  using type = T;
};
template <typename R>
struct RealOf<std::complex<R>> {
  using type = R;
};

// How c is tiled into registers: kRows x kVectors accumulators, twice as many for complex numbers.
template <typename T>
struct Tiling {
  using Real = typename RealOf<T>::type;
  using D = hn::ScalableTag<Real>;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int kVectors = 2;
  static constexpr int kRows = (HWY_TARGET == HWY_AVX2 ? 6 : 8) / kParts;
  static constexpr int64_t kLanes = hn::MaxLanes(D());
  static constexpr int64_t kWidth = kVectors * kLanes / kParts;  // elements
};

// What a tile reads and writes. `b` is a panel of Tiling::kWidth columns, `b_row` elements from row to row.
template <typename T>
struct TileArgs {
  int64_t k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  const T* bias;
  bool accumulate;  // onto what c holds
  int64_t columns;  // that exist, at most kWidth
};

// acc + i * rotated, for pairs (re, im).
template <class D, class V>
HWY_INLINE V add_rotated(D, V acc, V rotated) {
  V swapped;
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    swapped = hn::Shuffle2301(rotated);
  else
    swapped = hn::Shuffle01(rotated);
  return hn::Add(acc, hn::OddEven(swapped, hn::Neg(swapped)));
}

// One tile. kTail: the last vector is not full.
template <typename T, int kRows, int kVectors, bool kTail>
void run_tile(const TileArgs<T>& args) {
  using Shape = Tiling<T>;
  using R = typename Shape::Real;
  constexpr int kParts = Shape::kParts;
  constexpr int64_t kLanes = Shape::kLanes;
  const typename Shape::D d;
  using V = hn::Vec<typename Shape::D>;
  const auto mask = hn::FirstN(d, static_cast<size_t>(args.columns * kParts - (kVectors - 1) * kLanes));
  const auto load = [&](const R* from, int v) HWY_ATTR {
    return kTail && v == kVectors - 1 ? hn::MaskedLoad(mask, d, from + v * kLanes) : hn::LoadU(d, from + v * kLanes);
  };

  V acc[kRows][kVectors], rotated[kRows][kVectors];
  const R* rows[kRows];
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    rows[i] = reinterpret_cast<const R*>(args.a + i * args.a_row);
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      if (args.accumulate)
        acc[i][v] = load(reinterpret_cast<const R*>(args.c + i * args.c_row), v);
      else if (args.bias)
        acc[i][v] = load(reinterpret_cast<const R*>(args.bias), v);
      else
        acc[i][v] = hn::Zero(d);
      if constexpr (kParts == 2) rotated[i][v] = hn::Zero(d);
    }
  }
  const R* b = reinterpret_cast<const R*>(args.b);
  const int64_t a_step = args.a_column * kParts, b_step = args.b_row * kParts;
  for (int64_t p = 0, at = 0; p < args.k; ++p, at += a_step, b += b_step) {
    V b_row[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) b_row[v] = load(b, v);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      const V re = hn::Set(d, rows[i][at]);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::MulAdd(re, b_row[v], acc[i][v]);
      if constexpr (kParts == 2) {
        const V im = hn::Set(d, rows[i][at + 1]);
        HWY_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) rotated[i][v] = hn::MulAdd(im, b_row[v], rotated[i][v]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    R* c = reinterpret_cast<R*>(args.c + i * args.c_row);
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      V value = acc[i][v];
      if constexpr (kParts == 2) value = add_rotated(d, value, rotated[i][v]);
      if (kTail && v == kVectors - 1)
        hn::BlendedStore(value, mask, d, c + v * kLanes);
      else
        hn::StoreU(value, d, c + v * kLanes);
    }
  }
}

template <typename T, int kRows>
HWY_INLINE void run_tile_and_advance(TileArgs<T>& args) {
  using Shape = Tiling<T>;
  constexpr int64_t kVectorWidth = Shape::kLanes / Shape::kParts;
  if (args.columns == 2 * kVectorWidth)
    run_tile<T, kRows, 2, false>(args);
  else if (args.columns > kVectorWidth)
    run_tile<T, kRows, 2, true>(args);
  else if (args.columns == kVectorWidth)
    run_tile<T, kRows, 1, false>(args);
  else
    run_tile<T, kRows, 1, true>(args);
  args.a += kRows * args.a_row;
  args.c += kRows * args.c_row;
}

// All rows of c against one panel of b.
template <typename T>
HWY_INLINE void run_rows(TileArgs<T> args, int64_t rows) {
  constexpr int kRows = Tiling<T>::kRows;
  for (; rows >= kRows; rows -= kRows) run_tile_and_advance<T, kRows>(args);
  if constexpr (kRows > 4)
    if (rows >= 4) run_tile_and_advance<T, 4>(args), rows -= 4;
  if constexpr (kRows > 2)
    if (rows >= 2) run_tile_and_advance<T, 2>(args), rows -= 2;
  for (; rows > 0; --rows) run_tile_and_advance<T, 1>(args);
}

// Four by four floats at a time, for the transposed operand of a linear layer.
HWY_INLINE int64_t pack_quads(const float* b, int64_t b_column, int64_t depth, int64_t columns, float* to) {
  constexpr int64_t kWidth = Tiling<float>::kWidth;
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> dd;
  const int64_t quads = columns / 4 * 4, deep = depth / 4 * 4;
  for (int64_t j = 0; j < quads; j += 4) {
    const float* from = b + j * b_column;
    for (int64_t p = 0; p < deep; p += 4) {
      const auto r0 = hn::LoadU(d, from + p), r1 = hn::LoadU(d, from + b_column + p);
      const auto r2 = hn::LoadU(d, from + 2 * b_column + p), r3 = hn::LoadU(d, from + 3 * b_column + p);
      const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
      const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
      const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
      const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
      float* out = to + p * kWidth + j;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, out);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, out + kWidth);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, out + 2 * kWidth);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, out + 3 * kWidth);
    }
    for (int64_t p = deep; p < depth; ++p)
      for (int64_t q = 0; q < 4; ++q) to[p * kWidth + j + q] = from[q * b_column + p];
  }
  return quads;
}

// Copies `columns` columns of b into a panel. What lies beyond them is never read.
template <typename T>
HWY_INLINE void pack_panel(const T* b, int64_t b_row, int64_t b_column, int64_t depth, int64_t columns, T* to) {
  constexpr int64_t kWidth = Tiling<T>::kWidth;
  int64_t first = 0;
  if constexpr (std::is_same_v<T, float>)
    if (b_row == 1) first = pack_quads(b, b_column, depth, columns, to);
  if (b_column == 1) {
    for (int64_t p = 0; p < depth; ++p) std::copy_n(b + p * b_row, columns, to + p * kWidth);
    return;
  }
  for (int64_t j = first; j < columns; ++j)
    for (int64_t p = 0; p < depth; ++p) to[p * kWidth + j] = b[p * b_row + j * b_column];
}

template <typename T>
HWY_INLINE TileArgs<T> tile_args(const Gemm& g) {
  return {g.k,
          static_cast<const T*>(g.a),
          g.a_row,
          g.a_column,
          static_cast<const T*>(g.b),
          g.b_row,
          static_cast<T*>(g.c),
          g.n,
          static_cast<const T*>(g.bias),
          false,
          0};
}

// Without packing; b's rows are contiguous.
template <typename T>
void multiply_direct(const Gemm& g) {
  constexpr int64_t kWidth = Tiling<T>::kWidth;
  TileArgs<T> args = tile_args<T>(g);
  for (int64_t j = 0; j < g.n; j += kWidth) {
    args.columns = std::min(kWidth, g.n - j);
    run_rows(args, g.m);
    args.b += kWidth;
    args.c += kWidth;
    if (args.bias) args.bias += kWidth;
  }
}

// Elements of a panel on the stack.
template <typename T>
inline constexpr int64_t kStackPanel = 32768 / sizeof(T);

// One panel at a time is packed on the stack; k * Tiling::kWidth must fit into it.
template <typename T>
void multiply_by_panel(const Gemm& g) {
  constexpr int64_t kWidth = Tiling<T>::kWidth;
  HWY_ALIGN T panel[kStackPanel<T>];
  TileArgs<T> args = tile_args<T>(g);
  const T* b = args.b;
  args.b = panel;
  args.b_row = kWidth;
  for (int64_t j = 0; j < g.n; j += kWidth) {
    args.columns = std::min(kWidth, g.n - j);
    pack_panel(b + j * g.b_column, g.b_row, g.b_column, g.k, args.columns, panel);
    run_rows(args, g.m);
    args.c += kWidth;
    if (args.bias) args.bias += kWidth;
  }
}

// One block of b: packs it, then runs all rows over its panels, several threads at both.
template <typename T>
void multiply_block(const Gemm& g, int64_t column, int64_t width, int64_t row, int64_t depth, T* packed) {
  constexpr int64_t kWidth = Tiling<T>::kWidth, kRowBlock = 8 * Tiling<T>::kRows;
  const int64_t panels = (width + kWidth - 1) / kWidth;
  const T* b = static_cast<const T*>(g.b) + row * g.b_row + column * g.b_column;
  parallel_for(0, panels, std::max<int64_t>(1, 16384 / (depth * kWidth)), [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t q = first; q < last; ++q)
      pack_panel(b + q * kWidth * g.b_column, g.b_row, g.b_column, depth, std::min(kWidth, width - q * kWidth),
                 packed + q * depth * kWidth);
  });
  const int64_t blocks = (g.m + kRowBlock - 1) / kRowBlock;
  const int64_t grain = std::max<int64_t>(1, 262144 / (depth * width * kRowBlock));
  parallel_for(0, blocks, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first * kRowBlock; i < std::min(g.m, last * kRowBlock); i += kRowBlock)
      for (int64_t q = 0; q < panels; ++q) {
        TileArgs<T> args = tile_args<T>(g);
        args.k = depth;
        args.a += i * g.a_row + row * g.a_column;
        args.b = packed + q * depth * kWidth;
        args.b_row = kWidth;
        args.c += i * g.n + column + q * kWidth;
        if (args.bias) args.bias += column + q * kWidth;
        args.accumulate = row > 0;
        args.columns = std::min(kWidth, width - q * kWidth);
        run_rows(args, std::min(kRowBlock, g.m - i));
      }
  });
}

template <typename T>
void multiply_blocked(const Gemm& g, void* workspace) {
  for (int64_t column = 0; column < g.n; column += kPackWidth)
    for (int64_t row = 0; row < std::max<int64_t>(g.k, 1); row += kPackDepth)
      multiply_block(g, column, std::min(kPackWidth, g.n - column), row, std::min(kPackDepth, g.k - row),
                     static_cast<T*>(workspace));
}
#endif  // HWY_TARGET != HWY_SCALAR

// Bytes of scratch that multiply_matrices() needs.
template <typename T>
size_t gemm_workspace(int64_t m, int64_t n, int64_t k, int64_t b_row, int64_t b_column) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kHasTiles<T>) {
    constexpr int64_t kWidth = Tiling<T>::kWidth;
    if (is_small_product(m, n, k, b_column != 1) && (b_column == 1 || k * kWidth <= kStackPanel<T>)) return 0;
    const int64_t width = (std::min(n, kPackWidth) + kWidth - 1) / kWidth * kWidth;
    return static_cast<size_t>(width * std::min(k, kPackDepth)) * sizeof(T);
  }
#endif
  return 0;
}

template <typename T>
HWY_INLINE void multiply_matrices(const Gemm& g, void* workspace) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kHasTiles<T>) {
    if (is_small_product(g.m, g.n, g.k, g.b_column != 1)) {
      if (g.b_column == 1) return multiply_direct<T>(g);
      if (g.k * Tiling<T>::kWidth <= kStackPanel<T>) return multiply_by_panel<T>(g);
    }
    return multiply_blocked<T>(g, workspace);
  }
#endif
  multiply_plain<T>(g);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
