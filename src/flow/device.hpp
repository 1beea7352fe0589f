// Where tensors live and in which precision, by the names users give.
#pragma once

#include <torch/torch.h>

#include <string>

namespace cpfm {

// auto, cpu, cuda, cuda:N. Throws cpfm::Error where there is no such device, and says what there is.
torch::Device find_device(const std::string& name);
// auto, float32, bfloat16.
torch::ScalarType find_precision(const std::string& name, const torch::Device& device);
std::string device_text(const torch::Device& device);

// Runs `work`; what libtorch says when memory is short becomes cpfm::Error(where, …, remedy).
template <class Work>
auto with_memory_errors(const std::string& where, const std::string& remedy, const Work& work) -> decltype(work());
bool is_memory_error(const c10::Error& error);
[[noreturn]] void rethrow_memory_error(const c10::Error& error, const std::string& where, const std::string& remedy);

template <class Work>
auto with_memory_errors(const std::string& where, const std::string& remedy, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const c10::Error& error) {
    rethrow_memory_error(error, where, remedy);
  }
}

}  // namespace cpfm
