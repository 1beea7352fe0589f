#include "cpfm/coupling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// Three clusters in five dimensions, with labels and a property.
Dataset blobs(std::size_t n, std::uint64_t seed = 1) {
  Dataset data;
  data.source = "blobs";
  data.samples = FloatMatrix(n, 5);
  data.labels = Labels{{}, {"a", "b", "c"}};
  data.properties = {{"mass", {}}};
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(seed, 1, i);
    const std::size_t c = i % 3;
    for (std::size_t k = 0; k < 5; ++k) data.samples(i, k) = static_cast<float>((k == c ? 4.0 : 0.0) + rng.normal());
    data.labels->ids.push_back(static_cast<std::int32_t>(c));
    data.properties[0].values.push_back(static_cast<float>(c) + static_cast<float>(rng.uniform()));
  }
  return data;
}

CoupleOptions quick() {
  CoupleOptions options;
  options.solver.starts = 3;
  options.solver.epsilon = 0.01;
  return options;
}

double total_variation(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += std::abs(a[j] - b[j]);
  return sum / 2;
}

// L(π) from its definition, four sums, and the kernel itself.
double objective_by_definition(const Coupling& coupling, const Dataset& data) {
  const auto kernel = make_kernel(coupling.summary.kernel, data);
  const std::size_t n = coupling.plan.rows(), m = coupling.plan.columns();
  const std::vector<double> plan = coupling.plan.dense();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      float value = 0;
      kernel->block(std::span(&k, 1), i, i + 1, {&value, 1, 1});
      for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t l = 0; l < m; ++l) {
          double distance = 0;
          for (std::size_t c = 0; c < coupling.latent.cols(); ++c)
            distance += std::pow(double(coupling.latent(j, c)) - coupling.latent(l, c), 2);
          sum += plan[i * m + j] * plan[k * m + l] * value * distance;
        }
      }
    }
  }
  return sum;
}

TEST(Couple, ReportsTheObjectiveOfTheDefinition) {
  const Dataset data = blobs(8);
  for (const char* kernel : {"heat*label", "heat", "-euclidean2", "property(mass)+heat", "linear"}) {
    for (const char* latent : {"gaussian", "square", "at(disk,3,-1)"}) {
      CoupleOptions options = quick();
      options.kernel = kernel;
      options.latent = latent;
      options.latent_points = 6;
      options.solver.marginal_tolerance = 1e-7;
      const Coupling coupling = couple(data, options);
      EXPECT_NEAR(coupling.summary.objective, objective_by_definition(coupling, data),
                  2e-5 * std::abs(coupling.summary.objective_random))
          << kernel << ", " << latent;
    }
  }
}

TEST(Couple, KeepsClassesTogetherAndFillsTheLaw) {
  const Dataset data = blobs(300);
  CoupleOptions options = quick();
  options.latent = "square";
  const Coupling coupling = couple(data, options);
  EXPECT_EQ(coupling.summary.status, "converged");
  EXPECT_LE(coupling.summary.marginal_error, 1e-4);
  EXPECT_LT(coupling.summary.objective, 0.5 * coupling.summary.objective_random);
  EXPECT_EQ(coupling.summary.starts.size(), 4u);
  const FloatMatrix y = coupling.embed(coupling.plan, 1);
  // The nearest other point is of the same class nearly always.
  std::size_t same = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    std::size_t nearest = i;
    double best = 1e9;
    for (std::size_t j = 0; j < 300; ++j) {
      const double distance = std::pow(y(i, 0) - y(j, 0), 2) + std::pow(y(i, 1) - y(j, 1), 2);
      if (j != i && distance > 0 && distance < best) {
        best = distance;
        nearest = j;
      }
    }
    same += data.labels->ids[i] == data.labels->ids[nearest] ? 1 : 0;
  }
  EXPECT_GE(same, 270u);
  // Barycentres lie inside the law.
  const FloatMatrix means = coupling.barycentres(coupling.plan);
  for (const float v : means.values()) EXPECT_LE(std::abs(v), 1.0f);
}

