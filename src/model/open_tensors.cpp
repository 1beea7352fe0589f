#include "model/open_tensors.hpp"

#include <array>
#include <fstream>

#include "cpfm/error.hpp"

namespace cpfm {

// A tensor file has the brace of its header behind 8 bytes of length.
TensorFile open_tensors(const std::filesystem::path& path) {
  try {
    return TensorFile::open(path);
  } catch (const Error&) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) throw;
    std::ifstream in(path, std::ios::binary);
    std::array<char, 9> start{};
    if (!in) throw;
    if (in.read(start.data(), start.size()) && start.back() == '{') throw;
    throw Error(path.string(), "is not a cpfm model", "make one with 'cpfm fit' or 'cpfm train'");
  }
}

}  // namespace cpfm
