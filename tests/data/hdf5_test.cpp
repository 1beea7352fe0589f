#include <gtest/gtest.h>

#include "cpfm/error.hpp"
#include "data/readers.hpp"
#include "support/temp_dir.hpp"

#if CPFM_HAS_HDF5

#include <hdf5.h>

#include <fstream>
#include <limits>
#include <numeric>

#include "cpfm/interrupt.hpp"

namespace cpfm {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using Names = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;
using Floats = std::vector<float>;

template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>)
    return H5T_NATIVE_FLOAT;
  else if constexpr (std::is_same_v<T, double>)
    return H5T_NATIVE_DOUBLE;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return H5T_NATIVE_INT8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return H5T_NATIVE_UINT8;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return H5T_NATIVE_INT64;
  else
    return H5T_NATIVE_INT32;
}

// Writes HDF5 files as h5py and AnnData do. Paths make the groups they need.
class Writer {
 public:
  explicit Writer(const fs::path& file) : file_(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
    links_ = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links_, 1);
  }
  ~Writer() {
    H5Pclose(links_);
    H5Fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  hid_t file() const { return file_; }
  void group(const std::string& path) { H5Gclose(H5Gcreate2(file_, path.c_str(), links_, H5P_DEFAULT, H5P_DEFAULT)); }

  // `stored` is the type in the file; 0: that of T. `chunk` rows per chunk, gzipped; 0: contiguous.
  template <class T>
  void numbers(const std::string& path, const std::vector<hsize_t>& dims, const std::vector<T>& values,
               hid_t stored = 0, hsize_t chunk = 0) {
    const hid_t space = H5Screate_simple(int(dims.size()), dims.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk > 0) {
      std::vector<hsize_t> chunks = dims;
      chunks[0] = chunk;
      H5Pset_chunk(creation, int(dims.size()), chunks.data());
      H5Pset_deflate(creation, 6);
    }
    const hid_t type = stored != 0 ? stored : native_type<T>();
    const hid_t id = H5Dcreate2(file_, path.c_str(), type, space, links_, creation, H5P_DEFAULT);
    if (!values.empty()) H5Dwrite(id, native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(id);
    H5Pclose(creation);
    H5Sclose(space);
  }
  template <class T>
  void list(const std::string& path, const std::vector<T>& values) {
    numbers(path, {values.size()}, values);
  }
  void raw(const std::string& path, const std::vector<hsize_t>& dims, hid_t type, const void* data) {
    const hid_t space = H5Screate_simple(int(dims.size()), dims.data(), nullptr);
    const hid_t id = H5Dcreate2(file_, path.c_str(), type, space, links_, H5P_DEFAULT, H5P_DEFAULT);
    if (data != nullptr) H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(id);
    H5Sclose(space);
  }
  void texts(const std::string& path, const Names& values) {
    const hid_t type = variable_text();
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    raw(path, {values.size()}, type, pointers.data());
    H5Tclose(type);
  }
  void fixed_texts(const std::string& path, const Names& values, std::size_t width,
                   H5T_str_t padding = H5T_STR_NULLPAD) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, width);
    H5Tset_strpad(type, padding);
    std::string block;
    for (std::string value : values) {
      value.resize(width, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
      block += value;
    }
    raw(path, {values.size()}, type, block.data());
    H5Tclose(type);
  }
  void booleans(const std::string& path, const std::vector<std::int8_t>& values) {
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    const std::int8_t no = 0, yes = 1;
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    raw(path, {values.size()}, type, values.data());
    H5Tclose(type);
  }
  void attribute(const std::string& path, const char* name, const std::string& value, bool fixed = false) {
    const hid_t object = H5Oopen(file_, path.c_str(), H5P_DEFAULT);
    const hid_t type = fixed ? H5Tcopy(H5T_C_S1) : variable_text();
    if (fixed) H5Tset_size(type, value.size());
    const char* text = value.c_str();
    const void* data = fixed ? static_cast<const void*>(text) : &text;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, type, data);
    H5Aclose(id);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(object);
  }
  void shape_attribute(const std::string& path, const char* name, const std::vector<std::int64_t>& values) {
    const hid_t object = H5Oopen(file_, path.c_str(), H5P_DEFAULT);
    const hsize_t count = values.size();
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t id = H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, H5T_NATIVE_INT64, values.data());
    H5Aclose(id);
    H5Sclose(space);
    H5Oclose(object);
  }

  static hid_t variable_text() {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
  }

 private:
  hid_t file_, links_;
};

// The matrix of the AnnData tests, 4 samples × 3 features.
const Floats kX{1, 0, 2, 0, 0, 3, 0, 0, 0, 4, 5, 0};

void write_tables(Writer& w) {
  w.group("obs");
  w.texts("obs/barcode", {"cell-a", "cell-b", "cell-ç", "cell-d"});
  w.attribute("obs", "_index", "barcode");
  w.group("var");
  w.texts("var/_index", {"gene1", "gene2", "gene3"});
  w.attribute("var", "_index", "_index");
}

