#ifndef VELLUM_TENSOR_HALF_H_
#define VELLUM_TENSOR_HALF_H_

#include <bit>
#include <cstdint>

namespace vellum {

// IEEE 754 binary16 as a storage type: arithmetic happens in float. Conversion rounds to nearest even.
struct float16 {
  uint16_t bits = 0;

  constexpr float16() = default;
  constexpr float16(float value) : bits(from_float(value)) {}
  constexpr operator float() const { return to_float(bits); }

  static constexpr uint16_t from_float(float value) {
    const uint32_t x = std::bit_cast<uint32_t>(value);
    const uint32_t sign = x >> 16 & 0x8000u;
    const uint32_t magnitude = x & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 lets the float unit round at bit 2^-24
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t odd = magnitude >> 13 & 1u;
    return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
  }

  static constexpr float to_float(uint16_t h) {
    const uint32_t sign = uint32_t{h & 0x8000u} << 16;
    const uint32_t rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u) {  // zero or subnormal
      const float value = static_cast<float>(rest) * 0x1p-24f;
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
    }
    return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  }
};

// bfloat16 as a storage type: the upper half of a float. Conversion rounds to nearest even.
struct bfloat16 {
  uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr bfloat16(float value) : bits(from_float(value)) {}
  constexpr operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }

  static constexpr uint16_t from_float(float value) {
    const uint32_t x = std::bit_cast<uint32_t>(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(x >> 16 | 0x40u);
    return static_cast<uint16_t>((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
  }
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_HALF_H_