TEST(Couple, ExactAndFactoredAgreeWhereTheFactorExplainsAll) {
  const Dataset data = blobs(120);
  for (const char* kernel : {"heat*label", "-euclidean2", "0.5*property(mass)+heat"}) {
    CoupleOptions options = quick();
    options.kernel = kernel;
    options.factor.explained = 1;
    const Coupling factored = couple(data, options);
    options.exact = true;
    const Coupling exact = couple(data, options);
    EXPECT_EQ(exact.summary.rank, 0u);
    EXPECT_NEAR(factored.summary.objective, exact.summary.objective, 0.01 * std::abs(exact.summary.objective_random))
        << kernel;
  }
}

TEST(Couple, AFileHoldsTheWholeCoupling) {
  const TempDir dir;
  const Dataset data = blobs(60);
  CoupleOptions options = quick();
  options.kernel = "heat*label+property(mass,form=exp)";
  options.latent = "at(gaussian,5,-3)";
  options.latent_points = 45;
  const Coupling made = couple(data, options);
  made.save(dir / "c.cpfm");
  const Coupling read = Coupling::load(dir / "c.cpfm");
  EXPECT_EQ(to_json(read.summary), to_json(made.summary));
  EXPECT_EQ(read.plan.draw(3), made.plan.draw(3));
  EXPECT_EQ(read.data_fingerprint, fingerprint(data));
  EXPECT_EQ(read.centre, made.centre);
  const Dataset news = blobs(12, 7);
  EXPECT_EQ(read.place(news).row(5), made.place(news).row(5));
  read.save(dir / "d.cpfm");
  EXPECT_EQ(read_bytes(dir / "c.cpfm"), read_bytes(dir / "d.cpfm"));
}

TEST(Couple, DamagedFilesAreRefused) {
  const TempDir dir;
  couple(blobs(20), quick()).save(dir / "c.cpfm");
  const std::string whole = without_checksum(read_bytes(dir / "c.cpfm"));
  std::size_t refused = 0;
  for (std::size_t k = 0; k < 400; ++k) {  // one bit flipped anywhere: an error or a coupling, never a crash
    std::string bytes = whole;
    bytes[Rng(1, 2, k).below(bytes.size())] ^= static_cast<char>(1 << (k % 8));
    write_bytes(dir / "x.cpfm", bytes);
    try {
      Coupling::load(dir / "x.cpfm").plan.draw(1);
    } catch (const Error& error) {
      EXPECT_CONTAINS(std::string(error.what()), "x.cpfm");
      ++refused;
    }
  }
  EXPECT_GT(refused, 50u);
  TensorFileWriter other;
  other.save(dir / "other.cpfm");
  EXPECT_CONTAINS(error_of([&] { Coupling::load(dir / "other.cpfm"); }), "is no coupling");
}

TEST(Placement, PutsTheCoupledSamplesWhereTheyAre) {
  const Dataset data = blobs(150);
  for (const char* kernel : {"heat*label", "heat", "heat+0.2*label", "property(mass,form=exp)"}) {
    CoupleOptions options = quick();
    options.kernel = kernel;
    options.factor.explained = 0.999;
    const Coupling coupling = couple(data, options);
    const Plan placed = coupling.place(data);
    double difference = 0;
    for (std::size_t i = 0; i < 150; ++i) difference += total_variation(placed.row(i), coupling.plan.row(i)) / 150;
    EXPECT_LT(difference, 0.03) << kernel;
    EXPECT_LE(coupling.placement->reference.size(), coupling.summary.rank) << kernel;
  }
}

TEST(Placement, PutsThemWhereTheyAreAtTheDefaultsToo) {
  ReadOptions first;
  first.limit = 600;
  const Dataset data = read_dataset("digits", first);
  const Coupling coupling = couple(data, {});
  const Plan placed = coupling.place(data);
  double difference = 0;
  for (std::size_t i = 0; i < 600; ++i) difference += total_variation(placed.row(i), coupling.plan.row(i)) / 600;
  EXPECT_LT(difference, 0.03);
}

