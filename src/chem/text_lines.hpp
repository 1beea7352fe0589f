// A text line by line, whatever its transport.
#pragma once

#include <cstdint>
#include <string>

#include "data/byte_source.hpp"

namespace cpfm {

class Lines {
 public:
  explicit Lines(Reader& reader);
  // The next line without its end; false when there is none.
  bool next(std::string& line);
  // Of the last line, from 1.
  std::uint64_t number() const { return number_; }

 private:
  Reader& reader_;
  std::uint64_t number_ = 0;
};

}  // namespace cpfm
