// The safetensors layer as its users meet it: what goes in comes out, in Python too, and a damaged or hostile file is
// refused with a message that names the place, never a crash.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using test::TempDir;
using test::write_bytes;
using Shape = std::vector<std::uint64_t>;

// A file of header and data, whatever they say.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// The header {"t": {dtype, shape, data_offsets}} with each part as it would stand in the JSON.
std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"t":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
}

// The result looks into `bytes`.
TensorFile parse(const std::string& bytes, const std::string& name = "some.cpfm") {
  return TensorFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), name);
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The message of the cpfm::Error that `action` throws.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The file is refused, and the message names the file and holds `part`.
void expect_refused(const std::string& bytes, const std::string& part) {
  const std::string message = error_of([&] { parse(bytes); });
  EXPECT_TRUE(message.starts_with("some.cpfm")) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
}

template <class T, std::size_t n>
std::span<const std::byte> bytes_of(const std::array<T, n>& values) {
  return std::as_bytes(std::span(values));
}

// One tensor of each type, in an order that is not the one of the file; all hold small whole numbers.
class EveryDtype {
 public:
  TensorFileWriter writer() const {
    TensorFileWriter w;
    w.add("u8", DType::kU8, {3}, bytes_of(u8_));
    w.add("bool", DType::kBool, {2, 1}, bytes_of(bool_));
    w.add("f16", DType::kF16, {3}, bytes_of(f16_));
    w.add("bf16", DType::kBF16, {1, 3}, bytes_of(bf16_));
    w.add("f32", Shape{2, 2}, std::span<const float>(f32_));
    w.add("i32", DType::kI32, {2}, bytes_of(i32_));
    w.add("f64", DType::kF64, {}, bytes_of(f64_));
    w.add("i64", Shape{3}, std::span<const std::int64_t>(i64_));
    w.add("nothing", DType::kF32, {0, 5}, {});
    w.set_metadata("seed", "7");
    w.set_metadata("note", "ünïcode, \"quotes\" and\na line");
    return w;
  }

 private:
  std::array<std::uint8_t, 3> u8_{0, 1, 255};
  std::array<std::uint8_t, 2> bool_{0, 1};
  std::array<std::uint16_t, 3> f16_{0x3C00, 0xC000, 0x4900};   // 1, -2, 10
  std::array<std::uint16_t, 3> bf16_{0x3F80, 0xC000, 0x4120};  // 1, -2, 10
  std::array<float, 4> f32_{1.5f, -2, 0, 1e6f};
  std::array<std::int32_t, 2> i32_{-5, 1 << 30};
  std::array<double, 1> f64_{0.25};
  std::array<std::int64_t, 3> i64_{-1, 0, std::int64_t{1} << 40};
};

TEST(TensorFile, KeepsEveryDtypeThroughARoundTrip) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const TensorFile file = TensorFile::open(folder / "all.cpfm");
  ASSERT_EQ(file.tensors().size(), 9u);
  const auto check = [&](const char* name, DType dtype, const Shape& shape, const std::vector<float>& values) {
    const TensorView& t = file.tensor(name);
    EXPECT_EQ(t.dtype, dtype) << name;
    EXPECT_EQ(t.shape, shape) << name;
    EXPECT_EQ(t.count(), values.size()) << name;
    EXPECT_EQ(t.to_floats(), values) << name;
  };
  check("u8", DType::kU8, {3}, {0, 1, 255});
  check("bool", DType::kBool, {2, 1}, {0, 1});
  check("f16", DType::kF16, {3}, {1, -2, 10});
  check("bf16", DType::kBF16, {1, 3}, {1, -2, 10});
  check("f32", DType::kF32, {2, 2}, {1.5f, -2, 0, 1e6f});
  check("i32", DType::kI32, {2}, {-5, 1 << 30});
  check("f64", DType::kF64, {}, {0.25f});
  check("i64", DType::kI64, {3}, {-1, 0, 0x1p40f});
  check("nothing", DType::kF32, {0, 5}, {});
  EXPECT_EQ(file.metadata("seed"), "7");
  EXPECT_EQ(file.metadata("note"), "ünïcode, \"quotes\" and\na line");
  EXPECT_EQ(file.format_version(), kFormatVersion);
  EXPECT_EQ(file.file_size(), std::filesystem::file_size(folder / "all.cpfm"));
}

