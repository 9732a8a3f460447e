#include "trace/model/build/column_spans.h"

#include <algorithm>

#include "trace/model/trace.h"

namespace stepscope::model {

bool are_in_order(std::span<int64_t const> start, std::span<int64_t const> dur) {
  if (start.empty()) return true;
  // Of an impossible start the difference may wrap; where rows are sorted the first and the last
  // tell that there is none.
  auto const is_impossible = [&](size_t i) {
    return unsigned{static_cast<uint64_t>(dur[i]) >
                    static_cast<uint64_t>(kMaxTime) - static_cast<uint64_t>(start[i])};
  };
  if (start.front() < -kMaxTime || start.back() > kMaxTime || is_impossible(0) != 0) return false;
  // Without a branch a row; chunks, so that a disorder near the begin ends it.
  constexpr size_t kChunk = 1024;
  for (size_t first = 1; first < start.size(); first += kChunk) {
    size_t const last = std::min(first + kChunk, start.size());
    unsigned wrong = 0;
    for (size_t i = first; i < last; ++i)
      wrong |= is_impossible(i) | unsigned{start[i] < start[i - 1]} |
               (unsigned{start[i] == start[i - 1]} & unsigned{dur[i] > dur[i - 1]});
    if (wrong != 0) return false;
  }
  return true;
}

}  // namespace stepscope::model
