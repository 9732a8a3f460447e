#include "analyzer/metrics/work/op_tables.h"

#include <algorithm>
#include <array>

#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/steps/step_names.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::StringId;

/// What a range's name says of it.
enum class RangeRole : uint8_t { kNotAsked, kRange, kModule, kPhase, kTransparent };

/// PyTorch's programs mark the parts of a step so: "## forward ##".
bool is_marked_part(std::string_view name) {
  return name.size() > 6 && name.starts_with("## ") && name.ends_with(" ##");
}

/// Python frames ("model.py(12): forward", "<built-in method …>") would make the program's file the
/// layer of everything.
RangeRole role_of_range(std::string_view name) {
  if (name.starts_with("nn.Module: ")) return RangeRole::kModule;
  if (is_marked_part(name)) return RangeRole::kPhase;
  bool const is_frame =
      name.find(".py(") != std::string_view::npos || name.starts_with("<built-in ");
  return is_frame || step_number(name) ? RangeRole::kTransparent : RangeRole::kRange;
}

/// Walks threads one after the other.
class PlaceWalk {
 public:
  explicit PlaceWalk(model::RankTrace const& rank)
      : trace_(rank.trace),
        view_(rank),
        roles_(trace_.strings().size()),
        lets_wait_(roles_.size(), -1) {
    // At most about a third of all events are launches.
    places_.reserve(trace_.event_count() / 3);
  }

  void walk(model::TrackId thread) {
    open_.clear();
    stream_waits_ = 0;

    model::Trace::Rows const rows = trace_.rows_of(thread);
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      switch (view_.kind(row)) {
        case EventKind::kRange:
        case EventKind::kAnnotatedRange:
          open_range(row);
          break;
        case EventKind::kPhase:
          open_phase(row);
          break;
        case EventKind::kApi:
          if (is_stream_wait(row)) ++stream_waits_;
          break;
        case EventKind::kLaunch:
          if (view_.link(row).valid()) add(row);
          break;
        default:
          break;
      }
    }
  }
  std::vector<LaunchPlace> finish() && { return std::move(places_); }

 private:
  /// What a launch inside of it belongs to.
  struct Frame {
    int64_t end;
    StringId op, layer;
    bool is_phase;
  };

  void close_until(int64_t instant) {
    while (!open_.empty() && open_.back().end <= instant) open_.pop_back();
  }
  [[nodiscard]] bool is_in_range() const { return !open_.empty() && !open_.back().is_phase; }

  void open_range(uint32_t row) {
    StringId const name = view_.name(row);
    RangeRole& role = roles_[name.value];
    if (role == RangeRole::kNotAsked) role = role_of_range(trace_.text(name));
    if (role == RangeRole::kTransparent) return;
    if (role == RangeRole::kPhase) return open_phase(row);
    close_until(view_.start(row));
    bool const is_layer = role == RangeRole::kModule || !is_in_range();
    open_.push_back({view_.end(row), name, is_layer ? name : open_.back().layer, false});
  }
  void open_phase(uint32_t row) {
    close_until(view_.start(row));
    if (is_in_range()) return;
    StringId const name = view_.name(row);
    open_.push_back({view_.end(row), name, name, true});
  }
  /// cudaStreamWaitEvent, cuStreamWaitEvent, hipStreamWaitEvent.
  bool is_stream_wait(uint32_t row) {
    StringId const name = view_.name(row);
    int8_t& waits = lets_wait_[name.value];
    if (waits < 0)
      waits = trace_.text(name).find("StreamWaitEvent") == std::string_view::npos ? 0 : 1;
    return waits == 1;
  }
  void add(uint32_t row) {
    close_until(view_.start(row));
    LaunchPlace& place = places_.emplace_back();
    place.launch = row;
    place.stream_waits = stream_waits_;
    if (!open_.empty()) {
      place.op = open_.back().op;
      place.layer = open_.back().layer;
    }
  }

  model::Trace const& trace_;
  RowView view_;
  std::vector<RangeRole> roles_;   // of ranges by name
  std::vector<int8_t> lets_wait_;  // calls by name; −1 = not asked
  std::vector<Frame> open_;
  uint32_t stream_waits_ = 0;
  std::vector<LaunchPlace> places_;
};