// The files in tests/model/golden were written by EveryDtype, the first before there were checksums, and are never
// written again.
TEST(TensorFile, VersionOneStaysReadableByteForByte) {
  const std::filesystem::path golden = std::filesystem::path(CPFM_TEST_SOURCE_DIR) / "model/golden";
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  if (kFormatVersion == 1) {
    EXPECT_EQ(read_bytes(golden / "version-1-checksum.cpfm"), read_bytes(folder / "all.cpfm"));
  }
  for (const char* name_of_old : {"version-1.cpfm", "version-1-checksum.cpfm"}) {
    const TensorFile old = TensorFile::open(golden / name_of_old), present = TensorFile::open(folder / "all.cpfm");
    EXPECT_EQ(old.format_version(), 1);
    EXPECT_EQ(old.metadata("note"), present.metadata("note"));
    ASSERT_EQ(old.tensors().size(), present.tensors().size());
    for (const auto& [name, tensor] : present.tensors()) {
      EXPECT_EQ(old.tensor(name).dtype, tensor.dtype) << name;
      EXPECT_EQ(old.tensor(name).shape, tensor.shape) << name;
      EXPECT_TRUE(std::ranges::equal(old.tensor(name).bytes, tensor.bytes)) << name;
    }
  }
}

TEST(TensorFile, NoticesEveryChangedByteOfTensorsAndMetadata) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const std::string bytes = read_bytes(folder / "all.cpfm");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  for (std::size_t at = 8 + length; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    write_bytes(folder / "changed.cpfm", changed);
    EXPECT_CONTAINS(error_of([&] { TensorFile::open(folder / "changed.cpfm"); }), "not those that were written");
  }
  std::string seed = bytes, name = bytes;
  seed.replace(seed.find("\"seed\":\"7\""), 10, "\"seed\":\"8\"");
  name.replace(name.find("\"f32\""), 5, "\"f33\"");
  for (const std::string& changed : {seed, name}) {
    write_bytes(folder / "changed.cpfm", changed);
    EXPECT_CONTAINS(error_of([&] { TensorFile::open(folder / "changed.cpfm"); }), "not those that were written");
  }
}

// A file that is read and written again with its metadata has a checksum of its own.
TEST(TensorFile, CopiedMetadataDoNotBringTheirChecksum) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const TensorFile file = TensorFile::open(folder / "all.cpfm");
  TensorFileWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.set_metadata(key, value);
  writer.save(folder / "copy.cpfm");
  EXPECT_NE(TensorFile::open(folder / "copy.cpfm").metadata("cpfm.checksum"), file.metadata("cpfm.checksum"));
}

TEST(TensorFile, DtypesHaveTheSizesAndNamesOfSafetensors) {
  const std::vector<std::tuple<DType, std::string, std::size_t>> expected{
      {DType::kF64, "F64", 8}, {DType::kF32, "F32", 4}, {DType::kF16, "F16", 2}, {DType::kBF16, "BF16", 2},
      {DType::kI64, "I64", 8}, {DType::kI32, "I32", 4}, {DType::kU8, "U8", 1},   {DType::kBool, "BOOL", 1}};
  for (const auto& [dtype, name, size] : expected) {
    EXPECT_EQ(to_string(dtype), name);
    EXPECT_EQ(byte_size(dtype), size);
  }
}

TEST(TensorFile, PutsEveryTensorAtAnAddressAlignedForItsType) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const TensorFile file = TensorFile::open(folder / "all.cpfm");
  for (const auto& [name, t] : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.bytes.data()) % byte_size(t.dtype), 0u) << name;
  }
}