void write_sparse(Writer& w, const std::string& path, bool by_rows) {
  w.group(path);
  w.attribute(path, "encoding-type", by_rows ? "csr_matrix" : "csc_matrix");
  w.shape_attribute(path, "shape", {4, 3});
  if (by_rows) {
    w.list<float>(path + "/data", {1, 2, 3, 4, 5});
    w.list<std::int32_t>(path + "/indices", {0, 2, 2, 0, 1});
    w.list<std::int32_t>(path + "/indptr", {0, 2, 3, 3, 5});
  } else {
    w.list<float>(path + "/data", {1, 4, 5, 2, 3});
    w.list<std::int32_t>(path + "/indices", {0, 3, 3, 0, 1});
    w.list<std::int32_t>(path + "/indptr", {0, 2, 3, 5});
  }
}

ReadOptions with(const std::string& labels, const std::vector<std::string>& properties = {},
                 const std::string& key = {}) {
  ReadOptions options;
  options.labels = labels;
  options.properties = properties;
  options.key = key;
  return options;
}

ReadOptions with_key(const std::string& key) { return with({}, {}, key); }

ReadOptions limited(std::size_t limit) {
  ReadOptions options;
  options.limit = limit;
  return options;
}

Floats values(const Dataset& data) { return {data.samples.values().begin(), data.samples.values().end()}; }

std::string message_of(const fs::path& file, const ReadOptions& options = {}) {
  try {
    read_hdf5(file, options);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(file.filename().string()), std::string::npos) << error.what();
    return error.what();
  }
  return "no Error";
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// ---- plain HDF5 ----

TEST(Hdf5, ReadsTheOnlyDataset) {
  const TempDir dir;
  Floats numbers(6 * 5);
  std::iota(numbers.begin(), numbers.end(), 0.5f);
  Writer(dir / "a.h5").numbers<float>("group/table", {6, 5}, numbers);
  const Dataset data = read_hdf5(dir / "a.h5", {});
  EXPECT_EQ(data.format, "hdf5");
  EXPECT_EQ(data.dtype, "float32");
  EXPECT_EQ(data.size(), 6u);
  EXPECT_EQ(data.dim(), 5u);
  EXPECT_EQ(values(data), numbers);
  EXPECT_FALSE(data.image);
  EXPECT_FALSE(data.labels);
}

TEST(Hdf5, ReadsCompressedChunksInBlocks) {
  const TempDir dir;
  constexpr std::size_t kRows = 3001, kCols = 2000;  // more than one block
  Floats numbers(kRows * kCols);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i % 977);
  Writer(dir / "a.h5").numbers<float>("X", {kRows, kCols}, numbers, 0, 7);
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", {})), numbers);
}

TEST(Hdf5, ReadsEveryWidthOfNumber) {
  const TempDir dir;
  const std::vector<std::pair<hid_t, std::string>> types{
      {H5T_STD_I8LE, "int8"},      {H5T_STD_U8LE, "uint8"},     {H5T_STD_I16BE, "int16"},    {H5T_STD_U16LE, "uint16"},
      {H5T_STD_I32BE, "int32"},    {H5T_STD_U32LE, "uint32"},   {H5T_STD_I64LE, "int64"},    {H5T_STD_U64BE, "uint64"},
      {H5T_IEEE_F32BE, "float32"}, {H5T_IEEE_F64LE, "float64"}, {H5T_IEEE_F64BE, "float64"},
  };
  for (const auto& [type, name] : types) {
    Writer(dir / "a.h5").numbers<float>("X", {2, 2}, {1, 2, 3, 100}, type);
    const Dataset data = read_hdf5(dir / "a.h5", {});
    EXPECT_EQ(data.dtype, name);
    EXPECT_EQ(values(data), (Floats{1, 2, 3, 100})) << name;
  }
}

TEST(Hdf5, ReadsHalfPrecision) {
  const TempDir dir;
  const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  Writer(dir / "a.h5").numbers<float>("X", {2, 1}, {0.5f, -3}, half);
  H5Tclose(half);
  const Dataset data = read_hdf5(dir / "a.h5", {});
  EXPECT_EQ(data.dtype, "float16");
  EXPECT_EQ(values(data), (Floats{0.5f, -3}));
}

TEST(Hdf5, RefusesWhatIsNotNumbers) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.texts("names", {"a", "b"});
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "no dataset of numbers");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("names")), "does not hold numbers");
}

TEST(Hdf5, ReadsBooleansAsZeroAndOne) {
  const TempDir dir;
  Writer(dir / "a.h5").booleans("flags", {0, 1, 1});
  const Dataset data = read_hdf5(dir / "a.h5", {});
  EXPECT_EQ(data.dtype, "bool");
  EXPECT_EQ(values(data), (Floats{0, 1, 1}));
  {
    Writer w(dir / "b.h5");
    w.booleans("mask", {0, 1});
    w.list<float>("table", {3, 4});
  }
  EXPECT_EQ(values(read_hdf5(dir / "b.h5", {})), (Floats{3, 4}));  // numbers come first
  EXPECT_EQ(values(read_hdf5(dir / "b.h5", with_key("mask"))), (Floats{0, 1}));
}

