#include "model/options_json.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Json to_json(const ModelFacts& f) {
  Json json{
      {"method", f.method},
      {"network", to_json(f.network)},
      {"interpolant", f.interpolant},
      {"latent", f.latent},
      {"kernel", f.kernel},
      {"dim", f.dim},
      {"latent_dim", f.latent_dim},
      {"standardize",
       {{"mode", to_string(f.standardizer.mode)}, {"shift", f.standardizer.shift}, {"scale", f.standardizer.scale}}},
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
  f.standardizer.mode = parse_standardize(json.at("standardize").at("mode").get<std::string>());
  json.at("standardize").at("shift").get_to(f.standardizer.shift);
  json.at("standardize").at("scale").get_to(f.standardizer.scale);
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
