// How good a model of molecules is: what the autoencoder and the way to the plane and back keep, what is generated, and
// whether places on the map mean what they should.
#pragma once

#include <filesystem>

#include "cli.hpp"
#include "cpfm/flow.hpp"
#include "cpfm/molecule_coder.hpp"

namespace cpfm::app {

struct MoleculeEvaluation {
  FlowModel& model;
  const MoleculeCoder& coder;
  const Dataset& points;            // of molecules, as the model takes them: told the properties that are there
  const FloatMatrix& by_structure;  // the points of the same molecules without being told, for a judge
  SampleOptions sampling;
  std::filesystem::path folder;  // of the run that made the model
};

// Figures of the molecules by themselves.
Json evaluate_molecules(const MoleculeEvaluation& evaluation);
// Throws cpfm::Error where these are too few for a judge to learn from.
void check_judge_size(const Dataset& known);
// Figures of the first property by a judge that learned it from other molecules, `known`: what it says of generated
// molecules beside the place they were made for, and along a path on which the property rises.
Json judge_molecules(const MoleculeEvaluation& evaluation, const Dataset& known);

// A line per figure.
void print_molecules(const Json& figures);

}  // namespace cpfm::app
