#include "flow/batches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpfm/error.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kHeldOutStream = 0x76616c69, kOrderStream = 0x6f726472;  // "vali", "ordr"

}  // namespace

Batches::Batches(const TrainData& data, double validation, std::size_t batch, std::uint64_t seed, bool ahead)
    : data_(data), seed_(seed), ahead_(ahead), is_held_out_(data.samples.rows, 0) {
  const std::size_t n = data.samples.rows;
  const auto held = static_cast<std::size_t>(validation * static_cast<double>(n));
  const std::vector<std::size_t> order = permutation(n, seed, kHeldOutStream);
  for (std::size_t k = 0; k < held; ++k) is_held_out_[order[k]] = 1;
  pairs_ = draw(0, true);
  if (pairs_.size() < 2) {
    throw Error("--validation", fmt::format("{} leaves {} of {} pairs to train on", validation, pairs_.size(), n),
                "hold out fewer samples");
  }
  training_samples_ = n - held;
  batch_ = std::min(batch, pairs_.size());
  steps_per_epoch_ = std::max<std::uint64_t>(1, pairs_.size() / batch_);
}

Batches::~Batches() {
  if (next_.valid()) next_.wait();
}

std::vector<Batches::Pair> Batches::draw(std::uint64_t epoch, bool training) const {
  std::vector<Pair> all = data_.pairs(epoch);
  const auto wrong = [&](const Pair& pair) {
    CPFM_ASSERT(pair.first < data_.samples.rows && pair.second < data_.latent.rows, "pairs name samples and points");
    return (is_held_out_[pair.first] != 0) == training;
  };
  all.erase(std::remove_if(all.begin(), all.end(), wrong), all.end());
  const std::vector<std::size_t> order = permutation(all.size(), seed_, kOrderStream, epoch);
  std::vector<Pair> shuffled;
  shuffled.reserve(all.size());
  for (const std::size_t at : order) shuffled.push_back(all[at]);
  return shuffled;
}

std::vector<Batches::Pair> Batches::at(std::uint64_t step) {
  const std::uint64_t epoch = step / steps_per_epoch_;
  if (epoch != epoch_) {
    pairs_ = next_.valid() && epoch == epoch_ + 1 ? next_.get() : draw(epoch, true);
    epoch_ = epoch;
  }
  if (ahead_ && !next_.valid()) next_ = std::async(std::launch::async, [this, epoch] { return draw(epoch + 1, true); });
  // An interpolated plan may give fewer pairs of training samples in one epoch than in another: wrap around.
  std::vector<Pair> chosen(batch_);
  const std::size_t first = static_cast<std::size_t>(step % steps_per_epoch_) * batch_;
  for (std::size_t k = 0; k < batch_; ++k) chosen[k] = pairs_[(first + k) % pairs_.size()];
  return chosen;
}

std::vector<Batches::Pair> Batches::held_out(std::size_t most) {
  constexpr std::uint64_t kEpochOfValidation = 0xFFFFFFFF;  // no training epoch gets there
  std::vector<Pair> pairs = draw(kEpochOfValidation, false);
  if (pairs.size() > most) pairs.resize(most);
  return pairs;
}

}  // namespace cpfm
