#ifndef VELLUM_EXAMPLES_DIGITS_DATA_H_
#define VELLUM_EXAMPLES_DIGITS_DATA_H_

#include <string>

#include "vellum/nn/data/tensor_dataset.h"

namespace vellum::digits {

inline constexpr int kPixels = 64;  // 8 x 8
inline constexpr int kClasses = 10;

// Images float32 [N, 64] in [0, 1] and their digits int64 [N].
struct Digits {
  data::TensorDataset train;
  data::TensorDataset held_out;  // rows 0, 5, 10, ... of the file
};

// Reads a CSV file, compressed by gzip or plain: on each line the pixels, whole numbers from 0 to 16, and the digit.
// Throws IoError naming file and line when it cannot be read, is damaged, or holds anything else.
Digits read_digits(const std::string& path);

}  // namespace vellum::digits

#endif  // VELLUM_EXAMPLES_DIGITS_DATA_H_
