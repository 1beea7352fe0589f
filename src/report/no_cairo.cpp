// The drawing calls of a build without Cairo: they are there, so that programs link, and say what is missing.
#include "cpfm/error.hpp"
#include "cpfm/report.hpp"

namespace cpfm {
namespace {

[[noreturn]] void refuse() {
  throw Error("plots", "this build has no Cairo, which draws them",
              "install libcairo2-dev and pkg-config, configure and build again");
}

}  // namespace

bool can_draw() { return false; }
std::vector<std::byte> png_bytes(const Figure&) { refuse(); }
std::vector<std::byte> svg_bytes(const Figure&) { refuse(); }
void write_png(const std::filesystem::path&, const Figure&) { refuse(); }
void write_svg(const std::filesystem::path&, const Figure&) { refuse(); }

}  // namespace cpfm
