// tanimoto: |a ∧ b| / |a ∨ b| of 0/1 fingerprints, packed to 64 features a word. Two empty fingerprints are alike: 1.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cpfm/parallel.hpp"
#include "kernel/arguments.hpp"
#include "kernel/on_device.hpp"

namespace cpfm {
namespace {

// Bits common to two rows.
using CommonBits = unsigned (*)(const std::uint64_t*, const std::uint64_t*, std::size_t);
unsigned common_bits_anywhere(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  unsigned count = 0;
  for (std::size_t k = 0; k < words; ++k) count += static_cast<unsigned>(std::popcount(a[k] & b[k]));
  return count;
}
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("popcnt"))) unsigned common_bits_popcnt(const std::uint64_t* a, const std::uint64_t* b,
                                                              std::size_t words) {
  unsigned count = 0;
  for (std::size_t k = 0; k < words; ++k) count += static_cast<unsigned>(__builtin_popcountll(a[k] & b[k]));
  return count;
}
CommonBits common_bits() { return __builtin_cpu_supports("popcnt") ? common_bits_popcnt : common_bits_anywhere; }
#else
CommonBits common_bits() { return common_bits_anywhere; }
#endif

class Tanimoto final : public SampleKernel {
 public:
  Tanimoto(const KernelSource& source, const Expression& call)
      : samples_(source.data.samples),
        words_((source.data.dim() + 63) / 64),
        bits_(source.data.size() * words_),
        counts_(source.data.size()),
        common_(common_bits()) {
    const FloatMatrix& samples = source.data.samples;
    constexpr unsigned kNoFingerprint = ~0u;
    parallel_for(size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::uint64_t* const row = bits_.data() + i * words_;
        bool binary = true;
        for (std::size_t k = 0; k < samples.cols(); ++k) {
          const float value = samples(i, k);
          if (value == 1) row[k / 64] |= std::uint64_t{1} << k % 64;
          binary = binary && (value == 0 || value == 1);
        }
        counts_[i] = binary ? common_(row, row, words_) : kNoFingerprint;
      }
    });
    const auto bad = std::find(counts_.begin(), counts_.end(), kNoFingerprint);
    if (bad == counts_.end()) return;
    const auto i = static_cast<std::size_t>(bad - counts_.begin());
    const auto row = samples.row(i);
    const auto k =
        std::find_if(row.begin(), row.end(), [](float value) { return value != 0 && value != 1; }) - row.begin();
    source.parsed.fail(
        call, fmt::format("row {}, column {} of the samples is {}", i + 1, k + 1, row[static_cast<std::size_t>(k)]),
        "tanimoto compares fingerprints of 0 and 1");
  }

  std::size_t size() const override { return counts_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::uint64_t* const row = bits_.data() + columns[c] * words_;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const unsigned both = common_(row, bits_.data() + rows[r] * words_, words_);
        const unsigned either = counts_[columns[c]] + counts_[rows[r]] - both;
        out(c, r) = either == 0 ? 1.0f : static_cast<float>(both) / static_cast<float>(either);
      }
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 1.0f); }
  std::string expression() const override { return "tanimoto"; }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    // Inner products of zeros and ones are exact in float while they are below 2^24.
    if (samples_.cols() >= std::size_t{1} << 24) return false;
    const std::size_t table = add_table(description, samples_.data(), samples_.cols());
    const std::size_t counts = add_scalars(description, {counts_.begin(), counts_.end()});
    terms.push_back({1, {{DeviceFactor::Kind::kTanimoto, 0, table, counts}}});
    return true;
  }

 private:
  const FloatMatrix& samples_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;  // n × words_
  std::vector<unsigned> counts_;     // bits set in each row
  CommonBits common_;
};

}  // namespace

SampleKernelPtr make_tanimoto(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {});
  return std::make_unique<Tanimoto>(source, call);
}

}  // namespace cpfm
