// Files of molecules to a Dataset: RDKit reads each molecule once, on all threads; rows that hold none are told or left
// out.
#include <GraphMol/FileParsers/FileParsers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <new>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "chem/molecule_rows.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "data/csv_scanner.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {
namespace {

// What RDKit says, row by row.
struct Reading {
  std::vector<std::string> smiles, problems;  // good rows have no problem
  Fingerprints prints;
};

// RDKit's SMILES and the fingerprint of a block.
std::string read_block(const std::string& block, std::span<std::uint64_t, Fingerprints::kWords> bits) {
  silence_rdkit();
  const auto read = [&](bool sanitize) {
    std::unique_ptr<RDKit::RWMol> molecule(RDKit::MolBlockToMol(block, sanitize, sanitize));
    if (!molecule || molecule->getNumAtoms() == 0) throw Error("molecule", "the record holds no atoms");
    return molecule;
  };
  return ask_rdkit("molecule", "read it", [&] {
    // What is too large is seen before RDKit spends its time on it.
    if (static_cast<std::size_t>(std::count(block.begin(), block.end(), '\n')) > kLongestSmiles &&
        read(false)->getNumHeavyAtoms() > kLongestSmiles)
      throw Error("molecule", fmt::format("it has more than {} atoms", kLongestSmiles));
    const std::unique_ptr<RDKit::RWMol> molecule = read(true);
    set_morgan_bits(*molecule, bits);
    return write_smiles(*molecule);
  });
}

Reading read_all(const MoleculeRows& rows, bool as_selfies, Progress* progress) {
  const std::size_t n = rows.size();
  Reading out{rows.are_blocks ? std::vector<std::string>(n) : rows.texts, std::vector<std::string>(n), Fingerprints(n)};
  const auto read_row = [&](std::size_t i) {
    try {
      std::string written;  // by RDKit
      if (rows.are_blocks) {
        written = out.smiles[i] = read_block(rows.texts[i], out.prints.row(i));
      } else {
        const std::unique_ptr<RDKit::RWMol> molecule = read_molecule(rows.texts[i]);
        set_morgan_bits(*molecule, out.prints.row(i));
        if (as_selfies) written = write_smiles(*molecule);
      }
      // As it will be learned, which may do where the file's own way does not: a nitro group as N(=O)=O.
      if (as_selfies) smiles_to_selfies(written);
    } catch (const Error& error) {
      if (rows.are_blocks)
        out.problems[i] = fmt::format("molecule '{}': {}", printable(rows.names[i]), error.problem());
      else
        out.problems[i] = rows.texts[i].empty() ? "the SMILES is empty" : error.where() + ": " + error.problem();
    }
  };
  constexpr std::size_t kBetweenReports = 1024, kAtOnce = 32;
  if (progress != nullptr) progress->start("molecules", n, "molecules");
  for (std::size_t begin = 0; begin < n; begin += kBetweenReports) {
    const std::size_t count = std::min(kBetweenReports, n - begin);
    parallel_for(count, kAtOnce, [&](std::size_t from, std::size_t to) {
      check_interrupt();
      for (std::size_t i = begin + from; i < begin + to; ++i) read_row(i);
    });
    if (progress != nullptr) progress->update(begin + count);
  }
  if (progress != nullptr) progress->finish();
  return out;
}

// The value in row i, and what is wrong with it, if anything.
float measured(const MoleculeRows::Field& field, std::size_t i, std::string& problem) {
  double value = 0;
  std::string shown;
  if (const auto* numbers = std::get_if<std::vector<double>>(&field.values.values)) {
    value = (*numbers)[i];
    shown = fmt::format("{}", value);
  } else {
    const std::string& text = std::get<std::vector<std::string>>(field.values.values)[i];
    shown = printable(text);
    if (text.empty())
      problem = fmt::format("{}: no value", field.shown);
    else if (!parse_number(text, value))
      problem = fmt::format("{}: '{}' is not a number", field.shown, shown);
  }
  const auto narrow = static_cast<float>(value);
  if (problem.empty() && !std::isfinite(narrow))
    problem = fmt::format("{}: '{}' is not a finite number of 32 bits", field.shown, shown);
  return narrow;
}

// A column without one number is a mistake of the command, not of rows.
void refuse_text(const MoleculeRows& rows) {
  for (const MoleculeRows::Field& field : rows.properties) {
    const auto* texts = std::get_if<std::vector<std::string>>(&field.values.values);
    double ignored = 0;
    if (texts == nullptr ||
        std::any_of(texts->begin(), texts->end(), [&](const auto& text) { return parse_number(text, ignored); }))
      continue;
    const auto text = std::find_if(texts->begin(), texts->end(), [](const std::string& t) { return !t.empty(); });
    const std::string where = fmt::format("{}, {}", rows.file, field.shown);
    if (text == texts->end()) throw Error(where, "is empty", "a property is a number for every molecule");
    throw Error(where, fmt::format("holds text ('{}'), and a property is a number", printable(*text)),
                is_decimal_comma(*text) ? "decimal commas are not read; use points"
                                        : fmt::format("classes are labels: --labels {}", printable(field.values.name)));
  }
}

Column chosen(const Column& column, const std::vector<std::size_t>& rows) {
  Column out = column;
  std::visit(
      [&](auto& values) {
        for (std::size_t i = 0; i < rows.size(); ++i) values[i] = values[rows[i]];
        values.resize(rows.size());
      },
      out.values);
  return out;
}

FloatMatrix as_floats(const Fingerprints& prints, const std::vector<std::size_t>& rows, const std::string& file) {
  constexpr std::size_t d = Fingerprints::kBits;
  require_memory(static_cast<double>(rows.size()) * d * sizeof(float), file,
                 fmt::format("the fingerprints of {} molecules", rows.size()), "read fewer with --limit");
  FloatMatrix samples(rows.size(), d);
  parallel_for(rows.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto words = prints.row(rows[i]);
      for (std::size_t k = 0; k < d; ++k) samples(i, k) = static_cast<float>(words[k / 64] >> (k % 64) & 1);
    }
  });
  return samples;
}

