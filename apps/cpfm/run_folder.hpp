// A run of stage 2 in a folder: model.cpfm, checkpoint.cpfm, metrics.jsonl, config.toml, and the report with its
// pictures.
#pragma once

#include <filesystem>
#include <string>

#include "cli.hpp"
#include "cpfm/coupling.hpp"

namespace cpfm::app {

struct Run {
  std::filesystem::path folder;
  const Dataset& data;  // as loaded
  const Coupling& coupling;
  Standardizer applied;  // how `data` was scaled when it was loaded
  TrainOptions options;
  std::string pairs;  // exact, interpolated, mixture
  bool resume = false;
  std::string config;  // for config.toml

  std::filesystem::path operator/(const char* name) const { return folder / name; }
};

// Creates the folder; refuses one that holds a finished model unless resuming.
void open_run_folder(const std::filesystem::path& folder, bool resume);

struct RunResult {
  TrainState state;
  Json numbers;  // for --json and the report
};
// Trains, writes the model and the report.
RunResult train_run(const Run& run, FlowEntry& flow, const Context& context);
void print_run(const Run& run, const RunResult& result);

}  // namespace cpfm::app
