// A small pool of sleeping workers rather than OpenMP: exceptions cross it, ThreadSanitizer understands it, and it
// works the same in programs that use another OpenMP runtime through libtorch.
#include "cpfm/parallel.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "cpfm/error.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace cpfm {
namespace {

constexpr int kMaxThreads = 4096;

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

struct Loop {
  const std::function<void(std::size_t, std::size_t)>* body;
  std::size_t n, grain, chunks;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed_chunk = 0;

  void work() {
    for (;;) {
      const std::size_t k = next.fetch_add(1, std::memory_order_relaxed);
      if (k >= chunks) return;
      try {
        const std::size_t begin = k * grain;
        (*body)(begin, n - begin > grain ? begin + grain : n);
      } catch (...) {
        // Chunks are handed out in order, so every lower one has begun and will be heard before the loop ends.
        const std::lock_guard lock(mutex);
        if (!failure || k < failed_chunk) {
          failure = std::current_exception();
          failed_chunk = k;
        }
        next.store(chunks, std::memory_order_relaxed);
      }
    }
  }
};

thread_local bool inside_loop = false;

class Pool {
 public:
  explicit Pool(int workers) {
    try {
      for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { serve(); });
    } catch (const std::system_error& error) {
      stop();
      throw Error("--threads",
                  "the system gives no more than " + std::to_string(workers_.size() + 1) + " of " +
                      std::to_string(workers + 1) + " threads (" + error.code().message() + ")",
                  "use fewer");
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Pool() { stop(); }

  void run(Loop& loop) {
    {
      const std::lock_guard lock(mutex_);
      loop_ = &loop;
      ++generation_;
    }
    wake_.notify_all();
    inside_loop = true;
    loop.work();
    inside_loop = false;
    std::unique_lock lock(mutex_);
    loop_ = nullptr;  // late wakers find nothing
    idle_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void serve() {
    inside_loop = true;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      Loop* loop = loop_;
      if (loop == nullptr) continue;
      ++busy_;
      lock.unlock();
      loop->work();
      lock.lock();
      if (--busy_ == 0) idle_.notify_one();
    }
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  Loop* loop_ = nullptr;
  std::uint64_t generation_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

// The process-wide setting and its pool; the pool starts with the first loop that needs it.
struct State {
  std::mutex mutex;  // also serialises loops of different caller threads
  std::atomic<int> threads = available_cores();
  std::unique_ptr<Pool> pool;
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

void set_threads(int count) {
  if (count < 0 || count > kMaxThreads) {
    throw Error("threads", std::to_string(count) + " is not a thread count",
                "0 (all cores) to " + std::to_string(kMaxThreads));
  }
  CPFM_ASSERT(!inside_loop, "set_threads inside a parallel loop");
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const int wanted = count == 0 ? available_cores() : count;
  if (wanted != s.threads) s.pool.reset();
  s.threads = wanted;
}

int threads() { return state().threads; }

void parallel_for(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
  if (n == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  Loop loop{.body = &body,
            .n = n,
            .grain = grain,
            .chunks = n / grain + (n % grain != 0 ? 1 : 0),
            .mutex = {},
            .failure = {}};
  if (inside_loop || loop.chunks == 1) {
    loop.work();
  } else {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (s.threads == 1) {
      inside_loop = true;
      loop.work();
      inside_loop = false;
    } else {
      if (!s.pool) s.pool = std::make_unique<Pool>(s.threads - 1);
      s.pool->run(loop);
    }
  }
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace cpfm
