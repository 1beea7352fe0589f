#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "base/text.hpp"
#include "cuda/check.cuh"
#include "cuda/memory.hpp"

namespace cpfm {
namespace {

struct Ledger {
  std::mutex mutex;
  std::unordered_map<void*, std::size_t> sizes;
  std::size_t held = 0, peak = 0;
};
Ledger& ledger() {
  static Ledger* const only = new Ledger;  // outlives every array
  return *only;
}

[[noreturn]] void refuse(std::string problem) {
  // Not through check_cuda(), which may have called this.
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess)
    problem += ", and " + human_bytes(static_cast<double>(free)) + " of " + human_bytes(static_cast<double>(total)) +
               " are free (cpfm holds " + human_bytes(static_cast<double>(device_held())) + ")";
  else
    cudaGetLastError();
  throw OutOfDeviceMemory("GPU memory", problem, "fewer samples (--subsample), a smaller --rank, or --device cpu");
}
[[noreturn]] void refuse(const char* what, double bytes) { refuse(human_bytes(bytes) + " are needed for " + what); }

}  // namespace

void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) refuse(std::string("too little is left for ") + what);
  if (error == cudaErrorDevicesUnavailable)
    throw Error("--device", "the GPU takes no work: another program has it to itself, or it is closed to programs",
                "wait for it, choose another by cuda:N, or use --device cpu");
  throw std::runtime_error(std::string("CUDA, ") + what + ": " + cudaGetErrorString(error));
}

UseDevice::UseDevice(Device device) : chosen_(device.cuda) {
  check_cuda(cudaGetDevice(&before_), "the present device");
  check_cuda(cudaSetDevice(chosen_), "choosing a device");
}
UseDevice::~UseDevice() {
  // A device that others keep to themselves cannot be gone back to, which must not be taken for a kernel's failure.
  if (before_ != chosen_ && cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();
}

void* device_allocate(std::size_t bytes, const char* what) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    refuse(what, static_cast<double>(bytes));
  }
  check_cuda(error, what);
  Ledger& books = ledger();
  const std::lock_guard lock(books.mutex);
  books.sizes[memory] = bytes;
  books.held += bytes;
  books.peak = std::max(books.peak, books.held);
  return memory;
}

void device_free(void* memory) noexcept {
  if (memory == nullptr) return;
  {
    Ledger& books = ledger();
    const std::lock_guard lock(books.mutex);
    const auto found = books.sizes.find(memory);
    if (found != books.sizes.end()) {
      books.held -= found->second;
      books.sizes.erase(found);
    }
  }
  cudaFree(memory);
}

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
}
void copy_from_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying from the device");
}
void fill_device(void* to, int byte, std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMemset(to, byte, bytes), "clearing memory");
}

DeviceMemory device_memory() {
  DeviceMemory memory;
  check_cuda(cudaMemGetInfo(&memory.free, &memory.total), "asking for free memory");
  return memory;
}

void require_device_memory(double bytes, const char* what) {
  if (bytes > static_cast<double>(device_memory().free)) refuse(what, bytes);
}

std::size_t device_peak() {
  const std::lock_guard lock(ledger().mutex);
  return ledger().peak;
}
std::size_t device_held() {
  const std::lock_guard lock(ledger().mutex);
  return ledger().held;
}

}  // namespace cpfm
