// The first byte chooses options, the others are a table, plain or gzipped. make_corpus.py knows the bits, too.
#include "data/readers.hpp"
#include "fuzz/exercise.hpp"

namespace {

// Blank lines are passed over. This many fill what the scanner looks at to guess the delimiter, so that the table
// behind them comes in the small pieces of reader_of(), with every token once cut in two.
constexpr std::size_t kBlankLines = 4096;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  if (size == 0) return 0;
  ReadOptions options;
  const unsigned bits = data[0];
  if (bits & 1) options.labels = "1";
  options.header = (bits & 2) == 0 ? Header::kAuto : (bits & 4) == 0 ? Header::kYes : Header::kNo;
  if (bits & 8) options.limit = 2;
  if (bits & 16) options.properties = {"2"};
  if (bits & 32) options.ignore = {"3"};
  const char* name = bits & 64 ? "fuzz.tsv" : "fuzz.csv";
  return fuzz::run(data + 1, size - 1, [&](std::span<const std::byte> bytes) {
    std::vector<std::byte> table(bits & 128 ? kBlankLines : 0, std::byte{'\n'});
    table.insert(table.end(), bytes.begin(), bytes.end());
    Reader reader = fuzz::reader_of(table, name);
    fuzz::exercise(parse_csv(reader, options));
  });
}