MoleculesRead read(const std::string& source, const MoleculeReadOptions& options) {
  const MoleculeRows rows = read_molecule_rows(source, options);
  refuse_text(rows);
  Reading reading = read_all(rows, options.as_selfies, options.read.progress);
  std::vector<Property> properties;
  for (const MoleculeRows::Field& field : rows.properties) {
    properties.push_back({field.values.name, std::vector<float>(rows.size())});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::string problem;
      properties.back().values[i] = measured(field, i, problem);
      if (reading.problems[i].empty()) {
        reading.problems[i] = problem;
        // The molecule tells the row better than its number.
        if (!problem.empty()) reading.problems[i] += fmt::format(" (of '{}')", printable(reading.smiles[i]));
      }
    }
  }

  MoleculesRead out;
  out.rows = rows.size();
  std::vector<std::size_t> good;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (reading.problems[i].empty())
      good.push_back(i);
    else
      out.skipped.push_back({i + 1, rows.lines[i], std::move(reading.problems[i])});
  }
  if (options.on_bad_row == OnBadRow::kError && !out.skipped.empty()) {
    const BadRow& bad = out.skipped.front();
    std::string remedy = "--on-bad-row skip leaves such rows out";
    if (bad.row == 1 && !rows.hint_at_first.empty()) remedy += "; " + rows.hint_at_first;
    throw Error(rows.file, bad.text(), remedy);
  }
  if (good.empty()) {
    throw Error(rows.file, fmt::format("no molecule is left of {} rows", rows.size()), out.skipped.front().text());
  }

  Dataset& data = out.data;
  data.source = rows.file;
  data.format = "molecules";
  data.dtype = rows.are_blocks ? "sdf" : "smiles";
  data.samples = as_floats(reading.prints, good, rows.file);
  if (rows.labels)
    data.labels = to_labels(chosen(rows.labels->values, good), fmt::format("{}, {}", rows.file, rows.labels->shown));
  for (Property& property : properties) {
    for (std::size_t i = 0; i < good.size(); ++i) property.values[i] = property.values[good[i]];
    property.values.resize(good.size());
  }
  data.properties = std::move(properties);
  for (const std::size_t i : good) data.molecules.push_back(std::move(reading.smiles[i]));
  const bool all_named = !rows.names.empty() &&
                         std::none_of(good.begin(), good.end(), [&](std::size_t i) { return rows.names[i].empty(); });
  for (std::size_t i = 0; all_named && i < good.size(); ++i) data.sample_names.push_back(rows.names[good[i]]);
  validate(data);
  if (data.size() < options.read.fewest)
    throw Error(rows.file, "holds one molecule", "at least two samples are needed");
  return out;
}

}  // namespace

MoleculesRead by_rdkit::read_molecules(const std::string& source, const MoleculeReadOptions& options) {
  if (options.read.limit && *options.read.limit < options.read.fewest)
    throw Error("--limit", fmt::format("{} is too few", *options.read.limit),
                fmt::format("at least {} sample(s)", options.read.fewest));
  try {
    return read(source, options);
  } catch (const std::bad_alloc&) {
    throw Error(source, "does not fit in memory", "read fewer rows with --limit");
  }
}

}  // namespace cpfm
