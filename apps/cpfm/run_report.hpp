// The report of a run: what a person wants to see first after training.
#pragma once

#include "run_folder.hpp"

namespace cpfm::app {

// Uses RUN/model.cpfm as anyone would; writes report.html and PNG copies of its pictures; returns the numbers.
Json write_run_report(const Run& run, const TrainState& state, const Context& context);
// The same for a map `y` of all samples that no model made and nothing comes back from.
Json write_map_report(const Run& run, const FloatMatrix& y, double seconds, const Context& context);

}  // namespace cpfm::app
