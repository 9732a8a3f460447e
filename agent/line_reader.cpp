#include "agent/line_reader.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace stepscope::agent {

bool LineReader::fill() {
  constexpr size_t kPiece = size_t{1} << 16;
  buffer_.resize(kPiece);
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);

  buffer_.resize(got > 0 ? static_cast<size_t>(got) : 0);
  place_ = 0;
  return got > 0;
}

std::optional<std::string> LineReader::next() {
  std::string line;
  bool is_any = false;

  while (place_ < buffer_.size() || fill()) {
    is_any = true;
    size_t const end = std::min(buffer_.find('\n', place_), buffer_.size());
    size_t const room = longest_ + 1 - line.size();
    line.append(buffer_, place_, std::min(end - place_, room));

    bool const is_whole = end < buffer_.size();
    place_ = is_whole ? end + 1 : end;
    if (is_whole) break;
  }

  if (!is_any) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace stepscope::agent
