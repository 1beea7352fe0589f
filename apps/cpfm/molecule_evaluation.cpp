#include "molecule_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/error.hpp"
#include "cpfm/fingerprint_regressor.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/molecule.hpp"
#include "map_view.hpp"
#include "molecule_output.hpp"
#include "molecules.hpp"

namespace cpfm::app {
namespace {

// Of a path on which a property rises: its places, and the molecules that are made for each.
constexpr std::size_t kSteps = 12, kEach = 32;

std::vector<double> values_of(const Property& property) { return {property.values.begin(), property.values.end()}; }

// Share of the symbols of each string, the end too, that the other has in the same place.
double same_symbols(const std::vector<std::string>& wanted, const std::vector<std::string>& found) {
  std::size_t same = 0, all = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::vector<std::string> a = split_selfies(wanted[i]), b = split_selfies(found[i]);
    for (std::size_t k = 0; k < a.size(); ++k) same += k < b.size() && a[k] == b[k] ? 1 : 0;
    same += a.size() == b.size() ? 1 : 0;
    all += a.size() + 1;
  }
  return static_cast<double>(same) / static_cast<double>(all);
}

// The molecules of points, and which of the points have one.
struct Decoded {
  std::vector<std::string> smiles;
  std::vector<std::size_t> rows;
};
Decoded decode(const MoleculeCoder& coder, const FloatMatrix& points) {
  Decoded decoded;
  std::vector<std::string> all = coder.decode(points.view());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    decoded.rows.push_back(i);
    decoded.smiles.push_back(std::move(all[i]));
  }
  return decoded;
}

// The coupling that a model was made of, where it lies beside it and is of these molecules.
std::optional<Coupling> coupling_of(const MoleculeEvaluation& e, const Dataset& known) {
  const std::filesystem::path file = e.folder / "coupling.cpfm";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  try {
    Coupling coupling = Coupling::load(file);
    const ModelFacts& facts = e.model.facts();
    if (coupling.data_fingerprint == fingerprint(known) && coupling.summary.kernel == facts.kernel &&
        coupling.summary.latent == facts.latent)
      return coupling;
  } catch (const Error& error) {
    log().warn("{}; the judge's molecules are put where the model draws them", error.what());
  }
  return std::nullopt;
}

// Places on which a property rises step by step, near each other: of the molecules of each step of equally many, the
// one that is nearest to the place before; at first the one in the middle.
FloatMatrix rising_path(const FloatMatrix& places, const std::vector<double>& values, std::size_t steps) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  FloatMatrix path(steps, places.cols());
  std::vector<float> before(places.cols(), 0);
  const std::size_t each = order.size() / steps;
  for (std::size_t c = 0; c < places.cols(); ++c) {
    for (std::size_t k = 0; k < each; ++k) before[c] += places(order[k], c) / static_cast<float>(each);
  }
  for (std::size_t s = 0; s < steps; ++s) {
    std::size_t best = order[s * each];
    double least = -1;
    for (std::size_t k = s * each; k < (s + 1) * each; ++k) {
      double distance = 0;
      for (std::size_t c = 0; c < places.cols(); ++c)
        distance += (places(order[k], c) - before[c]) * (places(order[k], c) - before[c]);
      if (least < 0 || distance < least) least = distance, best = order[k];
    }
    for (std::size_t c = 0; c < places.cols(); ++c) path(s, c) = before[c] = places(best, c);
  }
  return path;
}

// Places mean what the molecules around them have: `learned` at `known`. What so is told of each of some points, over
// all places it may have, and by one place.
struct Told {
  std::vector<double> mean, once;
  FloatMatrix y;  // the one place
};
Told told_by_places(const MoleculeEvaluation& e, const FloatMatrix& points, const FloatMatrix& known,
                    const std::vector<double>& learned) {
  constexpr std::size_t kDraws = 16;
  const std::size_t n = points.rows();
  const FloatMatrix draws = e.model.embed(points.view(), kDraws, e.sampling);
  const std::vector<double> meant = nearest_mean(known.view(), learned, draws.view(), kPropertyNeighbours);
  Told told{std::vector<double>(n), std::vector<double>(n), FloatMatrix(n, draws.cols())};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < kDraws; ++k) told.mean[i] += meant[i * kDraws + k] / kDraws;
    told.once[i] = meant[i * kDraws];
    std::ranges::copy(draws.row(i * kDraws), told.y.row(i).begin());
  }
  return told;
}

