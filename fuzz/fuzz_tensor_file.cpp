// Bytes as a model or coupling file.
#include "cpfm/model.hpp"
#include "fuzz/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  return fuzz::run(data, size, [](std::span<const std::byte> bytes) {
    const TensorFile file = TensorFile::parse(bytes, "fuzz");
    fuzz::require(file.file_size() == bytes.size(), "the file is as long as its bytes");
    fuzz::require(file.format_version() >= 0 && file.format_version() <= kFormatVersion, "the version is known");
    std::size_t covered = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      covered += tensor.bytes.size();
      fuzz::require(tensor.bytes.empty() || (tensor.bytes.data() >= bytes.data() &&
                                             tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size()),
                    "a tensor lies in the file");
      fuzz::require(&file.tensor(name) == &tensor, "a tensor is found by its name");
      const std::vector<float> values = tensor.to_floats();
      fuzz::require(values.size() == tensor.count(), "a tensor has as many values as its shape says");
      fuzz::touch(values);
    }
    fuzz::require(covered < bytes.size(), "tensors share no bytes");
    for (const auto& [key, value] : file.metadata()) {
      fuzz::require(&file.metadata(key) == &value, "metadata is found by its key");
    }
  });
}
