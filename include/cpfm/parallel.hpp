// The one mechanism for threads. Work is cut into chunks by its size alone, never by the number of threads, and partial
// results are combined in chunk order: the same bytes come out for any thread count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

namespace cpfm {

// Threads used by every parallel loop of the process, libtorch's included once the flow library is loaded.
// 0 means one per available core. Call it before starting work, not from inside a loop.
void set_threads(int count);
int threads();

// Calls body(begin, end) for chunks [k·grain, (k+1)·grain) that cover [0, n), in any order, on all threads. Once
// all chunks have stopped, the exception of the lowest chunk that threw is rethrown here: the same one for any number
// of threads. A loop inside a loop runs on the calling thread.
void parallel_for(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

// combine(…combine(init, map(chunk 0))…, map(chunk last)) in chunk order.
template <class T, class Map, class Combine>
T parallel_reduce(std::size_t n, std::size_t grain, T init, const Map& map, const Combine& combine) {
  static_assert(!std::is_same_v<T, bool>, "neighbours in a vector<bool> share a byte; reduce to char or int");
  grain = std::max<std::size_t>(grain, 1);
  std::vector<T> parts(n / grain + (n % grain != 0 ? 1 : 0), init);
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end) { parts[begin / grain] = map(begin, end); });
  T result = init;
  for (const T& part : parts) result = combine(result, part);
  return result;
}

}  // namespace cpfm
