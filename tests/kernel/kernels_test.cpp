#include <unistd.h>

#include <filesystem>

#include "cpfm/parallel.hpp"
#include "kernel/arguments.hpp"
#include "kernel/points.hpp"
#include "kernel_fixture.hpp"

namespace cpfm {
namespace {

using namespace test;

// The kernel agrees with `value` to `tolerance`, is symmetric to the bit, and its diagonal, its blocks and its
// expression agree with itself.
void expect_kernel(const std::string& expression, const Dataset& data, double tolerance,
                   const std::function<double(std::size_t, std::size_t)>& value) {
  SCOPED_TRACE(expression);
  const auto kernel = make_kernel(expression, data);
  const std::size_t n = data.size();
  ASSERT_EQ(kernel->size(), n);
  const Dense k = dense(*kernel);
  EXPECT_LE(largest_difference(k, dense(n, value)), tolerance);
  EXPECT_EQ(k, dense(n, [&](std::size_t i, std::size_t j) { return k[j * n + i]; })) << "not symmetric";
  std::vector<float> diagonal(n);
  kernel->diagonal(diagonal);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(diagonal[i], k[i * n + i], tolerance);
  const std::vector<std::size_t> columns{n - 1, 0, n / 2};
  std::vector<float> block(columns.size() * (n - 5));
  kernel->block(columns, 3, n - 2, {block.data(), columns.size(), n - 5});
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 3; i < n - 2; ++i) EXPECT_EQ(block[c * (n - 5) + i - 3], k[i * n + columns[c]]);
  }
  const auto again = make_kernel(kernel->expression(), data);
  EXPECT_EQ(again->expression(), kernel->expression());
  EXPECT_EQ(dense(*again), k);
  EXPECT_EQ(again->definiteness(), kernel->definiteness());
  const auto groups = kernel->groups();
  for (std::size_t i = 0; !groups.empty() && i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (groups[i] != groups[j]) {
        EXPECT_EQ(k[i * n + j], 0);
      }
    }
  }
}

double mean_distance_of(const Dataset& data) {
  double sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) sum += std::sqrt(distance2(data, i, j));
  }
  return sum / (0.5 * static_cast<double>(data.size() * (data.size() - 1)));
}

TEST(Kernels, EqualTheirFormulas) {
  const Dataset data = random_data(61, 19, 3, true);
  const double sigma = mean_distance_of(data);
  const auto heat = [&](std::size_t i, std::size_t j) {
    return std::exp(-distance2(data, i, j) / (2 * sigma * sigma));
  };
  const auto mu = [&](std::size_t i, std::size_t j) {
    return std::abs(static_cast<double>(data.properties[0].values[i]) - data.properties[0].values[j]);
  };
  expect_kernel("heat", data, 1e-6, heat);
  expect_kernel("heat(sigma=auto)", data, 1e-6, heat);
  expect_kernel("heat(2.5)", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return std::exp(-distance2(data, i, j) / 12.5); });
  expect_kernel("label", data, 0, [&](std::size_t i, std::size_t j) { return same_class(data, i, j) ? 1 : 0; });
  expect_kernel("linear", data, 2e-5, [&](std::size_t i, std::size_t j) { return inner(data, i, j); });
  expect_kernel("cosine", data, 1e-6, [&](std::size_t i, std::size_t j) {
    return inner(data, i, j) / std::sqrt(inner(data, i, i) * inner(data, j, j));
  });
  expect_kernel("euclidean2", data, 4e-5, [&](std::size_t i, std::size_t j) { return distance2(data, i, j); });
  expect_kernel("property(mu)", data, 1e-6, mu);
  expect_kernel("property(mu, form=negabs)", data, 1e-6, [&](std::size_t i, std::size_t j) { return -mu(i, j); });
  expect_kernel("property(name=mu, form=exp, scale=0.7)", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return std::exp(-mu(i, j) / 0.7); });
  double mean = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) mean += mu(i, j) / (0.5 * static_cast<double>(data.size() * (data.size() - 1)));
  }
  expect_kernel("property(mu, exp)", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return std::exp(-mu(i, j) / mean); });
  expect_kernel("3", data, 0, [](std::size_t, std::size_t) { return 3; });
}