TEST(Hdf5, DoesNotReachIntoOtherFiles) {
  const TempDir dir;
  Writer(dir / "other.h5").numbers<float>("X", {2, 2}, {1, 2, 3, 4});
  {
    Writer w(dir / "a.h5");
    H5Lcreate_external((dir / "other.h5").c_str(), "/X", w.file(), "link", H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[2] = {2, 2};
    const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(creation, space, (dir / "other.h5").c_str(), "X", space);
    H5Dclose(H5Dcreate2(w.file(), "virtual", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    const hid_t outside = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(outside, (dir / "other.h5").c_str(), 0, 16);
    H5Dclose(H5Dcreate2(w.file(), "raw", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, outside, H5P_DEFAULT));
    H5Pclose(outside);
    H5Sclose(space);
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("link")), "is a link to another file");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("virtual")), "put together from other files");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("raw")), "put together from other files");
  {
    Writer w(dir / "b.h5");
    H5Lcreate_external((dir / "other.h5").c_str(), "/X", w.file(), "link", H5P_DEFAULT, H5P_DEFAULT);
    w.list<float>("table", {3, 4});
  }
  EXPECT_EQ(values(read_hdf5(dir / "b.h5", {})), (Floats{3, 4}));
  EXPECT_MENTIONS(message_of(dir / "b.h5", with("link")), "is a link to another file");
}

TEST(Hdf5, TakesShapesForWhatTheyAre) {
  const TempDir dir;
  const auto shape_of = [&](const std::vector<hsize_t>& dims) {
    std::size_t size = 1;
    for (const hsize_t d : dims) size *= d;
    std::vector<std::uint8_t> numbers(size);
    std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
    Writer(dir / "a.h5").numbers<std::uint8_t>("X", dims, numbers);
    return read_hdf5(dir / "a.h5", {});
  };
  Dataset data = shape_of({7});
  EXPECT_EQ(data.size(), 7u);
  EXPECT_EQ(data.dim(), 1u);
  EXPECT_FALSE(data.value_range);
  data = shape_of({2, 3, 4});
  EXPECT_EQ(data.image, (ImageShape{1, 3, 4}));
  EXPECT_EQ(data.value_range, (std::array<float, 2>{0, 255}));
  data = shape_of({2, 3, 2, 2});
  EXPECT_EQ(data.image, (ImageShape{3, 2, 2}));
  EXPECT_EQ(data.samples(1, 0), 12);
  EXPECT_EQ(data.samples(1, 1), 13);
  data = shape_of({2, 2, 2, 3});  // channels last become planes
  EXPECT_EQ(data.image, (ImageShape{3, 2, 2}));
  EXPECT_EQ((Floats{data.samples.row(1).begin(), data.samples.row(1).end()}),
            (Floats{12, 15, 18, 21, 13, 16, 19, 22, 14, 17, 20, 23}));
  data = shape_of({2, 5, 4, 1});
  EXPECT_EQ(data.image, (ImageShape{1, 5, 4}));
  EXPECT_THROW(shape_of({2, 4, 4, 4}), Error);
  EXPECT_THROW(shape_of({2, 1, 2, 2, 2}), Error);
  EXPECT_THROW(shape_of({0, 4}), Error);
  EXPECT_THROW(shape_of({4, 0}), Error);
}

TEST(Hdf5, RefusesAScalar) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    const double value = 1;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t id = H5Dcreate2(w.file(), "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    H5Dclose(id);
    H5Sclose(space);
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "no dataset of numbers");
  EXPECT_NE(message_of(dir / "a.h5", with_key("x")), "no Error");
}

TEST(Hdf5, ChoosesTheDatasetByKeyThenByUsualName) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("other", {2, 1}, {1, 2});
    w.numbers<float>("features", {2, 1}, {3, 4});
    w.numbers<float>("data", {2, 1}, {5, 6});
    w.numbers<float>("deep/er", {2, 1}, {7, 8});
  }
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", {})), (Floats{5, 6}));
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", with_key("other"))), (Floats{1, 2}));
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", with_key("/deep/er"))), (Floats{7, 8}));
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("featrues")), "did you mean 'features'?");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with_key("deep")), "deep/er");
}

TEST(Hdf5, ListsTheDatasetsWhenItCannotChoose) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("alpha", {2, 1}, {1, 2});
    w.numbers<float>("group/beta", {2, 1}, {3, 4});
  }
  const std::string message = message_of(dir / "a.h5");
  EXPECT_MENTIONS(message, "alpha");
  EXPECT_MENTIONS(message, "group/beta");
  EXPECT_MENTIONS(message, "--key");
}

