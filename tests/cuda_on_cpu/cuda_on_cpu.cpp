#include <cuda_runtime.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cuda/device.hpp"
#include "device_memory.hpp"

dim3 gridDim, blockDim;
uint3 blockIdx, threadIdx;

namespace cuda_on_cpu {
namespace {

enum class Waits { kNo, kForWarp, kForBlock, kForever };

// Contexts begin a fiber; from then on jumps, which ask nothing of the kernel, go back and forth.
struct Fiber {
  ucontext_t context;
  jmp_buf jump;
  bool begun = false;
  std::vector<char> stack = std::vector<char>(1 << 16);
  uint3 index;
  Waits waits = Waits::kNo;
  std::uint64_t mail = 0;
};

std::vector<std::unique_ptr<Fiber>> fibers;  // of the present block
unsigned current = 0;
jmp_buf scheduler;
const std::function<void()>* body = nullptr;
std::mutex device;  // one kernel at a time
alignas(16) char shared_memory[1 << 18];
thread_local std::vector<std::function<void()>>* captured = nullptr;

std::mutex accounts;  // of what is below
std::size_t memory = kMemory;
bool device_closed = false;
Use in_use;
std::unordered_map<void*, std::size_t> sizes;

void pause(Waits waits) {
  Fiber& fiber = *fibers[current];
  fiber.waits = waits;
  if (_setjmp(fiber.jump) == 0) _longjmp(scheduler, 1);
}

void enter() {
  (*body)();
  pause(Waits::kForever);
}

// Lets go those of [begin, end) that wait for each other, if all of them do that are still there.
bool release(unsigned begin, unsigned end, Waits waits) {
  unsigned waiting = 0, gone = 0;
  for (unsigned t = begin; t < end; ++t) {
    waiting += fibers[t]->waits == waits;
    gone += fibers[t]->waits == Waits::kForever;
  }
  // A warp may lose threads; a barrier of the block is for all of them.
  if (waiting == 0 || waiting + (waits == Waits::kForWarp ? gone : 0) < end - begin) return false;
  for (unsigned t = begin; t < end; ++t) {
    if (fibers[t]->waits == waits) fibers[t]->waits = Waits::kNo;
  }
  return true;
}

void resume(Fiber& fiber) {
  threadIdx = fiber.index;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.jump, 1);
  fiber.begun = true;
  setcontext(&fiber.context);
}

void run_block(const char* kernel) {
  const auto count = static_cast<unsigned>(fibers.size());
  for (unsigned t = 0; t < count; ++t) {
    Fiber& fiber = *fibers[t];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
    fiber.waits = Waits::kNo;
    fiber.begun = false;
    fiber.index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
  }
  for (;;) {
    bool moved = false, over = true;
    for (current = 0; current < count; ++current) {
      if (fibers[current]->waits != Waits::kNo) continue;
      moved = true;
      resume(*fibers[current]);
    }
    for (unsigned first = 0; first < count; first += 32)
      moved = release(first, first + 32 < count ? first + 32 : count, Waits::kForWarp) || moved;
    moved = release(0, count, Waits::kForBlock) || moved;
    for (const auto& fiber : fibers) over = over && fiber->waits == Waits::kForever;
    if (over) return;
    if (!moved) {
      std::fprintf(stderr, "%s: not all threads reach the same barrier\n", kernel);
      std::abort();
    }
  }
}

}  // namespace

void run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread) {
  const std::lock_guard lock(device);
  gridDim = grid;
  blockDim = block;
  body = &thread;
  const std::size_t count = std::size_t{block.x} * block.y * block.z;
  if (fibers.size() != count) fibers.clear();
  while (fibers.size() < count) fibers.push_back(std::make_unique<Fiber>());
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(kernel);
      }
    }
  }
}

void launch(const char* kernel, dim3 grid, dim3 block, std::function<void()> thread) {
  if (captured != nullptr)
    captured->push_back([=] { run(kernel, grid, block, thread); });
  else
    run(kernel, grid, block, thread);
}

void wait_for_block() { pause(Waits::kForBlock); }
void wait_for_warp() { pause(Waits::kForWarp); }
unsigned this_thread() { return current; }
std::uint64_t& mailbox(unsigned thread) { return fibers[thread]->mail; }
unsigned threads_of_block() { return static_cast<unsigned>(fibers.size()); }
void* dynamic_shared() { return shared_memory; }

void set_memory(std::size_t bytes) {
  const std::lock_guard lock(accounts);
  memory = bytes;
  in_use.most = in_use.held;
  in_use.refused = 0;
}
void close_device(bool closed) {
  const std::lock_guard lock(accounts);
  device_closed = closed;
}
Use use() {
  const std::lock_guard lock(accounts);
  return in_use;
}

}  // namespace cuda_on_cpu

using cuda_on_cpu::accounts, cuda_on_cpu::in_use;

cudaError_t cudaSetDevice(int) {
  const std::lock_guard lock(accounts);
  return cuda_on_cpu::device_closed ? cudaErrorDevicesUnavailable : cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(accounts);
  *total = cuda_on_cpu::memory;
  *free = *total - std::min(*total, in_use.held);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** allocated, std::size_t bytes) {
  const std::lock_guard lock(accounts);
  if (bytes > cuda_on_cpu::memory - std::min(cuda_on_cpu::memory, in_use.held)) {
    ++in_use.refused;
    return cudaErrorMemoryAllocation;
  }
  *allocated = std::malloc(bytes);
  std::memset(*allocated, 0xCD, bytes);
  cuda_on_cpu::sizes[*allocated] = bytes;
  in_use.held += bytes;
  in_use.most = std::max(in_use.most, in_use.held);
  return cudaSuccess;
}
cudaError_t cudaFree(void* allocated) {
  const std::lock_guard lock(accounts);
  const auto found = cuda_on_cpu::sizes.find(allocated);
  if (found != cuda_on_cpu::sizes.end()) {
    in_use.held -= found->second;
    cuda_on_cpu::sizes.erase(found);
  }
  std::free(allocated);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** allocated, std::size_t bytes) {
  const std::lock_guard lock(accounts);
  *allocated = std::malloc(bytes);
  ++in_use.others;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* allocated) {
  const std::lock_guard lock(accounts);
  std::free(allocated);
  --in_use.others;
  return cudaSuccess;
}
struct CUstream_st {};
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, int) {
  const std::lock_guard lock(accounts);
  *stream = new CUstream_st;
  ++in_use.others;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(accounts);
  delete stream;
  --in_use.others;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, int) {
  cuda_on_cpu::captured = new std::vector<std::function<void()>>;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = new CapturedGraph{std::move(*cuda_on_cpu::captured)};
  delete cuda_on_cpu::captured;
  cuda_on_cpu::captured = nullptr;
  return cudaSuccess;
}

namespace cpfm {

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.toolkit = "none";
  facts.devices.push_back({0, "kernels on the CPU", cuda_on_cpu::kMemory, 0, 0});
  return facts;
}

}  // namespace cpfm
