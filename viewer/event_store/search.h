// A search: what it asks for, what it found, and how a long one hands over what it has found so
// far.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/model/kinds.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

inline constexpr uint32_t kMaxSearchHits = 100'000;  ///< kept of a search; the rest is counted

/// What a person searches for, as parse_query() (queries/search_query.h) reads it.
struct Query {
  std::string name;                 ///< lower case part of the name, or the whole printable name
  bool whole = false;               ///< `name` is the whole
  std::optional<std::string> kind;  ///< a part of KindInfo::name, lower case
  std::optional<int32_t> rank;      ///< TraceInfo::rank
  int64_t least_ns = 0;             ///< duration
  int64_t most_ns = std::numeric_limits<int64_t>::max();

  /// Whether it asks for anything.
  [[nodiscard]] bool is_empty() const {
    return name.empty() && !whole && !kind && !rank && least_ns == 0 &&
           most_ns == std::numeric_limits<int64_t>::max();
  }
  [[nodiscard]] bool matches_name(std::string_view raw) const;
  [[nodiscard]] bool matches_kind(model::EventKind of) const;
  [[nodiscard]] bool matches_duration(int64_t ns) const { return least_ns <= ns && ns <= most_ns; }
};

/// Names and kinds are compared in lower case.
std::string lower_case(std::string_view text);

/// Hits in time order, at most kMaxSearchHits of `total`.
struct SearchHits {
  std::vector<Selection> hits;
  uint64_t total = 0;
};

/// Hands the hits of a long search from the thread that searches to the thread of the frames.
class SearchFeed {
 public:
  void give(SearchHits hits) {
    std::lock_guard const lock(mutex_);
    hits_ = std::move(hits);
  }
  /// What was given since the last call.
  [[nodiscard]] std::optional<SearchHits> take() {
    std::lock_guard const lock(mutex_);
    return std::exchange(hits_, std::nullopt);
  }
  /// Whether it is worth while to give more.
  [[nodiscard]] bool is_taken() {
    std::lock_guard const lock(mutex_);
    return !hits_;
  }

 private:
  std::mutex mutex_;
  std::optional<SearchHits> hits_;  ///< under the mutex
};

}  // namespace stepscope::viewer
