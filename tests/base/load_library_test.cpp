#include "base/load_library.hpp"

#include <gtest/gtest.h>

#include "cpfm/error.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

TEST(LoadLibrary, FindsASymbolOfALibraryOfTheSystem) { EXPECT_NE(load_library("libm.so.6", "cos"), nullptr); }

TEST(LoadLibrary, SaysWhatCannotBeLoaded) {
  try {
    load_library("libcpfm_nowhere.so", "anything");
    FAIL() << "loaded what is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "libcpfm_nowhere.so");
    EXPECT_CONTAINS(error.problem(), "cannot be loaded");
  }
}

TEST(LoadLibrary, RefusesALibraryWithoutTheSymbol) {
  try {
    load_library("libm.so.6", "cpfm_nothing");
    FAIL() << "found what is not there";
  } catch (const Error& error) {
    EXPECT_CONTAINS(error.problem(), "not the library of this cpfm");
  }
}

}  // namespace
}  // namespace cpfm
