// CIFAR-10's binary batches: records of one class byte and 3 × 32 × 32 colour bytes, channel after channel.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "data/number_stream.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

constexpr ImageShape kShape{3, 32, 32};
constexpr std::size_t kRecord = 1 + 3 * 32 * 32;
const std::array<const char*, 10> kClasses{"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

// Appends the records of one batch.
void append_batch(Reader& reader, std::optional<std::size_t> limit, FloatMatrix& samples,
                  std::vector<std::int32_t>& ids) {
  const auto size = reader.remaining();
  if (size && *size % kRecord != 0) {
    throw Error(reader.name(), fmt::format("its size of {} bytes is not a multiple of {}", *size, kRecord),
                "CIFAR-10 records are 1 + 3072 bytes: the file is truncated, or is not a CIFAR-10 batch");
  }
  std::array<std::byte, kRecord> record;
  while (!(limit && ids.size() >= *limit) && !reader.at_end()) {
    reader.read_exact(record, fmt::format("record {}", ids.size() + 1));
    const int label = std::to_integer<int>(record[0]);
    if (label >= static_cast<int>(kClasses.size())) {
      throw Error(fmt::format("{}, record {}", reader.name(), ids.size() + 1), fmt::format("has class {}", label),
                  "CIFAR-10 classes are 0 to 9");
    }
    const std::size_t row = ids.size();
    if (samples.capacity() < (row + 1) * kShape.size()) {
      const std::size_t left = size ? (reader.remaining().value_or(0) / kRecord) + 1 : 0;
      samples.reserve(std::max((row + left) * kShape.size(), size ? 0 : 2 * samples.capacity() + kShape.size()));
    }
    convert({NumberKind::kUInt8, std::endian::little}, record.data() + 1, kShape.size(),
            samples.data() + row * kShape.size());
    ids.push_back(label);
  }
}

Dataset finish(FloatMatrix samples, std::vector<std::int32_t> ids, const std::string& where) {
  if (ids.empty()) throw Error(where, "is empty");
  Dataset data;
  data.format = "cifar10";
  data.dtype = "uint8";
  data.image = kShape;
  data.value_range = {0, 255};
  samples.reshape(ids.size(), kShape.size());
  samples.shrink();
  data.samples = std::move(samples);
  data.labels = Labels{std::move(ids), {kClasses.begin(), kClasses.end()}};
  return data;
}

}  // namespace

Dataset parse_cifar(Reader& reader, const ReadOptions& options) {
  FloatMatrix samples;
  std::vector<std::int32_t> ids;
  append_batch(reader, options.limit, samples, ids);
  return finish(std::move(samples), std::move(ids), reader.name());
}

Dataset read_cifar_folder(const fs::path& folder, const ReadOptions& options) {
  FloatMatrix samples;
  std::vector<std::int32_t> ids;
  for (int batch = 1; batch <= 5; ++batch) {
    const fs::path file = folder / fmt::format("data_batch_{}.bin", batch);
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      throw Error(
          folder.string(), fmt::format("data_batch_{}.bin is missing", batch),
          "a CIFAR-10 folder holds data_batch_1.bin to data_batch_5.bin; name a single batch to read that alone");
    }
    if (options.limit && ids.size() >= *options.limit) break;
    Reader reader = open_reader(file.string(), options.progress);
    append_batch(reader, options.limit, samples, ids);
    if (options.progress != nullptr) options.progress->finish();
  }
  return finish(std::move(samples), std::move(ids), folder.string());
}

}  // namespace cpfm