TEST(Placement, WorksWithoutPivotsToo) {
  const Dataset data = blobs(90);
  for (const auto& [kernel, exact] :
       {std::pair{"-euclidean2", false}, {"heat*label", true}, {"property(mass)", false}}) {
    CoupleOptions options = quick();
    options.kernel = kernel;
    options.exact = exact;
    options.factor.explained = 0.99999;
    options.solver.tolerance = 1e-6;
    const Coupling coupling = couple(data, options);
    EXPECT_EQ(coupling.placement->reference.size(), 90u);
    const Plan placed = coupling.place(data);
    double difference = 0;
    for (std::size_t i = 0; i < 90; ++i) difference += total_variation(placed.row(i), coupling.plan.row(i)) / 90;
    EXPECT_LT(difference, 0.05) << kernel;
  }
}

TEST(Placement, NewSamplesLandAmongTheirClass) {
  const Dataset data = blobs(300), news = blobs(90, 2);
  const Coupling coupling = couple(data, quick());
  const FloatMatrix old_y = coupling.barycentres(coupling.plan), y = coupling.barycentres(coupling.place(news));
  std::size_t right = 0;
  for (std::size_t i = 0; i < 90; ++i) {
    std::size_t nearest = 0;
    double best = 1e9;
    for (std::size_t j = 0; j < 300; ++j) {
      const double distance = std::hypot(y(i, 0) - old_y(j, 0), y(i, 1) - old_y(j, 1));
      if (distance < best) {
        best = distance;
        nearest = j;
      }
    }
    right += news.labels->ids[i] == data.labels->ids[nearest] ? 1 : 0;
  }
  EXPECT_GE(right, 85u);
}

TEST(Placement, MatchesLabelsByNameAndSaysWhatIsMissing) {
  const Dataset data = blobs(60);
  const Coupling coupling = couple(data, quick());
  Dataset renamed = blobs(60);
  renamed.labels->names = {"c", "b", "a"};
  for (std::int32_t& id : renamed.labels->ids) id = 2 - id;
  EXPECT_EQ(coupling.place(renamed).row(7), coupling.place(data).row(7));
  Dataset bare = blobs(60);
  bare.labels.reset();
  EXPECT_CONTAINS(error_of([&] { coupling.place(bare); }), "the data has no labels");
  Dataset narrow = blobs(60);
  narrow.samples = FloatMatrix(60, 2);
  std::fill_n(narrow.samples.data(), 120, 0.0f);
  EXPECT_CONTAINS(error_of([&] { coupling.place(narrow); }), "has 2 features, and the coupled data has 5");
  CoupleOptions options = quick();
  options.kernel = "knn(5)";
  EXPECT_CONTAINS(error_of([&] { couple(data, options).place(data); }), "new ones cannot be placed");
}

TEST(Couple, ASubsampleIsCoupledAndTheRestIsPlaced) {
  const TempDir dir;
  const Dataset data = blobs(200);
  CoupleOptions options = quick();
  options.subsample = 120;
  const Coupling made = couple(data, options);
  made.save(dir / "c.cpfm");
  const Coupling coupling = Coupling::load(dir / "c.cpfm");
  EXPECT_EQ(coupling.summary.n, 120u);
  ASSERT_EQ(coupling.rows.size(), 120u);
  const FloatMatrix all = coupling.embed_all(data, true, 1), coupled = coupling.barycentres(coupling.plan);
  EXPECT_EQ(all.rows(), 200u);
  for (std::size_t r = 0; r < 120; ++r) EXPECT_EQ(all(coupling.rows[r], 0), coupled(r, 0));
  options.weights.assign(200, 1.0 / 200);
  EXPECT_CONTAINS(error_of([&] { couple(data, options); }), "exclude each other");
}

