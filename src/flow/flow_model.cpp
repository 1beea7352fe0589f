// A trained model at work: embedding, generation, densities. Noise is drawn per sample, from (seed, sample), so that a
// result does not depend on the batch it was computed in.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "flow/device.hpp"
#include "flow/model_file.hpp"
#include "flow/ode.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kEmbedStream = 0x656d6264, kGenerateStream = 0x67656e72;  // "embd", "genr"

// Rows [first, first + count) of noise, each a function of (seed, stream, row).
torch::Tensor row_noise(const SampleOptions& options, std::uint32_t stream, std::size_t first, std::size_t count,
                        std::size_t width) {
  torch::Tensor noise = torch::empty({static_cast<std::int64_t>(count), static_cast<std::int64_t>(width)});
  float* out = noise.data_ptr<float>();
  parallel_for(count, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Rng rng(options.seed, stream, first + i);
      for (std::size_t k = 0; k < width; ++k)
        out[i * width + k] = static_cast<float>(options.temperature * rng.normal());
    }
  });
  return noise;
}

OdeOptions ode_options(const SampleOptions& options) {
  OdeOptions ode;
  ode.method = options.method;
  ode.steps = options.steps;
  ode.grid = options.grid;
  ode.relative = ode.absolute = options.tolerance;
  check_ode_options(ode);
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    throw Error("--temperature", fmt::format("{} is out of range", options.temperature), "0 or more");
  return ode;
}

class TorchFlowModel final : public FlowModel {
 public:
  TorchFlowModel(LoadedModel model, torch::Device device)
      : facts_(std::move(model.facts)), learner_(std::move(model.learner)), device_(device) {
    learner_->module().to(device_);
    sample_shape_ = drift_shape(facts_).x;
  }

  const ModelFacts& facts() const override { return facts_; }
  std::string device() const override { return device_text(device_); }

  FloatMatrix embed(MatrixView<const float> samples, std::size_t draws, const SampleOptions& options) override {
    check_samples(samples);
    if (draws < 1) throw Error("draws", "0 are too few", "at least 1");
    const OdeOptions ode = ode_options(options);
    FloatMatrix result(samples.rows * draws, facts_.latent_dim);
    in_batches(samples.rows, options, "embed", facts_.dim, [&](std::size_t first, std::size_t count) {
      const torch::Tensor noise =
          row_noise(options, kEmbedStream, first * draws, count * draws, facts_.latent_dim).to(device_);
      store(learner_->embed(standardised(samples, first, count), noise, ode), result, first * draws);
    });
    return result;
  }

  FloatMatrix generate(MatrixView<const float> y, const SampleOptions& options) override {
    check_latent(y);
    const OdeOptions ode = ode_options(options);
    // A solver that chooses its steps by their error would take rounding for one.
    const bool by_error = options.precision == "auto" && options.method == "dopri5";
    Learner& drawing = in_precision(by_error ? torch::kFloat32 : find_precision(options.precision, device_));
    FloatMatrix result(y.rows, facts_.dim);
    in_batches(y.rows, options, "generate", 8 * facts_.dim, [&](std::size_t first, std::size_t count) {
      const torch::Tensor noise =
          row_noise(options, kGenerateStream, first, count, facts_.dim).to(device_).view(batch_shape(count));
      const torch::Tensor made = drawing.generate(to_device(y, first, count), noise, ode);
      store(made.reshape({static_cast<std::int64_t>(count), -1}), result, first);
    });
    facts_.standardizer.invert(result.view());
    return result;
  }

  FloatMatrix retrace(MatrixView<const float> samples, MatrixView<const float> y,
                      const SampleOptions& options) override {
    check_pairs(samples, y);
    const OdeOptions ode = ode_options(options);
    FloatMatrix result(y.rows, facts_.dim);
    in_batches(y.rows, options, "there and back", 8 * facts_.dim, [&](std::size_t first, std::size_t count) {
      const torch::Tensor at = to_device(y, first, count);
      const torch::Tensor noise = learner_->noise_of(standardised(samples, first, count), at, ode);
      store(learner_->generate(at, noise, ode).reshape({static_cast<std::int64_t>(count), -1}), result, first);
    });
    facts_.standardizer.invert(result.view());
    return result;
  }

  std::vector<double> log_density(MatrixView<const float> samples, MatrixView<const float> y,
                                  const SampleOptions& options) override {
    check_pairs(samples, y);
    const OdeOptions ode = ode_options(options);
    std::vector<double> result(samples.rows);
    in_batches(samples.rows, options, "density", facts_.dim, [&](std::size_t first, std::size_t count) {
      const torch::Tensor x = standardised(samples, first, count), at = to_device(y, first, count);
      const torch::Tensor logs = learner_->log_density(x, at, ode).to(torch::kCPU, torch::kFloat64).contiguous();
      std::copy_n(logs.data_ptr<double>(), count, result.begin() + static_cast<std::ptrdiff_t>(first));
    });
    return result;
  }

