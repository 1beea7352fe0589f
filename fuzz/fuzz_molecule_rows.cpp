// A file of molecules, up to what RDKit is given: the first byte chooses its kind and the options, the others are a
// table with a column of SMILES, a .smi or an .sdf, plain or gzipped. make_corpus.py knows the bits, too.
#include <array>

#include "chem/molecule_rows.hpp"
#include "fuzz/exercise.hpp"
#include "fuzz/molecules.hpp"

namespace {

using namespace cpfm;

void check(const MoleculeRows::Field& field, std::size_t rows) {
  if (field.shown.empty()) return;  // it is in a file of its own
  const auto* texts = std::get_if<std::vector<std::string>>(&field.values.values);
  fuzz::require(texts != nullptr && texts->size() == rows, "there is one value per row");
}

void check(const MoleculeRows& rows, const ReadOptions& options) {
  fuzz::require(!options.limit || rows.size() <= *options.limit, "there are no more rows than asked for");
  fuzz::require(rows.lines.size() == rows.size(), "every row has a line");
  for (std::size_t i = 0; i < rows.size(); ++i)
    fuzz::require(rows.lines[i] > (i == 0 ? 0 : rows.lines[i - 1]), "rows follow each other");
  fuzz::require(rows.names.empty() || rows.names.size() == rows.size(), "there is one name per row or none");
  fuzz::require(rows.properties.size() == options.properties.size(), "every property has a place");
  if (rows.labels) check(*rows.labels, rows.size());
  for (const MoleculeRows::Field& field : rows.properties) check(field, rows.size());
}

MoleculeRows parse(unsigned kind, Reader& reader, const MoleculeReadOptions& options) {
  if (kind == 2) return parse_smi(reader, options.read);
  return kind == 3 ? parse_sdf(reader, options.read) : parse_molecule_table(reader, options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned bits = data[0], kind = bits & 3;
  MoleculeReadOptions options;
  if (bits & 4) options.smiles = "1";
  options.read.header = (bits & 8) == 0 ? Header::kAuto : (bits & 16) == 0 ? Header::kYes : Header::kNo;
  if (bits & 32) options.read.limit = 2;
  if (bits & 64) options.read.properties = {"mu"};
  if (bits & 128) options.read.labels = "kind";
  static constexpr std::array<const char*, 4> kNames = {"fuzz.csv", "fuzz.tsv", "fuzz.smi", "fuzz.sdf"};
  return fuzz::run(data + 1, size - 1, [&](std::span<const std::byte> bytes) {
    Reader reader = fuzz::reader_of(bytes, kNames[kind]);
    const MoleculeRows rows = parse(kind, reader, options);
    check(rows, options.read);
    if (rows.are_blocks) return;
    for (const std::string& text : rows.texts) {
      try {
        smiles_to_selfies(text);
      } catch (const Error&) {  // a bad row leaves the others as they are
      }
    }
  });
}
