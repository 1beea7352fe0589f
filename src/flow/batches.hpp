// Which pairs (sample, latent point) a training step sees. An epoch is one draw of the plan, in a shuffled order that
// depends on (seed, epoch) alone, so that training can go on at any step as if it had never stopped. Samples held out
// never enter a training batch.
#pragma once

#include <cstdint>
#include <future>
#include <utility>
#include <vector>

#include "cpfm/flow.hpp"

namespace cpfm {

class Batches {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  // `ahead`: draw the next epoch on another thread while this one is used.
  Batches(const TrainData& data, double validation, std::size_t batch, std::uint64_t seed, bool ahead);
  ~Batches();

  std::size_t batch() const { return batch_; }
  std::uint64_t steps_per_epoch() const { return steps_per_epoch_; }
  // The pairs of one step.
  std::vector<Pair> at(std::uint64_t step);
  // Pairs of held-out samples, always the same; at most `most` of them.
  std::vector<Pair> held_out(std::size_t most);
  std::size_t training_samples() const { return training_samples_; }

 private:
  std::vector<Pair> draw(std::uint64_t epoch, bool training) const;

  const TrainData& data_;
  std::uint64_t seed_;
  bool ahead_;
  std::size_t batch_ = 0, training_samples_ = 0;
  std::uint64_t steps_per_epoch_ = 0, epoch_ = 0;
  std::vector<char> is_held_out_;  // by sample
  std::vector<Pair> pairs_;        // of epoch_
  std::future<std::vector<Pair>> next_;
};

}  // namespace cpfm
