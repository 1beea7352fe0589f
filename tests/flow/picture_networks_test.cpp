// LPIPS, and features of SqueezeNet and Inception, against the modules of torchvision: values stored, and computed
// again where it is installed.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "base/subprocess.hpp"
#include "cpfm/data.hpp"
#include "cpfm/features.hpp"
#include "cpfm/model.hpp"
#include "cpfm/random.hpp"
#include "flow/tensor_bytes.hpp"
#include "support/files.hpp"
#include "support/python.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// Weights and pictures are by formula: picture_networks_reference.py computes the same to the last bit, and asks
// torchvision what they give. A number in [-1/2, 1/2), of 24 bits, for place k of what has this name.
class Formula {
 public:
  explicit Formula(const std::string& name) {
    for (const char c : name) seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  double operator()(std::size_t k) const {
    std::uint32_t x = static_cast<std::uint32_t>(k) * 2654435761u + seed_;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
    return (x >> 8) / 16777216.0 - 0.5;
  }

 private:
  std::uint32_t seed_ = 2166136261u;
};

// Tensors by name, and the file of them.
class Made {
 public:
  // In [middle - width/2, middle + width/2).
  void add(const std::string& name, const std::vector<std::int64_t>& shape, double middle, double width) {
    torch::Tensor values = torch::empty(shape);
    const Formula formula(name);
    float* const to = values.data_ptr<float>();
    for (std::int64_t k = 0; k < values.numel(); ++k)
      to[k] = static_cast<float>(middle + width * formula(static_cast<std::size_t>(k)));
    tensors_.insert_or_assign(name, values);
  }
  // A convolution that keeps the size of what passes: nothing dies on the way.
  void add_convolution(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t height,
                       std::int64_t width) {
    add(name, {out, in, height, width}, 0, std::sqrt(24.0 / static_cast<double>(in * height * width)));
  }
  // Another one in the place of what has this name.
  Made with(const std::string& name, const std::vector<std::int64_t>& shape) const {
    EXPECT_EQ(tensors_.count(name), 1u) << name;
    Made other = *this;
    other.tensors_[name] = torch::zeros(shape);
    return other;
  }
  // Less all whose names begin so.
  Made without(const std::string& beginning) const {
    Made other = *this;
    EXPECT_GT(std::erase_if(other.tensors_, [&](const auto& entry) { return entry.first.starts_with(beginning); }), 0u)
        << beginning;
    return other;
  }
  void save(const std::filesystem::path& file) const {
    TensorFileWriter writer;
    for (const auto& [name, values] : tensors_) add_tensor(writer, name, values);
    writer.save(file);
  }

