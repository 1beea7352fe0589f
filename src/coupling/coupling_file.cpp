// Couplings as tensor files: the plan's parts, the latent points, and what places new points. The summary travels as
// JSON in the metadata.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cpfm/coupling.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_values.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kKind = "coupling";

Json as_json(const CoupleSummary& s) {
  return {{"n", s.n},
          {"m", s.m},
          {"dim", s.dim},
          {"kernel", s.kernel},
          {"latent", s.latent},
          {"algorithm", s.algorithm},
          {"rank", s.rank},
          {"explained", s.explained},
          {"max_residual", s.max_residual},
          {"epsilon", s.epsilon},
          {"objective", s.objective},
          {"objective_random", s.objective_random},
          {"marginal_error", s.marginal_error},
          {"duality_gap", s.duality_gap},
          {"half_iterations", s.half_iterations},
          {"outer_iterations", s.outer_iterations},
          {"rescued", s.rescued},
          {"pairs", s.pairs},
          {"starts", s.starts},
          {"dropped_bound", s.dropped_bound},
          {"status", s.status},
          {"device", s.device},
          {"seed", s.seed},
          {"seconds", {{"kernel", s.seconds_kernel}, {"factor", s.seconds_factor}, {"solve", s.seconds_solve}}}};
}

CoupleSummary parse_summary(const std::string& text) {
  CoupleSummary s;
  const Json j = Json::parse(text);
  // What is not finite is null in JSON.
  const auto take = [&](const char* key, auto& to) {
    if (!j.at(key).is_null()) j.at(key).get_to(to);
  };
  take("n", s.n);
  take("m", s.m);
  take("dim", s.dim);
  take("kernel", s.kernel);
  take("latent", s.latent);
  take("algorithm", s.algorithm);
  take("rank", s.rank);
  take("explained", s.explained);
  take("max_residual", s.max_residual);
  take("epsilon", s.epsilon);
  take("objective", s.objective);
  take("objective_random", s.objective_random);
  take("marginal_error", s.marginal_error);
  take("duality_gap", s.duality_gap);
  take("half_iterations", s.half_iterations);
  take("outer_iterations", s.outer_iterations);
  take("rescued", s.rescued);
  take("pairs", s.pairs);
  take("starts", s.starts);
  take("dropped_bound", s.dropped_bound);
  take("status", s.status);
  s.device = j.value("device", "cpu");  // the first files did not say
  take("seed", s.seed);
  j.at("seconds").at("kernel").get_to(s.seconds_kernel);
  j.at("seconds").at("factor").get_to(s.seconds_factor);
  j.at("seconds").at("solve").get_to(s.seconds_solve);
  return s;
}

void require(bool right, const std::string& what) {
  if (!right) throw Error(what, "does not fit the rest of the coupling", "the file is damaged");
}

FloatMatrix matrix(const std::vector<float>& values, std::size_t rows, std::size_t cols, const std::string& what) {
  require(cols > 0 && values.size() / cols == rows && values.size() % cols == 0, what);
  FloatMatrix out(rows, cols);
  for (std::size_t k = 0; k < values.size(); ++k) {
    require(std::isfinite(values[k]), what);
    out.data()[k] = values[k];
  }
  return out;
}

Placement read_placement(const TensorFile& file, const Json& about, std::size_t dim) {
  Placement placement;
  placement.coefficients = read_values<double>(file, "placement.coefficients");
  const std::size_t r = placement.coefficients.size() / (dim + 1);
  require(r > 0 && placement.coefficients.size() == r * (dim + 1), "placement.coefficients");
  for (const double c : placement.coefficients) require(std::isfinite(c), "placement.coefficients");
  placement.offset = read_values<double>(file, "placement.offset");
  require(placement.offset.size() == dim, "placement.offset");
  for (const double c : placement.offset) require(std::isfinite(c), "placement.offset");
  const std::vector<float> samples = read_values<float>(file, "placement.samples");
  placement.reference.samples = matrix(samples, r, samples.size() / r, "placement.samples");
  placement.reference.source = "coupling";
  if (about.contains("labels")) {
    Labels labels{read_values<std::int32_t>(file, "placement.labels"), about["labels"].get<std::vector<std::string>>()};
    require(labels.ids.size() == r, "placement.labels");
    for (const std::int32_t id : labels.ids)
      require(id >= -1 && id < static_cast<std::int64_t>(labels.names.size()), "placement.labels");
    placement.reference.labels = std::move(labels);
  }
  const auto names = about.at("properties").get<std::vector<std::string>>();
  for (std::size_t k = 0; k < names.size(); ++k) {
    Property property{names[k], read_values<float>(file, fmt::format("placement.property.{}", k))};
    require(property.values.size() == r, fmt::format("placement.property.{}", k));
    placement.reference.properties.push_back(std::move(property));
  }
  return placement;
}

}  // namespace

std::string to_json(const CoupleSummary& summary) { return as_json(summary).dump(2); }