TEST(Hdf5, TakesLabelsAndPropertiesFromDatasetsInside) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("table", {4, 1}, {1, 2, 3, 4});
    w.list<std::int64_t>("y", {10, 9, 10, -1});
    w.texts("kinds", {"b", "a", "", "b"});
    w.numbers<double>("column", {4, 1}, {0.5, 1.5, 2.5, 3.5});
    w.list<float>("short", {1, 2});
    w.numbers<float>("wide", {4, 2}, Floats(8, 1));
  }
  const Dataset data = read_hdf5(dir / "a.h5", with("y", {"column"}, "table"));
  EXPECT_EQ(data.labels->names, (Names{"9", "10"}));
  EXPECT_EQ(data.labels->ids, (Ids{1, 0, 1, -1}));
  ASSERT_EQ(data.properties.size(), 1u);
  EXPECT_EQ(data.properties[0].name, "column");
  EXPECT_EQ(data.properties[0].values, (Floats{0.5f, 1.5f, 2.5f, 3.5f}));
  EXPECT_EQ(read_hdf5(dir / "a.h5", with("kinds", {}, "table")).labels->ids, (Ids{1, 0, -1, 1}));
  EXPECT_MENTIONS(message_of(dir / "a.h5", with("short", {}, "table")), "2 values for 4 samples");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with("wide", {}, "table")), "one value per sample");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with("kind", {}, "table")), "holds no dataset 'kind'");
  EXPECT_MENTIONS(message_of(dir / "a.h5", with({}, {"colunm"}, "table")), "did you mean 'column'?");
}

TEST(Hdf5, DoesNotTakeTheLabelsForTheSamples) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("measured", {2, 1}, {1, 2});
    w.list<std::int64_t>("target", {0, 1});
  }
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", with("target"))), (Floats{1, 2}));
}

TEST(Hdf5, LeavesFilesAndColumnNumbersToOthers) {
  const TempDir dir;
  Writer(dir / "a.h5").numbers<float>("X", {2, 2}, {1, 2, 3, 4});
  std::ofstream(dir / "labels.csv") << "0\n1\n";
  const std::string file = (dir / "labels.csv").string();
  const Dataset data = read_hdf5(dir / "a.h5", with(file, {file, "2"}));
  EXPECT_FALSE(data.labels);
  ASSERT_EQ(data.properties.size(), 2u);  // places for what read_dataset() will find
  for (const Property& property : data.properties) EXPECT_TRUE(property.values.empty());
}

TEST(Hdf5, LimitReadsTheFirstRowsOnly) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("X", {5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0, 2);
    w.list<std::int64_t>("y", {0, 1, 2, 3, 4});
  }
  ReadOptions options = limited(3);
  options.labels = "y";
  const Dataset data = read_hdf5(dir / "a.h5", options);
  EXPECT_EQ(values(data), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.labels->ids, (Ids{0, 1, 2}));
  EXPECT_EQ(read_hdf5(dir / "a.h5", limited(99)).size(), 5u);
}

TEST(Hdf5, RefusesAFileCutAnywhere) {
  const TempDir dir;
  {
    Writer w(dir / "whole.h5");
    w.numbers<float>("X", {40, 5}, Floats(200, 1), 0, 10);
    write_tables(w);
  }
  std::ifstream in(dir / "whole.h5", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (std::size_t length = 0; length < whole.size(); length += length < 200 ? 1 : 101) {
    fs::remove(dir / "cut.h5");  // ext4 waits for the disk when a file is truncated and written anew
    std::ofstream(dir / "cut.h5", std::ios::binary).write(whole.data(), std::streamsize(length));
    EXPECT_MENTIONS(message_of(dir / "cut.h5"), "truncated or damaged") << "at " << length;
  }
}

TEST(Hdf5, RefusesWhatIsNoHdf5File) {
  const TempDir dir;
  std::ofstream(dir / "text.h5") << "hello";
  EXPECT_MENTIONS(message_of(dir / "text.h5"), "cannot be opened as HDF5");
  EXPECT_MENTIONS(message_of(dir / "absent.h5"), "cannot be opened");
  EXPECT_MENTIONS(message_of(dir.path()), "must be a plain file");
}

TEST(Hdf5, RefusesADatasetThatWasNeverWritten) {
  const TempDir dir;
  Writer(dir / "a.h5").numbers<float>("X", {1000, 10}, {});
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "has a size but no data");
}

TEST(Hdf5, RefusesASizeTheFileCannotHold) {
  const TempDir dir;
  const auto declare = [&](const std::vector<hsize_t>& dims, bool write) {
    Writer w(dir / "a.h5");
    const hsize_t chunk[2] = {10, 10};
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    const hid_t id = H5Dcreate2(w.file(), "X", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const hsize_t start[2] = {0, 0}, one[2] = {1, 1};
    const hid_t memory = H5Screate_simple(1, one, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, one, nullptr);
    const float value = 1;
    if (write) H5Dwrite(id, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, &value);
    for (const hid_t s : {memory, space}) H5Sclose(s);
    H5Pclose(creation);
    H5Dclose(id);
  };
  declare({1'000'000'000'000, 1000}, true);
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "but stores 400 bytes; most of it was never written");
  EXPECT_MENTIONS(message_of(dir / "a.h5", limited(2)), "but stores 400 bytes");
  declare({hsize_t{1} << 62, 1 << 10}, false);
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "overflows");
}

TEST(Hdf5, NamesACompressionItCannotUndo) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    const hsize_t dims[2] = {4, 4};
    const hid_t space = H5Screate_simple(2, dims, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, dims);
    H5Pset_filter(creation, 399, H5Z_FLAG_OPTIONAL, 0, nullptr);
    const hid_t id = H5Dcreate2(w.file(), "X", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const Floats numbers(16, 1);
    H5Dwrite(id, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    H5Dclose(id);
    H5Pclose(creation);
    H5Sclose(space);
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "filter 399");
}

