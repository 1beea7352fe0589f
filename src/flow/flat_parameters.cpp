#include "flow/flat_parameters.hpp"

namespace cpfm {
namespace {

// On a GPU the weights of convolutions lie with their channels last, where they are fastest.
bool channels_last(const torch::Tensor& like, std::size_t dimensions) { return like.is_cuda() && dimensions == 4; }

}  // namespace

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
  at = 0;
  for (auto& item : module.named_parameters()) {
    item.value().set_data(view(compute_, entries_[at++]));
    parameters_.push_back(item.value());
  }
}

torch::Tensor FlatParameters::gradient(const torch::Tensor& loss) const {
  const auto gradients = torch::autograd::grad({loss}, parameters_, {}, c10::nullopt, false, true);
  std::vector<torch::Tensor> parts;
  parts.reserve(gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k].defined()) {
      parts.push_back(torch::zeros({entries_[k].count}, compute_.options()));
    } else if (channels_last(compute_, entries_[k].shape.size())) {
      parts.push_back(gradients[k].permute({0, 2, 3, 1}).reshape({-1}));
    } else {
      parts.push_back(gradients[k].reshape({-1}));
    }
  }
  return torch::cat(parts).to(torch::kFloat32);
}

torch::Tensor FlatParameters::view(const torch::Tensor& flat, const Entry& entry) {
  const torch::Tensor part = flat.narrow(0, entry.offset, entry.count);
  if (!channels_last(flat, entry.shape.size())) return part.view(entry.shape);
  return part.view({entry.shape[0], entry.shape[2], entry.shape[3], entry.shape[1]}).permute({0, 3, 1, 2});
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
