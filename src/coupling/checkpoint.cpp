#include "coupling/checkpoint.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_values.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kKind = "checkpoint of a coupling";

std::string text(double value) { return fmt::format("{}", value); }

std::string weights_text(const std::vector<double>& weights) {
  if (weights.empty()) return "uniform";
  double sum = 0;  // a checksum will do
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * static_cast<double>(i + 1);
  return fmt::format("{} given, {}", weights.size(), sum);
}

}  // namespace

std::string describe_run(const CoupleOptions& o, const std::string& kernel, std::uint64_t data_fingerprint) {
  const GwotOptions& s = o.solver;
  const bool paper = s.algorithm == GwotOptions::Algorithm::kPaper;
  return Json{{"data", fmt::format("{:016x}", data_fingerprint)},
              {"kernel", kernel},
              {"latent", o.latent},
              {"dim", std::to_string(o.latent_options.dim)},
              {"low-discrepancy", o.latent_options.low_discrepancy ? "yes" : "no"},
              {"latent-points", std::to_string(o.latent_points)},
              {"explained", text(o.factor.explained)},
              {"rank", std::to_string(o.factor.max_rank)},
              {"exact", o.exact ? "yes" : "no"},
              {"device", o.device.is_cuda() ? "cuda" : "cpu"},
              {"subsample", std::to_string(o.subsample)},
              {"weights", weights_text(o.weights)},
              {"latent-weights", weights_text(o.latent_weights)},
              {"seed", std::to_string(o.seed)},
              {"algorithm", paper ? "paper" : "cpfm"},
              {"epsilon", text(s.epsilon)},
              {"epsilon-start", text(s.epsilon_start)},
              {"absolute-epsilon", s.absolute ? "yes" : "no"},
              {"tolerance", text(s.tolerance)},
              {"marginal-tolerance", text(s.marginal_tolerance)},
              {"loosest-marginal", text(s.loosest_marginal)},
              {"starts", std::to_string(s.starts)},
              {"start-points", std::to_string(s.start_points)},
              {"start-levels", std::to_string(s.start_levels)},
              {"coarse-points", std::to_string(s.coarse_points)},
              {"max-half-iterations", std::to_string(s.max_half_iterations)},
              {"drop", text(s.drop)},
              {"double", s.double_precision ? "yes" : "no"}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

void save_checkpoint(const std::filesystem::path& file, const GwotSolver& solver, const std::string& run,
                     const History& history) {
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", kKind);
  writer.set_metadata("run", run);
  solver.save(writer);
  std::vector<double> moments;
  for (const CoupleSummary::Moment& moment : history)
    moments.insert(moments.end(), {moment.half_iterations, moment.epsilon, moment.objective});
  add_values(writer, "history", {history.size(), 3}, moments);
  writer.save(file);
}

void load_checkpoint(const std::filesystem::path& file, GwotSolver& solver, const std::string& run, History& history) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw Error(file.string(), "there is no such file, so there is nothing to resume", "start without --resume");
  const TensorFile saved = TensorFile::open(file);
  const auto kind = saved.metadata().find("cpfm.kind");
  if (kind == saved.metadata().end() || kind->second != kKind)
    throw Error(file.string(), "is no checkpoint of a coupling", "start without --resume");
  const Json mine = Json::parse(run), theirs = Json::parse(saved.metadata("run"), nullptr, false);
  std::string differing;
  for (const auto& [key, value] : mine.items()) {
    const std::string other = theirs.is_object() && theirs.contains(key) && theirs[key].is_string()
                                  ? theirs[key].get<std::string>()
                                  : std::string("unknown");
    if (other != value.get<std::string>())
      differing += fmt::format("{}{} is {} here and was {}", differing.empty() ? "" : ", ", key,
                               value.get<std::string>(), other);
  }
  if (!differing.empty())
    throw Error(file.string(), "belongs to another run: " + differing, "give the same data and options, or start anew");
  solver.load(saved);
  const std::vector<double> moments = read_values<double>(saved, "history");
  if (moments.size() % 3 != 0) throw Error(file.string(), "its history is cut short", "the checkpoint is damaged");
  history.clear();
  for (std::size_t k = 0; k < moments.size(); k += 3) history.push_back({moments[k], moments[k + 1], moments[k + 2]});
}

}  // namespace cpfm