TEST(Hdf5, SurvivesLinksThatFormACircle) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("group/table", {2, 1}, {1, 2});
    H5Lcreate_hard(w.file(), "/", w.file(), "group/up", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(w.file(), "/", w.file(), "group/up2", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", w.file(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5"), "--key");
  EXPECT_EQ(values(read_hdf5(dir / "a.h5", with_key("group/table"))), (Floats{1, 2}));
}

TEST(Hdf5, PrintsNothingOfItsOwnAndPutsTheSettingBack) {
  const TempDir dir;
  Writer(dir / "a.h5").numbers<float>("X", {2, 1}, {1, 2});
  H5E_auto2_t before = nullptr, after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  testing::internal::CaptureStderr();
  message_of(dir / "absent.h5");
  message_of(dir / "a.h5", with_key("no/such"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(before, after);
}

TEST(Hdf5, LeavesNoHandleOpen) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    write_sparse(w, "X", true);
    write_tables(w);
  }
  read_hdf5(dir / "a.h5ad", with("obs:barcode"));
  message_of(dir / "a.h5ad", with("obs:nothing"));
  EXPECT_EQ(H5Fget_obj_count(hid_t(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
}

TEST(Hdf5, StopsWhenInterrupted) {
  const TempDir dir;
  Writer(dir / "a.h5").numbers<float>("X", {2, 1}, {1, 2});
  request_interrupt();
  EXPECT_THROW(read_hdf5(dir / "a.h5", {}), Interrupted);
  clear_interrupt();
}

TEST(Hdf5, TellsProgress) {
  struct Watch : Progress {
    void start(const std::string&, std::uint64_t t, const std::string&) override { total = t; }
    void update(std::uint64_t d, const std::string&) override { done = d; }
    void finish() override { finished = true; }
    std::uint64_t total = 0, done = 0;
    bool finished = false;
  };
  const TempDir dir;
  {
    Writer w(dir / "a.h5");
    w.numbers<float>("dense", {2, 1}, {1, 2});
    write_sparse(w, "sparse", true);
  }
  for (const auto& [key, total] : {std::pair{"dense", 2u}, {"sparse", 5u}}) {
    Watch watch;
    ReadOptions options = with_key(key);
    options.progress = &watch;
    read_hdf5(dir / "a.h5", options);
    EXPECT_EQ(watch.total, total);
    EXPECT_EQ(watch.done, total);
    EXPECT_TRUE(watch.finished);
  }
}

// ---- AnnData ----

TEST(H5ad, ReadsADenseMatrixWithItsNames) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {4, 3}, kX);
    write_tables(w);
  }
  const Dataset data = read_hdf5(dir / "a.h5ad", {});
  EXPECT_EQ(data.format, "h5ad");
  EXPECT_EQ(values(data), kX);
  EXPECT_EQ(data.sample_names, (Names{"cell-a", "cell-b", "cell-ç", "cell-d"}));
  EXPECT_EQ(data.feature_names, (Names{"gene1", "gene2", "gene3"}));
}

TEST(H5ad, ReadsSparseMatricesByRowsAndByColumns) {
  const TempDir dir;
  for (const bool by_rows : {true, false}) {
    {
      Writer w(dir / "a.h5ad");
      write_sparse(w, "X", by_rows);
      write_tables(w);
    }
    const Dataset data = read_hdf5(dir / "a.h5ad", {});
    EXPECT_EQ(data.dtype, "float32");
    EXPECT_EQ(values(data), kX);
    for (std::size_t limit = 1; limit <= 4; ++limit) {
      const Dataset some = read_hdf5(dir / "a.h5ad", limited(limit));
      EXPECT_EQ(values(some), Floats(kX.begin(), kX.begin() + std::ptrdiff_t(3 * limit)));
      EXPECT_EQ(some.sample_names.size(), limit);
      EXPECT_EQ(some.feature_names.size(), 3u);
    }
  }
}

TEST(H5ad, ReadsTheOlderSparseAttributesAndAShapeDataset) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.group("X");
    w.attribute("X", "h5sparse_format", "csr", true);
    w.shape_attribute("X", "h5sparse_shape", {4, 3});
    w.list<double>("X/data", {1, 2, 3, 4, 5});
    w.list<std::int64_t>("X/indices", {0, 2, 2, 0, 1});
    w.list<std::int64_t>("X/indptr", {0, 2, 3, 3, 5});
    w.group("layers/other");
    w.attribute("layers/other", "h5sparse_format", "csc");
    w.list<std::int64_t>("layers/other/shape", {4, 3});
    w.list<std::int8_t>("layers/other/data", {1, 4, 5, 2, 3});
    w.list<std::int32_t>("layers/other/indices", {0, 3, 3, 0, 1});
    w.list<std::int32_t>("layers/other/indptr", {0, 2, 3, 5});
    write_tables(w);
  }
  EXPECT_EQ(values(read_hdf5(dir / "a.h5ad", {})), kX);
  const Dataset layer = read_hdf5(dir / "a.h5ad", with_key("layers/other"));
  EXPECT_EQ(values(layer), kX);
  EXPECT_EQ(layer.dtype, "int8");
}

