// .npy and .npz
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "cpfm/data.hpp"
#include "data/columns.hpp"
#include "data/gzip.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

Dataset read_bytes_as(const TempDir& dir, const std::string& name, const std::string& bytes,
                      const ReadOptions& options = {}) {
  write_bytes(dir / name, bytes);
  return read_dataset((dir / name).string(), options);
}

// A pipe that holds a few bytes, named as shells name it: <(…).
class Pipe {
 public:
  explicit Pipe(const std::string& bytes) {
    EXPECT_EQ(pipe(ends_), 0);
    EXPECT_EQ(write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends_[1]);
  }
  ~Pipe() { close(ends_[0]); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::string path() const { return "/dev/fd/" + std::to_string(ends_[0]); }

 private:
  int ends_[2]{};
};

std::vector<float> values(const Dataset& data) { return {data.samples.values().begin(), data.samples.values().end()}; }

template <class T>
void expect_read(const std::string& code, const std::string& dtype) {
  const TempDir dir;
  const std::vector<T> numbers{0, 1, 2, 3, 100, 5};
  const std::vector<float> expected{0, 1, 2, 3, 100, 5};
  const Dataset little = read_bytes_as(dir, "a.npy", npy("<" + code, "(2, 3)", raw(numbers)));
  EXPECT_EQ(values(little), expected) << code;
  EXPECT_EQ(little.dtype, dtype);
  EXPECT_EQ(little.size(), 2u);
  EXPECT_EQ(little.dim(), 3u);
  const Dataset big = read_bytes_as(dir, "b.npy", npy(">" + code, "(2, 3)", raw_big_endian(numbers)));
  EXPECT_EQ(values(big), expected) << code;
}

TEST(Npy, ReadsEveryNumericTypeInBothByteOrders) {
  expect_read<std::int8_t>("i1", "int8");
  expect_read<std::uint8_t>("u1", "uint8");
  expect_read<std::int16_t>("i2", "int16");
  expect_read<std::uint16_t>("u2", "uint16");
  expect_read<std::int32_t>("i4", "int32");
  expect_read<std::uint32_t>("u4", "uint32");
  expect_read<std::int64_t>("i8", "int64");
  expect_read<std::uint64_t>("u8", "uint64");
  expect_read<float>("f4", "float32");
  expect_read<double>("f8", "float64");
}

TEST(Npy, ReadsHalvesAndBooleans) {
  const TempDir dir;
  EXPECT_EQ(values(read_bytes_as(dir, "a.npy", npy("<f2", "(2,)", raw<std::uint16_t>({0x3C00, 0xC000})))),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(values(read_bytes_as(dir, "b.npy", npy("|b1", "(3,)", std::string("\x00\x01\x02", 3)))),
            (std::vector<float>{0, 1, 1}));
}

TEST(Npy, ReadsFortranOrder) {
  const TempDir dir;
  const Dataset data = read_bytes_as(dir, "a.npy", npy("<f4", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true));
  EXPECT_EQ(values(data), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  // (2, 2, 3): element (i, h, w) = 100 i + 10 h + w, first index fastest
  std::vector<float> fortran;
  for (int w = 0; w < 3; ++w)
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 2; ++i) fortran.push_back(static_cast<float>(100 * i + 10 * h + w));
  const Dataset cube = read_bytes_as(dir, "b.npy", npy("<f4", "(2, 2, 3)", raw(fortran), true));
  EXPECT_EQ(values(cube), (std::vector<float>{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
  ASSERT_TRUE(cube.image);
  EXPECT_EQ(*cube.image, (ImageShape{1, 2, 3}));
}

TEST(Npy, ReadsFortranOrderOfMoreColumnsThanOneBlock) {
  const TempDir dir;
  const std::size_t n = 37, d = 101;
  std::vector<double> columns(n * d);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t i = 0; i < n; ++i) columns[j * n + i] = static_cast<double>(i * d + j);
  const Dataset data = read_bytes_as(dir, "a.npy", npy("<f8", "(37, 101)", raw(columns), true));
  for (std::size_t k = 0; k < n * d; ++k) ASSERT_EQ(data.samples.data()[k], static_cast<float>(k));
}

TEST(Npy, ReadsFortranOrderOfColumnsLongerThanOneBlock) {
  const TempDir dir;
  const std::size_t n = (1 << 20) + 5;
  std::vector<float> columns(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    columns[i] = static_cast<float>(2 * i % 1000);
    columns[n + i] = static_cast<float>(i % 777);
  }
  const Dataset data = read_bytes_as(dir, "a.npy", npy("<f4", "(" + std::to_string(n) + ", 2)", raw(columns), true));
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(data.samples(i, 0), columns[i]);
    ASSERT_EQ(data.samples(i, 1), columns[n + i]);
  }
}

TEST(Npy, RefusesLabelsThatA32BitFloatCannotTellApart) {
  const TempDir dir;
  ReadOptions options;
  options.labels = "2";
  EXPECT_CONTAINS(error_of([&] {
                    read_bytes_as(dir, "a.npy", npy("<i8", "(2, 2)", raw<std::int64_t>({1, 5, 2, 16777217})), options);
                  }),
                  "row 2: 16777216 is too large for a class");
  write_bytes(dir / "y.npy", npy("<i8", "(2,)", raw<std::int64_t>({16777217, 16777216})));
  options.labels = (dir / "y.npy").string();
  EXPECT_EQ(read_bytes_as(dir, "x.npy", npy("<f4", "(2,)", raw<float>({1, 2})), options).labels->names,
            (std::vector<std::string>{"16777216", "16777217"}));
}

TEST(Npy, SaysThatANumberIsTooLargeForA32BitFloat) {
  const TempDir dir;
  EXPECT_CONTAINS(error_of([&] {
                    read_bytes_as(dir, "a.npy", npy("<f8", "(2, 2)", raw<double>({1, 2, 1e300, 4})));
                  }),
                  "row 2, column 1: the value is infinite or too large for a 32-bit float");
}

TEST(Npy, SeesPicturesInThreeAndFourDimensions) {
  const TempDir dir;
  const std::string bytes(2 * 4 * 5 * 3, '\x07');
  EXPECT_EQ(*read_bytes_as(dir, "a.npy", npy("|u1", "(6, 4, 5)", bytes)).image, (ImageShape{1, 4, 5}));
  EXPECT_EQ(*read_bytes_as(dir, "b.npy", npy("|u1", "(2, 3, 4, 5)", bytes)).image, (ImageShape{3, 4, 5}));
  EXPECT_EQ(*read_bytes_as(dir, "c.npy", npy("|u1", "(2, 4, 5, 3)", bytes)).image, (ImageShape{3, 4, 5}));
  // channels last become channels first: pixel p of channel c is 3p + c
  std::vector<std::uint8_t> interleaved(2 * 2 * 2 * 3);
  for (std::size_t i = 0; i < interleaved.size(); ++i) interleaved[i] = static_cast<std::uint8_t>(i);
  const Dataset data = read_bytes_as(dir, "d.npy", npy("|u1", "(2, 2, 2, 3)", raw(interleaved)));
  EXPECT_EQ(values(data),
            (std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, 12, 15, 18, 21, 13, 16, 19, 22, 14, 17, 20, 23}));
  EXPECT_EQ((*data.value_range)[1], 255);
}

TEST(Npy, ReadsOnlyTheRowsOfALimit) {
  const TempDir dir;
  ReadOptions options;
  options.limit = 2;
  EXPECT_EQ(values(read_bytes_as(dir, "a.npy", npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6})), options)),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values(read_bytes_as(dir, "b.npy", npy("<f4", "(3, 2)", raw<float>({1, 3, 5, 2, 4, 6}), true), options)),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST(Npy, TakesAColumnByNumberAsLabelsOrProperty) {
  const TempDir dir;
  ReadOptions options;
  options.labels = "3";
  options.properties = {"1"};
  const Dataset data =
      read_bytes_as(dir, "a.npy", npy("<f4", "(3, 4)", raw<float>({9, 1, 7, 2, 8, 3, 5, 4, 7, 5, 7, 6})), options);
  EXPECT_EQ(values(data), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.labels->names, (std::vector<std::string>{"5", "7"}));
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(data.properties.at(0).values, (std::vector<float>{9, 8, 7}));
}

TEST(Npy, RefusesWhatIsNotNumbers) {
  const TempDir dir;
  const auto refusal = [&](const std::string& bytes) { return error_of([&] { read_bytes_as(dir, "x.npy", bytes); }); };
  EXPECT_CONTAINS(refusal(npy("<c8", "(2,)", std::string(16, '\0'))), "type '<c8'");
  EXPECT_CONTAINS(refusal(npy("|O", "(2,)", std::string(16, '\0'))), "Python objects (type '|O')");
  EXPECT_CONTAINS(refusal(npy("<f16", "(2,)", std::string(32, '\0'))), "floats of up to 64 bits are read");
  EXPECT_CONTAINS(refusal(npy("<U3", "(2,)", std::string(24, '\0'))), "holds text");
  EXPECT_CONTAINS(refusal(npy("<f4", "(2, 3, 4, 5, 6)", "")), "not a set of samples");
  EXPECT_CONTAINS(refusal(npy("<f4", "()", "abcd")), "not a set of samples");
  EXPECT_CONTAINS(refusal(npy("<f4", "(0, 3)", "")), "the array is empty");
  EXPECT_CONTAINS(refusal(npy("<f4", "(2, 4, 4, 2)", std::string(256, '\0'))), "neither 1 nor 3 channels");
}

TEST(Npy, RefusesATruncatedFileAtEveryLength) {
  const TempDir dir;
  const std::string whole = npy("<f4", "(4, 3)", raw(std::vector<float>(12, 1.5f)));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string text = error_of([&] { read_bytes_as(dir, "t.npy", whole.substr(0, length)); });
    const char* const reason = length == 0                  ? "t.npy: is empty"
                               : length < 6                 ? "is named like an npy file but does not begin like one"
                               : length < whole.size() - 48 ? "t.npy: ends after"
                                                            : "its header promises 48 bytes of samples";
    EXPECT_CONTAINS(text, reason) << "at " << length;
  }
}

