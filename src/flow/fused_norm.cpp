#include "flow/fused_norm.hpp"

#include "flow/backbone.hpp"

#ifdef CPFM_HAS_CUDA
#include <c10/core/impl/VirtualGuardImpl.h>

#include "cuda/group_norm.hpp"
#endif

namespace cpfm {
namespace {

// Of a signal per channel, or per sample and channel, to every place of x.
torch::Tensor everywhere(torch::Tensor signal, const torch::Tensor& x) {
  if (signal.dim() == 1) signal = signal.unsqueeze(0);
  for (std::int64_t d = 2; d < x.dim(); ++d) signal = signal.unsqueeze(-1);
  return signal;
}

#ifdef CPFM_HAS_CUDA

// A norm of these features, without what it works on.
GroupNorm shape_of(const torch::Tensor& x, std::int64_t groups) {
  GroupNorm norm;
  norm.samples = x.size(0);
  norm.places = x.size(2) * x.size(3);
  norm.channels = static_cast<int>(x.size(1));
  norm.groups = static_cast<int>(groups);
  norm.real = x.scalar_type() == torch::kBFloat16 ? CudaReal::kBFloat16 : CudaReal::kFloat32;
  norm.device = x.device().index();
  return norm;
}

// The norm as the kernels take it. What it points to lives as long as the tensors.
GroupNorm described(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                    const torch::Tensor& before, const torch::Tensor& scale, const torch::Tensor& shift,
                    std::int64_t groups, double epsilon, bool silu) {
  GroupNorm norm = shape_of(x, groups);
  norm.epsilon = static_cast<float>(epsilon);
  norm.silu = silu;
  norm.x = x.data_ptr();
  norm.weight = weight.data_ptr();
  norm.bias = bias.data_ptr();
  if (before.numel() > 0) norm.before = before.data_ptr();
  if (scale.numel() > 0) {
    norm.scale = scale.data_ptr();
    norm.shift = shift.data_ptr();
    norm.scale_stride = scale.stride(0);
    norm.shift_stride = shift.stride(0);
  }
  return norm;
}

// Channels last, and at an address from which 16 bytes are loaded at once.
torch::Tensor as_loaded(const torch::Tensor& features) {
  const torch::Tensor x = features.contiguous(at::MemoryFormat::ChannelsLast);
  return reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0 ? x : x.clone(at::MemoryFormat::ChannelsLast);
}

class FusedNorm : public torch::autograd::Function<FusedNorm> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& features,
                               const torch::Tensor& weight, const torch::Tensor& bias, const torch::Tensor& before,
                               const torch::Tensor& scale, const torch::Tensor& shift, std::int64_t groups,
                               double epsilon, bool silu) {
    const torch::Tensor x = as_loaded(features);
    const auto numbers = x.options().dtype(torch::kFloat32);
    const torch::Tensor out = torch::empty_like(x, at::MemoryFormat::ChannelsLast);
    const torch::Tensor mean = torch::empty({x.size(0), groups}, numbers), rstd = torch::empty_like(mean);
    const torch::Tensor channel_mean = torch::empty({x.size(0), x.size(1)}, numbers);
    group_norm_forward(described(x, weight, bias, before, scale, shift, groups, epsilon, silu), out.data_ptr(),
                       mean.data_ptr<float>(), rstd.data_ptr<float>(), channel_mean.data_ptr<float>());
    context->save_for_backward({x, weight, bias, before, scale, shift, mean, rstd, channel_mean});
    context->saved_data["groups"] = groups;
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["silu"] = silu;
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &before = saved[3], &scale = saved[4], &shift = saved[5];
    const torch::Tensor given = as_loaded(gradients[0]);
    const torch::Tensor x_gradient = torch::empty_like(x, at::MemoryFormat::ChannelsLast);
    const torch::Tensor sums = torch::empty({5, x.size(0), x.size(1)}, saved[6].options());
    const GroupNorm norm = described(x, saved[1], saved[2], before, scale, shift, context->saved_data["groups"].toInt(),
                                     context->saved_data["epsilon"].toDouble(), context->saved_data["silu"].toBool());
    group_norm_backward(norm, given.data_ptr(), saved[6].data_ptr<float>(), saved[7].data_ptr<float>(),
                        saved[8].data_ptr<float>(), x_gradient.data_ptr(), sums.data_ptr<float>());
    const auto real = x.scalar_type();
    const torch::Tensor totals = sums.narrow(0, 2, 3).sum(1).to(real);
    torch::Tensor before_gradient, scale_gradient, shift_gradient;
    if (before.numel() > 0) before_gradient = totals[2];
    if (scale.numel() > 0) {
      const torch::Tensor signals = sums.narrow(0, 0, 2).to(real);
      scale_gradient = signals[1];
      shift_gradient = signals[0];
    }
    return {x_gradient, totals[0], totals[1], before_gradient, scale_gradient, shift_gradient, {}, {}, {}};
  }
};

bool on_default_stream(const torch::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device).id() == 0;
}

bool kernel_takes(torch::nn::GroupNorm& norm, const torch::Tensor& x, const NormSurroundings& around) {
  const auto real = x.scalar_type();
  if (!x.is_cuda() || x.dim() != 4 || (real != torch::kBFloat16 && real != torch::kFloat32)) return false;
  for (const torch::Tensor& other : {norm->weight, norm->bias, around.before, around.scale, around.shift}) {
    if (other.defined() && other.scalar_type() != real) return false;
  }
  return can_group_norm(shape_of(x, norm->options.num_groups())) && on_default_stream(x.device());
}

// What is not there is handed on as a tensor without entries. Rows of signals may lie apart, their entries not.
torch::Tensor handed_on(const torch::Tensor& signal, const torch::Tensor& x) {
  if (!signal.defined()) return torch::empty({0}, x.options());
  return signal.stride(-1) == 1 ? signal : signal.contiguous();
}

#endif

}  // namespace

torch::Tensor plain_norm(torch::nn::GroupNorm& norm, const torch::Tensor& x, const NormSurroundings& around) {
  torch::Tensor h = norm->forward(around.before.defined() ? x + everywhere(around.before, x) : x);
  if (around.scale.defined()) h = torch::addcmul(everywhere(around.shift, x), h, everywhere(around.scale, x));
  return around.silu ? silu(std::move(h)) : h;
}

torch::Tensor fused_norm(torch::nn::GroupNorm& norm, const torch::Tensor& x, const NormSurroundings& around) {
#ifdef CPFM_HAS_CUDA
  if (kernel_takes(norm, x, around)) {
    return FusedNorm::apply(x, norm->weight, norm->bias, handed_on(around.before, x), handed_on(around.scale, x),
                            handed_on(around.shift, x), norm->options.num_groups(), norm->options.eps(), around.silu);
  }
#endif
  return plain_norm(norm, x, around);
}

}  // namespace cpfm
