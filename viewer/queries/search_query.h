// What a person searches for: a part of a name, and what narrows it down. `forward kind:kernel
// >100us rank:3`, or a whole name in quotation marks.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "trace/model/kinds.h"

namespace stepscope::viewer {

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

/// Never fails: words that are no filter are part of the name. Filters: `kind:X`, `rank:N`, `>T`,
/// `>=T`, `<T`, `<=T` with a time such as 10us.
Query parse_query(std::string_view text);
/// The text that finds exactly this name, with durations from `least_ns` to `most_ns`.
std::string query_for(std::string_view printable_name);
std::string query_for(std::string_view printable_name, int64_t least_ns, int64_t most_ns);

}  // namespace stepscope::viewer
