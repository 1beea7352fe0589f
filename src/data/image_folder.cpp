// A folder of pictures as a dataset. Sub-folders are classes; a folder that holds pictures itself is unlabelled.
//
// The order is round-robin: the first picture of every class, then the second of every class, and so on, a class that
// has no more being passed over; inside a class by the bytes of the path. So the first rows of a limited read see every
// class, and a limited read is the start of the full one.
//
// Two passes, both parallel: the first reads headers only and settles size and colour, the second decodes every picture
// straight into its row, so that only the pictures in work are held beside the result.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <new>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "data/image_io.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

constexpr int kLargestSide = 8192;

struct Entry {
  std::string name;  // relative to the folder
  std::int32_t label = -1;
};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_picture(const fs::directory_entry& entry) {
  const std::string extension = lower(entry.path().extension().string());
  return (extension == ".png" || extension == ".jpg" || extension == ".jpeg") && !is_hidden(entry.path()) &&
         entry.is_regular_file();
}

// Names of the pictures anywhere below `part`, relative to `folder`, sorted. Links to files are followed, links to
// folders below a class are not: they can form circles.
std::vector<std::string> pictures_below(const fs::path& part, const fs::path& folder) {
  std::vector<std::string> names;
  for (auto it = fs::recursive_directory_iterator(part); it != fs::recursive_directory_iterator(); ++it) {
    check_interrupt();
    if (is_picture(*it)) names.push_back(it->path().lexically_relative(folder).generic_string());
    if (is_hidden(it->path())) it.disable_recursion_pending();
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Tree {
  std::vector<std::string> flat;                   // pictures directly inside
  std::vector<std::string> classes;                // sorted as Labels are
  std::vector<std::vector<std::string>> pictures;  // of each class
};

// As Labels asks for it: by value when all names are whole numbers, else by bytes.
void sort_classes(std::vector<std::string>& names) {
  const auto is_whole = [](const std::string& name) {
    return name.size() <= 18 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  std::sort(names.begin(), names.end());
  if (std::all_of(names.begin(), names.end(), is_whole)) {
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return std::stoll(a) < std::stoll(b); });
  }
}

Tree look_into(const fs::path& folder) {
  Tree tree;
  std::vector<std::string> parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (is_picture(entry))
      tree.flat.push_back(entry.path().filename().string());
    else if (entry.is_directory() && !is_hidden(entry.path()))
      parts.push_back(entry.path().filename().string());
  }
  std::sort(tree.flat.begin(), tree.flat.end());
  sort_classes(parts);
  for (const std::string& part : parts) {
    std::vector<std::string> pictures = pictures_below(folder / part, folder);
    if (pictures.empty()) continue;
    tree.classes.push_back(part);
    tree.pictures.push_back(std::move(pictures));
  }
  return tree;
}

std::vector<Entry> in_order(const Tree& tree) {
  std::vector<Entry> entries;
  for (const std::string& name : tree.flat) entries.push_back({name, -1});
  std::size_t longest = 0;
  for (const auto& pictures : tree.pictures) longest = std::max(longest, pictures.size());
  for (std::size_t k = 0; k < longest; ++k) {
    for (std::size_t c = 0; c < tree.pictures.size(); ++c) {
      if (k < tree.pictures[c].size()) entries.push_back({tree.pictures[c][k], static_cast<std::int32_t>(c)});
    }
  }
  return entries;
}

// body(i) for every picture, on all threads; progress is told one call at a time.
void for_each_picture(std::size_t count, Progress* progress, const char* label,
                      const std::function<void(std::size_t)>& body) {
  std::mutex mutex;
  std::uint64_t done = 0;
  if (progress != nullptr) progress->start(label, count, "pictures");
  parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      check_interrupt();
      body(i);
    }
    if (progress == nullptr) return;
    const std::lock_guard lock(mutex);
    done += end - begin;
    progress->update(done);
  });
  if (progress != nullptr) progress->finish();
}

