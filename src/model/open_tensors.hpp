// Opening what is meant to be a model: a file of another kind is told apart from a damaged one.
#pragma once

#include <filesystem>

#include "cpfm/model.hpp"

namespace cpfm {

// As TensorFile::open(), but of a file of another kind says that it is no model.
TensorFile open_tensors(const std::filesystem::path& path);

}  // namespace cpfm
