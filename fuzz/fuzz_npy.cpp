// Bytes as a .npy file, plain or gzipped: as samples, and as a column of labels or of a property.
#include "data/columns.hpp"
#include "data/readers.hpp"
#include "fuzz/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  using Bytes = std::span<const std::byte>;
  const auto samples = [](Bytes bytes) {
    Reader reader = fuzz::reader_of(bytes);
    fuzz::exercise(parse_npy(reader, {}));
  };
  const auto labels = [](Bytes bytes) {
    Reader reader = fuzz::reader_of(bytes);
    const Column column = parse_npy_column(reader);
    const Labels classes = to_labels(column, "fuzz");
    fuzz::require(classes.ids.size() == column.size(), "there is one label per element");
  };
  const auto property = [](Bytes bytes) {
    Reader reader = fuzz::reader_of(bytes);
    fuzz::touch(to_property(parse_npy_column(reader), "fuzz").values);
  };
  fuzz::run(data, size, samples);
  fuzz::run(data, size, labels);
  return fuzz::run(data, size, property);
}
