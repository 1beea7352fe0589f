#include "fuzz/exercise.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cpfm::fuzz {
namespace {

class Trickle final : public ByteSource {
 public:
  Trickle(std::unique_ptr<ByteSource> source, std::size_t most) : source_(std::move(source)), most_(most) {}
  std::size_t read(std::span<std::byte> out) override { return source_->read(out.first(std::min(out.size(), most_))); }
  std::optional<std::uint64_t> remaining() const override { return source_->remaining(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::size_t most_;
};

}  // namespace

Reader reader_of(std::span<const std::byte> bytes, const char* name) {
  std::unique_ptr<ByteSource> source = memory_source(bytes);
  if (bytes.size() % 2 == 1) source = std::make_unique<Trickle>(std::move(source), 1 + bytes.size() / 2 % 13);
  return {std::move(source), name};
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "==broken promise== %s\n", what);
  std::abort();
}

void touch(std::span<const float> values) {
  volatile float sink = 0;
  for (const float value : values) sink = value;
  (void)sink;
}

void exercise(const Dataset& data) {
  touch(data.samples.values());
  require(data.size() > 0 && data.dim() > 0, "a dataset has rows and columns");
  if (data.image) require(data.image->size() == data.dim(), "the image shape fits the columns");
  if (data.labels) {
    require(data.labels->ids.size() == data.size(), "there is one label per row");
    for (const std::int32_t id : data.labels->ids) {
      require(id >= -1 && id < static_cast<std::int64_t>(data.labels->names.size()), "every label has a name");
    }
  }
  for (const Property& property : data.properties) {
    require(property.values.size() == data.size(), "there is one property value per row");
    touch(property.values);
  }
  require(data.sample_names.empty() || data.sample_names.size() == data.size(), "there is one name per row or none");
  require(data.feature_names.empty() || data.feature_names.size() == data.dim(),
          "there is one name per column or none");
  validate(data);
}

}  // namespace cpfm::fuzz