TEST(Couple, UnequalMassesAreMet) {
  const Dataset data = blobs(50);
  CoupleOptions options = quick();
  options.solver.marginal_tolerance = 1e-6;
  for (std::size_t i = 0; i < 50; ++i) options.weights.push_back((1.0 + double(i)) / 1275.0);
  options.latent_points = 4;
  options.latent_weights = {0.1, 0.2, 0.3, 0.4};
  const Coupling coupling = couple(data, options);
  const std::vector<double> plan = coupling.plan.dense();
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_NEAR(std::accumulate(&plan[i * 4], &plan[i * 4] + 4, 0.0), options.weights[i], 1e-6);
  for (std::size_t j = 0; j < 4; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 50; ++i) sum += plan[i * 4 + j];
    EXPECT_NEAR(sum, options.latent_weights[j], 1e-6);
  }
  options.latent_weights = {0.1, 0.2, 0.3, 0.3};
  EXPECT_CONTAINS(error_of([&] { couple(data, options); }), "they sum to 0.9");
}

TEST(Couple, AnInterruptedRunGoesOnToTheSameBytes) {
  const TempDir dir;
  const Dataset data = blobs(400);
  CoupleOptions options = quick();
  const Coupling whole = couple(data, options);
  options.checkpoint = dir / "c.partial";
  // Interrupted again and again, a little later each time.
  class Impatient final : public Progress {
   public:
    explicit Impatient(int after) : left_(after) {}
    void update(std::uint64_t, const std::string&) override {
      if (--left_ == 0) request_interrupt();
    }

   private:
    int left_;
  };
  int interrupts = 0;
  for (int after = 12;; after += 5) {
    Impatient progress(after);
    try {
      const Coupling resumed = couple(data, options, &progress);
      EXPECT_EQ(resumed.plan.parts().p, whole.plan.parts().p);
      EXPECT_EQ(resumed.plan.parts().row_potential, whole.plan.parts().row_potential);
      EXPECT_EQ(resumed.plan.parts().column_potential, whole.plan.parts().column_potential);
      EXPECT_EQ(resumed.summary.objective, whole.summary.objective);
      EXPECT_EQ(resumed.summary.half_iterations, whole.summary.half_iterations);
      clear_interrupt();
      break;
    } catch (const Interrupted&) {
      clear_interrupt();
      ++interrupts;
      ASSERT_LT(interrupts, 200);
      options.resume = std::filesystem::exists(options.checkpoint);
    }
  }
  EXPECT_GE(interrupts, 2);
  // The state stays until the caller has saved the coupling, and is not overwritten by accident.
  options.resume = false;
  EXPECT_CONTAINS(error_of([&] { couple(data, options); }), "holds an unfinished run");
}

TEST(Couple, ResumingWithOtherOptionsOrDataNamesThem) {
  const TempDir dir;
  const Dataset data = blobs(100);
  CoupleOptions options = quick();
  options.checkpoint = dir / "c.partial";
  options.resume = true;
  EXPECT_CONTAINS(error_of([&] { couple(data, options); }), "nothing to resume");
  options.resume = false;
  class Now final : public Progress {
   public:
    void update(std::uint64_t, const std::string& note) override {
      if (!note.empty() && note.starts_with("ε")) request_interrupt();
    }
  } now;
  EXPECT_THROW(couple(data, options, &now), Interrupted);
  clear_interrupt();
  options.resume = true;
  options.solver.epsilon = 0.02;
  options.latent = "square";
  const std::string refusal = error_of([&] { couple(data, options); });
  EXPECT_CONTAINS(refusal, "latent is square here and was gaussian");
  EXPECT_CONTAINS(refusal, "epsilon is 0.02 here and was 0.01");
  options = quick();
  options.checkpoint = dir / "c.partial";
  options.resume = true;
  Dataset changed = blobs(100);
  changed.samples(17, 2) += 1e-3f;
  EXPECT_CONTAINS(error_of([&] { couple(changed, options); }), "data is ");
  EXPECT_EQ(couple(data, options).summary.status, "converged");
}

