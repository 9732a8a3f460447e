// Intervals of every op of a trace, made and read again at once: written field by field into their
// place. A compiler would put a whole one together elsewhere, in two halves, and copy it in one
// piece. The processor waits for that copy until both halves have left its store buffer, which
// takes longer than most questions about an op.
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
