// From data to a run in a folder, by any method: what 'fit' does once, and 'compare' for every method.
#pragma once

#include <string>

#include "molecules.hpp"
#include "run_folder.hpp"

namespace cpfm::app {

struct FitRequest {
  std::filesystem::path folder;
  const CLI::App& command;  // whose options the run is made of
  const Dataset& data;
  Standardizer applied;  // how `data` was scaled when it was loaded
  const CoupleArguments& couple;
  const TrainArguments& train;  // its method decides what is done
  bool resume = false;
  std::string config;  // for config.toml
  MoleculeArguments molecules = {};
  SampleOptions sampling = {};  // of the report's samples
};

// Stage 1 where the method has one, training, model and report.
RunResult fit(const FitRequest& request, FlowEntry& flow, const Context& context);

// Stage 1 goes where stage 2 does. Libtorch may know a GPU for which this build has no kernels of its own.
Device coupling_device(const std::string& name);

}  // namespace cpfm::app
