#include "reports/json/json_document.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <tbb/parallel_for.h>

namespace stepscope::reports {
namespace {

/// Rows that are written together, by one thread.
constexpr size_t kRowsAtOnce = 64;
/// Number of texts of such rows that are kept next to the document.
constexpr size_t kTextsAtOnce = 64;

/// Appends the value, indented by `depth` spaces. In JSON a newline is never within a string.
void append_value(JsonLines::Json const& value, size_t depth, std::string& to) {
  std::string const lines = value.dump(1, ' ', false, JsonLines::Json::error_handler_t::replace);
  for (size_t begin = 0; begin < lines.size();) {
    size_t const newline = lines.find('\n', begin);
    size_t const end = newline == std::string::npos ? lines.size() : newline + 1;
    to.append(lines, begin, end - begin);
    if (newline != std::string::npos) to.append(depth, ' ');
    begin = end;
  }
}

}  // namespace

void JsonLines::key(std::string_view key) {
  begin_value();
  text_ += '"';
  text_ += key;
  text_ += "\": ";
  has_key_ = true;
}

void JsonLines::value(std::optional<int64_t> const& number) {
  if (number) return value(*number);
  begin_value();
  text_ += "null";
}

void JsonLines::value(Json const& value) {
  begin_value();
  append_value(value, depth_, text_);
}

/// Behind a key on its line, else on a line of its own.
void JsonLines::begin_value() {
  if (std::exchange(has_key_, false)) return;
  text_ += is_first_ ? "\n" : ",\n";
  text_.append(depth_, ' ');
  is_first_ = false;
}

void JsonLines::begin(char bracket) {
  begin_value();
  text_ += bracket;
  ++depth_;
  is_first_ = true;
}

void JsonLines::end(char bracket) {
  --depth_;
  if (!is_first_) {
    text_ += '\n';
    text_.append(depth_, ' ');
  }
  text_ += bracket;
  is_first_ = false;
}

void JsonDocument::begin_member(std::string_view key) {
  text_ += text_.size() == 1 ? "\n \"" : ",\n \"";
  text_ += key;
  text_ += "\": ";
}

void JsonDocument::put(std::string_view key, Json const& value) {
  begin_member(key);
  append_value(value, 1, text_);
}

void JsonDocument::put_rows(std::string_view key, size_t count,
                            std::function<void(size_t, JsonLines&)> const& write) {
  begin_member(key);
  if (count == 0) {
    text_ += "[]";
    return;
  }

  text_ += '[';
  constexpr size_t kWave = kRowsAtOnce * kTextsAtOnce;
  for (size_t first = 0; first < count; first += kWave) {
    size_t const rows = std::min(kWave, count - first);
    std::vector<std::string> texts((rows + kRowsAtOnce - 1) / kRowsAtOnce);

    tbb::parallel_for(size_t{0}, texts.size(), [&](size_t i) {
      size_t const begin = first + i * kRowsAtOnce,
                   end = std::min(begin + kRowsAtOnce, first + rows);
      JsonLines lines(texts[i], 2);
      for (size_t row = begin; row < end; ++row) write(row, lines);
    });
    // Later rows will be about as long. Growing as a string does would hold the document three
    // times.
    size_t bytes = 0;
    for (std::string const& text : texts) bytes += text.size() + 1;
    if (first == 0) text_.reserve(text_.size() + (bytes / rows + 1) * count);

    for (std::string const& text : texts) {
      if (text_.back() != '[') text_ += ',';
      text_ += text;
    }
  }

  text_ += "\n ]";
}

std::string JsonDocument::finish() && {
  text_ += text_.size() == 1 ? "}\n" : "\n}\n";
  return std::move(text_);
}

}  // namespace stepscope::reports
