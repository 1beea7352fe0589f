#include "flow/checked_field.hpp"

#include <fmt/format.h>

#include <utility>

#include "cpfm/error.hpp"

namespace cpfm {

void check_velocity(const torch::Tensor& v, const torch::Tensor& z) {
  if (!v.defined() || v.sizes() != z.sizes())
    throw Error("vector field",
                fmt::format("gives {} entries for a state of {}", v.defined() ? v.numel() : 0, z.numel()),
                "a velocity in the shape of the state is needed");
}

torch::Tensor CheckedField::operator()(const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
  torch::Tensor v = field_(z, t, rows);
  check_velocity(v, z);
  v = v.to(z.scalar_type());
  if (stats_ != nullptr) stats_->evaluations += static_cast<std::uint64_t>(z.size(0));
  // 0 · v is 0 where v is finite and NaN elsewhere.
  const torch::Tensor taint = (v.reshape({z.size(0), -1}) * 0).sum(1);
  taint_ = taint_.defined() ? taint_ + taint : taint;
  return v;
}

torch::Tensor CheckedField::take_taint() { return std::exchange(taint_, torch::Tensor()); }

void throw_not_finite(std::int64_t row, double from, double to) {
  throw Error("vector field",
              fmt::format("is not finite for row {} between t = {:.6g} and t = {:.6g}", row + 1, from, to),
              "the model is damaged, or what it is given is far from what it was trained on");
}

}  // namespace cpfm
