// A JSON file, written from front to back through a buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/files/partial_file.h"

namespace stepscope::exporting {

/// Appends `text` as a JSON string with its quotes: every control character escaped, bytes that are
/// no UTF-8 replaced by U+FFFD.
void append_json_string(std::string_view text, std::string& to);
/// Appends ns as µs with three decimals, exactly.
void append_microseconds(int64_t ns, std::string& to);
/// Appends the shortest number that reads back the same; null for what JSON cannot say.
void append_number(double value, std::string& to);
void append_number(int64_t value, std::string& to);
void append_number(uint64_t value, std::string& to);

/// The members of the object that is being written: `{"a":1,"b":"x"}`.
class JsonMembers {
 public:
  explicit JsonMembers(std::string& to) : to_(to) { to_ += '{'; }
  void text(std::string_view key, std::string_view value) {
    name(key);
    append_json_string(value, to_);
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    name(key);
    append_number(value, to_);
  }
  /// A value that is JSON already.
  void raw(std::string_view key, std::string_view json) {
    name(key);
    to_ += json;
  }
  /// Begins a member whose value the caller appends. Keys are ours: they need no escapes.
  void name(std::string_view key) {
    to_ += is_first_ ? "\"" : ",\"";
    is_first_ = false;
    to_ += key;
    to_ += "\":";
  }
  void end() { to_ += '}'; }

 private:
  std::string& to_;
  bool is_first_ = true;
};

/// After a failed write nothing more is written.
class JsonFile {
 public:
  explicit JsonFile(base::PartialFile file) : file_(std::move(file)) {}
  /// What is appended here is written by and by.
  std::string& out() { return out_; }
  void write_if_full() {
    if (out_.size() >= kBufferBytes) flush();
  }
  [[nodiscard]] base::Expected<void> const& status() const { return status_; }
  /// All that was appended is in the file, whose finish() is left to the caller.
  base::Expected<base::PartialFile> close() && {
    flush();
    if (!status_) return base::fail_with(status_);
    return std::move(file_);
  }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20U;
  void flush() {
    if (status_) status_ = file_.write(out_);
    out_.clear();
  }

  base::PartialFile file_;
  std::string out_;
  base::Expected<void> status_;
};

}  // namespace stepscope::exporting
