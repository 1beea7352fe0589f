// Both hooks ask the allocator for the size, so that what is added on allocation is what is taken away on release.
// realloc is an allocation and a release: while it copies, both blocks count.
#include "fuzz/memory_limit.hpp"

#include <sanitizer/allocator_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace cpfm::fuzz {
namespace {

constexpr long long kAllowance = 64'000'000;

// Hooks are plain functions, so this is global. libFuzzer has threads of its own.
std::atomic<bool> counting = false;
std::atomic<long long> live = 0, bound = 0;

void on_malloc(const volatile void* block, std::size_t) {
  if (!counting) return;
  const auto size = static_cast<long long>(__sanitizer_get_allocated_size(block));
  if (live.fetch_add(size) + size <= bound) return;
  counting = false;
  std::fprintf(
      stderr, "==memory limit== one input of %lld bytes makes the parser hold %lld bytes, %lld of them at once here:\n",
      bound.load() - kAllowance, live.load(), size);
  __sanitizer_print_stack_trace();
  std::abort();
}

void on_free(const volatile void* block) {
  // A block that is not owned is a bug that the sanitizer reports better.
  if (counting && block != nullptr && __sanitizer_get_ownership(block) != 0) {
    live -= static_cast<long long>(__sanitizer_get_allocated_size(block));
  }
}

}  // namespace

MemoryLimit::MemoryLimit(std::size_t input_size) {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
  if (!installed) {
    std::fputs("==memory limit== the sanitizer takes no more hooks\n", stderr);
    std::abort();
  }
  live = 0;
  bound = static_cast<long long>(input_size) + kAllowance;
  counting = true;
}

MemoryLimit::~MemoryLimit() { counting = false; }

}  // namespace cpfm::fuzz
