// Fetching without a network: sources of the tests' own, and file:// addresses for what goes through libcurl. A real
// download happens only with CPFM_TEST_DOWNLOAD=1.
#include "data/fetch.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "base/subprocess.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/md5.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

namespace fs = std::filesystem;

TEST(RemoteDatasets, ListsEveryFileOnce) {
  std::vector<std::string> names;
  for (const RemoteDataset& dataset : remote_datasets()) {
    names.push_back(dataset.name);
    EXPECT_FALSE(dataset.description.empty());
    std::vector<std::string> files = dataset.files;
    std::sort(files.begin(), files.end());
    EXPECT_EQ(std::unique(files.begin(), files.end()), files.end());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mnist", "cifar10"}));
}

TEST(FetchDataset, SuggestsTheNearestName) {
  try {
    fetch_dataset("cifar-10", "unused");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'cifar-10'"), std::string::npos) << error.what();
    EXPECT_EQ(error.remedy(), "did you mean 'cifar10'?");
  }
  EXPECT_FALSE(fs::exists("unused"));
}

#if !CPFM_HAS_DOWNLOAD

TEST(FetchDataset, SaysWhatToInstallWhenTheComponentIsMissing) {
  try {
    fetch_dataset("mnist", "unused");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.remedy().find("libcurl4-openssl-dev"), std::string::npos) << error.what();
  }
}

#else

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Md5, GivesTheAnswersOfRfc1321) {
  const std::map<std::string, std::string> answers{
      {"", "d41d8cd98f00b204e9800998ecf8427e"},
      {"a", "0cc175b9c0f1b6a831c399e269772661"},
      {"abc", "900150983cd24fb0d6963f7d28e17f72"},
      {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
      {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
      {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
       "57edf4a22be3c955ac49da2e2107b67a"},
  };
  for (const auto& [text, md5] : answers) EXPECT_EQ(md5_hex(bytes_of(text)), md5) << text;
}

class Fetch : public ::testing::Test {
 protected:
  void SetUp() override {
    // Whatever is made in TMPDIR from now on can be looked for afterwards.
    temporary_ = folder_ / "tmp";
    fs::create_directory(temporary_);
    if (const char* old = std::getenv("TMPDIR")) old_tmpdir_ = old;
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(temporary_)) << "a temporary folder was left behind";
    old_tmpdir_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old_tmpdir_.c_str(), 1);
    clear_interrupt();
  }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write_gzip(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    gzFile out = gzopen(file.c_str(), "wb");
    ASSERT_NE(out, nullptr);
    ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(out), Z_OK);
  }
  static RemoteFile remote(const std::string& name, const std::string& content) {
    return {name, content.size(), md5_hex(bytes_of(content)), {}};
  }
  static std::string url(const fs::path& path) { return "file://" + path.string(); }
  std::size_t entries(const fs::path& folder) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  test::TempDir folder_;
  fs::path temporary_;
  std::string old_tmpdir_;
  Progress nobody_;
};