TEST(TensorFile, WritesTheSameBytesEveryTime) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "one.cpfm");
  EveryDtype().writer().save(folder / "two.cpfm");
  const std::string bytes = read_bytes(folder / "one.cpfm");
  EXPECT_EQ(bytes, read_bytes(folder / "two.cpfm"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
}

TEST(TensorFile, PlainPythonReadsWhatWeWrite) {
  if (std::system("command -v python3 > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "NOT CHECKED: there is no python3 here to read our file independently of us";
  }
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const std::string script = CPFM_TEST_SOURCE_DIR "/model/read_safetensors.py";
  const std::string command = fmt::format("python3 '{}' '{}' 2>&1", script, (folder / "all.cpfm").string());
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 4096> chunk{};
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) output.append(chunk.data(), got);
  ASSERT_EQ(pclose(pipe), 0) << output;
  EXPECT_EQ(nlohmann::json::parse(output), nlohmann::json::parse(R"({
    "__metadata__": {"cpfm.checksum": "6eb38956af32b143", "cpfm.format_version": "1", "note": "ünïcode, \"quotes\" and\na line", "seed": "7"},
    "u8": {"dtype": "U8", "shape": [3], "sum": 256},
    "bool": {"dtype": "BOOL", "shape": [2, 1], "sum": 1},
    "f16": {"dtype": "F16", "shape": [3], "sum": 9.0},
    "bf16": {"dtype": "BF16", "shape": [1, 3], "sum": 9.0},
    "f32": {"dtype": "F32", "shape": [2, 2], "sum": 999999.5},
    "i32": {"dtype": "I32", "shape": [2], "sum": 1073741819},
    "f64": {"dtype": "F64", "shape": [], "sum": 0.25},
    "i64": {"dtype": "I64", "shape": [3], "sum": 1099511627775},
    "nothing": {"dtype": "F32", "shape": [0, 5], "sum": 0}
  })"))
      << output;
}

TEST(TensorFile, ConvertsEveryHalfExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const TensorView f16{DType::kF16, {1}, std::as_bytes(std::span(&half, 1))};
    const float got = f16.to_floats()[0];
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(std::signbit(got), half >> 15 != 0) << bits;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(std::fabs(static_cast<double>(got)), magnitude) << bits;
    }
    const TensorView bf16{DType::kBF16, {1}, std::as_bytes(std::span(&half, 1))};
    EXPECT_EQ(std::bit_cast<std::uint32_t>(bf16.to_floats()[0]), bits << 16);
  }
}

TEST(TensorFile, TakesAnyBoolThatIsNotZeroForTrue) {
  const std::string bytes = file_of(tensor("\"BOOL\"", "[4]", "[0,4]"), std::string("\x00\x01\x02\xFF", 4));
  const TensorFile file = parse(bytes);
  EXPECT_EQ(file.tensor("t").to_floats(), (std::vector<float>{0, 1, 1, 1}));
}

TEST(TensorFile, ReadsForeignFilesWhoseDataIsNotAligned) {
  const double value = 2.5;
  std::string data(9, '\x07');
  std::memcpy(data.data() + 1, &value, 8);
  // The fields stand in another order, and the metadata comes last and without our version.
  const std::string bytes = file_of(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"shape":[],"data_offsets":[1,9],"dtype":"F64"},)"
      R"("__metadata__":{"k":"v"}} )",
      data);
  const TensorFile file = parse(bytes);
  ASSERT_NE(reinterpret_cast<std::uintptr_t>(file.tensor("b").bytes.data()) % alignof(double), 0u);
  EXPECT_EQ(file.tensor("a").to_floats(), std::vector<float>{7});
  EXPECT_EQ(file.tensor("b").to_floats(), std::vector<float>{2.5});
  EXPECT_EQ(file.format_version(), 0);
  EXPECT_EQ(file.metadata("k"), "v");
}

TEST(TensorFile, TakesAFileWithoutTensors) {
  EXPECT_TRUE(parse(file_of("{}")).tensors().empty());
  EXPECT_TRUE(parse(file_of(R"({"__metadata__":{}})")).metadata().empty());
}

TEST(TensorFile, StaysReadableAfterItIsMovedAndReplacedOnDisk) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  TensorFile first = TensorFile::open(folder / "all.cpfm");
  const TensorFile moved = std::move(first);
  TensorFileWriter().save(folder / "all.cpfm");
  EXPECT_EQ(moved.tensor("f16").to_floats(), (std::vector<float>{1, -2, 10}));
  EXPECT_TRUE(TensorFile::open(folder / "all.cpfm").tensors().empty());
}

TEST(TensorFile, NamesTheNearestTensorWhenOneIsMissing) {
  const TensorFile file =
      parse(file_of(R"({"drift.weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"__metadata__":{"seed":"1"}})"));
  EXPECT_EQ(error_of([&] { (void)file.tensor("drift.wieght"); }),
            "some.cpfm: there is no tensor 'drift.wieght' in it; did you mean 'drift.weight'?");
  EXPECT_EQ(error_of([&] { (void)file.metadata("sed"); }),
            "some.cpfm: there is no metadata 'sed' in it; did you mean 'seed'?");
}