TEST(Npy, RefusesSizesThatOverflowOrLieBeforeAllocating) {
  const TempDir dir;
  const auto refusal = [&](const std::string& shape) {
    return error_of([&] { read_bytes_as(dir, "x.npy", npy("<f8", shape, "abcdefgh")); });
  };
  EXPECT_CONTAINS(refusal("(4294967296, 4294967296)"), "overflows");
  EXPECT_CONTAINS(refusal("(99999999999999999999,)"), "header");
  EXPECT_CONTAINS(refusal("(1000000, 1000000)"), "promises 8.0 TB");
  EXPECT_CONTAINS(refusal("(-1, 2)"), "header");
}

TEST(Npy, IsReadThroughGzipToo) {
  const TempDir dir;
  const std::string whole = npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}));
  EXPECT_EQ(values(read_bytes_as(dir, "a.npy.gz", gzipped(whole))), (std::vector<float>{1, 2, 3, 4}));
  const std::string fortran = npy("<f4", "(2, 2)", raw<float>({1, 3, 2, 4}), true);
  EXPECT_EQ(values(read_bytes_as(dir, "b.npy.gz", gzipped(fortran))), (std::vector<float>{1, 2, 3, 4}));
  const std::string packed = gzipped(whole);
  for (std::size_t length = 2; length < packed.size(); ++length) {
    EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "t.npy.gz", packed.substr(0, length)); }),
                    "the compressed data ends too early");
  }
}

