// Reads the built-in digits, saves them as a tensor file, opens that again and draws them, and reads a molecule if one
// is given: calls into the installed libraries, and into the one that is loaded late.
#include <cpfm/data.hpp>
#include <cpfm/error.hpp>
#include <cpfm/model.hpp>
#include <cpfm/molecule.hpp>
#include <cpfm/report.hpp>
#include <iostream>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: consumer FILE [SMILES of ethanol]\n";
    return 1;
  }
  try {
    const cpfm::Dataset digits = cpfm::read_dataset("digits");
    cpfm::TensorFileWriter writer;
    writer.add("digits", {digits.size(), digits.dim()}, digits.samples.values());
    writer.save(argv[1]);
    const cpfm::TensorFile file = cpfm::TensorFile::open(argv[1]);
    const auto& shape = file.tensor("digits").shape;
    if (cpfm::can_draw()) cpfm::png_bytes({.panels = {cpfm::Scatter{.points = digits.samples.view()}}});
    if (argc == 3 && cpfm::canonical_smiles(argv[2]) != "CCO") return 1;
    std::cout << shape.at(0) << " x " << shape.at(1) << "\n";
  } catch (const cpfm::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
