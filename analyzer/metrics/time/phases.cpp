#include "analyzer/metrics/time/phases.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analyzer/metrics/core/saturate.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// A union of intervals that come by begin, measured as it grows.
class GrowingUnion {
 public:
  /// The part of `when` that is new; empty if there is none.
  Interval add(Interval when) {
    Interval const fresh{std::max(when.begin, until_), std::max(when.end, until_)};
    until_ = fresh.end;
    if (fresh.begin >= fresh.end) return {fresh.end, fresh.end};
    add_saturated(total_ns_, fresh.length());
    return fresh;
  }
  [[nodiscard]] int64_t total_ns() const { return total_ns_; }

 private:
  int64_t until_ = -model::kMaxTime * 2;  // before any run time
  int64_t total_ns_ = 0;
};

bool has_phases(model::Trace const& trace) {
  auto const& kinds = trace.columns().kind;
  return std::find(kinds.begin(), kinds.end(), EventKind::kPhase) != kinds.end();
}

}  // namespace

bool is_phase_name(std::string_view name) {
  constexpr std::array<std::string_view, 14> kWords = {
      "forward",    "fwd",       "backward",      "bwd",       "optimizer",
      "evaluate",   "eval",      "evaluation",    "validate",  "validation",
      "checkpoint", "generator", "discriminator", "accumulate"};

  auto const lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  auto const is_letter = [&](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
  auto const begin = std::find_if(name.begin(), name.end(), is_letter);
  auto const end = std::find_if_not(begin, name.end(), is_letter);
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return std::equal(begin, end, word.begin(), word.end(),
                      [&](char a, char b) { return lower(a) == b; });
  });
}

/// The part of a device's time that the ops of each phase took.
class ProcessPhases::Sums {
 public:
  Sums(ProcessPhases const& phases, DeviceOps const& device, DeviceSets const& sets)
      : phases_(phases),
        device_(device),
        rows_(device.rows()),
        sets_(sets),
        names_(phases.names_.size()),
        cursors_(phases.threads_.size(), 0) {
    // Occurrences of all threads are numbered through.
    size_t count = 0;
    for (Thread const& thread : phases.threads_) {
      first_.push_back(count);
      count += thread.occurrences.size();
    }

    occurrences_.resize(count);
  }

  void add_op(uint32_t row) {
    model::EventId const launch = rows_.link(row);
    if (!launch.valid()) return;
    uint32_t const track = rows_.track(launch.value).value;
    std::vector<Occurrence> const& all = phases_.threads_[track].occurrences;
    int64_t const instant = rows_.start(launch.value);
    uint32_t at = last_begun(track, instant);
    for (; at != kNone; at = all[at].parent)
      if (instant < all[at].when.end) add_to(all[at].name, first_[track] + at, row);
  }

  std::vector<PhaseStats> finish(std::optional<Interval> within) {
    count_occurrences(within);
    std::vector<PhaseStats> result;
    for (size_t i = 0; i < names_.size(); ++i) {
      OfName const& name = names_[i];
      if (name.count == 0) continue;

      PhaseStats facts;
      facts.ref = device_.ref;
      facts.name = device_.trace().text(phases_.names_[i]);
      facts.count = name.count;
      facts.host_ns = name.host_ns;
      facts.ops = name.ops;
      facts.busy_ns = name.busy.total_ns();
      facts.compute_ns = name.compute.total_ns();
      facts.exposed_comm_ns = name.exposed_comm_ns;
      facts.median_ns = quantile_of(i, 50);
      facts.p95_ns = quantile_of(i, 95);
      result.push_back(std::move(facts));
    }
    return result;
  }

 private:
  struct OfName {
    GrowingUnion busy, compute, comm;
    int64_t exposed_comm_ns = 0, host_ns = 0;
    uint64_t ops = 0, count = 0;
    size_t first_sample = 0;
  };
  struct OfOccurrence {
    GrowingUnion busy;
    bool has_ops = false;
  };

