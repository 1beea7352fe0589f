// Data in: one Dataset whatever the file. Readers: .npy .npz .csv .tsv idx CIFAR-10 image folders HDF5 .h5ad and the
// built-in "digits"; any of the stream formats may be gzipped. Writers: .npy .csv and .png contact sheets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// A row of an image dataset holds channel after channel, each row by row (C × H × W).
struct ImageShape {
  int channels = 0, height = 0, width = 0;
  std::size_t size() const { return std::size_t(channels) * std::size_t(height) * std::size_t(width); }
  bool operator==(const ImageShape&) const = default;
};

// Class membership. ids[i] indexes names; -1 means unlabelled. Names are sorted: by value when all are whole numbers,
// else by bytes.
struct Labels {
  std::vector<std::int32_t> ids;
  std::vector<std::string> names;
};

struct Property {
  std::string name;
  std::vector<float> values;
};

struct Dataset {
  std::string source;  // what the user named, for messages
  std::string format;  // "npy", "csv", …
  // The type of the values in the file, numpy's names ("uint8", "float32"); "text" for csv, "smiles" or "sdf" for
  // molecules.
  std::string dtype;
  FloatMatrix samples;
  std::optional<ImageShape> image;
  // What black and white are for images, where the file format says so (0 and 255 for 8-bit pictures).
  std::optional<std::array<float, 2>> value_range;
  // Black and white as they were in the file, where the samples have been standardized since.
  std::optional<std::array<float, 2>> file_range;
  std::optional<Labels> labels;
  std::vector<Property> properties;
  std::vector<std::string> sample_names;   // empty, or one per row
  std::vector<std::string> feature_names;  // empty, or one per column
  std::vector<std::string> molecules;      // SMILES, one per row, where samples are molecules; empty else

  std::size_t size() const { return samples.rows(); }
  std::size_t dim() const { return samples.cols(); }
};

enum class Header { kAuto, kYes, kNo };
enum class ImageFit { kCrop, kStretch, kPad };   // how a picture meets a square: cut the long side, distort, add margin
enum class ImageColor { kAuto, kGrey, kColor };  // kAuto: colour as soon as one picture is coloured

struct ReadOptions {
  // Labels: a column of DATA (name, or number from 1), "obs:NAME" for h5ad, an array of an npz, or a file. Empty: what
  // the format brings by itself (idx sibling, CIFAR, class folders), else none.
  std::string labels;
  // Real-valued properties, named as labels are; the columns leave the samples.
  std::vector<std::string> properties;
  // Columns of a table to leave out.
  std::vector<std::string> ignore;
  // Which array of an npz or dataset of an HDF5 file holds the samples. Empty: the only one (X in h5ad).
  std::string key;
  // Reads at most this many rows from the start.
  std::optional<std::size_t> limit;
  // Fewer samples than this are an error: a map takes two, a place on one that is there takes one.
  std::size_t fewest = 2;
  // Declares that rows are pictures of this shape.
  std::optional<ImageShape> image;
  // Image folders: side of the square every picture is brought to. 0: as they are, and all must agree.
  int image_size = 0;
  ImageFit image_fit = ImageFit::kCrop;
  ImageColor image_color = ImageColor::kAuto;
  // Whether the first row of a table, or the first line of a text file of labels or properties, is a name. kAuto: a row
  // is when it holds text where the next row holds numbers; a line when it is text above numbers alone, or when there
  // is one line too many and the first, being text, never comes again.
  Header header = Header::kAuto;
  // Told about long reads; may be null.
  Progress* progress = nullptr;
};

// Reads `source`: a path (the format is found by content, then by extension), "-" for CSV on stdin, or "digits". Throws
// cpfm::Error for anything that is not n ≥ fewest rows of d ≥ 1 finite numbers with matching labels and properties.
Dataset read_dataset(const std::string& source, const ReadOptions& options = {});

// Black and white of pictures in the units of their file: what the format says, else the least and the largest value.
std::array<float, 2> picture_range(const Dataset& data);