TEST(Couple, NeverSaysConvergedWithMarginalsAboveTheTolerance) {
  const Dataset data = blobs(80);
  for (const std::uint64_t limit : {5u, 40u, 200u}) {
    CoupleOptions options = quick();
    options.solver.epsilon = 1e-4;
    options.solver.max_half_iterations = limit;
    const Coupling coupling = couple(data, options);
    if (coupling.summary.status == "converged") {
      EXPECT_LE(coupling.summary.marginal_error, options.solver.marginal_tolerance);
    } else {
      EXPECT_EQ(coupling.summary.status, "budget_exhausted");
    }
  }
}

TEST(Couple, APlanThatIsCutShortIsWhatTheSummarySays) {
  const Dataset data = blobs(120);
  for (const auto algorithm : {GwotOptions::Algorithm::kCpfm, GwotOptions::Algorithm::kPaper}) {
    for (std::uint64_t limit = 1; limit < 300; limit += 7) {
      CoupleOptions options = quick();
      options.solver.algorithm = algorithm;
      options.solver.starts = 1;
      options.solver.epsilon = 1e-3;
      options.solver.max_half_iterations = limit;
      const Coupling coupling = couple(data, options);
      const std::vector<double> plan = coupling.plan.dense();
      std::vector<double> columns(120, 0.0);
      double rows = 0, error = 0;
      for (std::size_t i = 0; i < 120; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 120; ++j) {
          sum += plan[i * 120 + j];
          columns[j] += plan[i * 120 + j];
        }
        rows += std::abs(sum - 1.0 / 120);
      }
      for (const double sum : columns) error += std::abs(sum - 1.0 / 120);
      EXPECT_LT(rows, 1e-4) << limit;
      EXPECT_LE(error, coupling.summary.marginal_error + 1e-4) << limit;
    }
  }
}

TEST(Couple, CentredDataUnderALinearKernelIsCoupled) {
  Dataset data = blobs(200);
  Standardizer::fit(data, Standardize::kZscore).apply(data.samples.view());
  for (const char* kernel : {"linear", "cosine"}) {
    CoupleOptions options = quick();
    options.kernel = kernel;
    const Coupling coupling = couple(data, options);
    EXPECT_EQ(coupling.summary.status, "converged") << kernel;
    EXPECT_LT(coupling.summary.objective, 0) << kernel;
  }
}

TEST(Couple, DamagedCheckpointsAreRefusedOrHarmless) {
  const TempDir dir;
  const Dataset data = blobs(60);
  CoupleOptions options = quick();
  options.checkpoint = dir / "c.partial";
  class Now final : public Progress {
   public:
    void update(std::uint64_t, const std::string& note) override {
      if (note.starts_with("ε")) request_interrupt();
    }
  } now;
  EXPECT_THROW(couple(data, options, &now), Interrupted);
  clear_interrupt();
  const std::string whole = without_checksum(read_bytes(dir / "c.partial"));
  const TensorFile file = TensorFile::open(dir / "c.partial");
  options.resume = true;
  options.solver.max_half_iterations = 0;
  // Any number of any array replaced by something awkward.
  std::size_t refused = 0, trials = 0;
  const double awkward[] = {std::nan(""), -1, 7, 1e300, 0, std::numeric_limits<double>::infinity()};
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.bytes.empty()) continue;
    const std::string needle(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    const std::size_t at = whole.find(needle);
    ASSERT_NE(at, std::string::npos);
    for (std::size_t k = 0; k < std::min<std::size_t>(tensor.bytes.size() / 8, 24); ++k) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at + 8 * k, &awkward[(k + name.size()) % 6], 8);
      write_bytes(dir / "c.partial", bytes);
      ++trials;
      try {
        const Coupling coupling = couple(data, options);
        const bool converged = coupling.summary.status == "converged";
        EXPECT_LE(coupling.summary.marginal_error, converged ? 1e-4 : 1e300);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, trials / 4);
}