ImageShape common_shape(const std::vector<PictureInfo>& infos, const std::vector<Entry>& entries,
                        const fs::path& folder, const ReadOptions& options) {
  const bool any_color =
      std::any_of(infos.begin(), infos.end(), [](const PictureInfo& info) { return info.channels == 3; });
  const bool color =
      options.image_color == ImageColor::kColor || (options.image_color == ImageColor::kAuto && any_color);
  const int channels = color ? 3 : 1;
  if (options.image_size > 0) return {channels, options.image_size, options.image_size};
  const PictureInfo& first = infos[0];
  for (std::size_t i = 1; i < infos.size(); ++i) {
    if (infos[i].width == first.width && infos[i].height == first.height) continue;
    throw Error(folder.string(),
                fmt::format("pictures differ in size: '{}' is {} × {}, '{}' is {} × {} (height × width)",
                            printable(entries[0].name, 200), first.height, first.width, printable(entries[i].name, 200),
                            infos[i].height, infos[i].width),
                "bring them to one size with --image-size N");
  }
  return {channels, first.height, first.width};
}

void store(const Picture& picture, std::span<float> row) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t count = picture.pixels.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < count; ++p) row[c * count + p] = static_cast<float>(picture.pixels[p * channels + c]);
  }
}

FloatMatrix allocate(std::size_t rows, ImageShape shape, const std::string& where) {
  const std::size_t cols = checked_product(std::array{shape.channels, shape.height, shape.width}, where);
  const std::size_t bytes = checked_mul(checked_mul(rows, cols, where), sizeof(float), where);
  try {
    return FloatMatrix(rows, cols);
  } catch (const std::bad_alloc&) {
    throw Error(where,
                fmt::format("{} pictures of {} × {} pixels need {} of memory", rows, shape.height, shape.width,
                            human_bytes(static_cast<double>(bytes))),
                "read fewer with --limit N, or smaller ones with --image-size N");
  }
}

}  // namespace

Dataset read_image_folder(const fs::path& folder, const ReadOptions& options) {
  if (options.image_size < 0 || options.image_size > kLargestSide) {
    throw Error("image size", fmt::format("{} is not a side in pixels", options.image_size),
                fmt::format("1 to {}, or 0 for pictures as they are", kLargestSide));
  }
  Tree tree;
  try {
    tree = look_into(folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(error.path1().empty() ? folder.string() : error.path1().string(),
                "cannot be read as a folder: " + error.code().message());
  }
  if (!tree.flat.empty() && !tree.classes.empty()) {
    throw Error(folder.string(),
                fmt::format("holds pictures ('{}', …) as well as folders of pictures ('{}', …)",
                            printable(tree.flat[0]), printable(tree.classes[0])),
                "put every picture in the folder of its class, or all of them side by side");
  }
  std::vector<Entry> entries = in_order(tree);
  if (entries.empty()) {
    throw Error(folder.string(), "holds no pictures",
                "looked for *.png, *.jpg and *.jpeg, directly inside and in sub-folders (one per class)");
  }
  if (options.limit && *options.limit < entries.size()) entries.resize(*options.limit);
  if (entries.empty()) throw Error("limit", "0 leaves no pictures", "1 or more");

  std::vector<PictureInfo> infos(entries.size());
  for_each_picture(entries.size(), options.progress, "looking at pictures",
                   [&](std::size_t i) { infos[i] = read_picture_info(folder / entries[i].name); });
  const ImageShape shape = common_shape(infos, entries, folder, options);

  Dataset data;
  data.source = folder.string();
  data.format = "image folder";
  data.dtype = "uint8";
  data.image = shape;
  data.value_range = {0, 255};
  data.samples = allocate(entries.size(), shape, folder.string());
  for_each_picture(entries.size(), options.progress, "reading pictures", [&](std::size_t i) {
    const fs::path file = folder / entries[i].name;
    Picture picture = read_picture(file);
    if (options.image_size > 0) picture = resize(picture, options.image_size, options.image_fit);
    if (picture.width != shape.width || picture.height != shape.height) {
      throw Error(file.string(), "changed while the folder was read");
    }
    store(with_channels(std::move(picture), shape.channels), data.samples.row(i));
  });

  if (!tree.classes.empty()) {
    data.labels.emplace();
    data.labels->names = std::move(tree.classes);
    for (const Entry& entry : entries) data.labels->ids.push_back(entry.label);
  }
  for (Entry& entry : entries) data.sample_names.push_back(std::move(entry.name));
  return data;
}

}  // namespace cpfm