// How well places tell the property of the molecules that are evaluated, by what the model is told and by their
// structure alone, and how well what is made for a place has it.
Json judge_places(const MoleculeEvaluation& e, const FingerprintRegressor& judge, const FloatMatrix& known,
                  const std::vector<double>& learned) {
  const Property& property = e.points.properties.front();
  const std::vector<double> actual = values_of(property);
  Json result;
  Told told = told_by_places(e, e.by_structure, known, learned);
  result["structure_r2"] = r_squared(told.mean, actual);
  result["structure_r2_of_one_draw"] = r_squared(told.once, actual);
  const std::vector<std::string> names = e.coder.properties();
  if (std::ranges::find(names, property.name) != names.end()) {
    told = told_by_places(e, e.points.samples, known, learned);
    result["measured_r2"] = r_squared(told.mean, actual);
    result["measured_r2_of_one_draw"] = r_squared(told.once, actual);
  }
  const Decoded made = decode(e.coder, e.model.generate(told.y.view(), e.sampling));
  std::vector<double> wanted;
  for (const std::size_t row : made.rows) wanted.push_back(told.once[row]);
  if (std::set<double>(wanted.begin(), wanted.end()).size() < 2) return result;  // nothing to tell of them
  const std::vector<double> judged = judge.predict(morgan_fingerprints(made.smiles));
  result["generated_r2"] = r_squared(judged, wanted);
  result["generated_rank_correlation"] = rank_correlation(judged, wanted);
  return result;
}

// What the judge says of molecules that are made along a path.
Json judge_path(const MoleculeEvaluation& e, const FingerprintRegressor& judge, const FloatMatrix& path) {
  FloatMatrix places(path.rows() * kEach, path.cols());
  for (std::size_t i = 0; i < places.rows(); ++i)
    std::copy_n(path.row(i / kEach).data(), path.cols(), places.row(i).data());
  const Decoded along = decode(e.coder, e.model.generate(places.view(), e.sampling));
  const std::vector<double> said = judge.predict(morgan_fingerprints(along.smiles));
  std::vector<double> sums(path.rows()), counts(path.rows()), step_of;
  for (std::size_t k = 0; k < said.size(); ++k) {
    const std::size_t step = along.rows[k] / kEach;
    sums[step] += said[k];
    counts[step] += 1;
    step_of.push_back(static_cast<double>(step));
  }
  std::vector<double> steps, means;
  Json shown = Json::array();
  for (std::size_t s = 0; s < path.rows(); ++s) {
    if (counts[s] == 0) continue;
    steps.push_back(static_cast<double>(s));
    means.push_back(sums[s] / counts[s]);
    shown.push_back(
        {{"place", std::vector<float>(path.row(s).begin(), path.row(s).end())}, {"predicted", means.back()}});
  }
  Json result{{"each", kEach}, {"steps", shown}};
  if (steps.size() < 2) return result;
  result["rank_correlation"] = rank_correlation(steps, means);
  result["rank_correlation_of_all"] = rank_correlation(step_of, said);
  return result;
}

}  // namespace

Json evaluate_molecules(const MoleculeEvaluation& e) {
  Json result;
  // The autoencoder alone.
  const std::vector<std::string> again = e.coder.decode(e.points.samples.view());
  std::vector<std::string> strings;
  std::size_t same = 0;
  for (std::size_t i = 0; i < again.size(); ++i) {
    const std::string written = canonical_smiles(e.points.molecules[i]);
    strings.push_back(smiles_to_selfies(written));
    same += again[i] == written ? 1 : 0;
  }
  result["autoencoder"] = {{"same", static_cast<double>(same) / static_cast<double>(again.size())},
                           {"symbols", same_symbols(strings, e.coder.decode_selfies(e.points.samples.view()))}};
  // To the plane and back.
  const FloatMatrix y = e.model.embed(e.points.samples.view(), 1, e.sampling);
  const FloatMatrix back = e.model.generate(y.view(), e.sampling);
  result["back"] = ReconstructedMolecules(e.coder, e.points, y, back).numbers();
  result["generated"] = GeneratedMolecules(e.coder, y, back).numbers();
  result["generated"]["n"] = y.rows();
  return result;
}