TEST(Couple, LargeProblemsAreTheSameForAnyNumberOfThreadsAndWhenResumed) {
  const TempDir dir;
  const Dataset data = blobs(2100);
  for (const bool paper : {false, true}) {
    CoupleOptions options = quick();
    options.kernel = "heat*label";
    options.solver.start_points = 400;
    options.solver.epsilon = paper ? 0.02 : 0.001;
    if (paper) options.solver.algorithm = GwotOptions::Algorithm::kPaper;
    set_threads(1);
    const Coupling one = couple(data, options);
    set_threads(3);
    const Coupling three = couple(data, options);
    set_threads(0);
    EXPECT_EQ(one.plan.parts().p, three.plan.parts().p);
    EXPECT_EQ(one.plan.parts().column_potential, three.plan.parts().column_potential);
    class After final : public Progress {
     public:
      explicit After(int count) : left_(count) {}
      void update(std::uint64_t, const std::string& note) override {
        if (note.starts_with("ε") && --left_ == 0) request_interrupt();
      }

     private:
      int left_;
    } after(4);
    options.checkpoint = dir / (paper ? "p.partial" : "c.partial");
    EXPECT_THROW(couple(data, options, &after), Interrupted);
    clear_interrupt();
    options.resume = true;
    const Coupling resumed = couple(data, options);
    EXPECT_EQ(resumed.plan.parts().p, one.plan.parts().p);
    EXPECT_EQ(resumed.plan.parts().row_potential, one.plan.parts().row_potential);
    EXPECT_EQ(resumed.summary.dropped_bound, one.summary.dropped_bound);
    EXPECT_EQ(resumed.summary.pairs, one.summary.pairs);
    EXPECT_EQ(resumed.summary.starts, one.summary.starts);
  }
}

TEST(Couple, AKernelThatIsNotFiniteIsNamed) {
  GwotProblem problem;
  problem.w.assign(10, 1.0);
  problem.times = [](MatrixView<const double>, MatrixView<double> out) { std::fill_n(out.data, out.size(), NAN); };
  problem.y = draw_latent("gaussian", 10);
  GwotSolver solver(std::move(problem), {});
  EXPECT_EQ(solver.run(), GwotStatus::kNonFiniteInput);
  EXPECT_EQ(to_string(solver.state().status), "non_finite_input");
}

TEST(Interpolation, IsThePapersFormula) {
  const Dataset coupled = blobs(60), points = blobs(20, 3);
  const Interpolation found = interpolate(coupled, points, 4);
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (std::size_t j = 0; j < 60; ++j) {
      if (coupled.labels->ids[j] != points.labels->ids[i]) continue;
      double square = 0;
      for (std::size_t k = 0; k < 5; ++k) square += std::pow(double(coupled.samples(j, k)) - points.samples(i, k), 2);
      all.emplace_back(std::sqrt(square), static_cast<std::uint32_t>(j));
    }
    std::sort(all.begin(), all.end());
    double total = 0;
    for (std::size_t r = 0; r < 4; ++r) total += std::exp(-all[r].first);
    for (std::size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(found.index[i * 4 + r], all[r].second);
      EXPECT_NEAR(found.weight[i * 4 + r], std::exp(-all[r].first) / total, 1e-5);
    }
  }
}

TEST(Interpolation, KeepsItsDigitsFarFromTheOrigin) {
  Dataset coupled = blobs(60), points = blobs(20, 3);
  const Interpolation near = interpolate(coupled, points, 4);
  for (Dataset* data : {&coupled, &points}) {
    for (std::size_t k = 0; k < data->samples.size(); ++k) data->samples.data()[k] += 4096;
  }
  const Interpolation far = interpolate(coupled, points, 4);
  for (std::size_t k = 0; k < near.weight.size(); ++k) EXPECT_NEAR(near.weight[k], far.weight[k], 2e-2);
}

