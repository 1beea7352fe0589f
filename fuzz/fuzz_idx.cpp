// Bytes as an idx file, plain or gzipped.
#include "data/readers.hpp"
#include "fuzz/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cpfm::fuzz::run(data, size, [](std::span<const std::byte> bytes) {
    cpfm::Reader reader = cpfm::fuzz::reader_of(bytes);
    cpfm::fuzz::exercise(cpfm::parse_idx(reader, {}));
  });
}
