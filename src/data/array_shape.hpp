// How an n-dimensional array (npy, npz, HDF5, idx) becomes rows: 1-D is n × 1, 2-D is n × d, 3-D is n grey pictures
// (n, H, W), 4-D is n pictures with 1 or 3 channels, either first (n, C, H, W) or last (n, H, W, C).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cpfm/data.hpp"

namespace cpfm {

struct ArrayShape {
  std::size_t rows = 0, cols = 0;
  std::optional<ImageShape> image;
  bool channels_last = false;
};

// Throws cpfm::Error for other shapes and for sizes that overflow or are zero.
ArrayShape interpret_shape(const std::vector<std::uint64_t>& dims, const std::string& where);

// (H, W, C) → (C, H, W) in every row.
void move_channels_first(FloatMatrix& samples, ImageShape shape);

}  // namespace cpfm