TEST(Interpolation, ClassesOfFewSamplesAndUnknownOnes) {
  Dataset coupled = blobs(9), points = blobs(9, 3);
  const Interpolation few = interpolate(coupled, points, 10);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(std::accumulate(&few.weight[i * 10], &few.weight[i * 10] + 10, 0.0f), 1.0f, 1e-5f);
    for (std::size_t r = 0; r < 10; ++r) EXPECT_EQ(coupled.labels->ids[few.index[i * 10 + r]], points.labels->ids[i]);
  }
  points.labels->names[2] = "new";
  EXPECT_CONTAINS(error_of([&] { interpolate(coupled, points); }), "sample 3 is of class 'new'");
  points.labels.reset();
  EXPECT_EQ(interpolate(coupled, points, 3).index.size(), 27u);
}

TEST(PairSampler, GivesEveryCoupledSampleOnceAnEpoch) {
  const Dataset data = blobs(90);
  CoupleOptions options = quick();
  options.subsample = 60;
  const Coupling coupling = couple(data, options);
  const PairSampler sampler(coupling);
  const auto pairs = sampler.epoch(1, 0), again = sampler.epoch(1, 0), next = sampler.epoch(1, 1);
  ASSERT_EQ(pairs.size(), 60u);
  std::size_t moved = 0;
  for (std::size_t e = 0; e < 60; ++e) {
    EXPECT_EQ(pairs[e].sample, coupling.rows[e]);
    EXPECT_EQ(pairs[e].latent, again[e].latent);
    moved += pairs[e].latent != next[e].latent ? 1 : 0;
  }
  EXPECT_GT(moved, 10u);
}

TEST(PairSampler, MixesThePlanWithItsInterpolation) {
  const Dataset data = blobs(90);
  CoupleOptions options = quick();
  options.subsample = 60;
  const Coupling coupling = couple(data, options);
  const Interpolation interpolation = interpolate(select(data, coupling.rows), data, 5);
  const PairSampler only(coupling, interpolation, 0), half(coupling, interpolation, 0.5);
  ASSERT_EQ(only.size(), 90u);
  const auto all = only.epoch(1, 0);
  for (std::size_t e = 0; e < 90; ++e) EXPECT_EQ(all[e].sample, e);
  // Outside the subset, a sample comes half as often under the mixture.
  std::vector<char> inside(90, 0);
  for (const std::size_t row : coupling.rows) inside[row] = 1;
  std::size_t outside = 0;
  constexpr std::size_t kEpochs = 200;
  for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const auto& pair : half.epoch(1, epoch)) outside += inside[pair.sample] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(double(outside) / double(kEpochs), 15.0, 1.5);
  // Latent points of a pair come from the class's part of the plan: same class, same side of the map, nearly always.
  const FloatMatrix means = coupling.barycentres(coupling.plan);
  std::vector<double> centre(6, 0.0);
  for (std::size_t r = 0; r < 60; ++r) {
    for (std::size_t k = 0; k < 2; ++k)
      centre[static_cast<std::size_t>(data.labels->ids[coupling.rows[r]]) * 2 + k] += means(r, k) / 20;
  }
  std::size_t near = 0;
  for (const auto& pair : all) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < 3; ++c) {
      const auto distance = [&](std::size_t of) {
        return std::hypot(coupling.latent(pair.latent, 0) - centre[of * 2],
                          coupling.latent(pair.latent, 1) - centre[of * 2 + 1]);
      };
      if (distance(c) < distance(best)) best = c;
    }
    near += best == static_cast<std::size_t>(data.labels->ids[pair.sample]) ? 1 : 0;
  }
  EXPECT_GE(near, 72u);
}

TEST(Fingerprint, SeesEveryPartOfTheData) {
  const std::uint64_t before = fingerprint(blobs(30));
  EXPECT_EQ(fingerprint(blobs(30)), before);
  Dataset data = blobs(30);
  data.samples(29, 4) = std::nextafter(data.samples(29, 4), 9.0f);
  EXPECT_NE(fingerprint(data), before);
  data = blobs(30);
  data.labels->ids[3] = 1;
  EXPECT_NE(fingerprint(data), before);
  data = blobs(30);
  data.properties[0].values[0] += 1;
  EXPECT_NE(fingerprint(data), before);
  data.labels.reset();
  EXPECT_NE(fingerprint(data), before);
}

}  // namespace
}  // namespace cpfm
