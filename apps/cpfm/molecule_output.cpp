#include "molecule_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm::app {
namespace {

constexpr std::uint32_t kPairStream = 0x6d706172;  // "mpar"

std::string extension_of(const std::string& file) { return lower(std::filesystem::path(file).extension().string()); }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Fingerprints of molecules some of which may be nothing: those have no bits.
Fingerprints fingerprints_of(const std::vector<std::string>& smiles) {
  std::vector<std::string> there;
  for (const std::string& one : smiles) {
    if (!one.empty()) there.push_back(one);
  }
  const Fingerprints found = morgan_fingerprints(there);
  Fingerprints all(smiles.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    if (!smiles[i].empty()) std::copy(found.row(at).begin(), found.row(at).end(), all.row(i).begin()), ++at;
  }
  return all;
}

class CsvFile {
 public:
  explicit CsvFile(const std::string& file) : file_(file) {}
  // SMILES and SELFIES have neither commas nor quotes.
  void row(const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t k = 0; k < cells.size(); ++k) line += (k > 0 ? "," : "") + cells[k];
    file_.write(line + "\n");
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

void add_places(std::vector<std::string>& cells, std::span<const float> place) {
  for (const float value : place) cells.push_back(fmt::format("{}", value));
}

}  // namespace

void check_output_files(const ModelFacts& facts, bool molecules, bool pairs, const OutputFiles& files) {
  std::vector<std::string> allowed{".npy", ".csv", ".png"};
  if (molecules) allowed.emplace_back(".svg");
  if (molecules && !pairs) allowed.insert(allowed.end(), {".smi", ".sdf"});
  check_extension("--output", files.out, allowed);
  check_writable("--output", files.out);
  if (molecules) require_rdkit("a model of molecules");
  if (!files.png.empty()) {
    check_extension("--png", files.png, {".png"});
    check_writable("--png", files.png);
  }
  const bool drawing = !files.png.empty() || extension_of(files.out) == ".png";
  if (drawing && !molecules && !facts.image)
    throw Error(files.png.empty() ? "--output" : "--png", "this model is of vectors, which are no pictures",
                "name a .npy or .csv file");
  if (files.svg.empty()) return;
  if (!molecules) throw Error("--svg", "is for molecules, and this model is of something else", "--png draws pictures");
  check_extension("--svg", files.svg, {".svg"});
  check_writable("--svg", files.svg);
}

void check_drawing(const OutputFiles& files, std::size_t drawn) {
  const std::string extension = extension_of(files.out);
  const bool drawing = !files.png.empty() || !files.svg.empty() || extension == ".png" || extension == ".svg";
  if (drawing && drawn > kMostDrawnMolecules)
    throw Error("a drawing", fmt::format("of {} molecules is too large", drawn),
                fmt::format("at most {}; a .csv, .smi or .sdf file holds any number", kMostDrawnMolecules));
}

GeneratedMolecules::GeneratedMolecules(const MoleculeCoder& coder, const FloatMatrix& y, const FloatMatrix& x)
    : y_(y), x_(x), smiles_(coder.decode(x.view())) {
  const std::set<std::string> training(coder.training().begin(), coder.training().end());
  for (const std::string& one : smiles_) known_.push_back(training.contains(one));
  const Fingerprints theirs = morgan_fingerprints(coder.training()), mine = fingerprints_of(smiles_);
  nearest_.resize(smiles_.size());
  likeness_.resize(smiles_.size());
  parallel_for(smiles_.size(), 16, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    for (std::size_t i = begin; i < end; ++i) {
      if (smiles_[i].empty()) continue;
      std::size_t best = 0;
      double most = -1;
      for (std::size_t j = 0; j < theirs.size(); ++j) {
        const double alike = tanimoto(mine.row(i), theirs.row(j));
        if (alike > most) most = alike, best = j;
      }
      nearest_[i] = coder.training()[best];
      likeness_[i] = most;
    }
  });
}

void GeneratedMolecules::write(const std::string& file, std::size_t columns) const {
  const std::string extension = extension_of(file);
  if (std::ranges::all_of(smiles_, [](const std::string& one) { return one.empty(); }))
    log().warn(
        "{}: none of what was made is a molecule to RDKit; the model needs longer training, or data without "
        "elements whose bonds SELFIES does not limit",
        printable(file, 200));
  if (extension == ".npy") return write_npy(file, x_.view());
  if (extension == ".png" || extension == ".svg") {
    constexpr std::size_t kWidest = 40, kTallest = 60;
    MoleculeSheetOptions sheet;
    sheet.columns = columns <= kWidest && smiles_.size() <= columns * kTallest ? columns : 0;
    return write_molecule_sheet(file, smiles_, sheet);
  }
  // Of each molecule, the columns of a table.
  std::vector<std::string> header{"smiles"};
  for (std::size_t k = 0; k < y_.cols(); ++k) header.push_back(fmt::format("y{}", k + 1));
  header.insert(header.end(), {"in_training", "nearest", "tanimoto"});
  const auto row = [&](std::size_t i) {
    std::vector<std::string> cells{smiles_[i]};
    add_places(cells, y_.row(i));
    cells.insert(cells.end(), {known_[i] ? "1" : "0", nearest_[i], fmt::format("{:.4f}", likeness_[i])});
    return cells;
  };
  // Only a table has room for what is no molecule.
  std::vector<std::string> there;
  std::vector<MoleculeColumn> fields;
  for (const std::string& name : header) fields.push_back({name, {}});
  for (std::size_t i = 0; i < smiles_.size(); ++i) {
    if (smiles_[i].empty()) continue;
    there.push_back(smiles_[i]);
    const std::vector<std::string> cells = row(i);
    for (std::size_t k = 0; k < cells.size(); ++k) fields[k].values.push_back(cells[k]);
  }
  if (extension == ".sdf") return write_sdf(file, there, fields);
  if (extension == ".smi") {
    AtomicFile out(file);
    for (const std::string& one : there) out.write(one + "\n");
    return out.commit();
  }
  CsvFile table(file);
  table.row(header);
  for (std::size_t i = 0; i < smiles_.size(); ++i) table.row(row(i));
  table.commit();
}

