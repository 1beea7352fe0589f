// What every subcommand shares: the global options, how results and progress are shown, and how a subcommand is added.
// A cmd_<name>.cpp parses, calls the library and prints; no algorithm lives here.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cpfm/coupling.hpp"
#include "cpfm/data.hpp"
#include "cpfm/flow.hpp"
#include "cpfm/progress.hpp"
#include "flow/entry.hpp"

namespace cpfm::app {

using Json = nlohmann::ordered_json;

struct Context {
  bool json = false, quiet = false, verbose = false;
  int threads = 0;
  std::uint64_t seed = 1;
  std::string command_line;  // as it was typed, quoted for a shell

  std::unique_ptr<Progress> progress() const;
  // With --json: the one object on stdout.
  void print(const Json& result) const;
};

// The options that say what DATA is and how to read it.
struct DataOptions {
  std::string source;
  ReadOptions read;
  std::string smiles, on_bad_row = "error";
  bool as_selfies = false;  // molecules are to be written as SELFIES
  std::string standardize = "none", part = "all";
  double test_fraction = 0.2;
  std::size_t sample = 0;  // 0: all

  void add_to(CLI::App& command);
  // Whether it is one of them, DATA too.
  static bool owns(const CLI::Option& option);
  // Whether other data of this name are those of `source`, however the path is written.
  bool is_source(const std::string& other) const;
  // Reads, takes the part asked for, standardizes; `applied` gets how.
  Dataset load(const Context& context, Standardizer* applied = nullptr);
  // Rows that load() found no molecule in and left out.
  std::size_t rows_left_out() const { return rows_left_out_.value_or(0); }
  // Adds their number to a result, as molecules.rows_left_out, where DATA holds molecules.
  void tell_left_out(Json& result) const;
  // The same without the option --standardize, for commands whose model knows the scale.
  void add_unscaled_to(CLI::App& command);
  // Options that mean nothing for what was read.
  std::vector<const CLI::Option*> unused(const Dataset& data) const;

 private:
  void add_to(CLI::App& command, bool with_scale);
  Dataset read_source(const Context& context);

  const CLI::App* command_ = nullptr;
  std::string image_shape_, header_ = "auto", image_fit_ = "crop", image_color_ = "auto";
  std::optional<std::size_t> rows_left_out_;  // of molecules that were loaded
  std::string warned_of_;                     // the source whose rows a warning has told
};

// "; 2 rows left out", or nothing where tell_left_out() had none to tell.
std::string left_out_text(const Json& result);

// The options of stage 1.
struct CoupleArguments {
  CoupleOptions options;

  void add_to(CLI::App& command);
  // Whether it is one of them.
  static bool owns(const CLI::Option& option);
  // What the library wants, for data of n samples.
  CoupleOptions resolve(const Context& context, std::size_t n) const;

 private:
  std::string algorithm_ = "cpfm", weights_, latent_weights_;
};

// The options of stage 2.
struct TrainArguments {
  TrainOptions options;
  std::string pairs = "exact";              // exact, interpolated, mixture
  std::optional<double> perplexity, sigma;  // of t-SNE and of kernel PCA

  void add_to(CLI::App& command);
  // Whether it is one of them, but not of those of one method: --method, --beta, --perplexity, --sigma.
  static bool owns(const CLI::Option& option);
  // The choice of another method, for commands that need no coupling.
  void add_methods_to(CLI::App& command);
  // What the library wants for this data; `flow` knows the presets.
  TrainOptions resolve(const Context& context, const Dataset& data, FlowEntry& flow) const;

 private:
  std::string preset_ = "auto", channel_mult_, attention_resolutions_;
  const CLI::App* command_ = nullptr;
};

// The options of sampling.
struct SampleArguments {
  SampleOptions options;
  std::string device = "auto";

  // Where nothing is generated, its precision is not asked for.
  void add_to(CLI::App& command, bool generates = true);
  SampleOptions resolve(const Context& context, Progress* progress) const;
};

// Each adds its subcommand; the chosen one's callback does the work.
void add_bench_command(CLI::App& app, Context& context);
void add_couple_command(CLI::App& app, Context& context);
void add_fit_command(CLI::App& app, Context& context);
void add_train_command(CLI::App& app, Context& context);
void add_embed_command(CLI::App& app, Context& context);
void add_generate_command(CLI::App& app, Context& context);
void add_reconstruct_command(CLI::App& app, Context& context);
void add_evaluate_command(CLI::App& app, Context& context);
void add_compare_command(CLI::App& app, Context& context);
void add_reproduce_command(CLI::App& app, Context& context);
void add_data_command(CLI::App& app, Context& context);
void add_selfies_command(CLI::App& app, Context& context);
void add_info_command(CLI::App& app, Context& context);

// One place per sample: .npy, or .csv with the labels, properties and SMILES of `data`.
void write_embedding(const std::string& file, const FloatMatrix& y, const Dataset& data);

// Runs a command as if these words were typed after 'cpfm'.
void run_words(const std::vector<std::string>& words);

// "cpfm data info"
std::string full_name(const CLI::App& command);

// One paragraph for --version.
std::string version_text();

}  // namespace cpfm::app
