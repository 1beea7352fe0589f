// SqueezeNet 1.1 with the heads of LPIPS (Zhang and others 2018), and Inception-V3 as the Fréchet inception distance
// has it (Heusel and others 2017). The graphs are written down here; sizes come from the files, and are checked.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>

#include "cpfm/error.hpp"
#include "cpfm/features.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/model.hpp"
#include "flow/device.hpp"
#include "flow/tensor_bytes.hpp"

namespace cpfm {
namespace {

// Tensors of a file by name, on a device; what is missing or has another shape is an error that says what the file
// should be.
class Weights {
 public:
  // The network that the file is to be of.
  struct Of {
    const char *network, *source;
  };
  Weights(const std::filesystem::path& file, torch::Device device, Of of)
      : path_(file.string()), of_(of), file_(open(file)), device_(device) {}

  torch::Device device() const { return device_; }
  // Of this shape; kAny: any number but 0.
  static constexpr std::int64_t kAny = -1;
  torch::Tensor tensor(const std::string& name, const std::vector<std::int64_t>& shape) const {
    const torch::Tensor values = from_tensor_view(view(name, shape)).to(device_, torch::kFloat32);
    if (!torch::isfinite(values).all().item<bool>())
      refuse(fmt::format("tensor '{}' holds numbers that are not finite", name));
    return values;
  }
  // Only that there is one of this shape; `why` ends the sentence where there is none.
  void require(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& why) const {
    view(name, shape, ": " + why);
  }
  // `problem` of the file as a whole.
  [[noreturn]] void refuse(const std::string& problem) const { refuse(path_, problem); }

 private:
  TensorFile open(const std::filesystem::path& file) const {
    try {
      return TensorFile::open(file);
    } catch (const Error& error) {
      refuse(error.where(),
             error.remedy().empty() ? error.problem() : fmt::format("{} ({})", error.problem(), error.remedy()));
    }
  }
  const TensorView& view(const std::string& name, const std::vector<std::int64_t>& shape,
                         const std::string& why = {}) const {
    if (file_.tensors().count(name) == 0) refuse(fmt::format("there is no tensor '{}'{}", name, why));
    const TensorView& found = file_.tensor(name);
    const auto fits = [](std::uint64_t size, std::int64_t wanted) {
      return wanted == kAny ? size > 0 : size == static_cast<std::uint64_t>(wanted);
    };
    if (!std::equal(found.shape.begin(), found.shape.end(), shape.begin(), shape.end(), fits)) {
      std::vector<std::string> wanted;
      for (const std::int64_t size : shape) wanted.push_back(size == kAny ? "any" : std::to_string(size));
      refuse(fmt::format("tensor '{}' is {}, not {}{}", name,
                         found.shape.empty() ? "one number" : fmt::format("{}", fmt::join(found.shape, " x ")),
                         fmt::join(wanted, " x "), why));
    }
    return found;
  }
  [[noreturn]] void refuse(const std::string& where, const std::string& problem) const {
    throw Error(
        where, problem,
        fmt::format("the weights of {} are needed as a file of tensors (safetensors): {}; docs/metrics.md, Weights, "
                    "has the lines of Python that convert them",
                    of_.network, of_.source));
  }

