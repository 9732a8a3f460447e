#include "trace/model/summary/track_summary.h"

#include <algorithm>

#include "trace/base/check.h"

namespace stepscope::model {
namespace {

// Before every event; differences with it do not overflow (times lie within ±2^61).
constexpr int64_t kLongBefore = INT64_MIN / 2;

/// OpClass of every kind, so that a row costs one look-up.
constexpr std::array<uint8_t, kKindCount> kClassOfKind = [] {
  std::array<uint8_t, kKindCount> classes{};
  for (size_t kind = 0; kind < classes.size(); ++kind)
    classes[kind] = static_cast<uint8_t>(kKindTable[kind].op_class);
  return classes;
}();

/// Sweeps over a track's events in order and closes bins on the way.
class Summarizer {
 public:
  explicit Summarizer(size_t events) { summary_.begin.reserve(events / kEventsPerBin + 2); }

  /// Adds rows from `first` on that are of one class and belong into one bin; returns the first one
  /// behind them.
  size_t add_run(EventView const& events, std::span<uint16_t const> depth, size_t first) {
    if (summary_.begin.empty()) open(events.start[first]);
    if (started_ >= kMinEventsPerBin) close_before(events.start[first]);
    if (started_ == 0) longest_name_ = events.name[first];  // also when none is longer than 0 ns

    // No bin closes before its kMinEventsPerBin-th row.
    size_t const open_until = first + kMinEventsPerBin - std::min(started_, kMinEventsPerBin);
    size_t row = add_rows<false>(events, first, std::min(open_until, events.size()));
    if (row == open_until) row = add_rows<true>(events, row, events.size());

    uint16_t deepest = depth_;
    for (uint16_t const open : depth.subspan(first, row - first)) deepest = std::max(deepest, open);
    depth_ = deepest;
    return row;
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
  /// Adds rows from `row` on, before `end`, that are of the first one's class and, when
  /// `kMayClose`, belong into the open bin.
  template <bool kMayClose>
  size_t add_rows(EventView const& events, size_t row, size_t end) {
    if (row == end) return row;

    EventKind const* const kinds = events.kind.data();
    int64_t const* const starts = events.start.data();
    int64_t const* const durs = events.dur.data();
    uint8_t const op_class = kClassOfKind[static_cast<size_t>(kinds[row])];

    // Kept in registers: through memory, every row would wait for what the row before has stored.
    int64_t covered = covered_[op_class];
    int64_t busy = 0;
    int64_t longest = longest_;
    size_t longest_row = end;
    size_t const first = row;

    for (; row < end && (kinds[row] == kinds[first] ||
                         kClassOfKind[static_cast<size_t>(kinds[row])] == op_class);
         ++row) {
      int64_t const start = starts[row];
      if (kMayClose && closes_before(start, row > first ? starts[row - 1] : last_start_,
                                     std::max(covered_until_, covered), started_ + (row - first)))
        break;

      int64_t const dur = durs[row];
      // What earlier events of the class cover is not counted twice. Parts beyond the bin's end are
      // taken out when it closes.
      busy += std::max<int64_t>(0, start + dur - std::max(start, covered));
      covered = std::max(covered, start + dur);

      // No branch: which row is the longest so far cannot be guessed.
      bool const is_longest = dur > longest;
      longest = is_longest ? dur : longest;
      longest_row = is_longest ? row : longest_row;
    }

    if (row == first) return row;
    if (longest_row != end) longest_name_ = events.name[longest_row];

    longest_ = longest;
    covered_[op_class] = covered;
    covered_until_ = std::max(covered_until_, covered);
    last_start_ = starts[row - 1];
    busy_[op_class] += busy;
    started_ += static_cast<uint32_t>(row - first);
    return row;
  }
  /// Until when something runs, as far as the events so far tell.
  static int64_t pause_begin(int64_t last_start, int64_t covered_until) {
    return std::max(covered_until, last_start + 1);
  }
  /// The pause before `start` is as long as the bin before it. (What is compared is seldom true, so
  /// that the processor guesses it.)
  [[nodiscard]] bool is_long_pause(int64_t begin, int64_t start) const {
    return start - begin >= begin - summary_.begin.back();
  }
  [[nodiscard]] bool closes_before(int64_t start, int64_t last_start, int64_t covered_until,
                                   size_t started) const {
    // Events of one start stay in one bin.
    return is_long_pause(pause_begin(last_start, covered_until), start) ||
           (started >= kEventsPerBin && start != last_start);
  }
  void close_before(int64_t start) {
    if (!closes_before(start, last_start_, covered_until_, started_)) return;
    int64_t const pause = pause_begin(last_start_, covered_until_);
    if (is_long_pause(pause, start)) {
      close(pause);
      open(pause);
    }
    close(start);
    open(start);
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
    summary_.depth.push_back(
        static_cast<uint16_t>(started_ == 0 ? 0 : std::min(depth_ + 1, int{UINT16_MAX})));
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
  std::array<int64_t, kOpClassCount> covered_{kLongBefore, kLongBefore, kLongBefore,
                                              kLongBefore};  ///< until when, by class
  int64_t covered_until_ = kLongBefore, last_start_ = 0;
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
  auto const& samples = std::get<kSampleTable>(events.details);
  size_t next_sample = 0;
  Summarizer summarizer(events.size());

  for (size_t row = 0; row < events.size();) {
    size_t const first = row;
    row = summarizer.add_run(events, depth, row);

    if (samples.empty()) continue;
    for (size_t i = first; i < row; ++i)
      if (events.kind[i] == EventKind::kSample) summarizer.add_sample(samples[next_sample++].value);
  }

  return std::move(summarizer).take();
}

}  // namespace stepscope::model
