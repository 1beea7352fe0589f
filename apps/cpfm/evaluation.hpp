// How good a model is on data it has not seen, by every metric that applies: what 'evaluate' prints.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli.hpp"
#include "cpfm/metric.hpp"

namespace cpfm::app {

struct EvaluationArguments {
  std::string judge_data, kernel, lpips, features;
  std::size_t runs = 3, run_samples = 0, gaussian_points = 2000, neighbours = 10;
  bool entropic = false, coverage = false;
  double entropic_epsilon = kEntropicEpsilon;

  // How many of n samples a run has.
  std::size_t of_run(std::size_t n) const { return run_samples > 0 ? std::min(run_samples, n) : n; }

  std::string kernel_option = "--kernel";  // where `kernel` comes from, for messages

  // Throws where an option is given that means nothing without another.
  void check() const;
  // `kernel_option` is --kernel, but where that of the command is another kernel.
  void add_to(CLI::App& command, const char* kernel_option, const char* kernel_text);
};

// What whoever fitted the models knows besides.
struct FittedTo {
  std::optional<Dataset> originals = {};  // for a judge, in place of --judge
  std::filesystem::path keep_judge = {};  // file of the judge, so that all are measured by the same
  Standardizer scale = {};                // of the data that the models were fitted to: that of kernel and neighbours
};

// What every model is measured with on the same data: the kernel, the judge, features of the originals. Borrows what
// it is given. `data` has the columns of the models (match_columns), whose pictures, if any, are as `facts` say.
class Evaluation {
 public:
  Evaluation(const Dataset& data, const ModelFacts& facts, const EvaluationArguments& arguments,
             const DataOptions& data_options, const SampleArguments& sample, const Context& context,
             FittedTo fitted_to = {});
  ~Evaluation();

  // One entry per figure that the method has: {mean, sd, runs} and what it takes to read it, such as the floor or the
  // judge's own accuracy. The sd of a single run is null.
  Json measure(FlowModel& model);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What --judge names, with the columns of the models. Warns where it has some of `data`, which are measured.
Dataset judge_originals(const std::string& source, const DataOptions& options, const ModelFacts& facts,
                        const Dataset& data, const Context& context);
// How to read what a judge learns from: of a test part the rest of the same samples, of other data all.
DataOptions judge_options(const std::string& source, DataOptions options);
// Where a judge learns what it is to judge. `options` are those of `data`.
void warn_of_known(const std::string& source, const DataOptions& options, const Dataset& data,
                   const Dataset& originals);
// How many of the samples, or molecules, are among those learned.
std::size_t count_known(const Dataset& data, const Dataset& learned);

// Whether `originals` can teach a judge of classes of `data`: they have samples of two classes, and one of the data's.
bool can_judge(const Dataset& originals, const Dataset& data);

// Whether a model of this method has densities of both ways, which --coverage needs.
bool has_coverage(const ModelFacts& facts);

// A line per figure.
void print_evaluation(const Json& figures);

}  // namespace cpfm::app
