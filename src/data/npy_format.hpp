// The header of numpy's .npy format (versions 1 to 3): a Python dict literal with the type, the order and the shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/byte_source.hpp"
#include "data/number_stream.hpp"

namespace cpfm {

struct NpyHeader {
  bool is_text = false;        // numpy 'U' or 'S'
  NumberType type;             // numbers
  std::size_t text_bytes = 0;  // bytes per text element
  bool text_is_utf32 = false;  // 'U': UCS-4 in type.order; else bytes
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

NpyHeader read_npy_header(Reader& reader);

}  // namespace cpfm