  std::string path_;
  Of of_;
  TensorFile file_;
  torch::Device device_;
};

// Pictures [first, first + count) as B × 3 × H × W in [0, 1].
torch::Tensor batch_of(const Pictures& pictures, std::size_t first, std::size_t count, torch::Device device) {
  const ImageShape& image = pictures.image;
  torch::Tensor x = torch::empty({static_cast<std::int64_t>(count), image.channels, image.height, image.width});
  std::copy_n(pictures.samples.data + first * pictures.samples.cols, count * pictures.samples.cols,
              x.data_ptr<float>());
  const auto [black, white] = pictures.range;
  x = ((x - black) / (white - black)).clamp(0, 1);
  if (image.channels == 1) x = x.expand({-1, 3, -1, -1});
  return x.to(device);
}

// Too small a picture would end in nothing after three poolings.
torch::Tensor enlarged(const torch::Tensor& x) {
  constexpr std::int64_t kLeast = 32, kEnlarged = 64;
  const std::int64_t side = std::min(x.size(2), x.size(3));
  if (side >= kLeast) return x;
  const auto size = [&](std::int64_t n) { return n * kEnlarged / side; };
  return torch::upsample_bilinear2d(x.contiguous(), {size(x.size(2)), size(x.size(3))}, false);
}

void check(const Pictures& pictures) {
  const ImageShape& image = pictures.image;
  if (image.channels != 1 && image.channels != 3)
    throw Error("pictures", fmt::format("have {} channels", image.channels), "grey (1) or colour (3) is needed");
  if (pictures.samples.cols != image.size())
    throw Error("pictures", fmt::format("have {} values, and their shape {}", pictures.samples.cols, image.size()));
  if (!(pictures.range[1] != pictures.range[0])) throw Error("pictures", "black and white are the same");
}

// work(first, count) over batches.
template <class Work>
void in_batches(std::size_t count, const char* label, Progress* progress, const Work& work) {
  constexpr std::size_t kBatch = 64;
  torch::NoGradGuard no_grad;
  if (progress != nullptr) progress->start(label, count, "pictures");
  for (std::size_t first = 0; first < count; first += kBatch) {
    check_interrupt();
    work(first, std::min(kBatch, count - first));
    if (progress != nullptr) progress->update(std::min(count, first + kBatch));
  }
  if (progress != nullptr) progress->finish();
}

struct Convolution {
  torch::Tensor weight, bias;
  std::vector<std::int64_t> stride{1, 1}, padding{0, 0};
  torch::Tensor operator()(const torch::Tensor& x) const {
    return torch::relu(torch::conv2d(x, weight, bias, stride, padding));
  }
};

class SqueezeNet {
 public:
  explicit SqueezeNet(const Weights& weights) {
    const auto load = [&](const std::string& name, std::int64_t channels, std::int64_t size, std::int64_t stride = 1) {
      const torch::Tensor weight = weights.tensor(name + ".weight", {Weights::kAny, channels, size, size});
      const std::int64_t padding = stride > 1 ? 0 : size / 2;
      return Convolution{
          weight, weights.tensor(name + ".bias", {weight.size(0)}), {stride, stride}, {padding, padding}};
    };
    first_ = load("backbone.0", 3, 3, 2);
    std::int64_t channels = first_.weight.size(0);
    for (const int at : {3, 4, 6, 7, 9, 10, 11, 12}) {
      const std::string name = fmt::format("backbone.{}", at);
      const Convolution squeeze = load(name + ".squeeze", channels, 1);
      const std::int64_t squeezed = squeeze.weight.size(0);
      fires_.push_back({squeeze, load(name + ".expand1x1", squeezed, 1), load(name + ".expand3x3", squeezed, 3)});
      channels = fires_.back().one.weight.size(0) + fires_.back().three.weight.size(0);
    }
  }

  // The seven places that LPIPS looks at. `x` is in [-1, 1].
  std::vector<torch::Tensor> layers(const torch::Tensor& x) const {
    const torch::Tensor shift = torch::tensor({-.030f, -.088f, -.188f}).to(x.device()).view({1, 3, 1, 1});
    const torch::Tensor scale = torch::tensor({.458f, .448f, .450f}).to(x.device()).view({1, 3, 1, 1});
    std::vector<torch::Tensor> found{first_((enlarged(x) - shift) / scale)};
    const auto pool = [](const torch::Tensor& h) { return torch::max_pool2d(h, 3, 2, 0, 1, true); };
    const auto fire = [&](std::size_t k, const torch::Tensor& h) {
      const torch::Tensor squeezed = fires_[k].squeeze(h);
      return torch::cat({fires_[k].one(squeezed), fires_[k].three(squeezed)}, 1);
    };
    for (const std::size_t k : {std::size_t{0}, std::size_t{2}, std::size_t{4}})  // a pooling, then two
      found.push_back(k < 4 ? fire(k + 1, fire(k, pool(found.back()))) : fire(k, pool(found.back())));
    for (const std::size_t k : {std::size_t{5}, std::size_t{6}, std::size_t{7}}) found.push_back(fire(k, found.back()));
    return found;
  }

