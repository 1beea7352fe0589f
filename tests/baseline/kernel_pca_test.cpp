// Kernel PCA there and back: where it must be near exact, where it is linear PCA, and what its files may hold.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "cpfm/baseline.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/model.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// n rows of `columns` numbers about a mean: two directions of standard deviation 3 and 1, and noise.
FloatMatrix plane_points(std::size_t n, std::size_t columns, double noise, std::uint64_t seed) {
  FloatMatrix x(n, columns);
  Rng rng(seed, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 3 * rng.normal(), b = rng.normal();
    for (std::size_t k = 0; k < columns; ++k) {
      const auto at = static_cast<double>(k);
      x(i, k) = static_cast<float>(5 + a * std::sin(1 + at) + b * std::cos(2 * at) + noise * rng.normal());
    }
  }
  return x;
}

double explained(const FloatMatrix& x, const FloatMatrix& back) {
  double missed = 0, about = 0;
  for (std::size_t k = 0; k < x.cols(); ++k) {
    double mean = 0;
    for (std::size_t i = 0; i < x.rows(); ++i) mean += x(i, k) / static_cast<double>(x.rows());
    for (std::size_t i = 0; i < x.rows(); ++i) {
      missed += std::pow(double(x(i, k)) - back(i, k), 2);
      about += std::pow(x(i, k) - mean, 2);
    }
  }
  return 1 - missed / about;
}

FloatMatrix there_and_back(const KernelPca& pca, const FloatMatrix& x) {
  return pca.generate(pca.embed(x.view()).view());
}

// Linear PCA of `train`, used on `x`.
double explained_by_pca(const FloatMatrix& train, const FloatMatrix& x, Eigen::Index d) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto view = [](const FloatMatrix& m) {
    return Eigen::Map<const Rows>(m.data(), static_cast<Eigen::Index>(m.rows()), static_cast<Eigen::Index>(m.cols()))
        .cast<double>()
        .eval();
  };
  const Eigen::MatrixXd rows = view(train);
  const Eigen::RowVectorXd mean = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - mean;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(centred.transpose() * centred);
  const Eigen::MatrixXd v = solver.eigenvectors().rightCols(d);
  const Rows back = (((view(x).rowwise() - mean) * v * v.transpose()).rowwise() + mean).cast<float>();
  FloatMatrix result(x.rows(), x.cols());
  std::copy_n(back.data(), back.size(), result.data());
  return explained(x, result);
}

TEST(KernelPca, BringsPointsOfAPlaneBack) {
  const FloatMatrix x = plane_points(800, 10, 0, 1), held_out = plane_points(200, 10, 0, 2);
  const KernelPca pca = KernelPca::fit(x.view());
  EXPECT_EQ(pca.dim(), 2u);
  EXPECT_EQ(pca.columns(), 10u);
  EXPECT_EQ(pca.frequencies(), 256u);
  EXPECT_GT(explained(x, there_and_back(pca, x)), 0.97);
  EXPECT_GT(explained(held_out, there_and_back(pca, held_out)), 0.97);
  KernelPcaOptions wide;
  wide.sigma = 10 * pca.sigma();
  EXPECT_GT(explained(held_out, there_and_back(KernelPca::fit(x.view(), wide), held_out)), 0.99999);
}

TEST(KernelPca, IsPcaForAWideKernel) {
  const FloatMatrix x = plane_points(900, 12, 0.7, 3), held_out = plane_points(300, 12, 0.7, 4);
  KernelPcaOptions wide;
  wide.frequencies = 2000;
  wide.sigma = 200;
  const double known = explained_by_pca(x, held_out, 2);
  EXPECT_GT(known, 0.85);
  EXPECT_LT(known, 0.99);
  EXPECT_NEAR(explained(held_out, there_and_back(KernelPca::fit(x.view(), wide), held_out)), known, 2e-3);
  wide.dim = 1;
  EXPECT_NEAR(explained(held_out, there_and_back(KernelPca::fit(x.view(), wide), held_out)),
              explained_by_pca(x, held_out, 1), 2e-3);
}