TEST(TensorFile, RefusesWhatIsNotAFile) {
  const TempDir folder;
  EXPECT_NE(error_of([&] { TensorFile::open(folder / "none.cpfm"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([&] { TensorFile::open(folder.path()); }).find("is a folder"), std::string::npos);
  std::ofstream(folder / "empty.cpfm");
  EXPECT_NE(error_of([&] { TensorFile::open(folder / "empty.cpfm"); }).find("0 bytes"), std::string::npos);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_of([&] { TensorFile::open(folder / "pipe"); }).find("not a plain file"), std::string::npos);
}

TEST(TensorFile, RefusesAFileThatIsShorterThanItsHeader) {
  expect_refused("", "0 bytes are too few");
  expect_refused("1234567", "7 bytes are too few");
  expect_refused(file_of("{}").substr(0, 9), "the header has 2 bytes, but the file only 9");
}

TEST(TensorFile, RefusesAHeaderOfMoreThanAMebibyte) {
  const std::size_t mebibyte = 1 << 20;
  const std::string just = "{}" + std::string(mebibyte - 2, ' ');
  EXPECT_NO_THROW(parse(file_of(just)));
  expect_refused(file_of(just + " "), "1048577 bytes is too long; at most 1048576");
  expect_refused(std::string(8, '\xFF'), "18446744073709551615 bytes is too long");
}

TEST(TensorFile, RefusesAHeaderThatIsNotAJsonObject) {
  for (const char* header : {"", "[]", "7", "null", "\"text\"", " {}", "\xEF\xBB\xBF{}"}) {
    expect_refused(file_of(header), "the header is not a JSON object");
  }
  for (const char* header : {"{", "{}}", "{} x", "{\"t\"}", "{\"t\":}", "{,}", "{'t':1}", "{}//",
                             "{\"t\":{\"shape\":[01]}}", "{\"t\":{\"shape\":[1e999]}}", "{\"t\":{\"shape\":[NaN]}}"}) {
    expect_refused(file_of(header), "not valid JSON");
  }
  expect_refused(file_of(std::string("{}\0junk", 7)), "its byte 2 is zero");
}

TEST(TensorFile, RefusesNamesThatAreNotUtf8) {
  for (const char* name : {"\xFF", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80", "\\uD800", "\\uD800x"}) {
    expect_refused(file_of(fmt::format(R"({{"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}}})", name)),
                   "not valid JSON");
    expect_refused(file_of(fmt::format(R"({{"__metadata__":{{"k":"{}"}}}})", name)), "not valid JSON");
  }
}

TEST(TensorFile, RefusesAnythingThatStandsThereTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_refused(file_of("{\"t\":" + entry + ",\"u\":" + entry + ",\"t\":" + entry + "}"),
                 "tensor 't': stands in the header twice");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), "metadata: stands in the header twice");
  expect_refused(file_of(R"({"__metadata__":{"k":"1","k":"1"}})"), "the key 'k' stands there twice");
  expect_refused(file_of(R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
                 "the field 'dtype' twice");
  expect_refused(file_of(R"({"t":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})"),
                 "the field 'shape' twice");
}