struct Total {
  uint64_t count = 0;
  int64_t ns = 0;
  void add(int64_t dur) {
    ++count;
    add_saturated(ns, dur);
  }
  void add(Total const& other) {
    count += other.count;
    add_saturated(ns, other.ns);
  }
};

/// One level's totals.
class Level {
 public:
  /// `names`: of the trace.
  explicit Level(size_t names) : places_(names, kNoPlace) {}
  void add(StringId range, int64_t dur) {
    if (!range.valid()) return outside_.add(dur);
    uint32_t& place = places_[range.value];
    if (place == kNoPlace) {
      place = static_cast<uint32_t>(totals_.size());
      totals_.emplace_back(range, Total());
    }
    totals_[place].second.add(dur);
  }
  [[nodiscard]] bool has_ranges() const { return !totals_.empty(); }

  void append(DeviceOps const& device, OpStats::Level level, Total const& unlaunched,
              int64_t all_ns, std::vector<OpStats>& rows) {
    model::Trace const& trace = device.trace();
    std::sort(totals_.begin(), totals_.end(), [&](auto const& a, auto const& b) {
      return a.second.ns != b.second.ns ? a.second.ns > b.second.ns
                                        : trace.text(a.first) < trace.text(b.first);
    });

    auto const append = [&](OpStats::What what, std::string_view name, Total const& total) {
      if (total.count == 0) return;
      double const share =
          all_ns > 0 ? static_cast<double>(total.ns) / static_cast<double>(all_ns) : 0;
      rows.push_back({device.ref, level, what, std::string(name), total.count, total.ns, share});
    };
    size_t const shown = std::min(totals_.size(), kMostRanges);
    for (size_t i = 0; i < shown; ++i)
      append(OpStats::What::kRange, trace.text(totals_[i].first), totals_[i].second);

    Total rest;
    for (size_t i = shown; i < totals_.size(); ++i) rest.add(totals_[i].second);
    append(OpStats::What::kOutside, {}, outside_);
    append(OpStats::What::kUnlaunched, {}, unlaunched);
    append(OpStats::What::kRest, {}, rest);
  }

 private:
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  std::vector<uint32_t> places_;  ///< by name: in totals_
  std::vector<std::pair<StringId, Total>> totals_;
  Total outside_;
};

}  // namespace

std::vector<LaunchPlace> launch_places(model::RankTrace const& rank) {
  PlaceWalk walk(rank);
  auto const tracks = rank.trace.tracks();
  for (uint32_t t = 0; t < tracks.size(); ++t)
    if (tracks[t].kind == model::TrackKind::kThread) walk.walk(model::TrackId{t});
  return std::move(walk).finish();
}

std::vector<OpStats> op_tables(DeviceOps const& device, std::vector<uint32_t> const& rows,
                               std::vector<LaunchedOp> const& launched,
                               std::vector<LaunchPlace> const& places) {
  RowView const view = device.rows();
  size_t const names = device.trace().strings().size();
  std::array<Level, 2> levels = {Level(names), Level(names)};
  Total unlaunched;
  int64_t all_ns = 0;
  for (uint32_t const row : rows) {
    add_saturated(all_ns, view.dur(row));
    if (!view.link(row).valid()) unlaunched.add(view.dur(row));
  }

  size_t place = 0;
  for (auto const [launch, op] : launched) {
    while (place < places.size() && places[place].launch < launch) ++place;
    bool const is_known = place < places.size() && places[place].launch == launch;
    int64_t const dur = view.dur(op);
    levels[0].add(is_known ? places[place].op : StringId(), dur);
    levels[1].add(is_known ? places[place].layer : StringId(), dur);
  }

  std::vector<OpStats> result;
  if (!levels[0].has_ranges()) return result;
  levels[0].append(device, OpStats::Level::kOp, unlaunched, all_ns, result);
  levels[1].append(device, OpStats::Level::kLayer, unlaunched, all_ns, result);
  return result;
}

}  // namespace stepscope::analyzer