TEST(H5ad, AddsEntriesGivenTwice) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.group("X");
    w.attribute("X", "encoding-type", "csr_matrix");
    w.shape_attribute("X", "shape", {2, 2});
    w.list<float>("X/data", {1, 2, 4});
    w.list<std::int32_t>("X/indices", {1, 1, 0});
    w.list<std::int32_t>("X/indptr", {0, 2, 3});
    w.group("obs");
  }
  EXPECT_EQ(values(read_hdf5(dir / "a.h5ad", {})), (Floats{0, 3, 4, 0}));
}

TEST(H5ad, RefusesSparseMatricesThatContradictThemselves) {
  const TempDir dir;
  using Ints = std::vector<std::int32_t>;
  const auto broken = [&](const Ints& indices, const Ints& indptr, const std::vector<std::int64_t>& shape,
                          const Floats& entries = {1, 2, 3}) {
    {
      Writer w(dir / "a.h5ad");
      w.group("X");
      w.attribute("X", "encoding-type", "csr_matrix");
      if (!shape.empty()) w.shape_attribute("X", "shape", shape);
      w.list("X/data", entries);
      w.list("X/indices", indices);
      w.list("X/indptr", indptr);
      w.group("obs");
    }
    return message_of(dir / "a.h5ad");
  };
  EXPECT_EQ(broken({0, 1, 0}, {0, 2, 3}, {2, 2}), "no Error");
  EXPECT_MENTIONS(broken({0, 2, 0}, {0, 2, 3}, {2, 2}), "entry 2 is 2, but there are 2 columns");
  EXPECT_MENTIONS(broken({0, -1, 0}, {0, 2, 3}, {2, 2}), "entry 2 is -1");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 4}, {2, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 2}, {2, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1, 0}, {1, 2, 3}, {2, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 9, 3, 3}, {3, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, -5, 3, 3}, {3, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {3, 2}), "indptr");
  EXPECT_MENTIONS(broken({0, 1}, {0, 2, 3}, {2, 2}), "does not match 'data'");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {}), "no shape");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {2, 2, 2}), "no shape");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {-2, 2}), "no shape");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {2, std::int64_t{1} << 45}), "memory");
  EXPECT_MENTIONS(broken({0, 1, 0}, {0, 2, 3}, {2, std::int64_t{1} << 62}), "overflows");
  EXPECT_NE(broken({0, 1, 0}, {0, 2, 3}, {std::numeric_limits<std::int64_t>::max(), 2}), "no Error");
}

TEST(H5ad, RefusesASparseMatrixWithoutItsParts) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.group("X");
    w.attribute("X", "encoding-type", "csr_matrix");
    w.shape_attribute("X", "shape", {2, 2});
    w.list<float>("X/data", {1, 2, 3});
    w.group("obs");
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5ad"), "X/indices");
  {
    Writer w(dir / "a.h5ad");
    w.group("X");
    w.attribute("X", "encoding-type", "something new");
    w.group("obs");
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5ad"), "is a group, not a matrix");
}

TEST(H5ad, ReadsEveryKindOfObsColumn) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {4, 3}, kX);
    write_tables(w);
    w.list<std::int32_t>("obs/batch", {3, 12, 3, 3});
    w.list<double>("obs/age", {0.5, 1, 2, 4});
    w.texts("obs/donor", {"zoé", "adam", "", "adam"});
    w.fixed_texts("obs/site", {"north", "east", "east", "n"}, 5);
    w.fixed_texts("obs/code", {"ab", "c", "ab", "c"}, 4, H5T_STR_SPACEPAD);
    w.booleans("obs/doublet", {1, 0, 0, 1});
    w.texts("obs/type/categories", {"T cell", "B cell", "unused"});
    w.list<std::int8_t>("obs/type/codes", {1, 0, -1, 1});
    w.list<double>("obs/dose/categories", {0.25, 10});
    w.list<std::int8_t>("obs/dose/codes", {1, 0, 0, 1});
    w.list<std::int64_t>("obs/count/values", {5, 6, 7, 8});
    w.booleans("obs/count/mask", {0, 0, 1, 0});
    w.list<std::int8_t>("obs/old", {0, 1, 1, -1});
    w.texts("obs/__categories/old", {"x", "y"});
  }
  const auto labels = [&](const std::string& spec) { return *read_hdf5(dir / "a.h5ad", with(spec)).labels; };
  EXPECT_EQ(labels("obs:batch").names, (Names{"3", "12"}));
  EXPECT_EQ(labels("batch").ids, (Ids{0, 1, 0, 0}));
  EXPECT_EQ(labels("obs:donor").names, (Names{"adam", "zoé"}));
  EXPECT_EQ(labels("obs:donor").ids, (Ids{1, 0, -1, 0}));
  EXPECT_EQ(labels("obs:site").names, (Names{"east", "n", "north"}));
  EXPECT_EQ(labels("obs:code").names, (Names{"ab", "c"}));
  EXPECT_EQ(labels("obs:doublet").names, (Names{"FALSE", "TRUE"}));
  EXPECT_EQ(labels("obs:doublet").ids, (Ids{1, 0, 0, 1}));
  EXPECT_EQ(labels("obs:type").names, (Names{"B cell", "T cell"}));
  EXPECT_EQ(labels("type").ids, (Ids{0, 1, -1, 0}));
  EXPECT_EQ(labels("obs/type").ids, (Ids{0, 1, -1, 0}));
  EXPECT_EQ(labels("obs:count").names, (Names{"5", "6", "8"}));
  EXPECT_EQ(labels("obs:count").ids, (Ids{0, 1, -1, 2}));
  EXPECT_EQ(labels("obs:old").names, (Names{"x", "y"}));
  EXPECT_EQ(labels("obs:old").ids, (Ids{0, 1, 1, -1}));

  const Dataset data = read_hdf5(dir / "a.h5ad", with({}, {"obs:age", "dose", "obs:doublet"}));
  ASSERT_EQ(data.properties.size(), 3u);
  EXPECT_EQ(data.properties[0].name, "age");
  EXPECT_EQ(data.properties[0].values, (Floats{0.5f, 1, 2, 4}));
  EXPECT_EQ(data.properties[1].values, (Floats{10, 0.25f, 0.25f, 10}));
  EXPECT_EQ(data.properties[2].values, (Floats{1, 0, 0, 1}));
  EXPECT_FALSE(data.labels);

  ReadOptions two = with("obs:type", {"age"});
  two.limit = 2;
  const Dataset some = read_hdf5(dir / "a.h5ad", two);
  EXPECT_EQ(some.labels->ids, (Ids{0, 1}));
  EXPECT_EQ(some.properties[0].values, (Floats{0.5f, 1}));

  EXPECT_EQ(labels("obs:dose").names, (Names{"0.25", "10"}));  // fractions, but declared to be categories
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with("obs:age")), "0.5 is not a class");
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with({}, {"obs:count"})), "row 3");
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with({}, {"donor"})), "finite number");
}

