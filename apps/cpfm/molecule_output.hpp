// What the commands write and tell of molecules that a model made.
#pragma once

#include <string>
#include <vector>

#include "cli.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/molecule_coder.hpp"

namespace cpfm::app {

// Whether these files can be written, by the kind of samples; before anything is computed. Pairs are a table or a
// drawing. `drawn` is the number of molecules of a drawing.
struct OutputFiles {
  std::string out, png, svg;
};
void check_output_files(const ModelFacts& facts, bool molecules, bool pairs, const OutputFiles& files);
void check_drawing(const OutputFiles& files, std::size_t drawn);

// Molecules for places on a map.
class GeneratedMolecules {
 public:
  // `x` are the points that the model has for the places `y`, row by row.
  GeneratedMolecules(const MoleculeCoder& coder, const FloatMatrix& y, const FloatMatrix& x);

  const std::vector<std::string>& smiles() const { return smiles_; }
  // A table, SMILES, SDF, a drawing, or the points themselves, by the file's extension.
  void write(const std::string& file, std::size_t columns) const;
  // Shares of those that are molecules, of different ones among these, and of those that training did not have; the
  // likeness of each to the nearest that it had.
  Json numbers() const;

 private:
  const FloatMatrix &y_, &x_;
  std::vector<std::string> smiles_, nearest_;
  std::vector<double> likeness_;
  std::vector<bool> known_;
};

// Molecules beside what comes back from their places.
class ReconstructedMolecules {
 public:
  ReconstructedMolecules(const MoleculeCoder& coder, const Dataset& data, const FloatMatrix& y,
                         const FloatMatrix& back);

  // A table of pairs, a drawing of at most `most` of them, or the points that came back.
  void write(const std::string& file, std::size_t most) const;
  // How alike the two of a pair are, beside two of different pairs.
  Json numbers() const;

 private:
  const FloatMatrix &y_, &back_points_;
  std::vector<std::string> originals_, back_;
  std::vector<double> likeness_, random_, composition_, random_composition_;
};

// The numbers as a sentence.
std::string told(const Json& numbers);

}  // namespace cpfm::app