  /// The occurrence of a thread that began last until the instant. Launches of a stream come in
  /// their order: mostly the same as for the op before, or the next.
  uint32_t last_begun(uint32_t track, int64_t instant) {
    std::vector<Occurrence> const& all = phases_.threads_[track].occurrences;
    uint32_t& next = cursors_[track];  // first that begins later
    auto const begins_later = [&](uint32_t i) {
      return i == all.size() || all[i].when.begin > instant;
    };
    auto const begins_before = [&](uint32_t i) {
      return i == 0 || all[i - 1].when.begin <= instant;
    };

    if (next < all.size() && !begins_later(next)) ++next;
    if (!begins_later(next) || !begins_before(next)) {
      auto const after = std::partition_point(
          all.begin(), all.end(), [&](Occurrence const& o) { return o.when.begin <= instant; });
      next = static_cast<uint32_t>(after - all.begin());
    }
    return next == 0 ? kNone : next - 1;
  }

  void add_to(uint32_t name_place, size_t occurrence, uint32_t row) {
    Interval const when = rows_.when(row);
    OfName& name = names_[name_place];
    ++name.ops;
    name.busy.add(when);
    occurrences_[occurrence].busy.add(when);
    occurrences_[occurrence].has_ops = true;

    switch (rows_.op_class(row)) {
      case model::OpClass::kCompute:
        name.compute.add(when);
        break;
      case model::OpClass::kComm:
        if (Interval const fresh = name.comm.add(when); fresh.begin < fresh.end)
          add_saturated(name.exposed_comm_ns, measure_in(sets_.exposed_comm, fresh));
        break;
      case model::OpClass::kCopy:
      case model::OpClass::kNone:
        break;
    }
  }

  void count_occurrences(std::optional<Interval> within) {
    for (size_t track = 0; track < phases_.threads_.size(); ++track) {
      Thread const& thread = phases_.threads_[track];
      for (size_t i = 0; i < thread.occurrences.size(); ++i) {
        Occurrence const& occurrence = thread.occurrences[i];
        OfOccurrence const& sums = occurrences_[first_[track] + i];
        bool const is_in = !within || (within->begin <= occurrence.when.begin &&
                                       occurrence.when.begin < within->end);
        if (!sums.has_ops && (thread.device != device_.ref.device || !is_in)) continue;
        OfName& name = names_[occurrence.name];
        ++name.count;
        add_saturated(name.host_ns, occurrence.when.length());
        samples_.emplace_back(occurrence.name, sums.busy.total_ns());
      }
    }

    std::sort(samples_.begin(), samples_.end());
    for (size_t i = samples_.size(); i-- > 0;) names_[samples_[i].first].first_sample = i;
  }

  /// The value that at least `percent` % of a name's occurrences do not pass.
  [[nodiscard]] int64_t quantile_of(size_t name, uint64_t percent) const {
    return samples_[names_[name].first_sample + (names_[name].count * percent + 99) / 100 - 1]
        .second;
  }

  ProcessPhases const& phases_;
  DeviceOps const& device_;
  RowView rows_;
  DeviceSets const& sets_;
  std::vector<OfName> names_;
  std::vector<OfOccurrence> occurrences_;
  std::vector<size_t> first_;      ///< by track: its first occurrence in occurrences_
  std::vector<uint32_t> cursors_;  ///< by track
  std::vector<std::pair<uint32_t, int64_t>>
      samples_;  ///< (name, device time of an occurrence), in this order
};

ProcessPhases::ProcessPhases(std::span<DeviceOps const> devices) {
  if (devices.empty()) return;
  model::Trace const& trace = devices.front().trace();

  if (has_phases(trace)) {
    collect<EventKind::kPhase>(*devices.front().rank, [&](uint32_t /*row*/) { return true; });
  } else {
    std::vector<int8_t> known(trace.strings().size(),
                              -1);  // is_phase_name of each name, −1 = not asked yet
    collect<EventKind::kRange, EventKind::kAnnotatedRange>(
        *devices.front().rank, [&](uint32_t row) {
          int8_t& is_phase = known[trace.columns().name[row].value];
          if (is_phase < 0) is_phase = is_phase_name(trace.name(row)) ? 1 : 0;
          return is_phase == 1;
        });
  }

  if (!names_.empty()) find_devices(devices);
}

