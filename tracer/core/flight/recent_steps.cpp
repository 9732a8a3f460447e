#include "tracer/core/flight/recent_steps.h"

#include <algorithm>
#include <vector>

namespace stepscope::tracer {
namespace {

/// More are not remembered: of a program whose steps take no time.
constexpr size_t kMostSteps = 1 << 18, kMostTracks = 1024;
/// The lengths that a step is judged by.
constexpr size_t kJudged = 33;
/// Rows of one track may be seen so much later than those of another that began with them.
constexpr int64_t kLatestNs = 2'000'000'000;

int64_t median(std::deque<int64_t> const& lengths) {
  std::vector<int64_t> sorted(lengths.begin(), lengths.end());
  auto const middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

int64_t RecentSteps::add(SeenStep const& step) {
  if (tracks_.size() == kMostTracks && !tracks_.contains(step.track.value)) tracks_.clear();
  OfTrack& track = tracks_[step.track.value];
  int64_t const usual = track.usual_ns;
  track.lengths.push_back(step.dur_ns);
  if (track.lengths.size() > kJudged) track.lengths.pop_front();
  if (track.lengths.size() >= kFewest) track.usual_ns = median(track.lengths);
  track.end_ns = step.end_ns();

  steps_.push_back(step);
  if (steps_.size() > kMostSteps) steps_.pop_front();
  choose_leading();
  return usual;
}

/// A track whose steps do not come any more leads no longer.
void RecentSteps::choose_leading() {
  int64_t const now = steps_.back().end_ns();
  OfTrack const* leading = nullptr;
  for (auto const& [number, track] : tracks_) {
    bool const still_comes = track.end_ns + 3 * track.usual_ns + kLatestNs >= now;
    if (!still_comes || (leading != nullptr && track.usual_ns <= leading->usual_ns)) continue;
    leading = &track;
    leading_ = number;
  }
}

void RecentSteps::forget_before(int64_t ns) {
  while (steps_.size() > 1 && steps_.front().start_ns < ns) steps_.pop_front();
}

int64_t RecentSteps::usual_ns() const {
  auto const found = tracks_.find(leading_);
  return found == tracks_.end() ? 0 : found->second.usual_ns;
}

std::optional<int64_t> RecentSteps::begin_of_last(int64_t steps) const {
  int64_t left = steps;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    if (step->track.value == leading_ && --left == 0) return step->start_ns;
  return {};
}

std::optional<RecentSteps::Begin> RecentSteps::first_whole(int64_t ns, int64_t least) const {
  for (SeenStep const& first : steps_) {
    bool const may_be =
        first.track.value == leading_ && first.start_ns >= ns && first.index >= least;
    if (!may_be) continue;

    // Other threads of the program begin the same step at nearly the same time.
    Begin begin = {first.start_ns, first.index};
    bool is_whole = true;
    for (SeenStep const& step : steps_) {
      if (step.start_ns > first.end_ns() + kLatestNs) break;
      if (step.index != begin.index || step.end_ns() <= ns) continue;
      is_whole = is_whole && step.start_ns >= ns;
      begin.ns = std::min(begin.ns, step.start_ns);
    }
    if (is_whole) return begin;
  }
  return {};
}

}  // namespace stepscope::tracer