 private:
  void check_samples(MatrixView<const float> samples) const {
    if (samples.cols != facts_.dim) {
      throw Error("data", fmt::format("has {} features, and the model was made for {}", samples.cols, facts_.dim),
                  "give data of the same kind");
    }
  }
  void check_latent(MatrixView<const float> y) const {
    if (y.cols != facts_.latent_dim)
      throw Error("y", fmt::format("has {} dimensions, and the model's map has {}", y.cols, facts_.latent_dim));
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (!std::isfinite(y.data[k]))
        throw Error("y", fmt::format("row {} is not finite", k / y.cols + 1), "finite numbers are needed");
    }
  }

  void check_pairs(MatrixView<const float> samples, MatrixView<const float> y) const {
    check_samples(samples);
    check_latent(y);
    if (samples.rows != y.rows)
      throw Error("y", fmt::format("there are {} latent points for {} samples", y.rows, samples.rows),
                  "one per sample");
  }

  std::vector<std::int64_t> batch_shape(std::size_t count) const {
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(count)};
    shape.insert(shape.end(), sample_shape_.begin(), sample_shape_.end());
    return shape;
  }

  torch::Tensor to_device(MatrixView<const float> values, std::size_t first, std::size_t count) const {
    torch::Tensor rows = torch::empty({static_cast<std::int64_t>(count), static_cast<std::int64_t>(values.cols)});
    std::copy_n(values.data + first * values.cols, count * values.cols, rows.data_ptr<float>());
    return rows.to(device_);
  }

  torch::Tensor standardised(MatrixView<const float> samples, std::size_t first, std::size_t count) const {
    FloatMatrix rows(count, samples.cols);
    std::copy_n(samples.data + first * samples.cols, rows.size(), rows.data());
    facts_.standardizer.apply(rows.view());
    return to_device(rows.view(), 0, count).view(batch_shape(count));
  }

  static void store(const torch::Tensor& values, FloatMatrix& to, std::size_t first) {
    const torch::Tensor rows = values.to(torch::kCPU, torch::kFloat32).contiguous();
    std::copy_n(rows.data_ptr<float>(), rows.numel(), to.data() + first * to.cols());
  }

  // Batches of a size that memory allows: `width` floats per sample, times what a network keeps of each.
  template <class Work>
  void in_batches(std::size_t count, const SampleOptions& options, const char* label, std::size_t width,
                  const Work& work) {
    const double room =
        device_.is_cuda() ? 16e9 : 1.5e9;  // bytes; a network takes about a fifth of what is reckoned here
    constexpr double kActivations = 400;   // floats kept per float of a sample
    const std::size_t fitting = static_cast<std::size_t>(room / (4 * kActivations * static_cast<double>(width)));
    std::size_t batch =
        options.batch > 0 ? options.batch : std::clamp<std::size_t>(fitting, 16, device_.is_cuda() ? 2048 : 512);
    torch::NoGradGuard no_grad;
    if (options.progress != nullptr) options.progress->start(label, count, "samples");
    for (std::size_t first = 0; first < count;) {
      check_interrupt();
      const std::size_t now = std::min(batch, count - first);
      try {
        work(first, now);
      } catch (const c10::Error& error) {
        // Others may have taken the room that was reckoned with.
        if (options.batch > 0 || now == 1 || !is_memory_error(error))
          rethrow_memory_error(error, "--batch", fmt::format("a smaller one than {}", batch));
        batch = now / 2;
        continue;
      }
      first += now;
      if (options.progress != nullptr) options.progress->update(first);
    }
    if (options.progress != nullptr) options.progress->finish();
  }

  // Generation is most of the work. On a GPU bfloat16 is several times as fast, and what it rounds off a drift is far
  // below what a step of the solver leaves out; the samples themselves stay float32.
  Learner& in_precision(torch::ScalarType precision) {
    if (precision == torch::kFloat32) return *learner_;
    if (!rounded_) {
      torch::NoGradGuard no_grad;
      rounded_ = make_learner(facts_);
      torch::nn::Module &to = rounded_->module(), &from = learner_->module();
      to.to(device_);
      const auto parameters = from.named_parameters(), buffers = from.named_buffers();
      for (auto& item : to.named_parameters()) item.value().copy_(parameters[item.key()]);
      for (auto& item : to.named_buffers()) item.value().copy_(buffers[item.key()]);
      to.to(precision);
      to.eval();
    }
    return *rounded_;
  }

  ModelFacts facts_;
  std::unique_ptr<Learner> learner_, rounded_;  // rounded_: in bfloat16, from its first use on
  torch::Device device_;
  std::vector<std::int64_t> sample_shape_;
};

}  // namespace

std::unique_ptr<FlowModel> load_model(const std::filesystem::path& file, const std::string& device) {
  const torch::Device where = find_device(device);
  return std::make_unique<TorchFlowModel>(read_model(file), where);
}

}  // namespace cpfm