 private:
  std::map<std::string, torch::Tensor> tensors_;
};

// SqueezeNet 1.1 with the heads of LPIPS. `first`: channels of the first convolution; `fires`: those squeezed to, and
// those of each of the two expansions.
Made squeezenet(std::int64_t first, const std::array<std::pair<std::int64_t, std::int64_t>, 8>& fires) {
  Made made;
  const auto conv = [&](const std::string& name, std::int64_t out, std::int64_t in, std::int64_t size) {
    made.add_convolution(name + ".weight", out, in, size, size);
    made.add(name + ".bias", {out}, 0, 0.5);
  };
  int heads = 0;
  const auto head = [&](std::int64_t channels) {
    made.add("linear.lin" + std::to_string(heads++) + ".weight", {1, channels, 1, 1}, 0.5, 1);
  };
  conv("backbone.0", first, 3, 3);
  head(first);
  std::int64_t channels = first;
  constexpr std::array kPlaces = {3, 4, 6, 7, 9, 10, 11, 12};
  for (std::size_t k = 0; k < fires.size(); ++k) {
    const auto [squeezed, expanded] = fires[k];
    const std::string name = "backbone." + std::to_string(kPlaces[k]);
    conv(name + ".squeeze", squeezed, channels, 1);
    conv(name + ".expand1x1", expanded, squeezed, 1);
    conv(name + ".expand3x3", expanded, squeezed, 3);
    channels = 2 * expanded;
    if (k != 0 && k != 2) head(channels);  // of two fires before a pooling, the second
  }
  return made;
}
Made full_squeezenet() {
  return squeezenet(64, {{{16, 64}, {16, 64}, {32, 128}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {64, 256}}});
}
// The right graph and few channels: 8 in every layer.
Made small_squeezenet() { return squeezenet(8, {{{2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}}}); }

// Inception-V3 as the FID has it.
Made full_inception() {
  Made made;
  const auto conv = [&](const std::string& name, std::int64_t out, std::int64_t in, std::int64_t height,
                        std::int64_t width) {
    made.add_convolution(name + ".conv.weight", out, in, height, width);
    made.add(name + ".bn.weight", {out}, 1, 0.25);
    made.add(name + ".bn.bias", {out}, 0, 0.5);
    made.add(name + ".bn.running_mean", {out}, 0, 0.5);
    made.add(name + ".bn.running_var", {out}, 1, 0.75);
  };
  conv("Conv2d_1a_3x3", 32, 3, 3, 3);
  conv("Conv2d_2a_3x3", 32, 32, 3, 3);
  conv("Conv2d_2b_3x3", 64, 32, 3, 3);
  conv("Conv2d_3b_1x1", 80, 64, 1, 1);
  conv("Conv2d_4a_3x3", 192, 80, 3, 3);
  const auto block_a = [&](const std::string& name, std::int64_t in, std::int64_t pooled) {
    conv(name + ".branch1x1", 64, in, 1, 1);
    conv(name + ".branch5x5_1", 48, in, 1, 1);
    conv(name + ".branch5x5_2", 64, 48, 5, 5);
    conv(name + ".branch3x3dbl_1", 64, in, 1, 1);
    conv(name + ".branch3x3dbl_2", 96, 64, 3, 3);
    conv(name + ".branch3x3dbl_3", 96, 96, 3, 3);
    conv(name + ".branch_pool", pooled, in, 1, 1);
  };
  block_a("Mixed_5b", 192, 32);
  block_a("Mixed_5c", 256, 64);
  block_a("Mixed_5d", 288, 64);
  conv("Mixed_6a.branch3x3", 384, 288, 3, 3);
  conv("Mixed_6a.branch3x3dbl_1", 64, 288, 1, 1);
  conv("Mixed_6a.branch3x3dbl_2", 96, 64, 3, 3);
  conv("Mixed_6a.branch3x3dbl_3", 96, 96, 3, 3);
  const auto block_c = [&](const std::string& name, std::int64_t inner) {
    conv(name + ".branch1x1", 192, 768, 1, 1);
    conv(name + ".branch7x7_1", inner, 768, 1, 1);
    conv(name + ".branch7x7_2", inner, inner, 1, 7);
    conv(name + ".branch7x7_3", 192, inner, 7, 1);
    conv(name + ".branch7x7dbl_1", inner, 768, 1, 1);
    conv(name + ".branch7x7dbl_2", inner, inner, 7, 1);
    conv(name + ".branch7x7dbl_3", inner, inner, 1, 7);
    conv(name + ".branch7x7dbl_4", inner, inner, 7, 1);
    conv(name + ".branch7x7dbl_5", 192, inner, 1, 7);
    conv(name + ".branch_pool", 192, 768, 1, 1);
  };
  block_c("Mixed_6b", 128);
  block_c("Mixed_6c", 160);
  block_c("Mixed_6d", 160);
  block_c("Mixed_6e", 192);
  conv("Mixed_7a.branch3x3_1", 192, 768, 1, 1);
  conv("Mixed_7a.branch3x3_2", 320, 192, 3, 3);
  conv("Mixed_7a.branch7x7x3_1", 192, 768, 1, 1);
  conv("Mixed_7a.branch7x7x3_2", 192, 192, 1, 7);
  conv("Mixed_7a.branch7x7x3_3", 192, 192, 7, 1);
  conv("Mixed_7a.branch7x7x3_4", 192, 192, 3, 3);
  const auto block_e = [&](const std::string& name, std::int64_t in) {
    conv(name + ".branch1x1", 320, in, 1, 1);
    conv(name + ".branch3x3_1", 384, in, 1, 1);
    conv(name + ".branch3x3_2a", 384, 384, 1, 3);
    conv(name + ".branch3x3_2b", 384, 384, 3, 1);
    conv(name + ".branch3x3dbl_1", 448, in, 1, 1);
    conv(name + ".branch3x3dbl_2", 384, 448, 3, 3);
    conv(name + ".branch3x3dbl_3a", 384, 384, 1, 3);
    conv(name + ".branch3x3dbl_3b", 384, 384, 3, 1);
    conv(name + ".branch_pool", 192, in, 1, 1);
  };
  block_e("Mixed_7b", 1280);
  block_e("Mixed_7c", 2048);
  made.add("fc.weight", {1008, 2048}, 0, 0);
  return made;
}

// A slope of whole numbers in [0, 255] with noise on it.
FloatMatrix picture(const std::string& name, const ImageShape& shape, std::size_t down, std::size_t right) {
  FloatMatrix found(1, shape.size());
  const Formula noise(name);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::size_t x = k % shape.width, y = k / shape.width % shape.height, c = k / shape.width / shape.height;
    const std::size_t slope = (down * y + right * x + 40 * c) % 192;
    found.data()[k] = static_cast<float>(static_cast<double>(slope) + std::floor(64 * (noise(k) + 0.5)));
  }
  return found;
}