// A zip archive as numpy.savez (stored) or savez_compressed (deflated) lays it out.
std::string zip(const std::vector<std::pair<std::string, std::string>>& members, bool deflated) {
  std::string out, directory;
  for (const auto& [name, plain] : members) {
    std::string packed = plain;
    if (deflated) {
      const std::string gz = gzipped(plain);
      packed = gz.substr(10, gz.size() - 18);  // the raw deflate stream inside
    }
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())));
    const std::string sizes =
        raw<std::uint32_t>({crc, static_cast<std::uint32_t>(packed.size()), static_cast<std::uint32_t>(plain.size())});
    const std::string method = raw<std::uint16_t>({20, 0, static_cast<std::uint16_t>(deflated ? 8 : 0), 0, 0});
    const std::string lengths = raw<std::uint16_t>({static_cast<std::uint16_t>(name.size()), 0});
    directory += raw<std::uint32_t>({0x02014b50}) + raw<std::uint16_t>({20}) + method + sizes + lengths +
                 raw<std::uint16_t>({0, 0, 0}) + raw<std::uint32_t>({0, static_cast<std::uint32_t>(out.size())}) + name;
    out += raw<std::uint32_t>({0x04034b50}) + method + sizes + lengths + name + packed;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return out + directory + raw<std::uint32_t>({0x06054b50}) + raw<std::uint16_t>({0, 0, count, count}) +
         raw<std::uint32_t>({static_cast<std::uint32_t>(directory.size()), static_cast<std::uint32_t>(out.size())}) +
         raw<std::uint16_t>({0});
}

