#include "viewer/loading/live_follow_policy.h"

#include <algorithm>
#include <utility>

namespace stepscope::viewer {
namespace {

/// A person waits about so long without asking why nothing comes.
constexpr std::chrono::seconds kBetweenLooks{1};
/// Recorders write a block every second or so while a program works.
constexpr std::chrono::seconds kSilence{10};
/// Reading again takes at most a fifth of the time, however large the run is.
constexpr int kRestFactor = 4;

}  // namespace

void LiveFollowPolicy::begin(RunFiles files, bool has_end, Time now) {
  files_ = std::move(files);
  is_watching_ = !files_.is_empty();
  has_more_ = is_lost_ = is_reading_ = false;
  notice_.clear();
  last_look_ = rests_until_ = now;
  double const silent = std::clamp(files_.seconds_since_written(), 0.0,
                                   2 * std::chrono::duration<double>(kSilence).count());
  last_written_ =
      now - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silent));

  recording_ = now - last_written_ > kSilence ? Recording::kSilent : Recording::kGoesOn;
  if (has_end) recording_ = Recording::kWhole;
}

void LiveFollowPolicy::end() {
  bool const follows = follows_;
  *this = LiveFollowPolicy();
  follows_ = follows;
}

bool LiveFollowPolicy::look(Time now) {
  if (!is_watching_ || now - last_look_ < kBetweenLooks) return false;
  last_look_ = now;

  Recording const before = recording_;
  FileChange const change = files_.look();

  if (change.grew) {
    has_more_ = true;
    last_written_ = now;
  }
  if (!change.lost.empty()) {
    is_lost_ = true;
    notice_ = change.lost + " while it was shown. What was read of it is still here.";
  }

  bool const is_open = recording_ == Recording::kGoesOn || recording_ == Recording::kSilent;
  if (is_open)
    recording_ = now - last_written_ > kSilence ? Recording::kSilent : Recording::kGoesOn;

  return recording_ != before || !change.lost.empty() || wants_reading(now);
}

bool LiveFollowPolicy::wants_reading(Time now) const {
  return is_watching_ && follows_ && has_more_ && !is_lost_ && !is_reading_ && now >= rests_until_;
}

void LiveFollowPolicy::reading_begins(Time now) {
  is_reading_ = true;
  has_more_ = is_lost_ = false;
  notice_.clear();
  began_reading_ = now;
}

void LiveFollowPolicy::reading_ends(RunFiles files, bool has_end, Time now) {
  bool const was_open = recording_ != Recording::kWhole;
  files_ = std::move(files);
  is_watching_ = !files_.is_empty();

  // What came after `files` were taken is seen at the next look.
  is_reading_ = has_more_ = false;
  rests_until_ =
      now + std::max<Clock::duration>(kRestFactor * (now - began_reading_), kBetweenLooks);
  last_look_ = now;

  if (has_end) {
    recording_ = was_open ? Recording::kFinished : Recording::kWhole;
    return;
  }
  last_written_ = std::max(last_written_, began_reading_);
  recording_ = Recording::kGoesOn;
}

void LiveFollowPolicy::reading_fails(std::string const& why, Time now) {
  is_reading_ = false;
  // No further try until a person asks for it.
  is_lost_ = true;
  rests_until_ = now + kBetweenLooks;
  notice_ = "Stepscope cannot read the run again: " + why + ". Events that were read before stay.";
}

char const* words_of(Recording recording, bool follows) {
  switch (recording) {
    case Recording::kWhole:
      return "";
    case Recording::kGoesOn:
      return follows ? "being written, followed" : "being written, not followed";
    case Recording::kSilent:
      return "without an end, nothing comes";
    case Recording::kFinished:
      return "the recording has ended";
  }
  return "";
}

}  // namespace stepscope::viewer
