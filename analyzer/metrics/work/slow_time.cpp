#include "analyzer/metrics/work/slow_time.h"

#include <algorithm>

#include "analyzer/metrics/core/add_interval.h"
#include "analyzer/metrics/work/copies.h"
#include "analyzer/metrics/work/kernel_traits.h"
#include "analyzer/metrics/work/kernels.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::OpClass;

/// Says of names whether they are those of matrix kernels without tensor cores; each is looked at
/// once.
class SimtNames {
 public:
  explicit SimtNames(model::Trace const& trace)
      : trace_(trace), known_(trace.strings().size(), -1) {}
  bool has(model::StringId name) {
    int8_t& known = known_[name.value];
    if (known < 0) known = uses_tensor_cores(trace_.text(name)) == std::optional(false) ? 1 : 0;
    return known == 1;
  }

 private:
  model::Trace const& trace_;
  std::vector<int8_t> known_;  ///< by string; −1 = not asked
};

/// The time in which only matrix kernels without tensor cores compute.
model::IntervalSet simt_matrix_alone(DeviceOps const& device) {
  RowView const rows = device.rows();
  SimtNames names(device.trace());
  std::vector<Interval> simt, others;
  for (uint32_t const row : device.ops)
    if (rows.kind(row) == EventKind::kKernel && names.has(rows.name(row)))
      add_interval(simt, rows.when(row));
  if (simt.empty()) return {};

  model::IntervalSet const all = model::unite(std::move(simt));
  auto next = all.begin();  // the first that ends behind the begin of the op
  for (uint32_t const row : device.ops) {
    Interval const when = rows.when(row);
    while (next != all.end() && next->end <= when.begin) ++next;
    if (next == all.end()) break;
    if (next->begin >= when.end || rows.op_class(row) != OpClass::kCompute) continue;
    if (rows.kind(row) != EventKind::kKernel || !names.has(rows.name(row)))
      add_interval(others, when);
  }

  return model::subtract(all, model::unite(std::move(others)));
}

/// The time in which two or more ops compute.
model::IntervalSet shared_time(DeviceOps const& device) {
  std::vector<Interval> shared;
  RowView const rows = device.rows();
  int64_t end = INT64_MIN;
  for (uint32_t const row : device.ops) {
    if (rows.op_class(row) != OpClass::kCompute) continue;
    Interval const when = rows.when(row);
    if (when.begin < end) add_interval(shared, when.begin, std::min(when.end, end));
    end = std::max(end, when.end);
  }

  return model::unite(std::move(shared));
}

/// measure_in() of windows that come by their begins.
class ForwardMeasure {
 public:
  explicit ForwardMeasure(model::IntervalSet const& set) : set_(set) {}
  int64_t in(Interval window) {
    while (passed_ < set_.size() && set_[passed_].end <= window.begin) ++passed_;
    int64_t total = 0;
    for (size_t i = passed_; i < set_.size() && set_[i].begin < window.end; ++i)
      total += std::min(set_[i].end, window.end) - std::max(set_[i].begin, window.begin);
    return total;
  }

 private:
  model::IntervalSet const& set_;
  size_t passed_ = 0;
};

/// The blocks of a kernel. 0 where they are unknown, or where a graph launched it: the trace has no
/// waits of its nodes.
uint64_t known_blocks(model::Trace const& trace, uint32_t row) {
  if (trace.kind(row) != EventKind::kKernel) return 0;
  auto const& kernel = trace.detail<model::KernelDetail>(row);
  return kernel.graph == 0 ? blocks_of(kernel) : 0;
}

/// Finds the kernels that wait because of the default stream, by start.
class SerializedFinder {
 public:
  SerializedFinder(DeviceOps const& device, uint64_t multiprocessors,
                   std::vector<LaunchPlace> const& places)
      : device_(device),
        rows_(device.rows()),
        multiprocessors_(multiprocessors),
        places_(places),
        streams_(device.trace().tracks().size()) {}

