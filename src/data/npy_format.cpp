#include "data/npy_format.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace cpfm {
namespace {

// A cursor over {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictParser {
 public:
  DictParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    NpyHeader header;
    bool have_descr = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[')
          throw Error(file_, "holds records of several fields", "save each field as an array of its own");
        set_type(header, quoted());
        have_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        have_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        have_shape = true;
      } else {
        fail("has an unknown key '" + printable(key) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!have_descr || !have_order || !have_shape) fail("lacks 'descr', 'fortran_order' or 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_, "its npy header " + what, "the file is damaged: save it again with numpy.save");
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("has no '{}' at position {}", c, at_));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("has no quoted text at position {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("has an open quote");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("has no True or False for fortran_order");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::uint64_t value = 0;
      const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (problem != std::errc{}) fail("has a shape that is not whole numbers");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (dims.size() == 32) fail("has more than 32 dimensions");
      dims.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  void set_type(NpyHeader& header, const std::string& descr) const {
    const auto refuse = [&] {
      return Error(file_, fmt::format("holds values of type '{}'", printable(descr)),
                   "booleans, whole numbers and floats of up to 64 bits are read; convert with astype('float32')");
    };
    if (descr.ends_with('O')) {
      throw Error(file_, fmt::format("holds Python objects (type '{}')", printable(descr)),
                  "reading them would mean executing the file; convert with astype('float32') or astype('U')");
    }
    if (descr.size() < 3) throw refuse();
    const char order = descr[0];
    if (order != '<' && order != '>' && order != '|' && order != '=') throw refuse();
    header.type.order = order == '>' ? std::endian::big : order == '=' ? std::endian::native : std::endian::little;
    std::size_t width = 0;
    const auto [end, problem] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), width);
    if (problem != std::errc{} || end != descr.data() + descr.size()) throw refuse();
    if (descr[1] == 'U' || descr[1] == 'S') {
      header.is_text = true;
      header.text_is_utf32 = descr[1] == 'U';
      header.text_bytes = checked_mul(width, header.text_is_utf32 ? 4 : 1, file_);
      return;
    }
    struct Known {
      char letter;
      std::size_t width;
      NumberKind kind;
    };
    static constexpr std::array<Known, 12> kKnown{{{'b', 1, NumberKind::kBool},
                                                   {'i', 1, NumberKind::kInt8},
                                                   {'u', 1, NumberKind::kUInt8},
                                                   {'i', 2, NumberKind::kInt16},
                                                   {'u', 2, NumberKind::kUInt16},
                                                   {'i', 4, NumberKind::kInt32},
                                                   {'u', 4, NumberKind::kUInt32},
                                                   {'i', 8, NumberKind::kInt64},
                                                   {'u', 8, NumberKind::kUInt64},
                                                   {'f', 2, NumberKind::kFloat16},
                                                   {'f', 4, NumberKind::kFloat32},
                                                   {'f', 8, NumberKind::kFloat64}}};
    for (const Known& known : kKnown) {
      if (known.letter == descr[1] && known.width == width) {
        header.type.kind = known.kind;
        return;
      }
    }
    throw refuse();
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader read_npy_header(Reader& reader) {
  std::array<std::byte, 8> start;
  reader.read_exact(start, "npy header");
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), kNpyMagic.size());
  if (magic != kNpyMagic) throw Error(reader.name(), "is not an npy file: it does not begin with \\x93NUMPY");
  const int major = std::to_integer<int>(start[6]);
  if (major < 1 || major > 3) {
    throw Error(reader.name(), fmt::format("is npy version {}", major), "versions 1, 2 and 3 are read");
  }
  std::array<std::byte, 4> length_bytes{};
  reader.read_exact(std::span(length_bytes).first(major == 1 ? 2 : 4), "npy header");
  std::size_t length = 0;
  for (std::size_t i = 4; i-- > 0;) length = length << 8 | std::to_integer<std::size_t>(length_bytes[i]);
  constexpr std::size_t kLongest = 1 << 16;
  if (length > kLongest) {
    throw Error(reader.name(), fmt::format("its npy header claims {} bytes", length), "the file is damaged");
  }
  std::string text(length, '\0');
  reader.read_exact(std::as_writable_bytes(std::span(text)), "npy header");
  return DictParser(text, reader.name()).parse();
}

}  // namespace cpfm
