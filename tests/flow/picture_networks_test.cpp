#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

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

// Files with networks of the right graph and few channels.
class Made {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape, double mean = 0, double sd = 0.3) {
    torch::manual_seed(++seed_);
    tensors_.push_back(mean + sd * torch::randn(shape));
    names_.push_back(name);
  }
  // Another one in the place of what has this name.
  Made with(const std::string& name, std::vector<std::int64_t> shape) const {
    Made other = *this;
    const auto at = std::find(names_.begin(), names_.end(), name);
    EXPECT_NE(at, names_.end()) << name;
    other.tensors_[static_cast<std::size_t>(at - names_.begin())] = torch::zeros(shape);
    return other;
  }
  void save(const std::filesystem::path& file) const {
    TensorFileWriter writer;
    for (std::size_t k = 0; k < names_.size(); ++k) add_tensor(writer, names_[k], tensors_[k]);
    writer.save(file);
  }
  const torch::Tensor& last() const { return tensors_.back(); }

 private:
  std::int64_t seed_ = 0;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> tensors_;
};

// SqueezeNet whose fires give 4 + 4 channels, and heads that add up the channels.
Made small_squeezenet(bool heads = true) {
  Made made;
  made.add("backbone.0.weight", {8, 3, 3, 3});
  made.add("backbone.0.bias", {8});
  for (const int at : {3, 4, 6, 7, 9, 10, 11, 12}) {
    const std::string name = "backbone." + std::to_string(at);
    made.add(name + ".squeeze.weight", {2, 8, 1, 1});
    made.add(name + ".squeeze.bias", {2});
    made.add(name + ".expand1x1.weight", {4, 2, 1, 1});
    made.add(name + ".expand1x1.bias", {4});
    made.add(name + ".expand3x3.weight", {4, 2, 3, 3});
    made.add(name + ".expand3x3.bias", {4});
  }
  for (int k = 0; heads && k < 7; ++k) made.add("linear.lin" + std::to_string(k) + ".weight", {1, 8, 1, 1}, 1, 0);
  return made;
}