TEST(KernelPca, FollowsAnArcBetterThanTheMean) {
  FloatMatrix x(500, 2);
  for (std::size_t i = 0; i < 500; ++i) {
    const double angle = 2.4 * (static_cast<double>(i) / 499 - 0.5);
    x(i, 0) = static_cast<float>(std::sin(angle));
    x(i, 1) = static_cast<float>(std::cos(angle));
  }
  KernelPcaOptions one;
  one.dim = 1;
  EXPECT_GT(explained(x, there_and_back(KernelPca::fit(x.view(), one), x)), 0.7);
  EXPECT_GT(explained(x, there_and_back(KernelPca::fit(x.view()), x)), 0.97);
}

TEST(KernelPca, ScoresAreOfUnitVarianceAndTheLongestDirectionComesFirst) {
  FloatMatrix x = normal_points(1000, 3, 5);
  for (std::size_t i = 0; i < 1000; ++i) {
    x(i, 1) *= 6;
    x(i, 2) *= 2.5f;
  }
  const FloatMatrix y = KernelPca::fit(x.view()).embed(x.view());
  const auto correlation = [&](std::size_t column, std::size_t score) {
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      xy += x(i, column) * y(i, score);
      xx += x(i, column) * x(i, column);
      yy += y(i, score) * y(i, score);
    }
    return std::abs(xy) / std::sqrt(xx * yy);
  };
  EXPECT_GT(correlation(1, 0), 0.97);
  EXPECT_GT(correlation(2, 1), 0.9);
  for (std::size_t t = 0; t < 2; ++t) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      sum += y(i, t);
      squares += double(y(i, t)) * y(i, t);
    }
    EXPECT_NEAR(sum / 1000, 0, 1e-5);
    EXPECT_NEAR(squares / 999, 1, 1e-5);
  }
}

TEST(KernelPca, ChoosesAWidthThatKeepsAnglesOnTheInvertibleBranch) {
  const FloatMatrix x = plane_points(3000, 6, 0.5, 6);
  const TempDir dir;
  KernelPca::fit(x.view()).save(dir / "pca");
  const TensorFile file = TensorFile::open(dir / "pca");
  const std::vector<float> frequencies = file.tensor("frequencies").to_floats(), mean = file.tensor("mean").to_floats();
  std::size_t within = 0, all = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < frequencies.size() / 6; ++j, ++all) {
      double angle = 0;
      for (std::size_t k = 0; k < 6; ++k) angle += frequencies[j * 6 + k] * (x(i, k) - mean[k]);
      within += std::abs(angle) < std::numbers::pi / 2;
    }
  }
  EXPECT_NEAR(static_cast<double>(within) / static_cast<double>(all), 0.99, 0.003);
}

TEST(KernelPca, IsTheSameAfterAFileAndForAnyNumberOfThreads) {
  struct Case {
    std::size_t n, columns;
  };
  // Fewer rows than features, and more; more columns than are looked at.
  for (const auto [n, columns] : {Case{100, 8}, Case{700, 8}, Case{150, 2500}}) {
    const FloatMatrix x = plane_points(n, columns, 0.3, 7);
    set_threads(1);
    const KernelPca pca = KernelPca::fit(x.view());
    const FloatMatrix y = pca.embed(x.view()), back = pca.generate(y.view());
    set_threads(3);
    const KernelPca again = KernelPca::fit(x.view());
    const TempDir dir;
    pca.save(dir / "one");
    again.save(dir / "three");
    EXPECT_EQ(read_bytes(dir / "one"), read_bytes(dir / "three"));
    const KernelPca loaded = KernelPca::load(dir / "one");
    EXPECT_EQ(loaded.sigma(), pca.sigma());
    EXPECT_EQ(loaded.explained(), pca.explained());
    const FloatMatrix y2 = loaded.embed(x.view()), back2 = loaded.generate(y.view());
    set_threads(0);
    EXPECT_TRUE(std::equal(y.values().begin(), y.values().end(), y2.values().begin()));
    EXPECT_TRUE(std::equal(back.values().begin(), back.values().end(), back2.values().begin()));
    EXPECT_EQ(loaded.embed({nullptr, 0, columns}).rows(), 0u);
  }
}