FloatMatrix noise(std::size_t n, std::size_t dim, std::uint32_t stream) {
  FloatMatrix x(n, dim);
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(1, stream, i);
    for (float& v : x.row(i)) v = static_cast<float>(255 * rng.uniform());
  }
  return x;
}

TEST(Lpips, IsNothingForEqualPicturesAndTheSameBothWays) {
  const TempDir dir;
  small_squeezenet().save(dir / "w");
  const auto lpips = load_lpips(dir / "w", "cpu");
  const ImageShape shape{3, 40, 36};
  const FloatMatrix a = noise(3, shape.size(), 1), b = noise(3, shape.size(), 2);
  const Pictures pa{a.view(), shape}, pb{b.view(), shape};
  for (const double d : lpips->distances(pa, pa)) EXPECT_EQ(d, 0);
  const std::vector<double> there = lpips->distances(pa, pb), back = lpips->distances(pb, pa);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_GT(there[k], 1e-3);
    EXPECT_NEAR(there[k], back[k], 1e-6);
  }
  // Black and white are what the caller says; beyond them nothing changes.
  FloatMatrix scaled(3, shape.size());
  for (std::size_t k = 0; k < a.size(); ++k) scaled.data()[k] = a.data()[k] / 255 * 2 - 1;
  EXPECT_NEAR(lpips->distances({scaled.view(), shape, {-1, 1}}, pb)[0], there[0], 1e-5);
  FloatMatrix low(1, shape.size()), lower(1, shape.size());
  std::fill_n(low.data(), low.size(), -3.0f);
  std::fill_n(lower.data(), lower.size(), -90.0f);
  EXPECT_EQ(lpips->distances({low.view(), shape}, {lower.view(), shape})[0], 0);
}

TEST(Lpips, TakesGreyAndSmallPictures) {
  const TempDir dir;
  small_squeezenet().save(dir / "w");
  const auto lpips = load_lpips(dir / "w", "cpu");
  const ImageShape grey{1, 8, 8}, colour{3, 8, 8};
  const FloatMatrix a = noise(2, 64, 1), b = noise(2, 64, 2);
  const auto repeated = [](const FloatMatrix& x) {
    FloatMatrix three(x.rows(), 3 * x.cols());
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t c = 0; c < 3; ++c) std::copy_n(x.row(i).data(), x.cols(), three.row(i).data() + c * x.cols());
    }
    return three;
  };
  const FloatMatrix a3 = repeated(a), b3 = repeated(b);
  EXPECT_NEAR(lpips->distances({a.view(), grey}, {b.view(), grey})[1],
              lpips->distances({a3.view(), colour}, {b3.view(), colour})[1], 1e-6);
}

