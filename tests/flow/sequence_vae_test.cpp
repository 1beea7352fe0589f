#include "cpfm/sequence_vae.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/random.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kLength = 6;
constexpr std::int32_t kAlphabet = 5;  // 0 pads

// Words of 2 to 5 letters; their number of 1s is what should be readable.
struct Words {
  std::vector<std::int32_t> symbols;
  FloatMatrix targets;
  std::size_t count = 0;

  explicit Words(std::size_t n, std::uint64_t seed) : targets(n, 1), count(n) {
    Rng rng(seed, 7, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t letters = 2 + static_cast<std::size_t>(rng.uniform() * 4);
      float ones = 0;
      for (std::size_t k = 0; k < kLength; ++k) {
        const auto letter = k < letters ? 1 + static_cast<std::int32_t>(rng.uniform() * (kAlphabet - 1)) : 0;
        symbols.push_back(letter);
        ones += letter == 1 ? 1 : 0;
      }
      targets(i, 0) = ones;
    }
  }
  MatrixView<const std::int32_t> view() const { return {symbols.data(), count, kLength}; }
  SequenceData data() const {
    SequenceData d;
    d.symbols = view();
    d.alphabet = kAlphabet;
    d.targets = targets.view();
    return d;
  }
};

SequenceVaeOptions small() {
  SequenceVaeOptions options;
  options.latent = 12;
  options.embedding = 8;
  options.hidden = 48;
  options.batch = 32;
  options.epochs = 60;
  options.learning_rate = 5e-3;
  options.device = "cpu";
  return options;
}

double same(const SequenceVae& vae, const Words& words, const std::vector<std::int32_t>& found) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < words.count; ++i) {
    equal += std::equal(found.begin() + static_cast<std::ptrdiff_t>(i * vae.length()),
                        found.begin() + static_cast<std::ptrdiff_t>((i + 1) * vae.length()),
                        words.symbols.begin() + static_cast<std::ptrdiff_t>(i * kLength))
                 ? 1
                 : 0;
  }
  return static_cast<double>(equal) / static_cast<double>(words.count);
}

TEST(SequenceVae, GivesBackWordsItHasNotSeenAndOrdersThemByTheTarget) {
  const Words words(600, 1), others(150, 2);
  const auto vae = train_sequence_vae(words.data(), small());
  ASSERT_EQ(vae->length(), kLength);
  const FloatMatrix points = vae->encode(others.view(), {});
  ASSERT_EQ(points.cols(), 12u);
  EXPECT_GT(same(*vae, others, vae->decode(points.view())), 0.7);
  // Other points are other words: the decoder has not learned to do without.
  FloatMatrix shifted(points.rows(), points.cols());
  for (std::size_t i = 0; i < points.rows(); ++i)
    std::copy_n(points.row((i + 1) % points.rows()).data(), points.cols(), shifted.row(i).data());
  EXPECT_LT(same(*vae, others, vae->decode(shifted.view())), 0.2);
  std::vector<double> ones(others.count);
  for (std::size_t i = 0; i < others.count; ++i) ones[i] = others.targets(i, 0);
  std::vector<double> first(others.count);
  for (std::size_t i = 0; i < others.count; ++i) first[i] = points(i, 0);
  EXPECT_GT(r_squared(first, ones), 0.8);
}

TEST(SequenceVae, IsTheSameFromAFile) {
  const test::TempDir folder;
  const Words words(64, 3);
  SequenceVaeOptions options = small();
  options.epochs = 2;
  const auto vae = train_sequence_vae(words.data(), options);
  TensorFileWriter writer;
  vae->add_to(writer);
  writer.save(folder / "vae.cpfm");
  const auto loaded = load_sequence_vae(TensorFile::open(folder / "vae.cpfm"), "cpu");
  const FloatMatrix a = vae->encode(words.view(), {}), b = loaded->encode(words.view(), {});
  EXPECT_TRUE(std::equal(a.values().begin(), a.values().end(), b.values().begin()));
  EXPECT_EQ(vae->decode(a.view()), loaded->decode(b.view()));
}

TEST(SequenceVae, GoesOnWhereItWasInterrupted) {
  const test::TempDir folder;
  const Words words(64, 4);
  SequenceVaeOptions options = small();
  options.epochs = 4;
  const auto whole = train_sequence_vae(words.data(), options);
  options.checkpoint = folder / "partial.cpfm";
  class Stop final : public Progress {
    void update(std::uint64_t done, const std::string&) override {
      if (done == 7) request_interrupt();
    }
  } stop;
  EXPECT_THROW(train_sequence_vae(words.data(), options, &stop), Interrupted);
  clear_interrupt();
  ASSERT_TRUE(std::filesystem::exists(options.checkpoint));
  class Count final : public Progress {
   public:
    std::uint64_t steps = 0;
    void update(std::uint64_t done, const std::string&) override { steps = done; }
  } rest;
  const auto resumed = train_sequence_vae(words.data(), options, &rest);
  EXPECT_EQ(rest.steps, 4 * 8 - 7u);  // passes of eight steps
  const FloatMatrix a = whole->encode(words.view(), {}), b = resumed->encode(words.view(), {});
  EXPECT_TRUE(std::equal(a.values().begin(), a.values().end(), b.values().begin()));
  // Not with others.
  const Words others(64, 5);
  EXPECT_THROW(train_sequence_vae(others.data(), options), Error);
}

TEST(SequenceVae, RefusesWhatCannotBe) {
  const Words words(64, 6);
  SequenceData data = words.data();
  data.alphabet = 3;  // and there are symbols up to 4
  EXPECT_THROW(train_sequence_vae(data, small()), Error);
  SequenceVaeOptions endless = small();
  endless.epochs = 0;
  EXPECT_THROW(train_sequence_vae(words.data(), endless), Error);
  SequenceVaeOptions narrowest = small();
  narrowest.latent = 1;  // and there is a target
  EXPECT_THROW(train_sequence_vae(words.data(), narrowest), Error);
  SequenceVaeOptions options = small();
  options.epochs = 1;
  const auto vae = train_sequence_vae(words.data(), options);
  const FloatMatrix narrow(3, 5);
  EXPECT_THROW(vae->decode(narrow.view()), Error);
  EXPECT_THROW(vae->encode({words.symbols.data(), words.count, kLength - 1}, {}), Error);
}

}  // namespace
}  // namespace cpfm
