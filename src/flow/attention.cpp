// A libtorch without MKL, such as Debian's, multiplies a batch of matrices one call after the other, thousands of them
// for a batch of small pictures. Here each head of each sample is a few small products, on all threads.
#include "flow/attention.hpp"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <Eigen/Core>
#include <cmath>

namespace cpfm {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsView = Eigen::Map<Rows>;
using ConstRowsView = Eigen::Map<const Rows>;

class CpuAttention : public torch::autograd::Function<CpuAttention> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& q_in,
                               const torch::Tensor& k_in, const torch::Tensor& v_in) {
    const torch::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
    const std::int64_t heads = q.size(0) * q.size(1), tokens = q.size(2), c = q.size(3);
    const float scale = 1 / std::sqrt(static_cast<float>(c));
    torch::Tensor weights = torch::empty({heads, tokens, tokens}, q.options()), out = torch::empty_like(q);
    const float *q0 = q.data_ptr<float>(), *k0 = k.data_ptr<float>(), *v0 = v.data_ptr<float>();
    float *w0 = weights.data_ptr<float>(), *o0 = out.data_ptr<float>();
    at::parallel_for(0, heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i * tokens * c;
        const ConstRowsView qi(q0 + at, tokens, c), ki(k0 + at, tokens, c), vi(v0 + at, tokens, c);
        RowsView wi(w0 + i * tokens * tokens, tokens, tokens), oi(o0 + at, tokens, c);
        wi.noalias() = scale * (qi * ki.transpose());
        wi.colwise() -= wi.rowwise().maxCoeff().eval();
        wi = wi.array().exp();
        wi.array().colwise() /= wi.rowwise().sum().eval().array();
        oi.noalias() = wi * vi;
      }
    });
    context->save_for_backward({q, k, v, weights});
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
    const torch::Tensor given = gradients[0].contiguous();
    const std::int64_t heads = q.size(0) * q.size(1), tokens = q.size(2), c = q.size(3);
    const float scale = 1 / std::sqrt(static_cast<float>(c));
    torch::Tensor dq = torch::empty_like(q), dk = torch::empty_like(k), dv = torch::empty_like(v);
    const float *q0 = q.data_ptr<float>(), *k0 = k.data_ptr<float>(), *v0 = v.data_ptr<float>();
    const float *w0 = weights.data_ptr<float>(), *g0 = given.data_ptr<float>();
    float *dq0 = dq.data_ptr<float>(), *dk0 = dk.data_ptr<float>(), *dv0 = dv.data_ptr<float>();
    at::parallel_for(0, heads, 1, [&](std::int64_t begin, std::int64_t end) {
      Rows ds;  // of the logits
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i * tokens * c;
        const ConstRowsView qi(q0 + at, tokens, c), ki(k0 + at, tokens, c), vi(v0 + at, tokens, c);
        const ConstRowsView wi(w0 + i * tokens * tokens, tokens, tokens), gi(g0 + at, tokens, c);
        RowsView dqi(dq0 + at, tokens, c), dki(dk0 + at, tokens, c), dvi(dv0 + at, tokens, c);
        dvi.noalias() = wi.transpose() * gi;
        ds.noalias() = gi * vi.transpose();
        const Eigen::VectorXf means = (ds.array() * wi.array()).rowwise().sum();
        ds = scale * (wi.array() * (ds.colwise() - means).array()).matrix();
        dqi.noalias() = ds * ki;
        dki.noalias() = ds.transpose() * qi;
      }
    });
    return {dq, dk, dv};
  }
};

}  // namespace

torch::Tensor plain_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
  // The factor goes to q, the smaller one.
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return torch::matmul(torch::softmax(torch::matmul(q * scale, k.transpose(-2, -1)), -1), v);
}

torch::Tensor dot_product_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v);
#else
  if (q.is_cpu() && q.scalar_type() == torch::kFloat32 && q.numel() > 0) return CpuAttention::apply(q, k, v);
  return plain_attention(q, k, v);
#endif
}

}  // namespace cpfm