TEST(Lpips, SaysWhatIsWrongWithAFileOrWithPictures) {
  const TempDir dir;
  small_squeezenet().without("linear.").save(dir / "no-heads");
  EXPECT_CONTAINS(error_of([&] { load_lpips(dir / "no-heads", "cpu"); }), "linear.lin0.weight");
  EXPECT_CONTAINS(error_of([&] { load_lpips(dir / "no-heads", "cpu"); }), "docs/metrics.md");
  EXPECT_CONTAINS(error_of([&] { load_lpips(dir / "missing", "cpu"); }), (dir / "missing").string());
  small_squeezenet().save(dir / "w");
  const auto lpips = load_lpips(dir / "w", "cpu");
  const FloatMatrix a = noise(2, 75, 1), b = noise(3, 75, 1);
  EXPECT_CONTAINS(error_of([&] { lpips->distances({a.view(), {3, 5, 5}}, {b.view(), {3, 5, 5}}); }), "pictures");
  EXPECT_CONTAINS(error_of([&] { lpips->distances({a.view(), {2, 5, 5}}, {a.view(), {2, 5, 5}}); }), "2 channels");
}

TEST(PictureNetworks, SayWhereWeightsComeFromForAFileThatIsMissingOrOfAnotherKind) {
  const TempDir dir;
  write_bytes(dir / "w.pth", "PK\x03\x04" + std::string(200, 'x'));  // as PyTorch begins its files
  for (const char* file : {"missing", "w.pth"}) {
    const auto told = [&](const std::string& what, const auto& load) {
      const std::string error = error_of([&] { load(dir / file, "cpu"); });
      EXPECT_CONTAINS(error, (dir / file).string());
      EXPECT_CONTAINS(error, "the weights of " + what + " are needed as a file of tensors (safetensors)");
      EXPECT_CONTAINS(error, "docs/metrics.md, Weights");
      return error;
    };
    told("LPIPS (squeeze)", load_lpips);
    told("LPIPS (squeeze)", load_squeezenet);
    EXPECT_CONTAINS(told("the FID network", load_inception), "pt_inception-2015-12-05-6726825d.pth");
  }
}

TEST(PictureNetworks, NameATensorThatDoesNotFitTheOthers) {
  const TempDir dir;
  const auto refused = [&](const Made& made, const auto& load, const std::string& problem) {
    made.save(dir / "w");
    EXPECT_CONTAINS(error_of([&] { load(dir / "w", "cpu"); }), problem);
  };
  const Made squeezenet = small_squeezenet();
  refused(squeezenet.with("backbone.0.weight", {8, 1, 3, 3}), load_lpips,
          "tensor 'backbone.0.weight' is 8 x 1 x 3 x 3, not any x 3 x 3 x 3");
  refused(squeezenet.with("backbone.6.squeeze.weight", {2, 5, 1, 1}), load_squeezenet,
          "tensor 'backbone.6.squeeze.weight' is 2 x 5 x 1 x 1, not any x 8 x 1 x 1");
  refused(squeezenet.with("backbone.6.expand3x3.weight", {4, 2, 1, 1}), load_squeezenet,
          "tensor 'backbone.6.expand3x3.weight' is 4 x 2 x 1 x 1, not any x 2 x 3 x 3");
  refused(squeezenet.with("backbone.12.expand1x1.bias", {3}), load_lpips,
          "tensor 'backbone.12.expand1x1.bias' is 3, not 4");
  refused(squeezenet.with("linear.lin3.weight", {1, 9, 1, 1}), load_lpips,
          "tensor 'linear.lin3.weight' is 1 x 9 x 1 x 1, not 1 x 8 x 1 x 1");
  const Made inception = full_inception();
  refused(inception.with("Mixed_6a.branch3x3.conv.weight", {384, 7, 3, 3}), load_inception,
          "tensor 'Mixed_6a.branch3x3.conv.weight' is 384 x 7 x 3 x 3, not any x 288 x 3 x 3");
  refused(inception.with("Mixed_7c.branch_pool.bn.running_mean", {}), load_inception,
          "tensor 'Mixed_7c.branch_pool.bn.running_mean' is one number, not 192");
  refused(inception.with("Conv2d_1a_3x3.conv.weight", {0, 3, 3, 3}), load_inception, "is 0 x 3 x 3 x 3");
}

