#include "base/load_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

// Beside the program, where the build and the installation put it (a run path would not do: a sanitizer's dlopen
// ignores it); else wherever the system looks.
std::string find_library(const char* file) {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (program.empty()) return file;
  const std::filesystem::path above = program.parent_path() / "..";
  for (const std::filesystem::path& folder : {above / "lib", above / CPFM_LIBDIR}) {
    if (std::filesystem::exists(folder / file, ignored)) return (folder / file).string();
  }
  return file;
}

}  // namespace

void* load_library(const char* file, const char* symbol) {
  void* library = dlopen(find_library(file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(file, fmt::format("cannot be loaded: {}", dlerror()), "install cpfm and what it stands on again");
  void* address = dlsym(library, symbol);
  if (address == nullptr) throw Error(file, "is not the library of this cpfm", "install cpfm again");
  return address;
}

}  // namespace cpfm