// Inception-V3 with two channels from every convolution.
Made small_inception() {
  Made made;
  std::int64_t channels = 3;
  const auto conv = [&](const std::string& name, std::int64_t in, std::int64_t height, std::int64_t width) {
    made.add(name + ".conv.weight", {2, in, height, width});
    made.add(name + ".bn.weight", {2}, 1, 0.1);
    made.add(name + ".bn.bias", {2}, 0, 0.1);
    made.add(name + ".bn.running_mean", {2}, 0, 0.1);
    made.add(name + ".bn.running_var", {2}, 1, 0);
  };
  conv("Conv2d_1a_3x3", 3, 3, 3);
  conv("Conv2d_2a_3x3", 2, 3, 3);
  conv("Conv2d_2b_3x3", 2, 3, 3);
  conv("Conv2d_3b_1x1", 2, 1, 1);
  conv("Conv2d_4a_3x3", 2, 3, 3);
  channels = 2;
  for (const std::string name : {"Mixed_5b", "Mixed_5c", "Mixed_5d"}) {
    for (const char* one : {".branch1x1", ".branch5x5_1", ".branch3x3dbl_1", ".branch_pool"})
      conv(name + one, channels, 1, 1);
    conv(name + ".branch5x5_2", 2, 5, 5);
    conv(name + ".branch3x3dbl_2", 2, 3, 3);
    conv(name + ".branch3x3dbl_3", 2, 3, 3);
    channels = 8;
  }
  conv("Mixed_6a.branch3x3", 8, 3, 3);
  conv("Mixed_6a.branch3x3dbl_1", 8, 1, 1);
  conv("Mixed_6a.branch3x3dbl_2", 2, 3, 3);
  conv("Mixed_6a.branch3x3dbl_3", 2, 3, 3);
  channels = 12;
  for (const std::string name : {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"}) {
    for (const char* one : {".branch1x1", ".branch7x7_1", ".branch7x7dbl_1", ".branch_pool"})
      conv(name + one, channels, 1, 1);
    conv(name + ".branch7x7_2", 2, 1, 7);
    conv(name + ".branch7x7_3", 2, 7, 1);
    conv(name + ".branch7x7dbl_2", 2, 7, 1);
    conv(name + ".branch7x7dbl_3", 2, 1, 7);
    conv(name + ".branch7x7dbl_4", 2, 7, 1);
    conv(name + ".branch7x7dbl_5", 2, 1, 7);
    channels = 8;
  }
  conv("Mixed_7a.branch3x3_1", 8, 1, 1);
  conv("Mixed_7a.branch3x3_2", 2, 3, 3);
  conv("Mixed_7a.branch7x7x3_1", 8, 1, 1);
  conv("Mixed_7a.branch7x7x3_2", 2, 1, 7);
  conv("Mixed_7a.branch7x7x3_3", 2, 7, 1);
  conv("Mixed_7a.branch7x7x3_4", 2, 3, 3);
  channels = 12;
  for (const std::string name : {"Mixed_7b", "Mixed_7c"}) {
    for (const char* one : {".branch1x1", ".branch3x3_1", ".branch3x3dbl_1", ".branch_pool"})
      conv(name + one, channels, 1, 1);
    conv(name + ".branch3x3_2a", 2, 1, 3);
    conv(name + ".branch3x3_2b", 2, 3, 1);
    conv(name + ".branch3x3dbl_2", 2, 3, 3);
    conv(name + ".branch3x3dbl_3a", 2, 1, 3);
    conv(name + ".branch3x3dbl_3b", 2, 3, 1);
    channels = 12;
  }
  return made;
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
  small_squeezenet(false).save(dir / "no-heads");
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
    };
    told("LPIPS (squeeze)", load_lpips);
    told("LPIPS (squeeze)", load_squeezenet);
    told("the FID network", load_inception);
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
  const Made inception = small_inception();
  refused(inception.with("Mixed_6a.branch3x3.conv.weight", {2, 7, 3, 3}), load_inception,
          "tensor 'Mixed_6a.branch3x3.conv.weight' is 2 x 7 x 3 x 3, not any x 8 x 3 x 3");
  refused(inception.with("Mixed_7c.branch_pool.bn.running_mean", {}), load_inception,
          "tensor 'Mixed_7c.branch_pool.bn.running_mean' is one number, not 2");
  refused(inception.with("Conv2d_1a_3x3.conv.weight", {0, 3, 3, 3}), load_inception, "is 0 x 3 x 3 x 3");
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
  small_squeezenet(false).save(dir / "w");
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

TEST(Inception, GivesTheFeaturesOfItsLastPooling) {
  const TempDir dir;
  small_inception().save(dir / "w");
  const auto network = load_inception(dir / "w", "cpu");
  const ImageShape shape{1, 28, 28};
  const FloatMatrix x = noise(2, shape.size(), 1);
  const FloatMatrix found = network->features({x.view(), shape});
  EXPECT_EQ(found.cols(), 12u);  // 1x1, 2 x (1x3, 3x1), pool: six branches of two channels
  for (const float v : found.values()) EXPECT_TRUE(std::isfinite(v) && v >= 0);
  EXPECT_CONTAINS(error_of([&] {
                    small_squeezenet().save(dir / "other");
                    load_inception(dir / "other", "cpu");
                  }),
                  "FID network");
}

TEST(Inception, AtItsFullSizeIsTorchvisionsWithThePoolingsOfTheFid) {
  const std::string python = python_with("torchvision.models.inception");
  if (python.empty()) GTEST_SKIP() << "NOT CHECKED: no python3 here has torchvision (Debian: python3-torchvision)";
  const TempDir dir;
  const ProcessResult run =
      run_process({python, CPFM_TEST_SOURCE_DIR "/flow/inception_reference.py", dir.path().string()});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const Dataset pictures = read_dataset((dir / "pictures.npy").string());
  const Dataset wanted = read_dataset((dir / "features.npy").string());
  const auto network = load_inception(dir / "weights", "cpu");
  const FloatMatrix found = network->features({pictures.samples.view(), {3, 80, 100}});
  ASSERT_EQ(found.rows(), wanted.size());
  ASSERT_EQ(found.cols(), 2048u);
  ASSERT_EQ(wanted.dim(), 2048u);
  double largest = 0;
  for (const float v : wanted.samples.values()) largest = std::max(largest, double(v));
  ASSERT_GT(largest, 1e-3);
  for (std::size_t k = 0; k < found.size(); ++k)
    ASSERT_NEAR(found.data()[k], wanted.samples.data()[k], 1e-4 * largest) << "feature " << k;
}

}  // namespace
}  // namespace cpfm