// Throws cpfm::Error where a value is NaN or infinite (names row and column) or where counts disagree.
void validate(const Dataset& data);

// Identifies data: datasets that differ in samples, labels, properties or molecules differ in it (but for bad luck of
// 2^-64).
std::uint64_t fingerprint(const Dataset& data);
std::uint64_t fingerprint(std::span<const std::byte> bytes);

// Rows of `data` in the order given.
Dataset select(const Dataset& data, const std::vector<std::size_t>& rows);

// Moves a random `fraction` of the rows (0 < fraction < 1, both parts keep at least one row) out of `data` and returns
// them; both parts keep the order of the file. Depends on (n, fraction, seed) alone; holds no second copy of the larger
// part.
Dataset split_off(Dataset& data, double fraction, std::uint64_t seed);

// How values are brought to a common scale before learning: x' = (x - shift) / scale, feature by feature.
enum class Standardize {
  kNone,
  kUnit,    // each feature to [0, 1] by its smallest and largest value
  kZscore,  // each feature to mean 0 and standard deviation 1
  kImage,   // all features alike, black to -1 and white to 1
};
Standardize parse_standardize(const std::string& name);
std::string to_string(Standardize mode);

struct Standardizer {
  Standardize mode = Standardize::kNone;
  std::vector<float> shift, scale;  // empty for kNone, one entry for kImage, else one per feature

  // Learns shift and scale. A constant feature gets scale 1; a range wider than a float holds gets the largest float.
  static Standardizer fit(const Dataset& data, Standardize mode);
  void apply(MatrixView<float> samples) const;
  void invert(MatrixView<float> samples) const;
};
// What applying `first` and then `second` does, as one.
Standardizer compose(const Standardizer& first, const Standardizer& second);

// Writers. Each writes a temporary file first and renames it, so a failure or an interrupt leaves what was there
// before.
void write_npy(const std::filesystem::path& file, MatrixView<const float> values);
// Any shape whose product is values.size(), C order.
void write_npy(const std::filesystem::path& file, std::span<const float> values, const std::vector<std::size_t>& shape);
// A "smiles" column where samples are molecules, the samples, the properties, then a "label" column where there are
// labels ("smiles_2" and "label_2" where a column is called so already). Names of samples are not written.
void write_csv(const std::filesystem::path& file, const Dataset& data);

struct GridOptions {
  std::size_t columns = 0;             // 0: as square as possible
  int zoom = 0;                        // pixels per pixel; 0: such that a picture is at least 32 pixels wide
  int gap = 1;                         // between pictures
  std::array<float, 2> range{0, 255};  // black and white
};
// Rows of `images` as one PNG contact sheet.
void write_png_grid(const std::filesystem::path& file, MatrixView<const float> images, ImageShape shape,
                    const GridOptions& options = {});
// The bytes of the file that write_png_grid() writes.
std::vector<std::byte> png_grid_bytes(MatrixView<const float> images, ImageShape shape,
                                      const GridOptions& options = {});
// Originals above what became of them, for a sheet of that many `columns`: a row of originals, the row of their
// reconstructions, the next row of originals, … Both are n × d, n ≥ 1; row i of one belongs to row i of the other. What
// is missing in the last two rows is filled with the middle of `range`, which a grid of that range shows as grey.
FloatMatrix interleave_pairs(MatrixView<const float> originals, MatrixView<const float> reconstructions,
                             std::size_t columns, std::array<float, 2> range = {0, 255});

// The known downloadable datasets.
struct RemoteDataset {
  std::string name, description;
  std::vector<std::string> files;
};
const std::vector<RemoteDataset>& remote_datasets();
// Fetches `name` into `folder` (created), each file verified by its md5 before it gets its name; files that are there
// and verified are kept. Returns the paths.
std::vector<std::filesystem::path> fetch_dataset(const std::string& name, const std::filesystem::path& folder,
                                                 Progress* progress = nullptr);

}  // namespace cpfm