template <EventKind... Kinds, class IsPhase>
void ProcessPhases::collect(model::RankTrace const& rank, IsPhase const& is_phase) {
  model::Trace const& trace = rank.trace;
  auto const tracks = trace.tracks();
  std::unordered_map<uint32_t, uint32_t> places;  // string → names_
  threads_.resize(tracks.size());

  std::vector<uint32_t> open;
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    if (tracks[t].kind != model::TrackKind::kThread || tracks[t].device >= 0) continue;
    std::vector<Occurrence>& all = threads_[t].occurrences;
    open.clear();
    model::for_each_row_of<Kinds...>(
        trace.columns(), trace.rows_of(model::TrackId{t}), [&](uint32_t row) {
          if (!is_phase(row)) return;
          Interval const when{trace.start(row) + rank.offset_ns, trace.end(row) + rank.offset_ns};
          while (!open.empty() && all[open.back()].when.end <= when.begin) open.pop_back();

          auto const [place, is_new] = places.try_emplace(trace.columns().name[row].value,
                                                          static_cast<uint32_t>(names_.size()));
          if (is_new) names_.push_back(trace.columns().name[row]);
          uint32_t const name = place->second;
          bool const is_within_itself = std::any_of(open.begin(), open.end(), [&](uint32_t o) {
            return all[o].name == name && all[o].when.end > when.begin;
          });
          if (open.size() >= kDeepest || is_within_itself) return;
          all.push_back({when, name, open.empty() ? kNone : open.back()});
          open.push_back(static_cast<uint32_t>(all.size() - 1));
        });
  }
}

void ProcessPhases::find_devices(std::span<DeviceOps const> devices) {
  std::vector<uint64_t> most(threads_.size(), 0), launches;
  for (Thread& thread : threads_) thread.device = devices.front().ref.device;

  if (devices.size() == 1) return;

  for (DeviceOps const& device : devices) {
    launches.assign(threads_.size(), 0);
    RowView const rows = device.rows();
    for (uint32_t const row : device.ops)
      if (model::EventId const launch = rows.link(row); launch.valid())
        ++launches[rows.track(launch.value).value];

    for (size_t t = 0; t < threads_.size(); ++t) {
      if (launches[t] <= most[t]) continue;
      most[t] = launches[t];
      threads_[t].device = device.ref.device;
    }
  }
}

std::vector<PhaseStats> ProcessPhases::of_device(DeviceOps const& device, DeviceSets const& sets,
                                                 std::vector<uint32_t> const& ops,
                                                 std::optional<Interval> within) const {
  if (names_.empty()) return {};
  Sums sums(*this, device, sets);
  for (uint32_t const row : ops) sums.add_op(row);
  std::vector<PhaseStats> result = sums.finish(within);
  std::sort(result.begin(), result.end(), [](PhaseStats const& a, PhaseStats const& b) {
    return std::tuple(-*a.busy_ns, -a.host_ns, std::string_view(a.name)) <
           std::tuple(-*b.busy_ns, -b.host_ns, std::string_view(b.name));
  });

  if (result.size() <= kMostPhases) return result;

  PhaseStats rest;
  rest.ref = device.ref;
  rest.names = 0;
  for (size_t i = kMostPhases; i < result.size(); ++i) {
    ++rest.names;
    rest.count += result[i].count;
    rest.ops += result[i].ops;
    add_saturated(rest.host_ns, result[i].host_ns);
  }
  result.resize(kMostPhases);
  result.push_back(std::move(rest));
  return result;
}

}  // namespace stepscope::analyzer
