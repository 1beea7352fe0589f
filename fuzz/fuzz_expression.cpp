// Bytes as an expression of --kernel or --latent.
#include "base/expression.hpp"
#include "fuzz/exercise.hpp"

namespace {

using cpfm::Expression;

// Every part lies in the source, inside the part that holds it.
void check(const Expression& e, std::size_t begin, std::size_t end) {
  cpfm::fuzz::require(begin <= e.begin && e.begin < e.end && e.end <= end, "a part lies inside its whole");
  const bool has_name = e.kind == Expression::Kind::kCall;
  cpfm::fuzz::require(!has_name || !e.name.empty(), "a call has a name");
  const bool has_terms = e.kind == Expression::Kind::kSum || e.kind == Expression::Kind::kProduct;
  cpfm::fuzz::require(!has_terms || e.arguments.size() >= 2, "a sum and a product have two terms or more");
  for (const Expression::Argument& argument : e.arguments) check(argument.value, e.begin, e.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  return fuzz::run(data, size, [](std::span<const std::byte> bytes) {
    const ParsedExpression parsed(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "fuzz");
    check(parsed.root(), 0, bytes.size());
    parsed.fail(parsed.root(), "found", "allowed");
  });
}
