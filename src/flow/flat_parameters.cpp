#include "flow/flat_parameters.hpp"

namespace cpfm {

FlatParameters::FlatParameters(torch::nn::Module& module, torch::Device device, torch::ScalarType precision) {
  module.to(device, torch::kFloat32);
  std::int64_t total = 0;
  for (const auto& item : module.named_parameters()) {
    entries_.push_back({item.key(), item.value().sizes().vec(), total, item.value().numel()});
    total += item.value().numel();
  }
  torch::NoGradGuard no_grad;
  master_ = torch::empty({total}, torch::TensorOptions().device(device).dtype(torch::kFloat32));
  std::size_t at = 0;
  for (const auto& item : module.named_parameters()) view(master_, entries_[at++]).copy_(item.value());
  module.to(precision);  // buffers too
  compute_ = precision == torch::kFloat32 ? master_ : master_.to(precision);
  gradient_ = torch::zeros_like(compute_);
  at = 0;
  for (auto& item : module.named_parameters()) {
    const Entry& entry = entries_[at++];
    item.value().set_data(view(compute_, entry));
    item.value().mutable_grad() = view(gradient_, entry);
  }
}

torch::Tensor FlatParameters::view(const torch::Tensor& flat, const Entry& entry) {
  return flat.narrow(0, entry.offset, entry.count).view(entry.shape);
}

torch::Tensor FlatParameters::part(const torch::Tensor& flat, const Entry& entry) const {
  return view(flat, entry).contiguous().to(torch::kCPU);
}

void FlatParameters::set_part(torch::Tensor& flat, const Entry& entry, const torch::Tensor& values) const {
  torch::NoGradGuard no_grad;
  view(flat, entry).copy_(values.view(entry.shape));
}

void FlatParameters::use(const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  if (compute_.data_ptr() == master_.data_ptr() && !kept_.defined()) kept_ = master_.clone();
  compute_.copy_(values);
}

void FlatParameters::publish() {
  torch::NoGradGuard no_grad;
  if (kept_.defined()) {
    master_.copy_(kept_);
    kept_.reset();
  } else if (compute_.data_ptr() != master_.data_ptr()) {
    compute_.copy_(master_);
  }
}

}  // namespace cpfm