  model::IntervalSet find() {
    std::vector<Interval> waits;
    for (model::TrackId const stream : device_.streams)
      streams_[stream.value].is_default = is_default_stream(stream.value);
    for (uint32_t const row : device_.ops) {
      Stream& own = streams_[rows_.track(row).value];
      Interval const when = rows_.when(row);
      if (auto const wait = waited(row, when, own, latest_[own.is_default ? 1 : 0]))
        add_interval(waits, *wait);

      own.last_row = row;
      own.end = std::max(own.end, when.end);
      Latest& latest = latest_[own.is_default ? 0 : 1];
      if (when.end >= latest.when.end) latest = {row, when};
    }
    return model::unite(std::move(waits));
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;
  struct Stream {
    int64_t end = INT64_MIN;
    uint32_t last_row = kNoRow;
    bool is_default = false;
  };
  /// The op that ends last so far.
  struct Latest {
    uint32_t row = kNoRow;
    Interval when{INT64_MIN, INT64_MIN};
  };

  [[nodiscard]] bool is_default_stream(uint32_t track) const {
    // CUPTI numbers the default stream of a context 7, its consumers keep that; others 0.
    constexpr int64_t kOfCupti = 7;
    int64_t const id = device_.trace().tracks()[track].id;
    return id == kOfCupti || id == 0;
  }
  [[nodiscard]] LaunchPlace const* place_of(uint32_t row) const {
    auto const launch = device_.launch_of(row);
    if (!launch) return nullptr;
    auto const found = std::lower_bound(
        places_.begin(), places_.end(), *launch,
        [](LaunchPlace const& place, uint32_t call) { return place.launch < call; });
    return found != places_.end() && found->launch == *launch ? &*found : nullptr;
  }
  /// Whether the same thread launched both and let no stream wait in between.
  [[nodiscard]] bool is_free_to_follow(uint32_t row, uint32_t last_of_stream) const {
    if (last_of_stream == kNoRow) return false;
    LaunchPlace const *const own = place_of(row), *const last = place_of(last_of_stream);
    if (own == nullptr || last == nullptr || own->stream_waits != last->stream_waits) return false;
    auto const& tracks = device_.trace().columns().track;
    return tracks[own->launch] == tracks[last->launch];
  }

  /// Recorders that tell what a stream waits for have it just before the op.
  [[nodiscard]] bool follows_stream_wait(uint32_t row) const {
    model::Trace const& trace = device_.trace();
    return row > trace.rows_of(trace.columns().track[row]).first &&
           trace.kind(row - 1) == EventKind::kStreamWait;
  }

  /// How long the op waited for `before`, an op of the other kind of stream, that had room for it.
  [[nodiscard]] std::optional<Interval> waited(uint32_t row, Interval when, Stream const& own,
                                               Latest const& before) const {
    if (before.row == kNoRow || before.when.end > when.begin ||
        when.begin - before.when.end >= kStartsAtOnceNs)
      return std::nullopt;

    uint64_t const blocks = known_blocks(device_.trace(), row);
    if (blocks == 0 || blocks >= multiprocessors_) return std::nullopt;
    uint64_t const blocks_before = known_blocks(device_.trace(), before.row);
    if (blocks_before == 0 || blocks_before > multiprocessors_ - blocks) return std::nullopt;

    auto const launch = device_.launch_of(row);
    if (!launch) return std::nullopt;
    int64_t const ready = std::max({device_.end(*launch), own.end, before.when.begin});
    int64_t const length = std::min(before.when.end - ready, when.length());

    if (length <= 0 || follows_stream_wait(row) || !is_free_to_follow(row, own.last_row))
      return std::nullopt;
    return Interval{before.when.end - length, before.when.end};
  }

  DeviceOps const& device_;
  RowView rows_;
  uint64_t multiprocessors_;
  std::vector<LaunchPlace> const& places_;
  std::vector<Stream> streams_;  // by track
  Latest latest_[2];             // of the default stream, of the others
};

/// Whether a device has kernels on its default stream and on others: only then the one keeps the
/// others.
bool has_several_streams(DeviceOps const& device) {
  size_t with_ops = 0;
  for (model::TrackId const stream : device.streams)
    with_ops += device.trace().rows_of(stream).size() > 0 ? 1 : 0;
  return with_ops > 1;
}

}  // namespace