Json GeneratedMolecules::numbers() const {
  std::size_t valid = 0, unseen = 0;
  std::set<std::string> different;
  std::vector<double> likeness;
  for (std::size_t i = 0; i < smiles_.size(); ++i) {
    if (smiles_[i].empty()) continue;
    ++valid;
    different.insert(smiles_[i]);
    unseen += known_[i] ? 0 : 1;
    likeness.push_back(likeness_[i]);
  }
  const auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return {{"valid", share(valid, smiles_.size())},
          {"unique", share(different.size(), valid)},
          {"novel", share(unseen, valid)},
          {"nearest_tanimoto", mean(likeness)}};
}

ReconstructedMolecules::ReconstructedMolecules(const MoleculeCoder& coder, const Dataset& data, const FloatMatrix& y,
                                               const FloatMatrix& back)
    : y_(y), back_points_(back), originals_(data.molecules), back_(coder.decode(back.view())) {
  const Fingerprints before = fingerprints_of(originals_), after = fingerprints_of(back_);
  const std::size_t n = originals_.size();
  std::vector<Composition> mine, theirs;
  for (std::size_t i = 0; i < n; ++i) {
    mine.push_back(composition(originals_[i]));
    theirs.push_back(back_[i].empty() ? Composition{} : composition(back_[i]));
  }
  for (std::size_t i = 0; i < n; ++i) {
    likeness_.push_back(tanimoto(before.row(i), after.row(i)));
    composition_.push_back(shared_atoms(mine[i], theirs[i]));
  }
  // Each with the one behind it in a random order, so that none meets itself.
  const std::vector<std::size_t> order = permutation(n, 1, kPairStream);
  for (std::size_t k = 0; n > 1 && k < n; ++k) {
    const std::size_t i = order[k], other = order[(k + 1) % n];
    random_.push_back(tanimoto(before.row(i), after.row(other)));
    random_composition_.push_back(shared_atoms(mine[i], theirs[other]));
  }
}

void ReconstructedMolecules::write(const std::string& file, std::size_t most) const {
  const std::string extension = extension_of(file);
  if (extension == ".npy") return write_npy(file, back_points_.view());
  if (extension == ".png" || extension == ".svg") {
    constexpr std::size_t kColumns = 6, kMostPairs = 300;
    const std::size_t shown = std::min({most, kMostPairs, originals_.size()});
    MoleculeSheetOptions sheet;
    sheet.columns = std::min(kColumns, shown);
    const std::vector<std::string> pairs =
        molecule_pairs(std::span(originals_).first(shown), std::span(back_).first(shown), sheet.columns);
    return write_molecule_sheet(file, pairs, sheet);
  }
  CsvFile table(file);
  std::vector<std::string> header{"smiles", "back", "tanimoto", "shared_atoms"};
  for (std::size_t k = 0; k < y_.cols(); ++k) header.push_back(fmt::format("y{}", k + 1));
  table.row(header);
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    std::vector<std::string> cells{originals_[i], back_[i], fmt::format("{:.4f}", likeness_[i]),
                                   fmt::format("{:.4f}", composition_[i])};
    add_places(cells, y_.row(i));
    table.row(cells);
  }
  table.commit();
}

Json ReconstructedMolecules::numbers() const {
  std::size_t same = 0;
  for (std::size_t i = 0; i < originals_.size(); ++i)
    same += !back_[i].empty() && canonical_smiles(originals_[i]) == back_[i] ? 1 : 0;
  Json result{{"same", static_cast<double>(same) / static_cast<double>(originals_.size())},
              {"tanimoto", mean(likeness_)},
              {"shared_atoms", mean(composition_)}};
  if (!random_.empty())
    result.update({{"tanimoto_random", mean(random_)}, {"shared_atoms_random", mean(random_composition_)}});
  return result;
}

std::string told(const Json& numbers) {
  const auto number = [&](const char* key) { return numbers[key].get<double>(); };
  if (numbers.contains("valid")) {
    return fmt::format(
        "{} molecules, {:.1f} % valid, {:.1f} % of these different, {:.1f} % not of the training data; likeness to the "
        "nearest of it {:.3f}",
        numbers["n"].get<std::size_t>(), 100 * number("valid"), 100 * number("unique"), 100 * number("novel"),
        number("nearest_tanimoto"));
  }
  std::string text =
      fmt::format("{} molecules, {:.1f} % come back the same; Tanimoto {:.3f}, shared atoms {:.3f}",
                  numbers["n"].get<std::size_t>(), 100 * number("same"), number("tanimoto"), number("shared_atoms"));
  if (numbers.contains("tanimoto_random")) {
    text +=
        fmt::format(" (two at random: {:.3f} and {:.3f})", number("tanimoto_random"), number("shared_atoms_random"));
  }
  return text;
}

}  // namespace cpfm::app
