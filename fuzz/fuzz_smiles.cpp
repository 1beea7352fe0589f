// Bytes as SMILES.
#include <string>

#include "fuzz/molecules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  return fuzz::run(data, size, [](std::span<const std::byte> bytes) {
    const std::string smiles(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string selfies = smiles_to_selfies(smiles);
    fuzz::check_encoding(selfies, fuzz::must("what is encoded can be read", [&] { return chem::read_smiles(smiles); }));
  });
}
