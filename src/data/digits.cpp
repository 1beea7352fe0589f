// The built-in dataset: 1,797 handwritten digits of 8 × 8 pixels with values 0 to 16, the test part of "Optical
// Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998, CC BY 4.0).
// digits.bin holds 65 bytes per digit: the pixels row by row, then the class.
#include "cpfm/error.hpp"
#include "data/number_stream.hpp"
#include "data/readers.hpp"

asm(".section .rodata\n"
    ".global cpfm_digits_begin\n"
    "cpfm_digits_begin:\n"
    ".incbin \"" CPFM_DIGITS_FILE
    "\"\n"
    ".global cpfm_digits_end\n"
    "cpfm_digits_end:\n"
    ".previous\n");
extern "C" const std::byte cpfm_digits_begin[], cpfm_digits_end[];

namespace cpfm {

Dataset read_digits() {
  constexpr std::size_t kPixels = 64, kRecord = kPixels + 1;
  const auto n = static_cast<std::size_t>(cpfm_digits_end - cpfm_digits_begin) / kRecord;
  Dataset data;
  data.format = "built-in";
  data.dtype = "uint8";
  data.image = ImageShape{1, 8, 8};
  data.value_range = {0, 16};
  data.samples = FloatMatrix(n, kPixels);
  data.labels.emplace();
  for (int digit = 0; digit < 10; ++digit) data.labels->names.push_back(std::to_string(digit));
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* record = cpfm_digits_begin + i * kRecord;
    convert({NumberKind::kUInt8, std::endian::little}, record, kPixels, data.samples.row(i).data());
    data.labels->ids.push_back(std::to_integer<std::int32_t>(record[kPixels]));
  }
  return data;
}

}  // namespace cpfm
