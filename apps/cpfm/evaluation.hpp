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

// What --judge names, with the columns of the models: of a test part the rest of the same samples, of other data all.
Dataset judge_originals(const std::string& source, DataOptions options, const ModelFacts& facts,
                        const Context& context);

// Whether `originals` can teach a judge of classes of `data`: they have samples of two classes, and one of the data's.
bool can_judge(const Dataset& originals, const Dataset& data);

// Whether a model of this method has densities of both ways, which --coverage needs.
bool has_coverage(const ModelFacts& facts);

// A line per figure.
void print_evaluation(const Json& figures);

}  // namespace cpfm::app
