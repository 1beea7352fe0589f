#include "flow/sequence_net.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;
using torch::Tensor;

constexpr std::int64_t kFeatureWidth = 256, kReaders = 128, kReach = 5;
constexpr double kFeatureDropout = 0.3;

Tensor as_columns(const Tensor& rows) { return rows.t().unsqueeze(0).contiguous(); }

}  // namespace

double SequenceShape::weights() const {
  const auto product = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  return product(alphabet, embedding) + product(alphabet, hidden) + product(kReaders * length, hidden) +
         product(3 * hidden, hidden) + product(3 * hidden, embedding) + product(5 * latent, hidden) +
         product(features, kFeatureWidth);
}

Json to_json(const SequenceShape& s) {
  return {{"alphabet", s.alphabet}, {"length", s.length}, {"features", s.features},  {"targets", s.targets},
          {"latent", s.latent},     {"hidden", s.hidden}, {"embedding", s.embedding}};
}

SequenceShape sequence_shape(const Json& json) {
  SequenceShape s;
  const auto read = [&](const char* name, std::int64_t least, std::int64_t most) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer())
      throw Error(kSequenceFacts, fmt::format("says nothing of {}", name), "the file is damaged");
    const auto value = json[name].get<std::int64_t>();
    if (value < least || value > most)
      throw Error(kSequenceFacts, fmt::format("{} is {}", name, value), "the file is damaged");
    return value;
  };
  constexpr std::int64_t kMost = 1 << 16;
  s.alphabet = read("alphabet", 2, kMost);
  s.length = read("length", 1, kMost);
  s.features = read("features", 0, kMost);
  s.targets = read("targets", 0, kMost);
  s.latent = read("latent", 1, kMost);
  s.hidden = read("hidden", 1, kMost);
  s.embedding = read("embedding", 1, kMost);
  return s;
}

GruImpl::GruImpl(std::int64_t in, std::int64_t hidden)
    : input(register_module("input", torch::nn::Linear(in, 3 * hidden))),
      state(register_module("state", torch::nn::Linear(hidden, 3 * hidden))) {}

Tensor GruImpl::step(const Tensor& from_input, const Tensor& before) {
  const std::vector<Tensor> x = from_input.chunk(3, 1), h = dense_columns(state, before).chunk(3, 1);
  const Tensor reset = torch::sigmoid(x[0] + h[0]), keep = torch::sigmoid(x[1] + h[1]);
  return torch::lerp(torch::tanh(x[2] + reset * h[2]), before, keep);
}

SequenceNetImpl::SequenceNetImpl(const SequenceShape& s) : shape(s) {
  symbols = register_module("symbols", torch::nn::Embedding(s.alphabet + 1, s.embedding));
  const auto reader = [](std::int64_t in, std::int64_t out) {
    return torch::nn::Conv1d(torch::nn::Conv1dOptions(in, out, kReach).padding(kReach / 2));
  };
  near = register_module("near", reader(s.embedding, kReaders));
  far = register_module("far", reader(kReaders, kReaders));
  from_places = register_module("from_places", torch::nn::Linear(kReaders * s.length, s.hidden));
  const std::int64_t seen = s.hidden + (s.features > 0 ? kFeatureWidth : 0);
  if (s.features > 0) from_features = register_module("from_features", torch::nn::Linear(s.features, kFeatureWidth));
  to_mean = register_module("to_mean", torch::nn::Linear(seen, s.latent));
  to_log_variance = register_module("to_log_variance", torch::nn::Linear(seen, s.latent));
  to_state = register_module("to_state", torch::nn::Linear(s.latent, s.hidden));
  writer = register_module("writer", Gru(s.embedding, s.hidden));
  to_writer = register_module("to_writer", torch::nn::Linear(s.latent, 3 * s.hidden));
  to_symbol = register_module("to_symbol", torch::nn::Linear(s.hidden, s.alphabet));
}

std::pair<Tensor, Tensor> SequenceNetImpl::encode(const Tensor& sequences, const Tensor& features) {
  const Tensor counts = before_padding(sequences).to(torch::kFloat32);
  const Tensor inputs = symbols->forward(sequences).transpose(1, 2) * counts.unsqueeze(1);
  const Tensor read = torch::relu(far->forward(torch::relu(near->forward(inputs)))) * counts.unsqueeze(1);
  std::vector<Tensor> seen{torch::relu(dense(from_places, read.flatten(1)))};
  if (shape.features > 0) {
    seen.push_back(torch::dropout(torch::relu(dense(from_features, features)), kFeatureDropout, is_training()));
  }
  const Tensor all = torch::cat(seen, 1);
  return {dense(to_mean, all), dense(to_log_variance, all).clamp(-12, 4)};
}

Tensor SequenceNetImpl::first_state(const Tensor& point) { return torch::tanh(dense_columns(to_state, point)); }

Tensor SequenceNetImpl::scores(const Tensor& z, const Tensor& told) {
  const std::int64_t n = z.size(0);
  const Tensor point = as_columns(z), from_point = dense_columns(to_writer, point);
  const Tensor from_input = dense_columns(writer->input, as_columns(symbols->forward(told.t().reshape({-1}))));
  Tensor state = first_state(point);
  std::vector<Tensor> states;
  for (std::int64_t t = 0; t < shape.length; ++t) {
    state = writer->step(from_input.narrow(2, t * n, n) + from_point, state);
    states.push_back(state);
  }
  return dense_columns(to_symbol, torch::cat(states, 2));
}

Tensor SequenceNetImpl::write(const Tensor& z) {
  const Tensor point = as_columns(z), from_point = dense_columns(to_writer, point);
  Tensor state = first_state(point);
  Tensor last =
      torch::full({z.size(0)}, shape.alphabet, torch::TensorOptions().dtype(torch::kInt64).device(z.device()));
  Tensor open = torch::ones_like(last);
  std::vector<Tensor> written;
  for (std::int64_t t = 0; t < shape.length; ++t) {
    state = writer->step(dense_columns(writer->input, as_columns(symbols->forward(last))) + from_point, state);
    last = dense_columns(to_symbol, state).squeeze(0).argmax(0) * open;
    open = open * (last != 0).to(torch::kInt64);
    written.push_back(last);
  }
  return torch::stack(written, 1);
}

Tensor SequenceNetImpl::before_padding(const Tensor& sequences) {
  return torch::cumprod((sequences != 0).to(torch::kInt64), 1);
}

Tensor to_tensor(MatrixView<const std::int32_t> values) {
  const Tensor all =
      torch::from_blob(const_cast<std::int32_t*>(values.data),
                       {static_cast<std::int64_t>(values.rows), static_cast<std::int64_t>(values.cols)}, torch::kInt32);
  return all.to(torch::kInt64);
}

Tensor to_tensor(MatrixView<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data),
                          {static_cast<std::int64_t>(values.rows), static_cast<std::int64_t>(values.cols)})
      .clone();
}

}  // namespace cpfm
