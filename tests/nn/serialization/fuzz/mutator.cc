// Mutations that change the size of the header would nearly all end at its length; half of them are given the right
// one.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0 || size < sizeof(uint64_t)) return size;
  const std::string_view behind(reinterpret_cast<const char*>(data) + sizeof(uint64_t), size - sizeof(uint64_t));
  const uint64_t length = std::min(behind.size(), behind.rfind('}') + 1);
  std::memcpy(data, &length, sizeof(length));
  return size;
}
