#include "model/options_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cpfm/error.hpp"

namespace cpfm {

Json to_json(const NetworkOptions& o) {
  return {{"kind", o.kind},
          {"model_channels", o.model_channels},
          {"num_res_blocks", o.num_res_blocks},
          {"channel_mult", o.channel_mult},
          {"attention_resolutions", o.attention_resolutions},
          {"num_heads", o.num_heads},
          {"dropout", o.dropout},
          {"width", o.width},
          {"depth", o.depth},
          {"conditioning", o.conditioning},
          {"head", o.head},
          {"head_width", o.head_width},
          {"head_depth", o.head_depth},
          {"fourier_features", o.fourier_features},
          {"fourier_scale", o.fourier_scale}};
}

NetworkOptions network_from_json(const Json& json) {
  NetworkOptions o;
  const auto take = [&](const char* key, auto& to) { json.at(key).get_to(to); };
  take("kind", o.kind);
  take("model_channels", o.model_channels);
  take("num_res_blocks", o.num_res_blocks);
  take("channel_mult", o.channel_mult);
  take("attention_resolutions", o.attention_resolutions);
  take("num_heads", o.num_heads);
  take("dropout", o.dropout);
  take("width", o.width);
  take("depth", o.depth);
  take("conditioning", o.conditioning);
  take("head", o.head);
  take("head_width", o.head_width);
  take("head_depth", o.head_depth);
  take("fourier_features", o.fourier_features);
  take("fourier_scale", o.fourier_scale);
  return o;
}

Json to_json(const TrainOptions& o) {
  Json json{{"method", o.method},
            {"network", to_json(o.network)},
            {"interpolant", o.interpolant},
            {"alpha", o.alpha},
            {"batch", o.batch},
            {"y_draws", o.y_draws},
            {"learning_rate", o.learning_rate},
            {"schedule", o.schedule},
            {"weight_decay", o.weight_decay},
            {"warmup", o.warmup},
            {"ema", o.ema},
            {"clip", o.clip},
            {"epochs", o.epochs},
            {"steps", o.steps},
            {"minutes", o.minutes},
            {"validation", o.validation},
            {"seed", o.seed},
            {"device", o.device},
            {"precision", o.precision},
            {"checkpoint_minutes", o.checkpoint_minutes}};
  if (o.beta) json["beta"] = *o.beta;
  if (o.path) {  // some values, to tell one path from another
    Json values = Json::array();
    for (const double t : {0.125, 0.375, 0.625, 0.875}) values.push_back({o.path->a(t), o.path->b(t)});
    json["path"] = values;
  }
  return json;
}

namespace {

Json scale_json(const Standardizer& s) { return {{"mode", to_string(s.mode)}, {"shift", s.shift}, {"scale", s.scale}}; }
Standardizer scale_from_json(const Json& json) {
  return {parse_standardize(json.at("mode").get<std::string>()), json.at("shift").get<std::vector<float>>(),
          json.at("scale").get<std::vector<float>>()};
}

void require(bool right, const char* what) {
  if (!right) throw Error(what, "is out of range", "the file is damaged");
}
void check_scale(const Standardizer& s, std::size_t dim, const char* what) {
  const std::size_t expected = s.mode == Standardize::kNone ? 0 : s.mode == Standardize::kImage ? 1 : dim;
  require(s.shift.size() == expected && s.scale.size() == expected, what);
  for (const float scale : s.scale) require(std::isfinite(scale) && scale != 0, what);
  for (const float shift : s.shift) require(std::isfinite(shift), what);
}
void check_facts(const ModelFacts& facts) {
  constexpr std::size_t kMost = 1 << 24;
  require(facts.dim >= 1 && facts.dim <= kMost, "dim");
  require(facts.latent_dim >= 1 && facts.latent_dim <= 8, "latent_dim");
  if (facts.image) {
    const ImageShape& image = *facts.image;
    require(image.channels >= 1 && image.height >= 1 && image.width >= 1 && image.channels <= 4096 &&
                image.height <= 65536 && image.width <= 65536 && image.size() == facts.dim,
            "image");
  }
  check_scale(facts.standardizer, facts.dim, "standardize");
  check_scale(facts.data_scale, facts.dim, "data_scale");
}

}  // namespace

Json to_json(const ModelFacts& f) {
  Json json{{"method", f.method},
            {"network", to_json(f.network)},
            {"interpolant", f.interpolant},
            {"latent", f.latent},
            {"kernel", f.kernel},
            {"dim", f.dim},
            {"latent_dim", f.latent_dim},
            {"standardize", scale_json(f.standardizer)},
            {"data_scale", scale_json(f.data_scale)},
            {"label_names", f.label_names},
            {"feature_names", f.feature_names},
            {"parameters", f.parameters},
            {"steps", f.steps},
            {"training", f.training}};
  if (f.image) json["image"] = {f.image->channels, f.image->height, f.image->width};
  if (f.value_range) json["value_range"] = *f.value_range;
  return json;
}

ModelFacts facts_from_json(const Json& json) {
  ModelFacts f;
  const auto take = [&](const char* key, auto& to) { json.at(key).get_to(to); };
  f.method = json.value("method", "cpfm");  // older files know no other
  f.network = network_from_json(json.at("network"));
  take("interpolant", f.interpolant);
  take("latent", f.latent);
  take("kernel", f.kernel);
  take("dim", f.dim);
  take("latent_dim", f.latent_dim);
  f.standardizer = scale_from_json(json.at("standardize"));
  if (json.contains("data_scale")) f.data_scale = scale_from_json(json.at("data_scale"));  // older files do not tell
  take("label_names", f.label_names);
  take("feature_names", f.feature_names);
  take("parameters", f.parameters);
  take("steps", f.steps);
  take("training", f.training);
  if (json.contains("image")) {
    const auto sizes = json.at("image").get<std::array<int, 3>>();
    f.image = ImageShape{sizes[0], sizes[1], sizes[2]};
  }
  if (json.contains("value_range")) f.value_range = json.at("value_range").get<std::array<float, 2>>();
  check_facts(f);
  return f;
}

namespace {

// As on the command line: "learning-rate".
std::string option_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::string shown(const Json& value) {
  return value.is_null() ? "unknown" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string differences(const Json& mine, const Json& theirs, const std::vector<std::string>& may_differ) {
  std::string text;
  for (const auto& [key, value] : mine.items()) {
    if (std::find(may_differ.begin(), may_differ.end(), key) != may_differ.end()) continue;
    const Json other = theirs.is_object() && theirs.contains(key) ? theirs[key] : Json();
    if (other == value) continue;
    const std::string inner =
        value.is_object() ? differences(value, other, may_differ)
                          : fmt::format("{} is {} here and was {}", option_name(key), shown(value), shown(other));
    if (!inner.empty()) text += (text.empty() ? "" : ", ") + inner;
  }
  return text;
}

}  // namespace cpfm