TEST(Kernels, CombineAsTheExpressionSays) {
  const Dataset data = random_data(50, 6, 4, true);
  const auto heat = [&](std::size_t i, std::size_t j) { return std::exp(-distance2(data, i, j) / 8); };
  const auto label = [&](std::size_t i, std::size_t j) { return same_class(data, i, j) ? 1.0 : 0.0; };
  const auto gap = [&](std::size_t i, std::size_t j) {
    return std::abs(static_cast<double>(data.properties[1].values[i]) - data.properties[1].values[j]);
  };
  expect_kernel("heat(2)*label", data, 1e-6, [&](std::size_t i, std::size_t j) { return heat(i, j) * label(i, j); });
  expect_kernel("0.5*heat(2)*label + 0.5*label", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return 0.5 * (heat(i, j) + 1) * label(i, j); });
  expect_kernel("label*(heat(2)-0.25*property(gap))*2", data, 1e-5,
                [&](std::size_t i, std::size_t j) { return 2 * label(i, j) * (heat(i, j) - 0.25 * gap(i, j)); });
  expect_kernel("-euclidean2", data, 2e-5, [&](std::size_t i, std::size_t j) { return -distance2(data, i, j); });
  expect_kernel("heat(2)-0.1*linear-2", data, 1e-5,
                [&](std::size_t i, std::size_t j) { return heat(i, j) - 0.1 * inner(data, i, j) - 2; });
  expect_kernel("label*label*heat(2)*heat(2)", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return label(i, j) * heat(i, j) * heat(i, j); });
}

TEST(Kernels, KeepDigitsFarFromTheOrigin) {
  const Dataset data = random_data(40, 9, 2, false, 3000.0f);
  expect_kernel("heat(3)", data, 1e-6,
                [&](std::size_t i, std::size_t j) { return std::exp(-distance2(data, i, j) / 18); });
  expect_kernel("euclidean2", data, 2e-5, [&](std::size_t i, std::size_t j) { return distance2(data, i, j); });
  EXPECT_NEAR(mean_distance(Points(data, Points::Use::kDistances, "heat"), nullptr), mean_distance_of(data), 1e-5);
}

TEST(Kernels, TellTheirSign) {
  const Dataset data = random_data(20, 3);
  const auto sign = [&](const char* expression) { return make_kernel(expression, data)->definiteness(); };
  constexpr auto kPositive = Definiteness::kPositive, kConditional = Definiteness::kConditionallyPositive,
                 kUnknown = Definiteness::kUnknown;
  for (const char* text : {"heat", "label", "linear", "cosine", "heat*label", "0.5*heat+2*linear*label",
                           "property(mu, exp)", "1", "--heat", "0*euclidean2"}) {
    EXPECT_EQ(sign(text), kPositive) << text;
  }
  for (const char* text : {"-euclidean2", "property(mu, negabs)", "heat-0.5*euclidean2", "-property(mu)", "heat-1",
                           "-(euclidean2+property(gap))"}) {
    EXPECT_EQ(sign(text), kConditional) << text;
  }
  for (const char* text :
       {"euclidean2", "property(mu)", "-heat", "heat-label", "-euclidean2*label", "knn(3)", "euclidean2*euclidean2"}) {
    EXPECT_EQ(sign(text), kUnknown) << text;
  }
}

TEST(Kernels, HaveGroupsWhereClassesNeverMeet) {
  const Dataset data = random_data(30, 3, 3, true);
  const auto groups = [&](const char* expression) { return !make_kernel(expression, data)->groups().empty(); };
  EXPECT_TRUE(groups("label"));
  EXPECT_TRUE(groups("heat*label"));
  EXPECT_TRUE(groups("0.3*heat*label+label"));
  EXPECT_FALSE(groups("heat"));
  EXPECT_FALSE(groups("heat+label"));
  const auto kernel = make_kernel("heat*label", data);
  EXPECT_EQ(kernel->groups()[7], -8);
}

// Counts the pairs it is asked for, and whether they ever were of two classes.
class Probe final : public SampleKernel {
 public:
  Probe(const Dataset& data, std::size_t& pairs, bool& strayed) : data_(data), pairs_(pairs), strayed_(strayed) {}
  std::size_t size() const override { return data_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        ++pairs_;
        strayed_ = strayed_ || !same_class(data_, columns[c], rows[r]);
        out(c, r) = 5;
      }
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 5.0f); }
  std::string expression() const override { return "probe"; }

 private:
  const Dataset& data_;
  std::size_t& pairs_;
  bool& strayed_;
};