TEST(Npz, ReadsStoredAndDeflatedArraysWithLabelsAndProperties) {
  const TempDir dir;
  for (const bool deflated : {false, true}) {
    ReadOptions options;
    options.labels = "species";
    options.properties = {"mass"};
    const Dataset data = read_bytes_as(dir, "a.npz",
                                       zip({{"X.npy", npy("<f4", "(3, 1)", raw<float>({1, 2, 3}))},
                                            {"species.npy", npy("|S3", "(3,)", std::string("catdogcat"))},
                                            {"mass.npy", npy("<f8", "(3,)", raw<double>({4, 5, 6}))}},
                                           deflated),
                                       options);
    EXPECT_EQ(values(data), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(data.labels->names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{0, 1, 0}));
    EXPECT_EQ(data.properties.at(0).name, "mass");
    EXPECT_EQ(data.properties.at(0).values, (std::vector<float>{4, 5, 6}));
  }
}

// The same with all sizes and positions in the fields of 64 bits, as numpy writes arrays beyond 4 GiB.
std::string zip64(const std::string& name, const std::string& plain) {
  const auto crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())));
  const std::string method = raw<std::uint16_t>({45, 0, 0, 0, 0});
  const std::string sizes = raw<std::uint32_t>({crc, 0xFFFFFFFF, 0xFFFFFFFF});
  const auto extra = [&](const std::vector<std::uint64_t>& fields) {
    return raw<std::uint16_t>({1, static_cast<std::uint16_t>(8 * fields.size())}) + raw(fields);
  };
  const auto lengths = [&](const std::string& field) {
    return raw<std::uint16_t>({static_cast<std::uint16_t>(name.size()), static_cast<std::uint16_t>(field.size())});
  };
  const std::string local_extra = extra({plain.size(), plain.size()});
  const std::string other = raw<std::uint16_t>({0x5455, 1}) + "t";  // a field of another kind in front
  const std::string central_extra = other + extra({plain.size(), plain.size(), 0});
  const std::string local =
      raw<std::uint32_t>({0x04034b50}) + method + sizes + lengths(local_extra) + name + local_extra + plain;
  const std::string directory = raw<std::uint32_t>({0x02014b50}) + raw<std::uint16_t>({45}) + method + sizes +
                                lengths(central_extra) + raw<std::uint16_t>({0, 0, 0}) +
                                raw<std::uint32_t>({0, 0xFFFFFFFF}) + name + central_extra;
  const std::string end64 = raw<std::uint32_t>({0x06064b50}) + raw<std::uint64_t>({44}) + raw<std::uint16_t>({45, 45}) +
                            raw<std::uint32_t>({0, 0}) + raw<std::uint64_t>({1, 1, directory.size(), local.size()});
  const std::string locator = raw<std::uint32_t>({0x07064b50, 0}) +
                              raw<std::uint64_t>({local.size() + directory.size()}) + raw<std::uint32_t>({1});
  return local + directory + end64 + locator + raw<std::uint32_t>({0x06054b50}) +
         raw<std::uint16_t>({0, 0, 0xFFFF, 0xFFFF}) + raw<std::uint32_t>({0xFFFFFFFF, 0xFFFFFFFF}) +
         raw<std::uint16_t>({0});
}

TEST(Npz, ReadsFieldsOf64Bits) {
  const TempDir dir;
  const std::string whole = zip64("X.npy", npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4})));
  EXPECT_EQ(values(read_bytes_as(dir, "a.npz", whole)), (std::vector<float>{1, 2, 3, 4}));
  for (std::size_t length = 4; length < whole.size(); ++length) {
    EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "t.npz", whole.substr(0, length)); }), "not a whole npz file");
  }
}

