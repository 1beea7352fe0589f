// The pictures of a comparison: those of one method, and the page on which all of them stand side by side.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli.hpp"
#include "comparison.hpp"

namespace cpfm::app {

// Writes where the model puts samples, what comes back of some, and what lies on a grid of places, into `folder`.
// `kernel` decides the colours.
void draw_method(FlowModel& model, const Dataset& test, const std::string& kernel, const std::filesystem::path& folder,
                 const SampleOptions& sampling);
// Whether all that draw_method() would write is there.
bool has_pictures(const std::filesystem::path& folder, bool of_pictures);

struct CompareReport {
  std::filesystem::path folder;  // with a folder for each method
  std::vector<std::string> methods;
  const Dataset &train, &test;
  const Comparison& table;
  // By method: parameters, latent_dim, steps, samples_seen, seconds, coupling_seconds.
  std::map<std::string, Json> runs;
  std::filesystem::path laws;  // picture of stage 1; empty: none
  std::string command, options;
  std::size_t run_samples, known;  // samples that a run measures; those of `test` that are trained on
};
void write_compare_report(const CompareReport& report, std::uint64_t seed);

}  // namespace cpfm::app