TEST(Kernels, ProductsEvaluatePairsOfOneGroupOnly) {
  const Dataset data = random_data(90, 4, 5, true);
  std::size_t pairs = 0, expected = 0;
  bool strayed = false;
  const ParsedExpression parsed("label", "--kernel");
  std::vector<SampleKernelPtr> factors;
  factors.push_back(std::make_unique<Probe>(data, pairs, strayed));
  factors.push_back(make_label({parsed, data, nullptr}, parsed.root()));
  const SampleKernelPtr kernel = make_product(2, std::move(factors));
  const Dense k = dense(*kernel);
  for (std::size_t i = 0; i < 90; ++i) {
    for (std::size_t j = 0; j < 90; ++j) {
      EXPECT_EQ(k[i * 90 + j], same_class(data, i, j) ? 10 : 0);
      expected += same_class(data, i, j) ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs, expected);
  EXPECT_FALSE(strayed);
}

TEST(Kernels, KnowWhetherTheyExtend) {
  const Dataset data = random_data(20, 3);
  EXPECT_TRUE(make_kernel("heat*label+linear", data)->extends());
  EXPECT_FALSE(make_kernel("knn(2)", data)->extends());
  EXPECT_FALSE(make_kernel("heat+0.5*knn(2)*label", data)->extends());
}

TEST(Tanimoto, ComparesFingerprints) {
  Dataset data = random_data(33, 130);
  for (std::size_t i = 0; i < data.samples.size(); ++i)
    data.samples.data()[i] = data.samples.data()[i] > 0.5f ? 1.0f : 0.0f;
  for (const std::size_t empty : {std::size_t{4}, std::size_t{9}})
    std::fill_n(data.samples.row(empty).begin(), 130, 0.0f);
  expect_kernel("tanimoto", data, 1e-7, [&](std::size_t i, std::size_t j) {
    const double both = inner(data, i, j), either = inner(data, i, i) + inner(data, j, j) - both;
    return either == 0 ? 1 : both / either;
  });
  data.samples(7, 128) = 0.5f;
  EXPECT_EQ(error_of([&] { make_kernel("heat+tanimoto", data); }),
            "--kernel: row 8, column 129 of the samples is 0.5; tanimoto compares fingerprints of 0 and 1\n  "
            "heat+tanimoto\n       ^~~~~~~~");
}

TEST(Knn, JoinsNeighboursOfEitherSide) {
  const Dataset data = random_data(45, 3);
  const std::size_t k = 4;
  const auto is_near = [&](std::size_t i, std::size_t j) {  // j is among the k nearest of i
    std::size_t nearer = 0;
    for (std::size_t l = 0; l < data.size(); ++l)
      nearer += l != i && distance2(data, i, l) < distance2(data, i, j) ? 1 : 0;
    return nearer < k;
  };
  expect_kernel("knn(4)", data, 0,
                [&](std::size_t i, std::size_t j) { return i == j || is_near(i, j) || is_near(j, i) ? 1 : 0; });
  expect_kernel("knn(44)", data, 0, [](std::size_t, std::size_t) { return 1; });
  EXPECT_CONTAINS(error_of([&] { make_kernel("knn(45)", data); }), "a whole number from 1 to 44");
  EXPECT_CONTAINS(error_of([&] { make_kernel("knn(0)", data); }), "0 is no number of neighbours here");
  EXPECT_CONTAINS(error_of([&] { make_kernel("knn(2.5)", data); }), "2.5");
  EXPECT_CONTAINS(error_of([&] { make_kernel("knn", data); }), "as in knn(10)");
}

class GramFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("cpfm_gram_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  template <class T>
  std::string write(const std::vector<T>& values, const std::string& shape, const char* descr,
                    const char* name = "my K-1.npy") {
    write_bytes(folder_ / name, npy(descr, shape, raw(values)));
    return "gram(" + (folder_ / name).string() + ")";
  }
  std::filesystem::path folder_;
};

TEST_F(GramFile, IsTheKernel) {
  const Dataset data = random_data(9, 2);
  std::vector<double> doubles(81);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) doubles[i * 9 + j] = std::cos(static_cast<double>(i * j));
  }
  const auto value = [&](std::size_t i, std::size_t j) { return std::cos(static_cast<double>(i * j)); };
  expect_kernel(write(doubles, "(9, 9)", "<f8"), data, 1e-7, value);
  expect_kernel("0.5*" + write(std::vector<float>(doubles.begin(), doubles.end()), "(9, 9)", "<f4") + "*label", data,
                1e-7, [&](std::size_t i, std::size_t j) { return same_class(data, i, j) ? 0.5 * value(i, j) : 0; });
}

