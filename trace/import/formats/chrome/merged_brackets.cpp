// Ranges whose begin and end are two events: once the whole file is read, each end finds its begin.
#include <algorithm>
#include <map>
#include <set>

#include "trace/import/formats/chrome/merged_events.h"

namespace stepscope::import {
namespace {

using model::EventKind;
using model::StringId;

}  // namespace

void MergedEvents::close_brackets() {
  for (auto& [track, brackets] : brackets_) {
    std::stable_sort(brackets.begin(), brackets.end(),
                     [](Bracket const& a, Bracket const& b) { return a.time_ns < b.time_ns; });
    if (tracks_[track].key.kind == TrackKey::Kind::kAsync) {
      close_async(track, brackets);
    } else {
      close_nested(track, std::move(brackets));
    }
  }
}

/// A range, or the device work that its begin tells of, on its stream.
void MergedEvents::add_closed(size_t track, Bracket const& begin, int64_t dur_ns) {
  MergedTrack& to = tracks_[begin.op ? ops_[*begin.op].track : track];
  if (to.batches.empty()) to.batches.emplace_back();

  if (begin.op) {
    DeviceOp const& op = ops_[*begin.op];
    op.add_to(to.batches.back(), begin.time_ns, dur_ns, begin.name);
    to.copies += op.kind == EventKind::kMemcpy ? 1 : 0;
    to.collectives += op.kind == EventKind::kCollective ? 1 : 0;
  } else {
    to.batches.back().add_range(begin.time_ns, dur_ns, begin.name);
    ++to.undecided;
  }

  ++to.events;
}

/// B and E: an end closes the last open begin of its name on its thread. An end without a name
/// closes the last one that is open. So do all ends of a thread where no end has the name of a
/// begin: there the names mean something else.
void MergedEvents::close_nested(size_t track, std::vector<Bracket> brackets) {
  StringId const nameless = builder_.intern("");
  std::set<uint32_t> begun;
  for (Bracket const& bracket : brackets)
    if (bracket.phase == 'B') begun.insert(bracket.name.value);
  bool const have_names =
      std::any_of(brackets.begin(), brackets.end(), [&](Bracket const& bracket) {
        return bracket.phase == 'E' && bracket.name != nameless &&
               begun.contains(bracket.name.value);
      });

  std::vector<size_t> open;  // places; closed ones stay until they are the last
  std::map<uint32_t, std::vector<size_t>> open_of_name;  // the same, by name
  std::vector<bool> is_closed(brackets.size(), false);
  auto const take_last = [&](std::vector<size_t>& places) -> std::optional<size_t> {
    while (!places.empty() && is_closed[places.back()]) places.pop_back();
    if (places.empty()) return std::nullopt;
    return places.back();
  };
  for (size_t i = 0; i < brackets.size(); ++i) {
    Bracket const& bracket = brackets[i];
    if (bracket.phase == 'B') {
      open.push_back(i);
      open_of_name[bracket.name.value].push_back(i);
      continue;
    }
    bool const is_by_name = have_names && bracket.name != nameless;
    auto const begin = take_last(is_by_name ? open_of_name[bracket.name.value] : open);
    if (!begin) {
      ++unopened_;
      continue;
    }
    is_closed[*begin] = true;
    add_closed(track, brackets[*begin], bracket.time_ns - brackets[*begin].time_ns);
  }

  for (size_t const place : open) {
    if (is_closed[place]) continue;
    ++unclosed_;
    add_closed(track, brackets[place], std::max<int64_t>(0, last_ns_ - brackets[place].time_ns));
  }
}

/// b and e: an end closes the last begin of its id and name.
void MergedEvents::close_async(size_t track, std::vector<Bracket> const& brackets) {
  std::map<std::pair<std::string, uint32_t>, std::vector<size_t>> open;
  for (size_t i = 0; i < brackets.size(); ++i) {
    Bracket const& bracket = brackets[i];
    auto& begins = open[{bracket.id, bracket.name.value}];
    if (bracket.phase == 'b') {
      begins.push_back(i);
    } else if (begins.empty()) {
      ++unopened_;
    } else {
      add_closed(track, brackets[begins.back()], bracket.time_ns - brackets[begins.back()].time_ns);
      begins.pop_back();
    }
  }

  for (auto const& [key, begins] : open) {
    unclosed_ += begins.size();
    for (size_t const begin : begins)
      add_closed(track, brackets[begin], std::max<int64_t>(0, last_ns_ - brackets[begin].time_ns));
  }
}

}  // namespace stepscope::import