TEST(H5ad, SuggestsTheColumnThatWasMeant) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {4, 3}, kX);
    write_tables(w);
    w.list<std::int32_t>("obs/cell_type", {0, 1, 0, 1});
  }
  for (const char* spec : {"obs:cel_type", "cel_type"}) {
    EXPECT_MENTIONS(message_of(dir / "a.h5ad", with(spec)), "did you mean 'cell_type'?");
    EXPECT_MENTIONS(message_of(dir / "a.h5ad", with({}, {spec})), "did you mean 'cell_type'?");
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with("obs:")), "no column ''");
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with("obs:something else")), "there are: barcode, cell_type");
}

TEST(H5ad, PrefersWhatIsInsideToAFileOfThatName) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {4, 3}, kX);
    write_tables(w);
    w.list<std::int32_t>("obs/kind", {0, 1, 0, 1});
  }
  std::ofstream(dir / "kind") << "5\n5\n5\n5\n";
  std::ofstream(dir / "elsewhere") << "5\n5\n5\n5\n";
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  const Dataset inside = read_hdf5("a.h5ad", with("kind"));
  const Dataset outside = read_hdf5("a.h5ad", with("elsewhere", {"elsewhere"}));
  fs::current_path(before);
  EXPECT_EQ(inside.labels->names, (Names{"0", "1"}));
  EXPECT_FALSE(outside.labels);
  EXPECT_TRUE(outside.properties.at(0).values.empty());
}

TEST(H5ad, RefusesObsColumnsThatContradictTheMatrix) {
  const TempDir dir;
  const auto message = [&](auto&& fill) {
    {
      Writer w(dir / "a.h5ad");
      w.numbers<float>("X", {4, 3}, kX);
      write_tables(w);
      fill(w);
    }
    return message_of(dir / "a.h5ad", with("obs:c"));
  };
  EXPECT_MENTIONS(message([](Writer& w) { w.list<std::int32_t>("obs/c", {0, 1, 0}); }), "3 values for 4 samples");
  EXPECT_MENTIONS(message([](Writer& w) { w.group("obs/c"); }), "not a column");
  const auto categorical = [](const std::vector<std::int8_t>& codes) {
    return [codes](Writer& w) {
      w.texts("obs/c/categories", {"a", "b"});
      w.list("obs/c/codes", codes);
    };
  };
  EXPECT_EQ(message(categorical({0, 1, -1, 0})), "no Error");
  EXPECT_MENTIONS(message(categorical({0, 2, 0, 0})), "row 2 has the code 2 for 2 categories");
  EXPECT_MENTIONS(message(categorical({0, -2, 0, 0})), "the code -2");
  EXPECT_MENTIONS(message(categorical({0, 1})), "2 values for 4 samples");
  EXPECT_MENTIONS(message([](Writer& w) {
                    w.texts("obs/c/categories", {"a", "b"});
                    w.list<float>("obs/c/codes", {0, 1, 0.5f, 0});
                  }),
                  "whole numbers");
  EXPECT_MENTIONS(message([](Writer& w) {
                    const hid_t type = H5Tcreate(H5T_OPAQUE, 1);
                    w.raw("obs/c", {4}, type, "abcd");
                    H5Tclose(type);
                  }),
                  "neither numbers nor text");
}

