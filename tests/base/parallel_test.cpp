#include "cpfm/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_threads(0); }
};

TEST_F(Parallel, CoversEveryIndexOnce) {
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    for (const std::size_t n : {0u, 1u, 7u, 1000u}) {
      std::vector<std::atomic<int>> hits(n);
      parallel_for(n, 13, [&](std::size_t begin, std::size_t end) {
        EXPECT_LT(begin, end);
        for (std::size_t i = begin; i < end; ++i) ++hits[i];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST_F(Parallel, ReducesToTheSameBitsForAnyNumberOfThreads) {
  const auto sum = [](int count) {
    set_threads(count);
    return parallel_reduce(
        100000, 17, 0.0f,
        [](std::size_t begin, std::size_t end) {
          float part = 0;
          for (std::size_t i = begin; i < end; ++i) part += 1.0f / static_cast<float>(i + 1);
          return part;
        },
        [](float a, float b) { return a + b; });
  };
  const float one = sum(1);
  EXPECT_EQ(one, sum(2));
  EXPECT_EQ(one, sum(4));
  EXPECT_NEAR(one, 12.0902, 1e-3);
}

TEST_F(Parallel, RethrowsAnExceptionOfItsBodyAndStaysUsable) {
  set_threads(4);
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(parallel_for(100, 1,
                              [](std::size_t begin, std::size_t) {
                                if (begin == 50) throw std::runtime_error("fifty");
                              }),
                 std::runtime_error);
  }
  std::atomic<int> done = 0;
  parallel_for(100, 1, [&](std::size_t, std::size_t) { ++done; });
  EXPECT_EQ(done, 100);
}

TEST_F(Parallel, RethrowsTheExceptionOfTheLowestChunk) {
  set_threads(4);
  for (int round = 0; round < 50; ++round) {
    try {
      parallel_for(64, 1, [](std::size_t begin, std::size_t) {
        if (begin == 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the others fail sooner
        if (begin >= 3) throw std::runtime_error(std::to_string(begin));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "3");
    }
  }
}

TEST_F(Parallel, TakesAGrainOfAnySize) {
  for (const std::size_t grain : {std::size_t{5}, std::size_t{6}, SIZE_MAX / 2 + 1, SIZE_MAX}) {
    std::atomic<std::size_t> covered = 0;
    parallel_for(10, grain, [&](std::size_t begin, std::size_t end) { covered += end - begin; });
    EXPECT_EQ(covered, 10u) << grain;
    const auto one_per_index = [](std::size_t begin, std::size_t end) { return end - begin; };
    EXPECT_EQ(parallel_reduce(10, grain, std::size_t{0}, one_per_index, std::plus<>()), 10u) << grain;
  }
  const std::size_t most = SIZE_MAX;
  std::atomic<std::size_t> covered = 0;
  parallel_for(most, most / 2 + 2, [&](std::size_t begin, std::size_t end) { covered += end - begin; });
  EXPECT_EQ(covered, most);
}

TEST(ParallelDeathTest, ASystemWithoutMoreThreadsIsAnErrorThatNamesTheOption) {
  if (CPFM_SANITIZED) GTEST_SKIP() << "SKIPPED: sanitizers need more address space than the limit leaves";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto start_too_many = [] {
    const rlimit small{rlim_t{1} << 30, rlim_t{1} << 30};  // room for a hundred stacks
    setrlimit(RLIMIT_AS, &small);
    set_threads(4096);
    try {
      parallel_for(2, 1, [](std::size_t, std::size_t) {});
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      _exit(1);
    }
    _exit(0);
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(1), "--threads: the system gives no more than .* use fewer");
}

TEST_F(Parallel, RunsALoopInsideALoopOnTheSameThread) {
  set_threads(4);
  std::atomic<int> total = 0, elsewhere = 0;
  parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(10, 1, [&](std::size_t, std::size_t) {
      ++total;
      elsewhere += std::this_thread::get_id() == outer ? 0 : 1;
    });
    EXPECT_EQ(threads(), 4);
  });
  EXPECT_EQ(total, 80);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(Parallel, MayBeCalledFromSeveralThreads) {
  set_threads(3);
  std::atomic<int> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) parallel_for(20, 1, [&](std::size_t, std::size_t) { ++total; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 20);
}

TEST_F(Parallel, RefusesAThreadCountThatIsNone) {
  EXPECT_THROW(set_threads(-1), Error);
  EXPECT_THROW(set_threads(1000000), Error);
  set_threads(0);
  EXPECT_GE(threads(), 1);
}

}  // namespace
}  // namespace cpfm