 private:
  struct Fire {
    Convolution squeeze, one, three;
  };
  Convolution first_;
  std::vector<Fire> fires_;
};

constexpr Weights::Of kSqueezeFile{"LPIPS (squeeze)", "the Python package lpips has them"};
constexpr Weights::Of kInceptionFile{
    "the FID network",
    "those of pt_inception-2015-12-05-6726825d.pth, which pytorch-fid has in its release fid_weights"};

class Lpips final : public PerceptualDistance {
 public:
  Lpips(const std::filesystem::path& file, torch::Device device) : device_(device) {
    const Weights weights(file, device, kSqueezeFile);
    network_ = std::make_unique<SqueezeNet>(weights);
    for (const torch::Tensor& layer : network_->layers(torch::zeros({1, 3, 32, 32}).to(device)))
      heads_.push_back(weights.tensor(fmt::format("linear.lin{}.weight", heads_.size()), {1, layer.size(1), 1, 1}));
  }

  std::vector<double> distances(const Pictures& a, const Pictures& b, Progress* progress) override {
    check(a);
    check(b);
    if (a.samples.rows != b.samples.rows || !(a.image == b.image))
      throw Error("pictures", "there are others to compare them with than there are", "as many, of one shape");
    std::vector<double> result(a.samples.rows);
    in_batches(result.size(), "LPIPS", progress, [&](std::size_t first, std::size_t count) {
      const std::vector<torch::Tensor> of_a = normalised(a, first, count), of_b = normalised(b, first, count);
      torch::Tensor sum = torch::zeros({static_cast<std::int64_t>(count)}, of_a[0].options());
      for (std::size_t k = 0; k < heads_.size(); ++k)
        sum += torch::conv2d((of_a[k] - of_b[k]).square(), heads_[k]).mean({1, 2, 3});
      const torch::Tensor values = sum.to(torch::kCPU, torch::kFloat64).contiguous();
      std::copy_n(values.data_ptr<double>(), count, result.begin() + static_cast<std::ptrdiff_t>(first));
    });
    return result;
  }

 private:
  std::vector<torch::Tensor> normalised(const Pictures& pictures, std::size_t first, std::size_t count) const {
    std::vector<torch::Tensor> layers = network_->layers(2 * batch_of(pictures, first, count, device_) - 1);
    for (torch::Tensor& layer : layers) layer = layer / (layer.square().sum(1, true).sqrt() + 1e-10);
    return layers;
  }

  torch::Device device_;
  std::unique_ptr<SqueezeNet> network_;
  std::vector<torch::Tensor> heads_;
};

// Any network as features.
template <class Forward>
class Features final : public PictureFeatures {
 public:
  Features(std::string name, torch::Device device, Forward forward)
      : name_(std::move(name)), device_(device), forward_(std::move(forward)) {}

  std::string name() const override { return name_; }

  FloatMatrix features(const Pictures& pictures, Progress* progress) override {
    check(pictures);
    FloatMatrix result;
    in_batches(pictures.samples.rows, name_.c_str(), progress, [&](std::size_t first, std::size_t count) {
      const torch::Tensor found =
          forward_(batch_of(pictures, first, count, device_)).to(torch::kCPU, torch::kFloat32).contiguous();
      if (first == 0) result = FloatMatrix(pictures.samples.rows, static_cast<std::size_t>(found.size(1)));
      std::copy_n(found.data_ptr<float>(), found.numel(), result.data() + first * result.cols());
    });
    return result;
  }