TEST_F(GramFile, IsCheckedBeforeItIsBelieved) {
  const Dataset data = random_data(3, 2);
  const auto problem = [&](const std::string& expression) { return error_of([&] { make_kernel(expression, data); }); };
  EXPECT_CONTAINS(problem(write(std::vector<float>(6, 1), "(2, 3)", "<f4")),
                  "is 2 × 3; the data has 3 samples, so it must be 3 × 3");
  EXPECT_CONTAINS(problem(write(std::vector<float>(16, 1), "(4, 4)", "<f4")), "is 4 × 4");
  EXPECT_CONTAINS(problem(write(std::vector<float>(9, 1), "(9,)", "<f4")), "is 9;");
  EXPECT_CONTAINS(problem(write(std::vector<int>(9, 1), "(3, 3)", "<i4")),
                  "holds int32; a gram matrix is float32 or float64");
  EXPECT_CONTAINS(problem(write(std::vector<float>(8, 1), "(3, 3)", "<f4")), "my K-1.npy");
  EXPECT_CONTAINS(problem(write(std::vector<float>{1, 2, 3, 2, 1, NAN, 3, 0, 1}, "(3, 3)", "<f4")),
                  "row 2, column 3 is nan");
  EXPECT_CONTAINS(problem(write(std::vector<float>{1, 2, 3, 2, 1, 4, 3, 5, 1}, "(3, 3)", "<f4")),
                  "is not symmetric: row 3, column 2 is 5, and row 2, column 3 is 4");
  EXPECT_CONTAINS(problem(write(std::vector<double>{1, 1e300, 3, 1e300, 1, 4, 3, 4, 1}, "(3, 3)", "<f8")),
                  "row 1, column 2 is inf");
  EXPECT_CONTAINS(problem("gram(/nowhere/K.npy)"), "/nowhere/K.npy");
  EXPECT_CONTAINS(problem("gram"), "as in gram(kernel.npy)");
  EXPECT_CONTAINS(problem("gram(-)"), "stdin");
  write_bytes(folder_ / "text", "1,2,3\n");
  EXPECT_CONTAINS(problem("gram(" + (folder_ / "text").string() + ")"), "is not a .npy file");
}

TEST(Property, MayGoUnnamedWhenItIsTheOnlyOne) {
  Dataset data = random_data(12, 2);
  EXPECT_EQ(error_of([&] { make_kernel("label*property", data); }),
            "--kernel: there are 2 properties; say which: property(mu), …\n  label*property\n        ^~~~~~~~");
  data.properties.pop_back();
  EXPECT_EQ(make_kernel("property", data)->expression(), "property(mu, form=abs)");
  data.properties[0].name = "obs:dipole moment";
  EXPECT_EQ(make_kernel("property(obs:dipole moment)", data)->expression(),
            "property(\"obs:dipole moment\", form=abs)");
  data.properties.clear();
  EXPECT_CONTAINS(error_of([&] { make_kernel("property(mu)", data); }), "--property");
}

