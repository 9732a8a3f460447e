// Intervals that are made and read again at once, of every op of a trace: written field by field
// into their place. As a whole they would be put together elsewhere, in two halves, and copied in
// one piece, for which a processor waits until both halves have left its store buffer: longer than
// most of what is asked of an op takes.
#pragma once

#include <vector>

#include "trace/model/intervals.h"

namespace stepscope::analyzer {

inline void add_interval(std::vector<model::Interval>& to, int64_t begin, int64_t end) {
  model::Interval& added = to.emplace_back();
  added.begin = begin;
  added.end = end;
}
inline void add_interval(std::vector<model::Interval>& to, model::Interval when) {
  add_interval(to, when.begin, when.end);
}

}  // namespace stepscope::analyzer