TEST(PictureNetworks, NameATensorThatIsNotFinite) {
  const TempDir dir;
  Made made = small_squeezenet();
  made.add("backbone.12.expand1x1.bias", {4}, std::nan(""), 1);
  made.save(dir / "w");
  for (const std::string& error :
       {error_of([&] { load_lpips(dir / "w", "cpu"); }), error_of([&] { load_squeezenet(dir / "w", "cpu"); })}) {
    EXPECT_CONTAINS(error, (dir / "w").string());
    EXPECT_CONTAINS(error, "tensor 'backbone.12.expand1x1.bias' holds numbers that are not finite");
  }
}

// The reference values of the authors' example pictures; the files are not part of the project.
TEST(Lpips, GivesTheValuesOfTheReference) {
  const char* folder = std::getenv("CPFM_TEST_LPIPS");
  if (folder == nullptr) {
    GTEST_SKIP()
        << "set CPFM_TEST_LPIPS to a folder with lpips_squeeze.safetensors and lpips_example/ex_{ref,p0,p1}.png";
  }
  const std::filesystem::path base(folder);
  const auto lpips = load_lpips(base / "lpips_squeeze.safetensors", "cpu");
  const Dataset data = read_dataset((base / "lpips_example").string());  // by name: p0, p1, ref
  ASSERT_EQ(data.size(), 3u);
  const auto picture = [&](std::size_t k) {
    return Pictures{{data.samples.row(k).data(), 1, data.dim()}, *data.image};
  };
  EXPECT_NEAR(lpips->distances(picture(2), picture(0))[0], 0.7110, 5e-4);
  EXPECT_NEAR(lpips->distances(picture(2), picture(1))[0], 0.1479, 5e-4);
  EXPECT_EQ(lpips->distances(picture(2), picture(2))[0], 0);
}

TEST(SqueezeNet, PoolsItsLastLayer) {
  const TempDir dir;
  small_squeezenet().without("linear.").save(dir / "w");
  const auto network = load_squeezenet(dir / "w", "cpu");
  const ImageShape shape{3, 48, 48};
  const FloatMatrix x = noise(70, shape.size(), 1);
  const FloatMatrix all = network->features({x.view(), shape});
  EXPECT_EQ(all.rows(), 70u);
  EXPECT_EQ(all.cols(), 8u);
  // A picture does not depend on its batch.
  const FloatMatrix last = network->features({{x.data() + 69 * x.cols(), 1, x.cols()}, shape});
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(all(69, k), last(0, k), 1e-5);
}

