// A run of stage 2 in a folder: model.cpfm, checkpoint.cpfm, metrics.jsonl, config.toml, and the report with its
// pictures.
#pragma once

#include <filesystem>
#include <string>

#include "cli.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/molecule_coder.hpp"

namespace cpfm::app {

struct Run {
  std::filesystem::path folder;
  const Dataset& data;       // as loaded
  const Coupling* coupling;  // null for methods that need none
  Standardizer applied;      // how `data` was scaled when it was loaded
  TrainOptions options;
  std::string pairs;           // exact, interpolated, mixture; none without a coupling
  std::size_t latent_dim = 2;  // where there is no coupling to say so
  bool resume = false;
  std::string config;  // for config.toml
  // Where `data` are the points of molecules: what made them, and the molecules as they were coupled.
  const MoleculeCoder* molecules = nullptr;
  const Dataset* as_coupled = nullptr;
  std::optional<double> perplexity = {}, sigma = {};  // of t-SNE and of kernel PCA, where they are not theirs
  SampleOptions sampling = {};                        // of the report's samples

  const Dataset& coupled() const { return as_coupled != nullptr ? *as_coupled : data; }
  std::filesystem::path operator/(const char* name) const { return folder / name; }
};

// What may be done in a folder is decided before anything in it is written. Each throws cpfm::Error and writes nothing.

// Without --resume: refuses a folder that holds a run, finished or interrupted; a coupling alone is one to a command
// that couples.
void refuse_other_run(const std::filesystem::path& folder, bool couples);
// With --resume: refuses a folder whose run another command or method made, and a model whose checkpoint is gone, where
// runs leave one.
void require_run_of(const std::filesystem::path& folder, const CLI::App& command, bool has_checkpoint = true);
// 'fit --resume': that, and refuses data and options of the coupling that are not those of the run in the folder.
// `config` is what config.toml would be now.
void require_same_coupling(const std::filesystem::path& folder, const CLI::App& command, const std::string& config,
                           std::uint64_t data_fingerprint);
// 'train': refuses a folder that holds another coupling.
void require_same_coupling(const std::filesystem::path& folder, const Coupling& coupling);

void make_run_folder(const std::filesystem::path& folder);
// config.toml tells how the coupling that is made, or lies, beside it is made.
void write_config(const std::filesystem::path& folder, const std::string& config);

struct RunResult {
  TrainState state;
  Json numbers;  // for --json and the report
};
// Trains, writes the model and the report. Whatever is refused is refused before anything is written.
RunResult train_run(const Run& run, FlowEntry& flow, const Context& context);
// The same for kernel PCA, which is not trained.
RunResult kernel_pca_run(const Run& run, const Context& context);
// The same for t-SNE: the map is in embedding.csv, and there is no model.
RunResult tsne_run(const Run& run, const Context& context);
void print_run(const std::filesystem::path& folder, const RunResult& result);

}  // namespace cpfm::app