TEST(TensorFile, RefusesNestingThatTheFormatHasNoPlaceFor) {
  const std::string half_a_million(500'000, '[');
  expect_refused(file_of("{\"t\":" + half_a_million), "tensor 't': is a list, not an object");
  expect_refused(file_of(R"({"t":{"shape":)" + half_a_million), "the shape holds a list");
  expect_refused(file_of(R"({"t":{"data_offsets":)" + half_a_million), "data_offsets holds a list");
  expect_refused(file_of(R"({"t":{"dtype":)" + half_a_million), "the dtype is a list");
  std::string objects = "{\"t\":";
  for (int i = 0; i < 100'000; ++i) objects += "{\"shape\":";
  expect_refused(file_of(objects), "the shape is an object");
  expect_refused(file_of(R"({"__metadata__":{"k":{}}})"), "metadata: 'k' is an object");
}

TEST(TensorFile, RefusesEntriesThatLackAFieldOrHaveAnotherOne) {
  expect_refused(file_of(R"({"t":{}})"), "has no dtype");
  expect_refused(file_of(R"({"t":{"dtype":"U8","data_offsets":[0,0]}})"), "has no shape");
  expect_refused(file_of(R"({"t":{"dtype":"U8","shape":[0]}})"), "has no data_offsets");
  expect_refused(file_of(R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":1}})"),
                 "unknown field 'stride'");
  expect_refused(file_of(R"({"t":null})"), "tensor 't': is null, not an object");
  expect_refused(file_of(R"({"t":"x"})"), "tensor 't': is the text 'x', not an object");
}

TEST(TensorFile, RefusesAnUnknownDtypeAndListsTheKnown) {
  expect_refused(file_of(tensor("\"F8_E4M3\"", "[0]", "[0,0]")),
                 "tensor 't': the dtype 'F8_E4M3' is not known; known are F64, F32, F16, BF16, I64, I32, U8, BOOL");
  expect_refused(file_of(tensor("\"f32\"", "[0]", "[0,0]")), "the dtype 'f32' is not known");
  expect_refused(file_of(tensor("4", "[0]", "[0,0]")), "the dtype is 4");
  expect_refused(file_of(tensor("null", "[0]", "[0,0]")), "the dtype is null");
}

TEST(TensorFile, RefusesShapesThatAreNotWholeNumbersOrOverflow) {
  const std::string data(8, 'x');
  const auto refused = [&](const std::string& shape, const std::string& part) {
    expect_refused(file_of(tensor("\"F64\"", shape, "[0,8]"), data), part);
  };
  refused("[-1]", "the shape holds -1");
  refused("[1.0]", "the shape holds 1.0");
  refused("[1e0]", "the shape holds 1e0");
  refused("[18446744073709551616]", "the shape holds 18446744073709551616");
  refused("[true]", "the shape holds true");
  refused("[\"1\"]", "the shape holds the text '1'");
  refused("[null]", "the shape holds null");
  refused("1", "the shape is 1");
  refused("\"1\"", "the shape is the text '1'");
  refused("[4294967296,4294967296]", "overflows");
  refused("[4294967296,4294967296,0]", "overflows");
  refused("[0,4294967296,4294967296]", "overflows");
  refused("[2305843009213693952]", "overflows");  // × 8 bytes = 2^64
  refused("[2305843009213693953]", "overflows");  // × 8 bytes = 2^64 + 8
  refused("[2]", "make 16 bytes, but data_offsets [0, 8] hold 8");
  refused("[0]", "make 0 bytes, but data_offsets [0, 8] hold 8");
}

TEST(TensorFile, RefusesOffsetsThatAreNotAPairOfWholeNumbers) {
  const auto refused = [&](const std::string& offsets, const std::string& part) {
    expect_refused(file_of(tensor("\"U8\"", "[4]", offsets), "1234"), part);
  };
  refused("[]", "data_offsets holds 0 numbers, not two");
  refused("[0]", "data_offsets holds 1 numbers, not two");
  refused("[0,4,4]", "data_offsets holds more than two numbers");
  refused("[-4,0]", "data_offsets holds -4");
  refused("[0,4.0]", "data_offsets holds 4.0");
  refused("[0,\"4\"]", "data_offsets holds the text '4'");
  refused("4", "data_offsets is 4");
  refused("{}", "data_offsets is an object");
  refused("[4,0]", "data_offsets [4, 0] run backwards");
  refused("[0,18446744073709551615]", "hold 18446744073709551615");
  refused("[18446744073709551612,0]", "run backwards");
  refused("[18446744073709551611,18446744073709551615]", "but the file holds 4");
  refused("[1,5]", "ends at byte 5 of the data, but the file holds 4");
}

TEST(TensorFile, RefusesGapsOverlapsAndBytesThatBelongToNoTensor) {
  const auto two = [](const std::string& first, const std::string& second, int n, int m) {
    return fmt::format(
        R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[{}],"data_offsets":{}}}}})",
        n, first, m, second);
  };
  EXPECT_NO_THROW(parse(file_of(two("[2,4]", "[0,2]", 2, 2), "1234")));
  EXPECT_NO_THROW(parse(file_of(two("[2,2]", "[0,2]", 0, 2), "12")));
  expect_refused(file_of(two("[0,2]", "[3,4]", 2, 1), "1234"),
                 "tensor 'b': starts at byte 3 of the data, but the tensors before it end at 2");
  expect_refused(file_of(two("[1,2]", "[2,4]", 1, 2), "1234"), "tensor 'a': starts at byte 1 of the data, but");
  expect_refused(file_of(two("[0,3]", "[2,4]", 3, 2), "1234"), "tensor 'b': starts at byte 2 of the data and overlaps");
  expect_refused(file_of(two("[0,4]", "[0,4]", 4, 4), "1234"), "overlaps");
  expect_refused(file_of(two("[0,4]", "[2,2]", 4, 0), "1234"), "overlaps");
  expect_refused(file_of(two("[0,2]", "[2,3]", 2, 1), "1234"),
                 "some.cpfm: 1 bytes behind the last tensor belong to none");
  expect_refused(file_of("{}", "x"), "1 bytes behind the last tensor belong to none");
}