TEST(Npz, IsNotTakenForGzipWhereItsEndLooksLikeIt) {
  const TempDir dir;
  // The directory is looked for in the last 22 + 65535 bytes: they begin inside the array, with the mark of gzip.
  constexpr std::size_t kCount = 100'000, kTail = 22 + 65535;
  std::string array(kCount, '\x01');
  const auto whole = [&] { return zip({{"X.npy", npy("|u1", "(100000,)", array)}}, false); };
  const std::size_t header = whole().find(array), tail = whole().size() - kTail;
  array[tail - header] = '\x1f';
  array[tail - header + 1] = '\x8b';
  EXPECT_EQ(read_bytes_as(dir, "a.npz", whole()).samples(tail - header, 0), 0x1f);
}

TEST(Npz, MustBeAPlainFile) {
  const TempDir dir;
  const std::string bytes = zip({{"X.npy", npy("<f4", "(2, 1)", raw<float>({1, 2}))}}, false);
  EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "a.npz.gz", gzipped(bytes)); }),
                  "is a gzipped npz file; unpack it first");
  const Pipe pipe(bytes);
  EXPECT_CONTAINS(error_of([&] { read_dataset(pipe.path()); }), "must be a plain file: it is read from several places");
}

TEST(NpyColumn, ComesThroughAPipe) {
  const TempDir dir;
  ReadOptions options;
  const Pipe pipe("a\nb\n");
  options.labels = pipe.path();
  EXPECT_EQ(read_bytes_as(dir, "x.npy", npy("<f4", "(2,)", raw<float>({1, 2})), options).labels->names,
            (std::vector<std::string>{"a", "b"}));
  const Pipe for_table("3\n4\n");
  options.labels.clear();
  options.properties = {for_table.path()};
  EXPECT_EQ(read_bytes_as(dir, "x.csv", "1,2\n3,4\n", options).properties.at(0).values, (std::vector<float>{3, 4}));
}

TEST(Npz, ChoosesAnArrayByKeyAndSuggestsNames) {
  const TempDir dir;
  const std::string two = zip({{"first.npy", npy("<f4", "(2, 1)", raw<float>({1, 2}))},
                               {"second.npy", npy("<f4", "(2, 1)", raw<float>({3, 4}))}},
                              false);
  ReadOptions options;
  EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "a.npz", two); }),
                  "choose one with --key; there are: first, second");
  options.key = "second";
  EXPECT_EQ(values(read_bytes_as(dir, "a.npz", two, options)), (std::vector<float>{3, 4}));
  options.key = "secnd";
  EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "a.npz", two, options); }), "did you mean 'second'?");
  options.key = "second";
  options.labels = "lables";
  EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "a.npz", two, options); }), "holds no array 'lables'");
}

TEST(Npz, RefusesDamageAtEveryByte) {
  const TempDir dir;
  const std::string whole = zip({{"X.npy", npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}))}}, true);
  for (std::size_t length = 4; length < whole.size(); ++length) {
    error_of([&] { read_bytes_as(dir, "t.npz", whole.substr(0, length)); });
  }
  for (std::size_t at = 4; at < whole.size();
       ++at) {  // a flipped byte gives an error or (in unused fields) the right data
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0xFF);
    try {
      EXPECT_EQ(values(read_bytes_as(dir, "f.npz", flipped)), (std::vector<float>{1, 2, 3, 4})) << "byte " << at;
    } catch (const Error&) {
    }
  }
}

TEST(Npz, RefusesADamagedStoredArray) {
  const TempDir dir;
  std::string bytes = zip({{"X.npy", npy("<f4", "(2, 1)", raw<float>({1, 2}))}}, false);
  bytes[bytes.find("}\n") + 3] ^= 1;
  EXPECT_CONTAINS(error_of([&] { read_bytes_as(dir, "a.npz", bytes); }), "checksum does not match");
}

TEST(NpyColumn, ReadsUnicodeText) {
  const TempDir dir;
  write_bytes(dir / "x.npy", npy("<f4", "(2,)", raw<float>({1, 2})));
  write_bytes(dir / "y.npy", npy("<U2", "(2,)", raw<std::uint32_t>({'A', 0, 0xE9, 0x1F600})));
  ReadOptions options;
  options.labels = (dir / "y.npy").string();
  EXPECT_EQ(read_dataset((dir / "x.npy").string(), options).labels->names, (std::vector<std::string>{"A", "é😀"}));
}

}  // namespace
}  // namespace cpfm
