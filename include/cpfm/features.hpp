// Networks that look at pictures so that pictures can be compared: features for the Fréchet distance (cpfm/metric.hpp),
// and LPIPS. Their weights come from files of tensors (docs/metrics.md says where from, and how to convert them). What
// implements it is cpfm::flow.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// Pictures as they are in the data, with the values of black and white. Before they are looked at, values are brought
// to [0, 1], clamped, and grey pictures get three channels; SqueezeNet gets those less than 32 high or wide enlarged
// to 64.
struct Pictures {
  MatrixView<const float> samples;
  ImageShape image;
  std::array<float, 2> range = {0, 255};
};

class PictureFeatures {
 public:
  virtual ~PictureFeatures() = default;
  virtual std::string name() const = 0;  // inception, squeezenet
  // One row per picture.
  virtual FloatMatrix features(const Pictures& pictures, Progress* progress = nullptr) = 0;
};
// Inception-V3 as the Fréchet inception distance takes it, the 2,048 features of its last pooling; pictures are brought
// to 299 × 299. Only a distance of these may be called FID.
std::unique_ptr<PictureFeatures> load_inception(const std::filesystem::path& file, const std::string& device = "auto");
// The backbone of LPIPS, SqueezeNet 1.1, its last 512 channels, pooled.
std::unique_ptr<PictureFeatures> load_squeezenet(const std::filesystem::path& file, const std::string& device = "auto");

class PerceptualDistance {
 public:
  virtual ~PerceptualDistance() = default;
  // LPIPS of each picture of `a` to the one in its place in `b`.
  virtual std::vector<double> distances(const Pictures& a, const Pictures& b, Progress* progress = nullptr) = 0;
};
std::unique_ptr<PerceptualDistance> load_lpips(const std::filesystem::path& file, const std::string& device = "auto");

}  // namespace cpfm
