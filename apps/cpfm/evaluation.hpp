// How good a model is on data it has not seen, by every metric that applies: what 'evaluate' prints.
#pragma once

#include <string>

#include "cli.hpp"

namespace cpfm::app {

struct EvaluationArguments {
  std::string judge_data, kernel, lpips, features;
  std::size_t runs = 3, gaussian_points = 2000, neighbours = 10;
  bool entropic = false, coverage = false;

  void add_to(CLI::App& command);
};

// One entry per figure: {mean, sd, runs} and what it takes to read it, such as the floor or the judge's own accuracy.
// `data` has the columns of the model (match_columns).
Json evaluate(FlowModel& model, const Dataset& data, const EvaluationArguments& arguments,
              const DataOptions& data_options, const SampleArguments& sample, const Context& context);

// A line per figure.
void print_evaluation(const Json& figures);

}  // namespace cpfm::app