TEST(KernelPca, FindsComponentsOnSomeRowsAndServesAll) {
  const FloatMatrix x = plane_points(2000, 8, 0.1, 8);
  KernelPcaOptions few;
  few.rows = 300;
  EXPECT_GT(explained(x, there_and_back(KernelPca::fit(x.view(), few), x)), 0.95);
  KernelPcaOptions narrow;  // fewer features than columns: near enough, through the other side
  narrow.frequencies = 6;
  EXPECT_GT(explained(x, there_and_back(KernelPca::fit(x.view(), narrow), x)), 0.3);
}

// Of which there are more than frequencies that could tell all of them.
TEST(KernelPca, BringsSamplesOfManyColumnsBack) {
  for (const std::size_t columns : {2049u, 4096u, 12288u}) {
    for (const double noise : {0.0, 0.5}) {
      const FloatMatrix x = plane_points(600, columns, noise, 12), held_out = plane_points(100, columns, noise, 13);
      const KernelPca pca = KernelPca::fit(x.view());
      EXPECT_EQ(pca.columns(), columns);
      EXPECT_EQ(pca.frequencies(), 4096u);
      EXPECT_EQ(pca.directions(), noise == 0 ? 2u : 512u) << columns;
      const double known = 5 / (5 + noise * noise);  // mean squares of the plane, 9/2 + 1/2, and of the noise
      EXPECT_GT(explained(x, there_and_back(pca, x)), 0.97 * known) << columns << " " << noise;
      EXPECT_GT(explained(held_out, there_and_back(pca, held_out)), 0.95 * known) << columns << " " << noise;
    }
  }
}

TEST(KernelPca, RefusesWhatItCannotFit) {
  const FloatMatrix x = plane_points(20, 3, 1, 9), one = plane_points(1, 3, 1, 9);
  const auto with = [&](auto change) {
    KernelPcaOptions options;
    change(options);
    return KernelPca::fit(x.view(), options);
  };
  expect_error("x", {"two rows"}, [&] { KernelPca::fit(one.view()); });
  expect_error("x", {"the same"}, [&] { KernelPca::fit(points_of(1, std::vector<float>(10, 3)).view()); });
  FloatMatrix broken = plane_points(20, 3, 1, 9);
  broken(4, 1) = std::numeric_limits<float>::infinity();
  expect_error("x", {"row 5"}, [&] { KernelPca::fit(broken.view()); });
  expect_error("dim", {"20 rows are too few for 20 dimensions", "21 rows, or at most 19 dimensions"},
               [&] { with([](auto& o) { o.dim = 20; }); });
  expect_error("dim", {"from 1 to 19"}, [&] { with([](auto& o) { o.dim = 0; }); });
  expect_error("dim", {"from 1 to 5"}, [&] { with([](auto& o) { o.dim = 6, o.frequencies = 5; }); });
  expect_error("sigma", {"above 0"}, [&] { with([](auto& o) { o.sigma = -1; }); });
  expect_error("sigma", {"no frequency"}, [&] { with([](auto& o) { o.sigma = 1e300; }); });
  expect_error("rows", {"at least 2"}, [&] { with([](auto& o) { o.rows = 1; }); });
  expect_error("frequencies", {"too many"}, [&] { with([](auto& o) { o.frequencies = 1u << 30; }); });
  const KernelPca pca = KernelPca::fit(x.view());
  expect_error("x", {"2 values", "3, as"}, [&] { pca.embed(normal_points(5, 2, 1).view()); });
  expect_error("y", {"3 values", "2, as"}, [&] { pca.generate(x.view()); });
  expect_error("x", {"row 5"}, [&] { pca.embed(broken.view()); });
}

// The file of a small fit with one tensor replaced.
void write_changed(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& name,
                   std::vector<std::uint64_t> shape, const std::vector<double>& values) {
  const TensorFile file = TensorFile::open(from);
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", "kpca");
  for (const auto& [key, tensor] : file.tensors()) {
    if (key != name) writer.add(key, tensor.dtype, tensor.shape, tensor.bytes);
  }
  if (!shape.empty()) writer.add(name, DType::kF64, shape, std::as_bytes(std::span(values)));
  writer.save(to);
}