void check_judge_size(const Dataset& known) {
  if (known.size() < 2 * kSteps)
    throw Error("--judge", fmt::format("{} has {} molecules", known.source, known.size()),
                fmt::format("at least {}", 2 * kSteps));
}

Json judge_molecules(const MoleculeEvaluation& e, const Dataset& known) {
  const Property& property = known.properties.front();
  const std::vector<double> learned = values_of(property), actual = values_of(e.points.properties.front());
  const FingerprintRegressor judge(morgan_fingerprints(known.molecules), learned);
  Json result{{"property", property.name},
              {"judge_r2", r_squared(judge.predict(morgan_fingerprints(e.points.molecules)), actual)}};
  const std::optional<Coupling> coupling = coupling_of(e, known);
  result["known_places"] = coupling ? "coupled" : "drawn";
  const FloatMatrix places =
      coupling ? coupling->embed_all(known, false, e.sampling.seed, e.sampling.progress)
               : e.model.embed(e.coder.encode(known, nullptr, e.sampling.progress).view(), 1, e.sampling);
  result.update(judge_places(e, judge, places, learned));
  result["path"] = judge_path(e, judge, rising_path(places, learned, kSteps));
  return result;
}

void print_molecules(const Json& figures) {
  const auto number = [](const Json& of, const char* key) { return of[key].get<double>(); };
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<19} {}\n", what, text); };
  const Json &autoencoder = figures["autoencoder"], &back = figures["back"], &made = figures["generated"];
  line("autoencoder", fmt::format("{:.1f} % of the molecules come back the same, {:.1f} % of the symbols",
                                  100 * number(autoencoder, "same"), 100 * number(autoencoder, "symbols")));
  line("there and back",
       fmt::format("{:.1f} % the same; Tanimoto {:.3f} (two at random {:.3f}), shared atoms {:.3f} "
                   "({:.3f})",
                   100 * number(back, "same"), number(back, "tanimoto"), back.value("tanimoto_random", 0.0),
                   number(back, "shared_atoms"), back.value("shared_atoms_random", 0.0)));
  line("generated", fmt::format("{:.1f} % valid, {:.1f} % of these different, {:.1f} % new; nearest known {:.3f}",
                                100 * number(made, "valid"), 100 * number(made, "unique"), 100 * number(made, "novel"),
                                number(made, "nearest_tanimoto")));
  if (!figures.contains("judge")) return;
  const Json& judge = figures["judge"];
  const std::string name = printable(judge["property"].get<std::string>(), 40);
  line("judge", fmt::format("{} by fingerprints, R2 {:.3f} on these molecules", name, number(judge, "judge_r2")));
  const auto place = [&](const char* what, const char* mean, const char* once) {
    line(what, fmt::format("says {} with R2 {:.3f} over 16 draws, {:.3f} of one, by the 10 nearest {} of the judge's "
                           "molecules",
                           name, number(judge, mean), number(judge, once), judge["known_places"].get<std::string>()));
  };
  if (judge.contains("measured_r2")) place("place, as measured", "measured_r2", "measured_r2_of_one_draw");
  place("place, by structure", "structure_r2", "structure_r2_of_one_draw");
  if (!judge.contains("generated_r2") || !judge["path"].contains("rank_correlation"))
    return line("generated there", "too few molecules to judge");
  line("generated there", fmt::format("{} judged beside that of the place: R2 {:.3f}, rank correlation {:.3f}", name,
                                      number(judge, "generated_r2"), number(judge, "generated_rank_correlation")));
  line("along a path",
       fmt::format("of rising {}: rank correlation {:.3f}, from {:.2f} to {:.2f}", name,
                   number(judge["path"], "rank_correlation"), judge["path"]["steps"].front()["predicted"].get<double>(),
                   judge["path"]["steps"].back()["predicted"].get<double>()));
}

}  // namespace cpfm::app