void Coupling::save(const std::filesystem::path& file) const {
  const PlanParts& parts = plan.parts();
  const std::size_t n = parts.w.size(), m = parts.column_mass.size(), d = centre.size();
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", kKind);
  writer.set_metadata("summary", as_json(summary).dump(-1, ' ', false, Json::error_handler_t::replace));
  writer.set_metadata("data_fingerprint", fmt::format("{:016x}", data_fingerprint));
  const std::vector<double> epsilon{parts.epsilon};
  add_values(writer, "plan.epsilon", {1}, epsilon);
  add_values(writer, "plan.w", {n}, parts.w);
  add_values(writer, "plan.p", {n, d}, parts.p);
  add_values(writer, "plan.row_potential", {n}, parts.row_potential);
  add_values(writer, "plan.y", {m, d}, parts.y);
  add_values(writer, "plan.column_potential", {m}, parts.column_potential);
  add_values(writer, "plan.row_mass", {n}, parts.row_mass);
  add_values(writer, "plan.column_mass", {m}, parts.column_mass);
  writer.add("latent", {m, d}, latent.values());
  add_values(writer, "latent.centre", {d}, centre);
  std::vector<double> history;
  for (const CoupleSummary::Moment& moment : summary.history)
    history.insert(history.end(), {moment.half_iterations, moment.epsilon, moment.objective});
  add_values(writer, "history", {summary.history.size(), 3}, history);
  const std::vector<std::int64_t> chosen(rows.begin(), rows.end());
  if (!chosen.empty()) add_values(writer, "rows", {chosen.size()}, chosen);
  if (placement) {
    const Dataset& reference = placement->reference;
    Json about{{"properties", Json::array()}};
    if (reference.labels) {
      about["labels"] = reference.labels->names;
      add_values(writer, "placement.labels", {reference.size()}, reference.labels->ids);
    }
    for (const Property& property : reference.properties) {
      add_values(writer, fmt::format("placement.property.{}", about["properties"].size()), {reference.size()},
                 property.values);
      about["properties"].push_back(property.name);
    }
    writer.set_metadata("placement", about.dump(-1, ' ', false, Json::error_handler_t::replace));
    writer.add("placement.samples", {reference.size(), reference.dim()}, reference.samples.values());
    add_values(writer, "placement.coefficients", {reference.size(), d + 1}, placement->coefficients);
    add_values(writer, "placement.offset", {d}, placement->offset);
  }
  writer.save(file);
}

Coupling Coupling::load(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::open(path);
  const auto kind = file.metadata().find("cpfm.kind");
  if (kind == file.metadata().end() || kind->second != kKind)
    throw Error(path.string(), "is no coupling", "make one with 'cpfm couple DATA -o FILE'");
  try {
    PlanParts parts;
    const std::vector<double> epsilon = read_values<double>(file, "plan.epsilon");
    require(epsilon.size() == 1, "plan.epsilon");
    parts.epsilon = epsilon[0];
    parts.w = read_values<double>(file, "plan.w");
    parts.p = read_values<double>(file, "plan.p");
    parts.row_potential = read_values<double>(file, "plan.row_potential");
    parts.y = read_values<double>(file, "plan.y");
    parts.column_potential = read_values<double>(file, "plan.column_potential");
    parts.row_mass = read_values<double>(file, "plan.row_mass");
    parts.column_mass = read_values<double>(file, "plan.column_mass");
    CoupleSummary summary = parse_summary(file.metadata("summary"));
    Plan plan(std::move(parts));
    require(plan.rows() == summary.n && plan.columns() == summary.m, "summary");
    std::vector<double> centre = read_values<double>(file, "latent.centre");
    require(centre.size() == summary.dim && plan.parts().y.size() == summary.m * summary.dim, "latent.centre");
    FloatMatrix latent = matrix(read_values<float>(file, "latent"), summary.m, summary.dim, "latent");
    std::vector<std::size_t> rows;
    if (file.tensors().contains("rows")) {
      for (const std::int64_t row : read_values<std::int64_t>(file, "rows")) {
        require(row >= 0 && row <= 0xFFFFFFFF && (rows.empty() || static_cast<std::size_t>(row) > rows.back()), "rows");
        rows.push_back(static_cast<std::size_t>(row));
      }
      require(rows.size() == summary.n, "rows");
    }
    const std::vector<double> history = read_values<double>(file, "history");
    require(history.size() % 3 == 0, "history");
    for (std::size_t k = 0; k < history.size(); k += 3)
      summary.history.push_back({history[k], history[k + 1], history[k + 2]});
    const std::string& hex = file.metadata("data_fingerprint");
    std::uint64_t data = 0;
    const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), data, 16);
    require(problem == std::errc{} && end == hex.data() + hex.size(), "data_fingerprint");
    const auto masses = [&](std::span<const double> mass, const char* what) {
      double sum = 0;
      for (const double value : mass) {
        require(value > 0, what);
        sum += value;
      }
      require(std::abs(sum - 1) < 1e-6, what);
    };
    masses(plan.row_mass(), "plan.row_mass");
    masses(plan.column_mass(), "plan.column_mass");
    std::optional<Placement> placement;
    if (file.metadata().contains("placement"))
      placement = read_placement(file, Json::parse(file.metadata("placement")), summary.dim);
    return {std::move(summary),  std::move(plan), std::move(latent), std::move(centre), std::move(rows), data,
            std::move(placement)};
  } catch (const Error& error) {
    throw Error(path.string(), error.what(), "the coupling is damaged; make it again");
  } catch (const Json::exception&) {
    throw Error(path.string(), "its metadata cannot be read", "the coupling is damaged; make it again");
  }
}

}  // namespace cpfm