TEST(KernelErrors, PointAtTheMistake) {
  Dataset data = random_data(12, 2);
  const auto problem = [&](const char* expression) { return error_of([&] { make_kernel(expression, data); }); };
  EXPECT_EQ(problem("haet*label"), "--kernel: unknown kernel 'haet'; did you mean 'heat'?\n  haet*label\n  ^~~~");
  EXPECT_EQ(problem("2*haet(sigma=2)"),
            "--kernel: unknown kernel 'haet'; did you mean 'heat'?\n  2*haet(sigma=2)\n    ^~~~");
  EXPECT_EQ(problem("heat(sgima=2)"),
            "--kernel: heat has no argument 'sgima'; did you mean 'sigma'?\n  heat(sgima=2)\n             ^");
  EXPECT_EQ(problem("heat(sigma=-2)"),
            "--kernel: sigma is -2; it is above 0, or auto\n  heat(sigma=-2)\n             ^~");
  EXPECT_CONTAINS(problem("heat(sigma=big)"), "sigma is 'big'; it is a number, or auto");
  EXPECT_CONTAINS(problem("heat(1, 2)"), "this is one argument too many; heat takes sigma");
  EXPECT_CONTAINS(problem("heat(1, sigma=2)"), "sigma is given twice");
  EXPECT_CONTAINS(problem("heat(1e-30)"), "1e-18 to 1e18");
  EXPECT_CONTAINS(problem("label(3)"), "this is one argument too many; label takes none");
  EXPECT_CONTAINS(problem("property(mv)"), "there is no property 'mv'; did you mean 'mu'?");
  EXPECT_CONTAINS(problem("property(mu, form=epx)"), "there is no form 'epx'; did you mean 'exp'?");
  EXPECT_CONTAINS(problem("property(mu, scale=2)"), "a scale belongs to form=exp");
  EXPECT_CONTAINS(problem("1e200*1e200*heat"), "the weight inf is too large");
  EXPECT_CONTAINS(problem("heat+"), "ends where");
  data.labels.reset();
  EXPECT_EQ(problem("heat*label"),
            "--kernel: the data has no labels; name a column or a file that holds them: --labels species, --labels "
            "classes.npy\n"
            "  heat*label\n       ^~~~~");
}

TEST(KernelErrors, ExplainDataThatCannotBeCompared) {
  Dataset data = random_data(12, 2);
  const auto problem = [&](const char* expression) { return error_of([&] { make_kernel(expression, data); }); };
  std::fill_n(data.samples.row(4).begin(), 2, 0.0f);
  EXPECT_CONTAINS(problem("cosine"), "row 5 of the samples is zero");
  data.samples(4, 0) = 1e25f;
  EXPECT_CONTAINS(problem("linear"), "row 5: the values are too large for linear");
  std::fill_n(data.samples.data(), data.samples.size(), 0.1f);
  EXPECT_CONTAINS(problem("heat"), "all samples are equal");
  EXPECT_EQ(make_kernel("heat(sigma=1)", data)->expression(), "heat(sigma=1)");
  std::fill(data.properties[0].values.begin(), data.properties[0].values.end(), 3.0f);
  EXPECT_CONTAINS(problem("property(mu, form=exp)"), "all values of the property are equal");
  data.properties[0].values[3] = NAN;
  EXPECT_CONTAINS(problem("property(mu)"), "nan for sample 4");
  data.properties[0].values.pop_back();
  EXPECT_CONTAINS(problem("property(mu)"), "11 values for 12 samples");
  data.labels->ids.pop_back();
  EXPECT_CONTAINS(problem("label"), "11 labels for 12 samples");
}

TEST(MeanDistance, IsEstimatedWellFromASampleOfPairs) {
  const Dataset data = random_data(700, 5);
  const Points points(data, Points::Use::kDistances, "heat");
  const double exact = mean_distance(points, nullptr);
  EXPECT_NEAR(exact, mean_distance_of(data), 1e-5);
  const double sampled = mean_distance(points, nullptr, 100);
  EXPECT_NE(sampled, exact);
  EXPECT_NEAR(sampled, exact, 0.005 * exact);
  // Few samples of many numbers take as long as many of few.
  EXPECT_EQ(mean_distance(points, nullptr, 700, 1e6), sampled);
  EXPECT_EQ(mean_distance(points, nullptr, 700, 2e6), exact);
}

TEST(MeanDistance, HasTheSameBitsForAnyNumberOfThreads) {
  const Dataset data = random_data(900, 7);
  const Points points(data, Points::Use::kDistances, "heat");
  std::vector<double> exact, sampled;
  for (const int count : {1, 2, 4}) {
    set_threads(count);
    exact.push_back(mean_distance(points, nullptr));
    sampled.push_back(mean_distance(points, nullptr, 100));
  }
  set_threads(0);
  EXPECT_EQ(exact, std::vector<double>(3, exact[0]));
  EXPECT_EQ(sampled, std::vector<double>(3, sampled[0]));
}

}  // namespace
}  // namespace cpfm