TEST(H5ad, RefusesTablesThatContradictTheMatrix) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {3, 3}, Floats(9, 1));
    write_tables(w);
  }
  EXPECT_MENTIONS(message_of(dir / "a.h5ad"), "4 values for 3 samples");
}

TEST(H5ad, ReadsLayersAndEmbeddingsAndRaw) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {4, 3}, kX);
    write_tables(w);
    write_sparse(w, "layers/counts", false);
    w.numbers<double>("obsm/X_pca", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    w.numbers<float>("raw/X", {4, 1}, {9, 8, 7, 6});
    w.texts("raw/var/_index", {"rawgene"});
  }
  const Dataset layer = read_hdf5(dir / "a.h5ad", with_key("layers/counts"));
  EXPECT_EQ(values(layer), kX);
  EXPECT_EQ(layer.feature_names.size(), 3u);
  const Dataset pca = read_hdf5(dir / "a.h5ad", with_key("obsm/X_pca"));
  EXPECT_EQ(pca.dim(), 2u);
  EXPECT_EQ(pca.dtype, "float64");
  EXPECT_TRUE(pca.feature_names.empty());
  EXPECT_EQ(pca.sample_names.size(), 4u);
  EXPECT_EQ(read_hdf5(dir / "a.h5ad", with_key("/raw/X")).feature_names, (Names{"rawgene"}));
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with_key("layers/count")), "did you mean 'layers/counts'?");
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with_key("entirely different")),
                  "there are: X, layers/counts, obsm/X_pca, raw/X");
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with_key("obsm")), "obsm/X_pca");
}

TEST(H5ad, SaysWhichMatricesThereAreWhenThereIsNoX) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    write_tables(w);
    w.numbers<double>("obsm/X_pca", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  }
  const std::string message = message_of(dir / "a.h5ad");
  EXPECT_MENTIONS(message, "no matrix X");
  EXPECT_MENTIONS(message, "obsm/X_pca");
  EXPECT_EQ(read_hdf5(dir / "a.h5ad", with_key("obsm/X_pca")).dim(), 2u);
}

TEST(H5ad, TakesNamesFromOldOrNumericIndexColumns) {
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {2, 1}, {1, 2});
    w.texts("obs/index", {"p", "q"});
    w.list<std::int64_t>("var/_index", {42});
  }
  const Dataset data = read_hdf5(dir / "a.h5ad", {});
  EXPECT_EQ(data.sample_names, (Names{"p", "q"}));
  EXPECT_EQ(data.feature_names, (Names{"42"}));
  {
    Writer w(dir / "b.h5ad");
    w.numbers<float>("X", {2, 1}, {1, 2});
    w.group("obs");
    w.group("var");
  }
  EXPECT_TRUE(read_hdf5(dir / "b.h5ad", {}).sample_names.empty());
}

TEST(H5ad, ReadsObsThatIsOneDatasetOfRecords) {
  struct Record {
    char index[4];
    float age;
    std::int8_t kind;
    const char* note;
  };
  const TempDir dir;
  {
    Writer w(dir / "a.h5ad");
    w.numbers<float>("X", {3, 1}, {1, 2, 3});
    const hid_t name = H5Tcopy(H5T_C_S1), note = Writer::variable_text(),
                type = H5Tcreate(H5T_COMPOUND, sizeof(Record));
    H5Tset_size(name, 4);
    H5Tinsert(type, "index", HOFFSET(Record, index), name);
    H5Tinsert(type, "age", HOFFSET(Record, age), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "kind", HOFFSET(Record, kind), H5T_NATIVE_INT8);
    H5Tinsert(type, "note", HOFFSET(Record, note), note);
    const Record records[3] = {{"a1", 1.5f, 1, "long text"}, {"b2", 2.5f, 0, "t"}, {"c3", 3.5f, -1, "t"}};
    w.raw("obs", {3}, type, records);
    for (const hid_t t : {name, note, type}) H5Tclose(t);
    w.texts("uns/kind_categories", {"calm", "loud"});
  }
  const Dataset data = read_hdf5(dir / "a.h5ad", with("obs:kind", {"age"}));
  EXPECT_EQ(data.sample_names, (Names{"a1", "b2", "c3"}));
  EXPECT_EQ(data.labels->names, (Names{"calm", "loud"}));
  EXPECT_EQ(data.labels->ids, (Ids{1, 0, -1}));
  EXPECT_EQ(data.properties[0].values, (Floats{1.5f, 2.5f, 3.5f}));
  EXPECT_EQ(read_hdf5(dir / "a.h5ad", with("obs:note")).labels->names, (Names{"long text", "t"}));
  EXPECT_MENTIONS(message_of(dir / "a.h5ad", with("obs:aeg")), "age");
}

}  // namespace
}  // namespace cpfm

#else

namespace cpfm {
namespace {

TEST(Hdf5, SaysThatThisBuildHasNone) {
  try {
    read_hdf5("a.h5", {});
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("libhdf5-dev"), std::string::npos) << error.what();
  }
}

TEST(Hdf5, ReadsFiles) { GTEST_SKIP() << "THIS BUILD HAS NO HDF5: none of the HDF5 and h5ad tests ran"; }

}  // namespace
}  // namespace cpfm

#endif