 private:
  std::string name_;
  torch::Device device_;
  Forward forward_;
};
template <class Forward>
std::unique_ptr<PictureFeatures> make_features(std::string name, torch::Device device, Forward forward) {
  return std::make_unique<Features<Forward>>(std::move(name), device, std::move(forward));
}

// Inception-V3. A convolution is followed by a batch norm, which is folded into it. Averages leave the padding out, and
// the last block takes a maximum in place of one: so it was when the distance was defined.
class Inception {
 public:
  explicit Inception(Weights weights) : weights_(std::move(weights)) {
    // Nothing looks at the classes. They tell the network apart from torchvision's, which has others of 1000.
    weights_.require("fc.weight", {1008, kFeatures},
                     "other networks, torchvision's for one, have the same names, and a distance of their features is "
                     "not the FID");
    // Everything is read, and so checked, before the first picture comes.
    const torch::Tensor found = forward(torch::zeros({1, 3, 299, 299}).to(weights_.device()));
    if (found.size(1) != kFeatures)
      weights_.refuse(fmt::format("the last pooling has {} features, not {}", found.size(1), kFeatures));
  }

  torch::Tensor forward(const torch::Tensor& pictures) {
    torch::NoGradGuard no_grad;
    torch::Tensor x = pictures;
    if (x.size(2) != 299 || x.size(3) != 299) x = torch::upsample_bilinear2d(x.contiguous(), {299, 299}, false);
    x = 2 * x - 1;
    x = conv("Conv2d_1a_3x3", x, 3, 3, 2);
    x = conv("Conv2d_2a_3x3", x, 3, 3);
    x = conv("Conv2d_2b_3x3", x, 3, 3, 1, true);
    x = torch::max_pool2d(x, 3, 2);
    x = conv("Conv2d_3b_1x1", x, 1, 1);
    x = conv("Conv2d_4a_3x3", x, 3, 3);
    x = torch::max_pool2d(x, 3, 2);
    for (const char* name : {"Mixed_5b", "Mixed_5c", "Mixed_5d"}) x = block_a(name, x);
    x = block_b("Mixed_6a", x);
    for (const char* name : {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"}) x = block_c(name, x);
    x = block_d("Mixed_7a", x);
    x = block_e("Mixed_7b", x, false);
    x = block_e("Mixed_7c", x, true);
    return x.mean({2, 3});
  }

 private:
  static constexpr std::int64_t kFeatures = 2048;

  torch::Tensor conv(const std::string& name, const torch::Tensor& x, std::int64_t height, std::int64_t width,
                     std::int64_t stride = 1, bool padded = false) {
    const auto found = convolutions_.find(name);
    if (found != convolutions_.end()) return found->second(x);
    constexpr double kEpsilon = 1e-3;
    const torch::Tensor weight = weights_.tensor(name + ".conv.weight", {Weights::kAny, x.size(1), height, width});
    const auto norm = [&](const char* part) {
      return weights_.tensor(fmt::format("{}.bn.{}", name, part), {weight.size(0)});
    };
    const torch::Tensor scale = norm("weight") / (norm("running_var") + kEpsilon).sqrt();
    Convolution made;
    made.weight = weight * scale.view({-1, 1, 1, 1});
    made.bias = norm("bias") - norm("running_mean") * scale;
    made.stride = {stride, stride};
    if (padded) made.padding = {height / 2, width / 2};
    return convolutions_.emplace(name, std::move(made)).first->second(x);
  }
  static torch::Tensor average(const torch::Tensor& x) { return torch::avg_pool2d(x, 3, 1, 1, false, false); }

  torch::Tensor block_a(const std::string& name, const torch::Tensor& x) {
    const torch::Tensor five = conv(name + ".branch5x5_2", conv(name + ".branch5x5_1", x, 1, 1), 5, 5, 1, true);
    torch::Tensor twice = conv(name + ".branch3x3dbl_2", conv(name + ".branch3x3dbl_1", x, 1, 1), 3, 3, 1, true);
    twice = conv(name + ".branch3x3dbl_3", twice, 3, 3, 1, true);
    return torch::cat({conv(name + ".branch1x1", x, 1, 1), five, twice, conv(name + ".branch_pool", average(x), 1, 1)},
                      1);
  }
  torch::Tensor block_b(const std::string& name, const torch::Tensor& x) {
    torch::Tensor twice = conv(name + ".branch3x3dbl_2", conv(name + ".branch3x3dbl_1", x, 1, 1), 3, 3, 1, true);
    twice = conv(name + ".branch3x3dbl_3", twice, 3, 3, 2);
    return torch::cat({conv(name + ".branch3x3", x, 3, 3, 2), twice, torch::max_pool2d(x, 3, 2)}, 1);
  }
  torch::Tensor block_c(const std::string& name, const torch::Tensor& x) {
    torch::Tensor once = conv(name + ".branch7x7_2", conv(name + ".branch7x7_1", x, 1, 1), 1, 7, 1, true);
    once = conv(name + ".branch7x7_3", once, 7, 1, 1, true);
    torch::Tensor twice = conv(name + ".branch7x7dbl_2", conv(name + ".branch7x7dbl_1", x, 1, 1), 7, 1, 1, true);
    twice = conv(name + ".branch7x7dbl_3", twice, 1, 7, 1, true);
    twice = conv(name + ".branch7x7dbl_4", twice, 7, 1, 1, true);
    twice = conv(name + ".branch7x7dbl_5", twice, 1, 7, 1, true);
    return torch::cat({conv(name + ".branch1x1", x, 1, 1), once, twice, conv(name + ".branch_pool", average(x), 1, 1)},
                      1);
  }
  torch::Tensor block_d(const std::string& name, const torch::Tensor& x) {
    const torch::Tensor three = conv(name + ".branch3x3_2", conv(name + ".branch3x3_1", x, 1, 1), 3, 3, 2);
    torch::Tensor seven = conv(name + ".branch7x7x3_2", conv(name + ".branch7x7x3_1", x, 1, 1), 1, 7, 1, true);
    seven = conv(name + ".branch7x7x3_3", seven, 7, 1, 1, true);
    seven = conv(name + ".branch7x7x3_4", seven, 3, 3, 2);
    return torch::cat({three, seven, torch::max_pool2d(x, 3, 2)}, 1);
  }
  torch::Tensor block_e(const std::string& name, const torch::Tensor& x, bool last) {
    const auto both = [&](const std::string& branch, const torch::Tensor& h) {
      return torch::cat({conv(name + branch + "a", h, 1, 3, 1, true), conv(name + branch + "b", h, 3, 1, 1, true)}, 1);
    };
    const torch::Tensor once = both(".branch3x3_2", conv(name + ".branch3x3_1", x, 1, 1));
    const torch::Tensor twice =
        both(".branch3x3dbl_3", conv(name + ".branch3x3dbl_2", conv(name + ".branch3x3dbl_1", x, 1, 1), 3, 3, 1, true));
    const torch::Tensor pooled = last ? torch::max_pool2d(x, 3, 1, 1) : average(x);
    return torch::cat({conv(name + ".branch1x1", x, 1, 1), once, twice, conv(name + ".branch_pool", pooled, 1, 1)}, 1);
  }

  Weights weights_;
  std::map<std::string, Convolution> convolutions_;
};

}  // namespace

std::unique_ptr<PictureFeatures> load_inception(const std::filesystem::path& file, const std::string& device) {
  const torch::Device where = find_device(device);
  const auto network = std::make_shared<Inception>(Weights(file, where, kInceptionFile));
  return make_features("inception", where, [network](const torch::Tensor& x) { return network->forward(x); });
}

std::unique_ptr<PictureFeatures> load_squeezenet(const std::filesystem::path& file, const std::string& device) {
  const torch::Device where = find_device(device);
  const auto network = std::make_shared<SqueezeNet>(Weights(file, where, kSqueezeFile));
  return make_features("squeezenet", where, [network](const torch::Tensor& x) {
    return network->layers(2 * x - 1).back().mean({2, 3});
  });
}

std::unique_ptr<PerceptualDistance> load_lpips(const std::filesystem::path& file, const std::string& device) {
  return std::make_unique<Lpips>(file, find_device(device));
}

}  // namespace cpfm