SlowTimes::SlowTimes(DeviceOps const& device, DeviceSets const& sets,
                     std::vector<LaunchPlace> const& places)
    : simt_matrix_(simt_matrix_alone(device)) {
  CopyTimes const copies = copy_times(device);
  if (!copies.slow.empty()) slow_copy_ = model::intersect(copies.slow, sets.exposed_copy);
  if (!copies.staging.empty())
    slow_copy_ = model::unite(slow_copy_, model::subtract(copies.staging, sets.busy));
  if (!copies.within_device.empty())
    device_copy_ = model::intersect(copies.within_device, sets.exposed_copy);

  model::Device const* const described = described_device(device);
  if (described == nullptr || described->threads == 0) return;
  add_small_grids(device, sets, described->threads);
  if (small_.starts.empty() || !has_several_streams(device)) return;
  serialized_ = SerializedFinder(device, described->threads, places).find();
}

void SlowTimes::add_small_grids(DeviceOps const& device, DeviceSets const& sets,
                                uint64_t multiprocessors) {
  model::Trace const& trace = device.trace();
  std::optional<model::IntervalSet> shared;
  model::IntervalSet comm;  // without what is shared
  std::optional<ForwardMeasure> in_shared, in_comm;
  auto const empty_share = [&](uint64_t blocks) {
    return std::max(0.0, 1 - static_cast<double>(blocks) / static_cast<double>(multiprocessors));
  };

  int64_t alone_sum = 0, lost_sum = 0;
  RowView const rows = device.rows();
  for (auto* const column : {&small_.starts, &small_.alone_sums, &small_.lost_sums})
    column->reserve(device.ops.size());
  for (uint32_t const row : device.ops) {
    if (rows.kind(row) != EventKind::kKernel) continue;
    uint64_t const blocks = blocks_of(trace.detail<model::KernelDetail>(row));
    if (blocks == 0 || blocks >= multiprocessors) continue;

    if (!shared) {
      shared = shared_time(device);
      comm = model::subtract(sets.comm, *shared);
      in_shared.emplace(*shared);
      in_comm.emplace(comm);
    }

    Interval const when = rows.when(row);
    int64_t const alone = when.length() - in_shared->in(when);
    if (alone > kEmptyKernelNs) {
      double const beside_comm =
          static_cast<double>(in_comm->in(when)) / static_cast<double>(alone);
      double const empty = (1 - beside_comm) * empty_share(blocks) +
                           beside_comm * empty_share(blocks + kBlocksOfCollective);
      lost_sum += static_cast<int64_t>(static_cast<double>(alone - kEmptyKernelNs) * empty);
    }

    alone_sum += alone;
    small_.starts.push_back(when.begin);
    small_.alone_sums.push_back(alone_sum);
    small_.lost_sums.push_back(lost_sum);
  }
}

SlowTime SlowTimes::within(Interval window) const {
  SlowTime slow;
  slow.simt_matrix_ns = measure_in(simt_matrix_, window);
  slow.serialized_ns = measure_in(serialized_, window);
  slow.slow_copy_ns = measure_in(slow_copy_, window);
  slow.device_copy_ns = measure_in(device_copy_, window);

  auto const before = [&](int64_t instant) {
    return static_cast<size_t>(
        std::lower_bound(small_.starts.begin(), small_.starts.end(), instant) -
        small_.starts.begin());
  };
  size_t const first = before(window.begin), last = before(std::max(window.begin, window.end));
  auto const sum = [&](std::vector<int64_t> const& sums) {
    return (last > 0 ? sums[last - 1] : 0) - (first > 0 ? sums[first - 1] : 0);
  };

  slow.small_grid_ns = sum(small_.alone_sums);
  slow.small_grid_lost_ns = sum(small_.lost_sums);
  return slow;
}

}  // namespace stepscope::analyzer
