// Two kinds of failure, never mixed: Error is the caller's mistake (a file, an option, an argument) and says what was
// wrong, where, and what would work; InternalError is our own bug and can never be reached from a file or a command
// line.
#pragma once

#include <stdexcept>
#include <string>

namespace cpfm {

class Error : public std::runtime_error {
 public:
  // `where` names the file, row, option or field; `problem` what was found there; `remedy` (may be empty) what is
  // allowed or would work. what() reads "where: problem; remedy".
  Error(std::string where, std::string problem, std::string remedy = {});

  const std::string& where() const { return where_; }
  const std::string& problem() const { return problem_; }
  const std::string& remedy() const { return remedy_; }

 private:
  std::string where_, problem_, remedy_;
};

// Thrown at the next safe point after an interrupt was asked for (see interrupt.hpp); not an error of anyone's.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
  // `saved` tells where the state is and how to go on.
  explicit Interrupted(const std::string& saved) : std::runtime_error("interrupted; " + saved) {}
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file, int line);
}

}  // namespace cpfm

// An invariant of our own code. Always checked: it is never in an inner loop.
#define CPFM_ASSERT(condition, why) \
  ((condition) ? void(0) : ::cpfm::detail::assertion_failed(#condition, why, __FILE__, __LINE__))
