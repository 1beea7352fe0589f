// Numbers that properties of a molecule depend on, by RDKit.
#include <Geometry/point.h>
#include <GraphMol/Conformer.h>
#include <GraphMol/Descriptors/MQN.h>
#include <GraphMol/Descriptors/MolSurf.h>
#include <GraphMol/DistGeomHelpers/Embedder.h>
#include <GraphMol/ForceFieldHelpers/MMFF/AtomTyper.h>
#include <GraphMol/ForceFieldHelpers/MMFF/MMFF.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/PartialCharges/GasteigerCharges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/parallel.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kFlat = 42 + 14 + 12 + 10;  // molecular quantum numbers, and three kinds of surface
constexpr std::size_t kDipoles = 5;               // of all shapes together, for each kind of charges
constexpr std::size_t kDescriptors = kFlat + 2 * kDipoles;
constexpr unsigned kShapes = 5;
// Beyond it shapes take seconds a molecule, and five tell little of all there are.
constexpr unsigned kMostAtoms = 60;

template <class T>
void append(std::vector<double>& to, const std::vector<T>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

std::vector<double> flat_descriptors(const RDKit::ROMol& molecule) {
  std::vector<double> all;
  append(all, RDKit::Descriptors::calcMQNs(molecule));
  append(all, RDKit::Descriptors::calcPEOE_VSA(molecule));
  append(all, RDKit::Descriptors::calcSlogP_VSA(molecule));
  append(all, RDKit::Descriptors::calcSMR_VSA(molecule));
  return all;
}

// In debye, of charges in units of the electron's at places in ångström.
double dipole(const RDKit::Conformer& shape, const std::vector<double>& charges) {
  constexpr double kDebye = 4.80320;
  RDGeom::Point3D center, sum;
  for (unsigned i = 0; i < shape.getNumAtoms(); ++i) center += shape.getAtomPos(i);
  center /= shape.getNumAtoms();
  for (unsigned i = 0; i < shape.getNumAtoms(); ++i) sum += (shape.getAtomPos(i) - center) * charges[i];
  return kDebye * sum.length();
}

// Of the first shape, on average, the least, the largest, and of the shape of least energy.
std::array<double, kDipoles> summary(const std::vector<double>& dipoles, std::size_t relaxed) {
  double mean = 0;
  for (const double value : dipoles) mean += value / static_cast<double>(dipoles.size());
  return {dipoles.front(), mean, *std::min_element(dipoles.begin(), dipoles.end()),
          *std::max_element(dipoles.begin(), dipoles.end()), dipoles[relaxed]};
}

// Gives the molecule its hydrogen atoms and shapes in space; false where there are none.
bool find_shapes(RDKit::RWMol& molecule) {
  RDKit::DGeomHelpers::EmbedParameters search = RDKit::DGeomHelpers::ETKDGv3;
  search.randomSeed = 42;
  search.maxIterations = 10;
  const RDKit::RWMol bare(molecule);
  RDKit::MolOps::addHs(molecule);
  if (!RDKit::DGeomHelpers::EmbedMultipleConfs(molecule, kShapes, search).empty()) return true;
  // Strained cages: first the heavy atoms, with no more than their distances asked for.
  molecule = bare;
  search.useExpTorsionAnglePrefs = search.useBasicKnowledge = search.enforceChirality = false;
  search.useRandomCoords = true;
  if (RDKit::DGeomHelpers::EmbedMultipleConfs(molecule, kShapes, search).empty()) return false;
  constexpr bool kExplicitOnly = false, kWithPlaces = true;
  RDKit::MolOps::addHs(molecule, kExplicitOnly, kWithPlaces);
  return true;
}

// Dipole moments of the shapes that a molecule is likely to have, with charges by MMFF94 and by Gasteiger; 0 where
// there are no shapes or no charges.
std::array<double, 2 * kDipoles> dipoles_of_shapes(const RDKit::ROMol& molecule) {
  std::array<double, 2 * kDipoles> result{};
  if (molecule.getNumAtoms() > kMostAtoms) return result;
  RDKit::RWMol whole(molecule);
  if (!find_shapes(whole)) return result;
  RDKit::MMFF::MMFFMolProperties force(whole);
  const bool knows_force = force.isValid();
  std::size_t relaxed = 0;
  if (knows_force) {
    constexpr int kSteps = 200;
    std::vector<std::pair<int, double>> energies;
    RDKit::MMFF::MMFFOptimizeMoleculeConfs(whole, energies, 1, kSteps);
    relaxed =
        static_cast<std::size_t>(std::min_element(energies.begin(), energies.end(),
                                                  [](const auto& a, const auto& b) { return a.second < b.second; }) -
                                 energies.begin());
  }
  std::vector<double> by_force(whole.getNumAtoms()), by_gasteiger(whole.getNumAtoms());
  for (unsigned i = 0; knows_force && i < whole.getNumAtoms(); ++i) by_force[i] = force.getMMFFPartialCharge(i);
  RDKit::computeGasteigerCharges(whole, by_gasteiger);
  std::size_t at = 0;
  for (const std::vector<double>* charges : {&by_force, &by_gasteiger}) {
    std::vector<double> dipoles;
    for (auto shape = whole.beginConformers(); shape != whole.endConformers(); ++shape)
      dipoles.push_back(dipole(**shape, *charges));
    for (const double value : summary(dipoles, relaxed)) result[at++] = value;
  }
  return result;
}

// What RDKit cannot compute is 0: no molecule is refused for it.
template <class Compute>
auto or_zeros(decltype(std::declval<Compute>()()) zeros, const Compute& compute) {
  try {
    return compute();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return zeros;
  }
}

void describe(const std::string& smiles, std::span<float> row) {
  const std::unique_ptr<RDKit::RWMol> molecule = read_molecule(smiles);
  std::vector<double> all = or_zeros(std::vector<double>(kFlat), [&] { return flat_descriptors(*molecule); });
  CPFM_ASSERT(all.size() == kFlat, "as many descriptors as are known");
  const auto dipoles = or_zeros(std::array<double, 2 * kDipoles>{}, [&] { return dipoles_of_shapes(*molecule); });
  all.insert(all.end(), dipoles.begin(), dipoles.end());
  constexpr double kMost = 1e6;
  for (std::size_t k = 0; k < kDescriptors; ++k)
    row[k] = std::isfinite(all[k]) ? static_cast<float>(std::clamp(all[k], -kMost, kMost)) : 0;
}

}  // namespace

FloatMatrix by_rdkit::molecule_descriptors(std::span<const std::string> smiles, Progress* progress) {
  constexpr std::size_t kBetweenReports = 64;
  FloatMatrix descriptors(smiles.size(), kDescriptors);
  if (progress != nullptr) progress->start("shapes of molecules", smiles.size(), "molecules");
  for (std::size_t begin = 0; begin < smiles.size(); begin += kBetweenReports) {
    const std::size_t count = std::min(kBetweenReports, smiles.size() - begin);
    parallel_for(count, 1, [&](std::size_t from, std::size_t to) {
      check_interrupt();
      for (std::size_t i = begin + from; i < begin + to; ++i) describe(smiles[i], descriptors.row(i));
    });
    if (progress != nullptr) progress->update(begin + count);
  }
  if (progress != nullptr) progress->finish();
  return descriptors;
}

}  // namespace cpfm
