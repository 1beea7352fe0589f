// CPFM's own method (paper, Algorithm 3): every batch is split by role in the fixed share α, both roles share one pass
// through the encoder, and the loss is (1 - α) E|u_x - v_x|² + α E|u_y - v_y|², each a mean over the entries, so that
// the role with fewer of them is not drowned in the shared encoder.
#include <algorithm>
#include <cmath>

#include "flow/interpolant.hpp"
#include "flow/learner.hpp"

namespace cpfm {
namespace {

torch::Tensor pick(const torch::Tensor& from, const torch::Tensor& rows) {
  return rows.defined() && rows.numel() > 0 ? from.index_select(0, rows) : from;
}

class CoupledFlow final : public Learner {
 public:
  CoupledFlow(const TrainOptions& options, const DriftShape& shape)
      : Learner(shape.x),
        path_(options.path ? make_interpolant(*options.path) : make_interpolant(options.interpolant)),
        alpha_(options.alpha),
        draws_(options.network.head == "paper" ? 1 : options.y_draws),
        drift_(make_drift(options.network, shape)) {}

  torch::nn::Module& module() override { return *drift_; }

  // The first samples are for role 0, a share α, the last, for role 1.
  Losses losses(const torch::Tensor& x, const torch::Tensor& y) override {
    const std::int64_t count = x.size(0);
    const std::int64_t role_1 =
        std::clamp<std::int64_t>(std::llround(alpha_ * static_cast<double>(count)), 1, count - 1);
    const std::int64_t role_0 = count - role_1;
    const auto like = x.options();
    const torch::Tensor t = torch::rand({role_0}, like), s = torch::rand({role_1 * draws_}, like);
    const PathPoint x_path = path_point(path_, t, torch::randn({role_0, x.size(1)}, like), x.narrow(0, 0, role_0));
    const torch::Tensor y_end = y.narrow(0, role_0, role_1).repeat_interleave(draws_, 0);
    const PathPoint y_path = path_point(path_, s, torch::randn({role_1 * draws_, y.size(1)}, like), y_end);
    const auto [v_x, v_y] =
        drift_->both(shaped(x_path.z), y.narrow(0, 0, role_0), t, shaped(x.narrow(0, role_0, role_1)), y_path.z, s);
    const auto error = [](const torch::Tensor& found, const torch::Tensor& wanted) {
      return (found.to(torch::kFloat32) - wanted).square().mean();
    };
    const torch::Tensor of_x = error(v_x.reshape({role_0, -1}), x_path.velocity), of_y = error(v_y, y_path.velocity);
    return {of_x, of_y, (1 - alpha_) * of_x + alpha_ * of_y};
  }

  torch::Tensor embed(const torch::Tensor& x, const torch::Tensor& noise, const OdeOptions& ode) override {
    const torch::Tensor features = drift_->features(x).repeat_interleave(noise.size(0) / x.size(0), 0);
    return integrate(y_field(features), noise, ode);
  }

  torch::Tensor generate(const torch::Tensor& y, const torch::Tensor& noise, const OdeOptions& ode) override {
    const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
      return drift_->drift_x(z, pick(y, rows), t).to(z.scalar_type());
    };
    return integrate(field, noise, ode);
  }

  torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions& ode) override {
    return cpfm::log_density(y_field(drift_->features(x)), y, ode);
  }

 private:
  VectorField y_field(const torch::Tensor& features) const {
    return [this, features](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
      return drift_->drift_y(pick(features, rows), z, t);
    };
  }

  Interpolant path_;
  double alpha_;
  std::int64_t draws_;
  std::shared_ptr<Drift> drift_;
};

}  // namespace

std::unique_ptr<Learner> make_coupled_flow(const TrainOptions& options, const DriftShape& shape) {
  return std::make_unique<CoupledFlow>(options, shape);
}

}  // namespace cpfm
