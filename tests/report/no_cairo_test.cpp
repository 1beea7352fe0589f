// A build without Cairo links and says what it lacks.
#include "cpfm/report.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

TEST(WithoutCairo, EveryDrawingCallSaysWhatToInstall) {
  const test::TempDir dir;
  const std::vector<float> points{0, 0, 1, 1};
  const Figure figure{.panels = {Scatter{.points = {points.data(), 2, 2}}}};
  EXPECT_FALSE(can_draw());
  EXPECT_CONTAINS(test::error_of([&] { png_bytes(figure); }), "no Cairo");
  EXPECT_CONTAINS(test::error_of([&] { svg_bytes(figure); }), "no Cairo");
  EXPECT_CONTAINS(test::error_of([&] { write_png(dir / "a.png", figure); }), "libcairo2-dev");
  EXPECT_CONTAINS(test::error_of([&] { write_svg(dir / "a.svg", figure); }), "libcairo2-dev");
  EXPECT_FALSE(std::filesystem::exists(dir / "a.png"));
}

}  // namespace
}  // namespace cpfm
