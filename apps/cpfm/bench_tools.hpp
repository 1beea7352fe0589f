// What the benchmarks share: time, the machine's facts, lines of text.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cli.hpp"
#include "cpfm/device.hpp"

namespace cpfm::app {

class Stopwatch {
 public:
  // Seconds since the last call, or since it was made.
  double lap() {
    const auto now = Clock::now(), before = std::exchange(last_, now);
    return std::chrono::duration<double>(now - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

double median(std::vector<double> values);

// The processor, the build, and where it ran: of a CUDA device its name too.
Json machine_facts(Device device);

void print_line(const char* what, const std::string& text);
void print_machine(const Json& machine);

void add_device(CLI::App& command, std::string& device);

// cmd_bench_flow.cpp
void add_train_bench(CLI::App& parent, Context& context);
void add_sample_bench(CLI::App& parent, Context& context);

}  // namespace cpfm::app