TEST(TensorFile, RefusesMetadataThatIsNotText) {
  for (const char* value : {"1", "-1", "1.5", "true", "null", "[]", "{}"}) {
    expect_refused(file_of(fmt::format(R"({{"__metadata__":{{"key":{}}}}})", value)), "metadata: 'key' is ");
  }
  for (const char* metadata : {"null", "\"text\"", "[]", "1"}) {
    expect_refused(file_of(fmt::format(R"({{"__metadata__":{}}})", metadata)), "not an object");
  }
}

TEST(TensorFile, RefusesAFormatVersionItDoesNotKnow) {
  const auto with_version = [](const std::string& version, const std::string& rest = "") {
    return file_of(fmt::format(R"({{"__metadata__":{{"cpfm.format_version":"{}"}}{}}})", version, rest));
  };
  EXPECT_EQ(parse(with_version("1")).format_version(), 1);
  for (const char* version : {"", "0", "-1", "+1", "1.0", " 1", "1 ", "one", "01", "0x1"}) {
    expect_refused(with_version(version),
                   fmt::format("'cpfm.format_version' is '{}'; it is a whole number from 1 on", version));
  }
  expect_refused(with_version("2"), "has format version 2, but this cpfm knows versions up to 1; update cpfm");
  expect_refused(with_version("99999999999999999999"), "has format version 99999999999999999999, but");
  // What a newer version may have added does not hide what to do.
  expect_refused(with_version("3", R"(,"t":{"dtype":"F4","shape":[0],"data_offsets":[0,0]})"), "update cpfm");
  expect_refused(with_version("3", R"(,"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":[1]})"),
                 "update cpfm");
  expect_refused(with_version("3", R"(,"t":[[]])"), "update cpfm");
  expect_refused(file_of(R"({"t":{"codec":{"cpfm.format_version":"1"}},"__metadata__":{"cpfm.format_version":"3"}})"),
                 "has format version 3");
  expect_refused(file_of(R"({"t":{"__metadata__":{"cpfm.format_version":"3"}}})"), "unknown field '__metadata__'");
}

TEST(TensorFile, MessagesStayPrintableWhateverTheNamesHold) {
  const std::string message = error_of([&] {
    parse(file_of(R"({"\u001b[31m\n)" + std::string(5000, 'x') +
                  R"(":{"dtype":"\u0007","shape":[0],"data_offsets":[0,0]}})"));
  });
  EXPECT_NE(message.find("tensor '?[31m?xxx"), std::string::npos) << message;
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find_first_of("\n\x1b\x07"), std::string::npos);
}

TEST(TensorFile, ATruncatedFileIsRefusedAtEveryLength) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const std::string whole = read_bytes(folder / "all.cpfm");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // An exact copy, so that a sanitizer sees the first byte too far.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(TensorFile::parse(std::as_bytes(std::span(cut)), "cut"), DamagedFile) << length;
  }
}

// Who may make a file again has to know.
TEST(TensorFile, ANewerFileOrOneThatCannotBeReadIsNotDamaged) {
  const TempDir folder;
  const auto is_damaged = [](auto&& open) {
    try {
      open();
    } catch (const DamagedFile&) {
      return true;
    } catch (const Error&) {
      return false;
    }
    ADD_FAILURE() << "it was read";
    return false;
  };
  EXPECT_FALSE(is_damaged([] { parse(file_of(R"({"__metadata__":{"cpfm.format_version":"2"}})")); }));
  EXPECT_FALSE(is_damaged([&] { TensorFile::open(folder / "none.cpfm"); }));
  EXPECT_FALSE(is_damaged([&] { TensorFile::open(folder.path()); }));
  EXPECT_TRUE(is_damaged([] { parse(file_of(R"({"__metadata__":{"cpfm.format_version":"x"}})")); }));
  EveryDtype().writer().save(folder / "all.cpfm");
  std::string changed = read_bytes(folder / "all.cpfm");
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_TRUE(is_damaged([&] { parse(changed); }));
}

