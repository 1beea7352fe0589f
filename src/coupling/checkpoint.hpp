// The state of an unfinished coupling on disk: the solver's, and what identifies the run, so that it is never continued
// with other data or options.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "cpfm/coupling.hpp"

namespace cpfm {

// Every option and datum that the result depends on, as a JSON object of texts.
std::string describe_run(const CoupleOptions& options, const std::string& kernel, std::uint64_t data_fingerprint);

using History = std::vector<CoupleSummary::Moment>;

void save_checkpoint(const std::filesystem::path& file, const GwotSolver& solver, const std::string& run,
                     const History& history);
// Throws cpfm::Error that names what differs between this run and the saved one.
void load_checkpoint(const std::filesystem::path& file, GwotSolver& solver, const std::string& run, History& history);

}  // namespace cpfm