TEST(Inception, IsOnlyTheNetworkOfTheFid) {
  const TempDir dir;
  const auto refused = [&](const Made& made, const std::string& problem) {
    made.save(dir / "w");
    const std::string error = error_of([&] { load_inception(dir / "w", "cpu"); });
    EXPECT_CONTAINS(error, problem);
    EXPECT_CONTAINS(error, "pt_inception-2015-12-05");
    EXPECT_CONTAINS(error, "docs/metrics.md, Weights");
  };
  const Made inception = full_inception();
  refused(inception.with("fc.weight", {1000, 2048}),
          "tensor 'fc.weight' is 1000 x 2048, not 1008 x 2048: other networks, torchvision's for one");
  refused(inception.without("fc.weight"), "there is no tensor 'fc.weight': other networks, torchvision's for one");
  refused(small_squeezenet(), "there is no tensor 'fc.weight'");
  Made narrow = inception.with("Mixed_7c.branch_pool.conv.weight", {191, 2048, 1, 1});
  for (const char* part : {"weight", "bias", "running_mean", "running_var"})
    narrow = narrow.with(std::string("Mixed_7c.branch_pool.bn.") + part, {191});
  refused(narrow, "the last pooling has 2047 features, not 2048");
}

// Made with torchvision 0.14.1 by: python3 tests/flow/picture_networks_reference.py
constexpr const char* kStored = R"(
inception 42 3.25926601
inception 362 1.79132594
inception 767 3.41501606
inception 1172 2.687286
inception 1507 1.95487193
inception 1905 2.04817077
inception mean 0.802191834
squeezenet 0 2.25497013
squeezenet 102 2.69153142
squeezenet 221 1.3660954
squeezenet 323 0.681584922
squeezenet 408 0.241068765
squeezenet 493 0.624446642
squeezenet mean 0.915751181
lpips 0 0.989644378
lpips 1 0.689120646
)";

struct Reference {
  std::string network, which;
  double value = 0;
};

std::vector<Reference> parse(const std::string& text) {
  return records_of<Reference>(
      text, [](std::istream& fields, Reference& r) { return bool(fields >> r.network >> r.which >> r.value); });
}

void expect_agreement(const std::vector<Reference>& references) {
  ASSERT_EQ(references.size(), 16u);
  const TempDir dir;
  full_inception().save(dir / "inception");
  full_squeezenet().save(dir / "squeezenet");
  const auto features = [](PictureFeatures& network, const ImageShape& shape, std::size_t channels) {
    const FloatMatrix a = picture("a", shape, 2, 3);
    const FloatMatrix found = network.features({a.view(), shape});
    EXPECT_EQ(found.cols(), channels);
    return std::vector<double>(found.values().begin(), found.values().end());
  };
  const auto distance = [lpips = load_lpips(dir / "squeezenet", "cpu")](const ImageShape& shape) {
    const FloatMatrix a = picture("a", shape, 2, 3), b = picture("b", shape, 5, 1);
    return lpips->distances({a.view(), shape}, {b.view(), shape})[0];
  };
  const std::map<std::string, std::vector<double>> found = {
      {"inception", features(*load_inception(dir / "inception", "cpu"), {3, 80, 100}, 2048)},
      {"squeezenet", features(*load_squeezenet(dir / "squeezenet", "cpu"), {3, 70, 51}, 512)},
      {"lpips", {distance({3, 70, 51}), distance({1, 28, 20})}}};
  for (const Reference& wanted : references) {
    SCOPED_TRACE(wanted.network + " " + wanted.which);
    const std::vector<double>& values = found.at(wanted.network);
    const double value = wanted.which == "mean" ? std::accumulate(values.begin(), values.end(), 0.0) / values.size()
                                                : values.at(std::stoul(wanted.which));
    ASSERT_GT(wanted.value, 0.1);  // a feature that is off says nothing
    EXPECT_NEAR(value, wanted.value, 1e-4 * wanted.value);
  }
}

TEST(PictureNetworks, StoredValuesOfTorchvisionAreMet) { expect_agreement(parse(kStored)); }

TEST(PictureNetworks, ValuesThatTorchvisionComputesNowAreMet) {
  const std::string python = python_with("torchvision");
  if (python.empty()) GTEST_SKIP() << "NOT CHECKED: no python3 here has torchvision (Debian: python3-torchvision)";
  const ProcessResult run = run_process({python, CPFM_TEST_SOURCE_DIR "/flow/picture_networks_reference.py"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  expect_agreement(parse(run.output));
}

}  // namespace
}  // namespace cpfm