TEST(TensorFile, AFlippedBitIsRefusedOrLeavesAValidFile) {
  const TempDir folder;
  EveryDtype().writer().save(folder / "all.cpfm");
  const std::string whole = test::without_checksum(read_bytes(folder / "all.cpfm"));
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * (8 + header); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      const TensorFile file = parse(flipped);
      std::size_t bytes = 8 + header;
      for (const auto& [name, t] : file.tensors()) {
        EXPECT_EQ(t.to_floats().size(), t.count());
        bytes += t.bytes.size();
      }
      EXPECT_EQ(bytes, whole.size()) << "bit " << bit;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 4 * header);  // most do harm: names and texts alone survive
}

TEST(TensorFileWriter, RefusesNamesItCannotKeep) {
  TensorFileWriter writer;
  const std::vector<float> values{1, 2};
  writer.add("a", Shape{2}, std::span<const float>(values));
  EXPECT_THROW(writer.add("a", Shape{2}, std::span<const float>(values)), Error);
  EXPECT_THROW(writer.add("", Shape{2}, std::span<const float>(values)), Error);
  EXPECT_THROW(writer.add("__metadata__", Shape{2}, std::span<const float>(values)), Error);
  EXPECT_THROW(writer.add("\xFF", Shape{2}, std::span<const float>(values)), Error);
  EXPECT_THROW(writer.set_metadata("\xFF", "value"), Error);
  EXPECT_THROW(writer.set_metadata("key", "\xC3"), Error);
  const TempDir folder;
  writer.save(folder / "a.cpfm");
  EXPECT_EQ(TensorFile::open(folder / "a.cpfm").tensors().size(), 1u);
}

TEST(TensorFileWriter, RefusesBytesThatDoNotFitTheShape) {
  TensorFileWriter writer;
  const std::vector<float> values{1, 2};
  const auto add = [&](Shape shape) {
    return error_of([&] { writer.add("w", std::move(shape), std::span<const float>(values)); });
  };
  EXPECT_EQ(add({3}), "tensor 'w': 8 bytes were given, but F32 of shape [3] has 12");
  EXPECT_EQ(add({}), "tensor 'w': 8 bytes were given, but F32 of shape [] has 4");
  EXPECT_NE(add({std::uint64_t{1} << 62, 4}).find("overflows"), std::string::npos);
}

TEST(TensorFileWriter, TakesAnyTextAsNameAndMetadata) {
  TensorFileWriter writer;
  const std::string name("quote \" slash \\ zero \0 tab \t smile 😀", 39);
  const std::vector<float> values{1};
  writer.add(name, Shape{1}, std::span<const float>(values));
  writer.set_metadata(name, name);
  writer.set_metadata("", "");
  const TempDir folder;
  writer.save(folder / "odd.cpfm");
  const TensorFile file = TensorFile::open(folder / "odd.cpfm");
  EXPECT_EQ(file.tensor(name).to_floats(), values);
  EXPECT_EQ(file.metadata(name), name);
  EXPECT_EQ(file.metadata(""), "");
}

TEST(TensorFileWriter, RefusesAHeaderThatNoReaderWouldTakeAndLeavesTheOldFile) {
  const TempDir folder;
  TensorFileWriter writer;
  writer.set_metadata("size", "small");
  writer.save(folder / "a.cpfm");
  writer.set_metadata("long", std::string(1 << 20, 'x'));
  EXPECT_NE(error_of([&] { writer.save(folder / "a.cpfm"); }).find("at most 1048576"), std::string::npos);
  EXPECT_EQ(TensorFile::open(folder / "a.cpfm").metadata("size"), "small");
}

TEST(TensorFileWriter, AlwaysWritesTheVersionOfItsOwnLayout) {
  const TempDir folder;
  TensorFileWriter writer;
  writer.set_metadata(std::string(kFormatVersionKey), "77");
  writer.save(folder / "a.cpfm");
  EXPECT_EQ(TensorFile::open(folder / "a.cpfm").format_version(), kFormatVersion);
}

}  // namespace
}  // namespace cpfm