TEST(KernelPca, RefusesDamagedFiles) {
  const TempDir dir;
  KernelPcaOptions small;
  small.frequencies = 4;
  KernelPca::fit(plane_points(20, 3, 1, 10).view(), small).save(dir / "pca");
  const auto refused = [&](const char* part) {
    EXPECT_CONTAINS(error_of([&] { KernelPca::load(dir / "bad"); }), part);
  };
  const std::string bytes = read_bytes(dir / "pca");
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    write_bytes(dir / "bad", bytes.substr(0, length));
    EXPECT_THROW(KernelPca::load(dir / "bad"), Error) << length;
  }
  TensorFileWriter other;
  other.set_metadata("cpfm.kind", "coupling");
  other.save(dir / "bad");
  refused("no kernel PCA");
  const double nan = std::nan("");
  write_changed(dir / "pca", dir / "bad", "mean", {2}, {1, 2});
  refused("mean");
  write_changed(dir / "pca", dir / "bad", "mean", {3}, {1, nan, 2});
  refused("mean");
  write_changed(dir / "pca", dir / "bad", "deviation", {2}, {1, 0});
  refused("deviation");
  write_changed(dir / "pca", dir / "bad", "components", {2, 3}, {1, 2, 3, 4, 5, 6});
  refused("components");
  write_changed(dir / "pca", dir / "bad", "components", {8}, std::vector<double>(8, 1));
  refused("components");
  write_changed(dir / "pca", dir / "bad", "components", {0, 4}, {});
  refused("components");
  write_changed(dir / "pca", dir / "bad", "feature_mean", {}, {});
  refused("feature_mean");
  write_changed(dir / "pca", dir / "bad", "frequencies", {4, 3}, std::vector<double>(12, 1));
  refused("F64");
  // Frequencies that are all zero know no way back.
  const TensorFile file = TensorFile::open(dir / "pca");
  const std::vector<float> zeros(12);
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", "kpca");
  for (const auto& [key, tensor] : file.tensors()) {
    writer.add(key, tensor.dtype, tensor.shape, key == "frequencies" ? std::as_bytes(std::span(zeros)) : tensor.bytes);
  }
  writer.save(dir / "bad");
  refused("cannot be solved");
  for (const std::size_t directions : {2u, 4u}) {  // not those of the frequencies; more than columns
    TensorFileWriter basis;
    basis.set_metadata("cpfm.kind", "kpca");
    for (const auto& [key, tensor] : file.tensors()) basis.add(key, tensor.dtype, tensor.shape, tensor.bytes);
    const std::vector<float> values(directions * 3, 1.0f);
    basis.add("basis", {directions, 3}, std::span(values));
    basis.save(dir / "bad");
    refused("basis");
  }
  EXPECT_NO_THROW(KernelPca::load(dir / "pca"));
}

// Damage is told as such, and not taken for another method's model.
TEST(KernelPca, IsToldFromOtherModels) {
  const TempDir dir;
  const FloatMatrix x = plane_points(20, 3, 1, 10);
  ModelFacts facts;
  save_kernel_pca_model(dir / "pca", KernelPca::fit(x.view()), facts);
  EXPECT_TRUE(is_kernel_pca(dir / "pca"));
  std::string bytes = read_bytes(dir / "pca");
  bytes[bytes.size() - 5] ^= 1;
  write_bytes(dir / "bad", bytes);
  EXPECT_THROW(is_kernel_pca(dir / "bad"), DamagedFile);
  TensorFileWriter other;
  other.set_metadata("cpfm.kind", "model");
  other.save(dir / "other");
  EXPECT_FALSE(is_kernel_pca(dir / "other"));
  write_bytes(dir / "text", "a,b,c\n1,2,3\n");
  EXPECT_CONTAINS(error_of([&] { is_kernel_pca(dir / "text"); }), "is not a cpfm model");
}

}  // namespace
}  // namespace cpfm
