// The header is read event by event, not as a JSON tree: a tree keeps the last of two equal keys without a word and
// grows with whatever nesting a file holds, while here anything that the format has no place for stops the parser where
// it stands.
#include "model/tensor_header.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::json;

class HeaderEvents {
 public:
  HeaderEvents(TensorHeader& header, const std::string& file) : header_(header), file_(file) {}

  bool null() { unexpected("null"); }
  bool boolean(bool value) { unexpected(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { unexpected(std::to_string(value)); }  // only called below zero
  bool number_float(double, const std::string& text) { unexpected(printable(text)); }
  bool binary(Json::binary_t&) { unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (state_ == State::kShape) {
      tensor_->shape.push_back(value);
    } else if (state_ == State::kOffsets && offsets_ < 2) {
      (offsets_++ == 0 ? tensor_->begin : tensor_->end) = value;
    } else if (state_ == State::kOffsets) {
      fail("data_offsets holds more than two numbers");
    } else {
      unexpected(std::to_string(value));
    }
    return true;
  }

  bool string(std::string& value) {
    if (state_ == State::kMetadata) {
      header_.metadata.emplace(key_, std::move(value));
    } else if (state_ == State::kTensor && field_ == kDtype) {
      tensor_->dtype = std::move(value);
    } else {
      unexpected(fmt::format("the text '{}'", printable(value)));
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop && name_ == kMetadataName) {
      state_ = State::kMetadata;
    } else if (state_ == State::kTop) {
      tensor_ = &header_.tensors[name_];
      seen_ = 0;
      state_ = State::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() {
    if (state_ == State::kTensor && seen_ != (kDtype | kShape | kOffsets)) {
      fail(fmt::format("has no {}", !(seen_ & kDtype) ? "dtype" : !(seen_ & kShape) ? "shape" : "data_offsets"));
    }
    state_ = state_ == State::kTop ? State::kDone : State::kTop;
    return true;
  }

  bool start_array(std::size_t) {
    if (state_ == State::kTensor && field_ == kShape) {
      state_ = State::kShape;
    } else if (state_ == State::kTensor && field_ == kOffsets) {
      offsets_ = 0;
      state_ = State::kOffsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() {
    if (state_ == State::kOffsets && offsets_ != 2)
      fail(fmt::format("data_offsets holds {} numbers, not two", offsets_));
    state_ = State::kTensor;
    return true;
  }

  bool key(std::string& key) {
    if (state_ == State::kTop) {
      const bool is_metadata = key == kMetadataName;
      const bool again = is_metadata ? std::exchange(metadata_seen_, true) : header_.tensors.contains(key);
      name_ = std::move(key);
      if (again) fail("stands in the header twice");
    } else if (state_ == State::kMetadata) {
      key_ = std::move(key);
      if (header_.metadata.contains(key_)) fail(fmt::format("the key '{}' stands there twice", printable(key_)));
    } else {
      field_ = key == "dtype" ? kDtype : key == "shape" ? kShape : key == "data_offsets" ? kOffsets : kNoField;
      if (field_ == kNoField) {
        fail(fmt::format("has the unknown field '{}'", printable(key)), "the fields are dtype, shape and data_offsets");
      }
      if (seen_ & field_) fail(fmt::format("has the field '{}' twice", key));
      seen_ |= field_;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    throw Error(file_, fmt::format("the header is not valid JSON, from its byte {} on", position),
                "it may be damaged, or not a safetensors file");
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kDone };
  enum Field : unsigned { kNoField = 0, kDtype = 1, kShape = 2, kOffsets = 4 };

  [[noreturn]] void fail(std::string problem, std::string remedy = {}) const {
    throw Error(name_ == kMetadataName ? file_ + ", metadata" : tensor_place(file_, name_), std::move(problem),
                std::move(remedy));
  }

  // A value of a kind that has no place where it stands.
  [[noreturn]] void unexpected(const std::string& found) const {
    switch (state_) {
      case State::kTop:
        fail(fmt::format("is {}, not an object", found));
      case State::kMetadata:
        fail(fmt::format("'{}' is {}", printable(key_), found), "all values are texts");
      case State::kTensor:
        if (field_ == kDtype) fail(fmt::format("the dtype is {}", found), "it is one of " + known_dtypes());
        if (field_ == kShape) fail(fmt::format("the shape is {}", found), "it is a list of sizes");
        fail(fmt::format("data_offsets is {}", found), "it is a list of two offsets");
      case State::kShape:
        fail(fmt::format("the shape holds {}", found), "sizes are whole numbers from 0 to 18446744073709551615");
      case State::kOffsets:
        fail(fmt::format("data_offsets holds {}", found), "offsets are whole numbers from 0 to 18446744073709551615");
      case State::kStart:
      case State::kDone:
        break;
    }
    throw Error(file_, fmt::format("the header is {}, not a JSON object", found));
  }

  TensorHeader& header_;
  const std::string& file_;
  State state_ = State::kStart;
  std::string name_, key_;          // of the entry, and of the metadata, being read
  HeaderTensor* tensor_ = nullptr;  // the entry being read
  Field field_ = kNoField;
  unsigned seen_ = 0;  // fields of this entry so far
  int offsets_ = 0;
  bool metadata_seen_ = false;
};

// Looks for {"__metadata__": {"cpfm.format_version": "…"}} and stops there.
class VersionEvents {
 public:
  std::optional<std::string> found;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t) { return true; }
  bool number_unsigned(std::uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool string(std::string& value) {
    if (depth_ != 2 || !in_metadata_ || !at_version_) return true;
    found = std::move(value);
    return false;
  }
  bool key(std::string& key) {
    if (depth_ == 1) in_metadata_ = key == kMetadataName;
    at_version_ = depth_ == 2 && key == kFormatVersionKey;
    return true;
  }
  bool start_object(std::size_t) { return start(); }
  bool start_array(std::size_t) { return start(); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  bool start() {
    at_version_ = false;
    ++depth_;
    return true;
  }
  bool end() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
  bool in_metadata_ = false, at_version_ = false;
};

}  // namespace

std::optional<std::string> find_format_version(std::string_view json) {
  VersionEvents events;
  if (json.starts_with('{')) Json::sax_parse(json.begin(), json.end(), &events);
  return std::move(events.found);
}

TensorHeader parse_tensor_header(std::string_view json, const std::string& file) {
  // The JSON library skips a byte order mark and takes a zero byte for the end of the text; the format allows neither.
  if (!json.starts_with('{')) {
    throw Error(file, "the header is not a JSON object", "it may be damaged, or not a safetensors file");
  }
  if (const std::size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error(file, fmt::format("the header is not valid JSON: its byte {} is zero", zero));
  }
  TensorHeader header;
  HeaderEvents events(header, file);
  Json::sax_parse(json.begin(), json.end(), &events);
  return header;
}

}  // namespace cpfm
