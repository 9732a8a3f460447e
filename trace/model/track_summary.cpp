#include "trace/model/track_summary.h"

#include <algorithm>

#include "trace/base/check.h"

namespace stepscope::model {
namespace {

// Before every event; differences with it do not overflow (times lie within ±2^61).
constexpr int64_t kNever = INT64_MIN / 2;

/// OpClass of every kind, so that a row costs one look-up.
std::array<uint8_t, kKindCount> class_of_kinds() {
  std::array<uint8_t, kKindCount> classes{};
  for (size_t kind = 0; kind < classes.size(); ++kind)
    classes[kind] = static_cast<uint8_t>(kind_info(static_cast<EventKind>(kind)).op_class);
  return classes;
}

/// Sweeps over a track's events in order and closes bins on the way.
class Summarizer {
 public:
  explicit Summarizer(size_t events) { summary_.begin.reserve(events / kEventsPerBin + 2); }

  void add(int64_t start, int64_t dur, OpClass op_class, StringId name, uint16_t depth) {
    int64_t const end = start + dur;
    if (started_ == 0 && summary_.begin.empty()) open(start);
    if (started_ >= kMinEventsPerBin) close_before(start);
    auto const number = static_cast<size_t>(op_class);
    // What earlier events of the class cover is not counted twice. Parts beyond the bin's end are taken out when it closes.
    int64_t const uncovered = std::max(start, covered_[number]);
    if (end > uncovered) {
      busy_[number] += end - uncovered;
      covered_[number] = end;
      covered_until_ = std::max(covered_until_, end);
    }
    last_start_ = start;
    ++started_;
    depth_ = std::max<uint16_t>(depth_, static_cast<uint16_t>(std::min(depth + 1, int{UINT16_MAX})));
    if (dur > longest_ || started_ == 1) {
      longest_ = dur;
      longest_name_ = name;
    }
  }
  void add_sample(double value) {
    low_ = samples_ == 0 ? value : std::min(low_, value);
    high_ = samples_ == 0 ? value : std::max(high_, value);
    ++samples_;
  }
  TrackSummary take() && {
    if (started_ > 0) close(std::max(covered_until_, last_start_ + 1));
    return std::move(summary_);
  }

 private:
  void close_before(int64_t start) {
    if (start == last_start_) return;  // events of one start stay in one bin
    int64_t const pause = start - std::max(covered_until_, last_start_ + 1);
    if (pause > 0 && pause >= start - pause - summary_.begin.back()) {
      close(start - pause);
      open(start - pause);
      close(start);
      open(start);
    } else if (started_ >= kEventsPerBin) {
      close(start);
      open(start);
    }
  }
  void open(int64_t begin) { summary_.begin.push_back(begin); }
  void close(int64_t end) {
    for (size_t c = 0; c < kOpClassCount; ++c) {
      // Everything so far began before `end`, so what is covered beyond it is one piece.
      int64_t const beyond = std::max<int64_t>(0, covered_[c] - end);
      summary_.busy[c].push_back(busy_[c] - beyond);
      busy_[c] = beyond;
    }
    summary_.starts.push_back(started_);
    summary_.depth.push_back(depth_);
    summary_.longest.push_back(longest_);
    summary_.longest_name.push_back(longest_name_);
    summary_.low.push_back(samples_ > 0 ? low_ : 0);
    summary_.high.push_back(samples_ > 0 ? high_ : 0);
    summary_.end = end;
    started_ = samples_ = 0;
    depth_ = 0;
    longest_ = 0;
    longest_name_ = StringId{0};
  }

  TrackSummary summary_;
  std::array<int64_t, kOpClassCount> busy_{};  ///< of the open bin, what reaches beyond it included
  std::array<int64_t, kOpClassCount> covered_{kNever, kNever, kNever, kNever};  ///< until when, by class
  int64_t covered_until_ = kNever, last_start_ = 0;
  uint32_t started_ = 0, samples_ = 0;
  uint16_t depth_ = 0;
  int64_t longest_ = 0;
  StringId longest_name_{0};
  double low_ = 0, high_ = 0;
};

}  // namespace

TrackSummary summarize(EventView const& events, std::span<uint16_t const> depth) {
  STEPSCOPE_CHECK(depth.size() == events.size());
  static constexpr auto kSampleTable = static_cast<size_t>(DetailTable::kSamples);
  auto const classes = class_of_kinds();
  auto const& samples = std::get<kSampleTable>(events.details);
  size_t next_sample = 0;
  Summarizer summarizer(events.size());
  for (size_t row = 0; row < events.size(); ++row) {
    EventKind const kind = events.kind[row];
    summarizer.add(events.start[row], events.dur[row], static_cast<OpClass>(classes[static_cast<size_t>(kind)]), events.name[row],
                   depth[row]);
    if (kind == EventKind::kSample) summarizer.add_sample(samples[next_sample++].value);
  }
  return std::move(summarizer).take();
}

}  // namespace stepscope::model