// Gives what it was told to give, and counts.
class FakeSource final : public FetchSource {
 public:
  FakeSource(std::map<std::string, std::string> content, int& asked) : content_(std::move(content)), asked_(asked) {}
  std::string name() const override { return "fake"; }
  std::vector<std::byte> get(const RemoteFile& file, Progress&) override {
    ++asked_;
    const auto found = content_.find(file.name);
    if (found == content_.end()) throw Error(file.name, "the fake has none");
    const auto bytes = bytes_of(found->second);
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::map<std::string, std::string> content_;
  int& asked_;
};

using Sources = std::vector<std::unique_ptr<FetchSource> >;

TEST_F(Fetch, KeepsRightFilesAndReplacesWrongOnes) {
  const std::vector<RemoteFile> files{remote("right", "alpha"), remote("wrong", "beta"), remote("missing", "gamma")};
  const fs::path target = folder_ / "data";
  write(target / "right", "alpha");
  write(target / "wrong", "bet!");
  fs::last_write_time(target / "right", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto before = fs::last_write_time(target / "right");
  int asked = 0;
  Sources sources;
  sources.push_back(std::make_unique<FakeSource>(
      std::map<std::string, std::string>{{"right", "alpha"}, {"wrong", "beta"}, {"missing", "gamma"}}, asked));
  const std::vector<fs::path> paths = fetch_files("test", files, sources, target, nobody_);
  EXPECT_EQ(paths, (std::vector<fs::path>{target / "right", target / "wrong", target / "missing"}));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(fs::last_write_time(target / "right"), before);
  EXPECT_EQ(read(target / "wrong"), "beta");
  EXPECT_EQ(read(target / "missing"), "gamma");
  EXPECT_EQ(entries(target), 3u);
}

TEST_F(Fetch, TurnsToTheNextSourceForGoodOnceOneGaveWrongBytes) {
  const std::vector<RemoteFile> files{remote("a", "alpha"), remote("b", "beta")};
  int bad = 0, good = 0;
  Sources sources;
  sources.push_back(
      std::make_unique<FakeSource>(std::map<std::string, std::string>{{"a", "alpHa"}, {"b", "beta"}}, bad));
  sources.push_back(
      std::make_unique<FakeSource>(std::map<std::string, std::string>{{"a", "alpha"}, {"b", "beta"}}, good));
  fetch_files("test", files, sources, folder_ / "data", nobody_);
  EXPECT_EQ(bad, 1);
  EXPECT_EQ(good, 2);
  EXPECT_EQ(read(folder_ / "data/a"), "alpha");
}

TEST_F(Fetch, NamesTheReasonOfEverySourceAndLeavesNothingWhenAllFail) {
  int asked = 0;
  Sources sources;
  sources.push_back(std::make_unique<FakeSource>(std::map<std::string, std::string>{}, asked));
  sources.push_back(std::make_unique<FakeSource>(std::map<std::string, std::string>{{"a", "other"}}, asked));
  try {
    fetch_files("test", {remote("a", "alpha")}, sources, folder_ / "data", nobody_);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("the fake has none"), std::string::npos) << error.what();
    EXPECT_NE(error.problem().find("md5 is"), std::string::npos) << error.what();
    EXPECT_NE(error.remedy().find((folder_ / "data").string()), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

TEST_F(Fetch, LeavesAWrongFileAloneWhenNothingBetterComes) {
  write(folder_ / "data/a", "mine!");
  EXPECT_THROW(fetch_files("test", {remote("a", "alpha")}, Sources{}, folder_ / "data", nobody_), Error);
  EXPECT_EQ(read(folder_ / "data/a"), "mine!");
}

TEST_F(Fetch, WritesKnownTextsWithoutAskingAnybody) {
  const std::vector<RemoteFile> files{{"names.txt", 0, {}, "cat\ndog\n"}};
  fetch_files("test", files, Sources{}, folder_ / "data", nobody_);
  EXPECT_EQ(read(folder_ / "data/names.txt"), "cat\ndog\n");
  write(folder_ / "data/names.txt", "cat\ndog\n\n");  // as other people write it
  fetch_files("test", files, Sources{}, folder_ / "data", nobody_);
  EXPECT_EQ(read(folder_ / "data/names.txt"), "cat\ndog\n\n");
  write(folder_ / "data/names.txt", "dog\ncat\n");
  fetch_files("test", files, Sources{}, folder_ / "data", nobody_);
  EXPECT_EQ(read(folder_ / "data/names.txt"), "cat\ndog\n");
}

TEST_F(Fetch, RefusesAFolderWhereAFileShouldGo) {
  fs::create_directories(folder_ / "data/a");
  EXPECT_THROW(fetch_files("test", {remote("a", "alpha")}, Sources{}, folder_ / "data", nobody_), Error);
}

TEST_F(Fetch, StopsAtAnInterruptWithNothingHalfWritten) {
  request_interrupt();
  int asked = 0;
  Sources sources;
  sources.push_back(std::make_unique<FakeSource>(std::map<std::string, std::string>{{"a", "alpha"}}, asked));
  EXPECT_THROW(fetch_files("test", {remote("a", "alpha")}, sources, folder_ / "data", nobody_), Interrupted);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

TEST_F(Fetch, DownloadsAndUnpacksGzippedFiles) {
  const std::string content(300'000, 'x');
  write_gzip(folder_ / "mirror/images.gz", content);
  Sources sources;
  sources.push_back(gzip_file_source(url(folder_ / "mirror")));
  fetch_files("test", {remote("images", content)}, sources, folder_ / "data", nobody_);
  EXPECT_EQ(read(folder_ / "data/images"), content);
}

TEST_F(Fetch, RefusesGzippedFilesOfAnotherLengthOrDamaged) {
  for (const std::string& held : {std::string("alph"), std::string("alphabet")}) {
    write_gzip(folder_ / "mirror/a.gz", held);
    EXPECT_THROW(gzip_file_source(url(folder_ / "mirror"))->get(remote("a", "alpha"), nobody_), Error) << held;
  }
  write_gzip(folder_ / "mirror/a.gz", "alpha");
  fs::resize_file(folder_ / "mirror/a.gz", fs::file_size(folder_ / "mirror/a.gz") - 9);
  EXPECT_THROW(gzip_file_source(url(folder_ / "mirror"))->get(remote("a", "alpha"), nobody_), Error);
  fs::remove(folder_ / "mirror/a.gz");
  EXPECT_THROW(gzip_file_source(url(folder_ / "mirror"))->get(remote("a", "alpha"), nobody_), Error);
}

TEST_F(Fetch, UnpacksAnArchiveOnceForAllItsFiles) {
  write(folder_ / "mirror/inner/a", "alpha");
  write(folder_ / "mirror/inner/b", "beta");
  const fs::path archive = folder_ / "mirror/all.tar.gz";
  ASSERT_EQ(run_process({"tar", "-czf", archive.string(), "inner"}, folder_ / "mirror").exit_code, 0);
  Sources sources;
  sources.push_back(archive_source(url(archive), 1'000'000, extract_from("inner")));
  const RemoteFile a = remote("a", "alpha"), b = remote("b", "beta"), c = remote("c", "gamma");
  EXPECT_EQ(md5_hex(sources[0]->get(a, nobody_)), a.md5);
  fs::remove(archive);
  EXPECT_EQ(md5_hex(sources[0]->get(b, nobody_)), b.md5);
  EXPECT_THROW(sources[0]->get(c, nobody_), Error);
  sources.clear();
}

TEST_F(Fetch, RefusesAnArchiveThatIsNoneAndOneThatIsTooLarge) {
  write(folder_ / "mirror/all.tar.gz", std::string(5000, 'x'));
  const std::string address = url(folder_ / "mirror/all.tar.gz");
  EXPECT_THROW(archive_source(address, 1'000'000, extract_from("inner"))->get(remote("a", "alpha"), nobody_), Error);
  try {
    archive_source(address, 4999, extract_from("inner"))->get(remote("a", "alpha"), nobody_);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("larger"), std::string::npos) << error.what();
  }
}

TEST_F(Fetch, DoesNotFollowALinkOutOfAnArchive) {
  write(folder_ / "secret", "alpha");
  fs::create_directories(folder_ / "mirror/inner");
  fs::create_symlink(folder_ / "secret", folder_ / "mirror/inner/a");
  const fs::path archive = folder_ / "mirror/all.tar.gz";
  ASSERT_EQ(run_process({"tar", "-czf", archive.string(), "inner"}, folder_ / "mirror").exit_code, 0);
  const auto source = archive_source(url(archive), 1'000'000, extract_from("inner"));
  EXPECT_THROW(source->get(remote("a", "alpha"), nobody_), Error);
}

TEST_F(Fetch, ReportsBytesAsTheyCome) {
  class Recorder final : public Progress {
   public:
    void start(const std::string&, std::uint64_t total, const std::string& unit) override {
      total_ = total;
      unit_ = unit;
    }
    void update(std::uint64_t done, const std::string&) override { done_ = done; }
    void finish() override { finished_ = true; }
    std::uint64_t total_ = 0, done_ = 0;
    std::string unit_;
    bool finished_ = false;
  } recorder;
  write(folder_ / "file", std::string(1'000'000, 'x'));
  std::size_t received = 0;
  download(
      url(folder_ / "file"), 1'000'000, [&](std::span<const std::byte> bytes) { received += bytes.size(); }, recorder);
  EXPECT_EQ(received, 1'000'000u);
  EXPECT_EQ(recorder.total_, 1'000'000u);
  EXPECT_EQ(recorder.done_, 1'000'000u);
  EXPECT_EQ(recorder.unit_, "bytes");
  EXPECT_TRUE(recorder.finished_);
}

TEST_F(Fetch, StopsADownloadAtAnInterrupt) {
  write(folder_ / "file", std::string(1'000'000, 'x'));
  EXPECT_THROW(download(
                   url(folder_ / "file"), 1'000'000, [](std::span<const std::byte>) { request_interrupt(); }, nobody_),
               Interrupted);
}

TEST_F(Fetch, RefusesOtherProtocolsThanHttps) {
  EXPECT_THROW(download(
                   "http://localhost/x", 10, [](std::span<const std::byte>) {}, nobody_),
               Error);
}

class RealDownload : public Fetch, public ::testing::WithParamInterface<std::string> {};

TEST_P(RealDownload, GivesAllFilesAndKeepsThemTheSecondTime) {
  const char* wanted = std::getenv("CPFM_TEST_DOWNLOAD");
  if (wanted == nullptr || std::string(wanted) != "1") {
    GTEST_SKIP() << "NOT TESTED: the real download of " << GetParam() << "; set CPFM_TEST_DOWNLOAD=1 to test it";
  }
  const fs::path target = folder_ / "data";
  const std::vector<fs::path> paths = fetch_dataset(GetParam(), target);
  for (const fs::path& path : paths) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(entries(target), paths.size());
  std::map<fs::path, fs::file_time_type> times;
  for (const fs::path& path : paths) times[path] = fs::last_write_time(path);
  EXPECT_EQ(fetch_dataset(GetParam(), target), paths);
  for (const fs::path& path : paths) EXPECT_EQ(fs::last_write_time(path), times[path]) << path;
}

INSTANTIATE_TEST_SUITE_P(All, RealDownload, ::testing::Values("mnist", "cifar10"),
                         [](const auto& instance) { return instance.param; });

#endif

}  // namespace
}  // namespace cpfm
