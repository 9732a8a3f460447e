#include "trace/model/build/collective_merge.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/model/intervals.h"

namespace stepscope::model {
namespace {

using Batches = std::vector<EventBatch>;

struct Place {
  uint32_t batch = 0, row = 0;
};

struct Call {
  int64_t start = 0, end = 0;
  Place place;
  CollectiveDetail detail;
};
struct Launch {
  int64_t start = 0, end = 0;
  uint64_t correlation = 0;
};
/// Calls [first, last) of a thread that one kernel runs.
struct Plan {
  size_t first = 0, last = 0;
};

bool has_calls(EventBatch const& batch) {
  return !std::get<DetailColumn<CollectiveDetail>>(batch.details).empty() &&
         std::find(batch.kind.begin(), batch.kind.end(), EventKind::kCollectiveCall) !=
             batch.kind.end();
}

/// When an event was, also where the times are not repaired yet: no difference of two such leaves
/// 64 bits.
Interval reported_time(EventBatch const& batch, size_t row) {
  int64_t const start = std::clamp(batch.start[row], -kMaxTime, kMaxTime);
  return {start, start + std::clamp<int64_t>(batch.dur[row], 0, kMaxTime)};
}

std::vector<Call> calls_of(Batches const& batches) {
  std::vector<Call> calls;
  for (uint32_t b = 0; b < batches.size(); ++b) {
    EventBatch const& batch = batches[b];
    if (!has_calls(batch)) continue;

    auto const& details = std::get<DetailColumn<CollectiveDetail>>(batch.details);
    std::vector<uint32_t> const detail_rows = batch.detail_rows();
    for (uint32_t row = 0; row < batch.size(); ++row)
      if (batch.kind[row] == EventKind::kCollectiveCall)
        calls.push_back({reported_time(batch, row).begin,
                         reported_time(batch, row).end,
                         {b, row},
                         details[detail_rows[row]]});
  }

  std::stable_sort(calls.begin(), calls.end(),
                   [](Call const& a, Call const& b) { return a.start < b.start; });
  return calls;
}

std::vector<Launch> launches_of(Batches const& batches) {
  std::vector<Launch> launches;

  for (EventBatch const& batch : batches) {
    for (size_t row = 0; row < batch.size(); ++row)
      if (batch.kind[row] == EventKind::kLaunch && batch.correlation[row] != 0)
        launches.push_back({reported_time(batch, row).begin, reported_time(batch, row).end,
                            batch.correlation[row]});
  }

  std::stable_sort(launches.begin(), launches.end(),
                   [](Launch const& a, Launch const& b) { return a.start < b.start; });
  return launches;
}

/// Compares a launch by its middle: its time and that of the call around it come from two clocks,
/// which may differ by a microsecond.
int64_t middle_of(Launch const& launch) { return launch.start + (launch.end - launch.start) / 2; }

/// Finds the next launch in a list whose middle is late enough. A tree holds the latest middle of
/// each half, so the steps grow with the logarithm of the distance.
class Middles {
 public:
  explicit Middles(std::span<Launch const> launches)
      : leaves_(std::bit_ceil(std::max<size_t>(launches.size(), 1))) {
    latest_.assign(2 * leaves_, INT64_MIN);
    for (size_t i = 0; i < launches.size(); ++i) latest_[leaves_ + i] = middle_of(launches[i]);
    for (size_t node = leaves_ - 1; node > 0; --node)
      latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
  }

  /// The first from `from` on whose middle is at `time` or later; at least the number of launches
  /// when there is none.
  [[nodiscard]] size_t next(size_t from, int64_t time) const {
    if (from >= leaves_) return leaves_;
    size_t node = leaves_ + from;
    while (latest_[node] < time) {
      while ((node & 1) != 0) node /= 2;  // a right half: its parent has nothing behind it
      if (node == 0) return leaves_;
      ++node;
    }
    while (node < leaves_) node = latest_[2 * node] >= time ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

 private:
  size_t leaves_;
  std::vector<int64_t> latest_;
};

std::vector<Plan> plans_of(std::vector<Call> const& calls) {
  std::vector<Plan> plans;
  for (size_t i = 0; i < calls.size(); ++i) {
    bool const goes_on =
        i > 0 && calls[i].detail.plan != 0 && calls[i].detail.plan == calls[i - 1].detail.plan;
    if (!goes_on) plans.push_back({i, i});
    plans.back().last = i + 1;
  }
  return plans;
}

/// The match of each kernel, keyed by its correlation.
using Matches = std::unordered_map<uint64_t, CollectiveDetail>;

/// A thread's calls and the launches of their kernels. Where the library reports the launch, it is
/// the one that the call encloses. Else a rule applies: the thread that launched a plan's kernel
/// reports the plan, next after the launch.
class ThreadMerge {
 public:
  explicit ThreadMerge(Batches& batches) : batches_(batches), calls_(calls_of(batches)) {}

  void match(Matches& matches) {
    if (calls_.empty()) return;
    std::vector<Launch> const launches = launches_of(batches_);
    Middles const middles(launches);

    int64_t before = INT64_MIN;  // the plan before was reported: launches until then are not ours
    for (Plan const& plan : plans_of(calls_)) {
      Call const& first = calls_[plan.first];
      Launch const* launch = nullptr;
      if (first.detail.launch == CallLaunch::kInside)
        launch = launch_inside(launches, middles, first);
      if (first.detail.launch == CallLaunch::kBefore)
        launch = launch_before(launches, first.start, before);

      if (launch != nullptr) add(plan, launch->correlation, matches);
      before = first.start;
    }
  }
  /// The calls of the kernels that were found get their correlation.
  void apply(Matches const& carried) {
    for (auto const& [place, correlation] : matched_)
      if (carried.contains(correlation)) batches_[place.batch].correlation[place.row] = correlation;
  }

 private:
  static Launch const* launch_before(std::span<Launch const> launches, int64_t reported,
                                     int64_t before) {
    auto const next = first_from(launches, reported);
    if (next == launches.begin()) return nullptr;
    Launch const& last = *std::prev(next);
    return last.start >= before && reported - last.end <= kMaxPlanDelayNs ? &last : nullptr;
  }
  /// On one thread few launches that begin inside of the call have their middle behind it; in
  /// damaged traces all may, and the first are looked at.
  static Launch const* launch_inside(std::span<Launch const> launches, Middles const& middles,
                                     Call const& call) {
    constexpr int kMostLookedAt = 256;

    auto at =
        static_cast<size_t>(first_from(launches, call.start - kMaxPlanDelayNs) - launches.begin());

    for (int looked = 0; looked < kMostLookedAt; ++looked, ++at) {
      at = middles.next(at, call.start);
      if (at >= launches.size() || launches[at].start > call.end) return nullptr;
      if (middle_of(launches[at]) <= call.end) return &launches[at];
    }
    return nullptr;
  }
  static std::span<Launch const>::iterator first_from(std::span<Launch const> launches,
                                                      int64_t time) {
    return std::lower_bound(
        launches.begin(), launches.end(), time,
        [](Launch const& launch, int64_t start) { return launch.start < start; });
  }
  void add(Plan const& plan, uint64_t correlation, Matches& matches) {
    std::vector<CollectiveDetail> details;
    for (size_t i = plan.first; i < plan.last; ++i) {
      details.push_back(calls_[i].detail);
      matched_.emplace_back(calls_[i].place, correlation);
    }
    CollectiveDetail carried = combine(details);
    carried.launch = CallLaunch::kBefore;  // says something of calls only
    matches.insert_or_assign(correlation, carried);
  }

  Batches& batches_;
  std::vector<Call> calls_;
  std::vector<std::pair<Place, uint64_t>> matched_;
};

/// A kernel of a communication library has one block a channel, in one dimension, and no CUDA graph
/// replays it under the correlation of one launch.
bool can_carry(KernelDetail const& kernel, CollectiveDetail const& detail) {
  if (kernel.graph != 0) return false;
  return kernel.grid_x == 0 ||
         (kernel.grid_y == 1 && kernel.grid_z == 1 && kernel.grid_x >= detail.channels);
}
/// The same of one that the tracer knew by its name: of another grid it has no channels.
bool can_carry(CollectiveDetail const& kernel, CollectiveDetail const& detail) {
  return is_known_by_name(kernel) && kernel.graph == 0 && kernel.channels > 0 &&
         kernel.channels >= detail.channels;
}

/// Kernels of the batch that are in `matches` become collectives, and those that are collectives by
/// their names get the details. Those found are added to `carried`.
void turn_kernels(EventBatch& batch, Matches const& matches, Matches& carried) {
  auto const match_of = [&](size_t row) {
    bool const is_kernel =
        batch.kind[row] == EventKind::kKernel || batch.kind[row] == EventKind::kCollective;
    return is_kernel && batch.correlation[row] != 0 ? matches.find(batch.correlation[row])
                                                    : matches.end();
  };

  bool any = false;
  for (size_t row = 0; row < batch.size() && !any; ++row) any = match_of(row) != matches.end();
  if (!any) return;

  std::vector<uint32_t> const detail_rows = batch.detail_rows();
  auto& all_kernels = std::get<DetailColumn<KernelDetail>>(batch.details);
  auto& all_collectives = std::get<DetailColumn<CollectiveDetail>>(batch.details);
  DetailColumn<KernelDetail> kernels;
  DetailColumn<CollectiveDetail> collectives;

  for (size_t row = 0; row < batch.size(); ++row) {
    DetailTable const table = kind_info(batch.kind[row]).table;
    bool const is_kernel = table == DetailTable::kKernels;
    if (!is_kernel && table != DetailTable::kCollectives) continue;

    auto const match = match_of(row);
    bool const carries = match != matches.end() &&
                         (is_kernel ? can_carry(all_kernels[detail_rows[row]], match->second)
                                    : can_carry(all_collectives[detail_rows[row]], match->second));
    if (carries) {
      batch.kind[row] = EventKind::kCollective;
      collectives.push_back(match->second);
      carried.insert(*match);
    } else if (is_kernel) {
      kernels.push_back(all_kernels[detail_rows[row]]);
    } else {
      collectives.push_back(all_collectives[detail_rows[row]]);
    }
  }

  all_kernels = std::move(kernels);
  all_collectives = std::move(collectives);
}

/// The value that all have, else `unknown`.
template <class Value>
Value common(std::span<CollectiveDetail const> calls, Value CollectiveDetail::*member,
             Value unknown) {
  Value const first = calls.front().*member;
  bool const same = std::all_of(calls.begin(), calls.end(), [&](CollectiveDetail const& call) {
    return call.*member == first;
  });
  return same ? first : unknown;
}

bool is_all_to_all(std::span<CollectiveDetail const> calls) {
  auto const count = [&](CollectiveOp op) {
    return std::count_if(calls.begin(), calls.end(),
                         [&](CollectiveDetail const& call) { return call.op == op; });
  };
  auto const participants = static_cast<ptrdiff_t>(calls.front().participants);
  ptrdiff_t const sends = count(CollectiveOp::kSend);
  // The part that stays is copied, in some libraries without a send and a receive.
  return participants > 2 && sends == count(CollectiveOp::kReceive) &&
         static_cast<size_t>(2 * sends) == calls.size() &&
         (sends == participants || sends == participants - 1);
}

}  // namespace

UnexplainedKernels count_unexplained_kernels(StringTable const& strings,
                                             std::span<Track const> tracks,
                                             Trace::Columns const& columns,
                                             DetailColumn<CollectiveDetail> const& details,
                                             std::span<uint32_t const> track_begin,
                                             bool has_calls) {
  std::vector<uint8_t> names(strings.size(), 0);

  bool any = false;
  for (uint32_t id = 0; id < strings.size(); ++id) {
    std::string_view const text = strings.text(StringId{id});
    bool const is_own = text.starts_with("nccl") && text.find("Kernel_") != std::string_view::npos;
    names[id] = is_own ? 1 : 0;
    any = any || is_own;
  }

  UnexplainedKernels found;
  for (size_t t = 0; t < tracks.size() && any; ++t) {
    if (tracks[t].kind != TrackKind::kStream) continue;
    for (uint32_t row = track_begin[t]; row < track_begin[t + 1]; ++row) {
      EventKind const kind = columns.kind[row];
      if (kind == EventKind::kKernel) found.computing += names[columns.name[row].value];
      if (has_calls && kind == EventKind::kCollective &&
          is_known_by_name(details[columns.detail[row]]))
        found.communicating += names[columns.name[row].value];
    }
  }
  return found;
}

CollectiveDetail combine(std::span<CollectiveDetail const> calls) {
  STEPSCOPE_CHECK(!calls.empty());
  CollectiveDetail result = calls.front();  // its sequence and plan stand for all
  if (calls.size() == 1) return result;

  bool const all_to_all = is_all_to_all(calls);
  result.op = all_to_all ? CollectiveOp::kAllToAll
                         : common(calls, &CollectiveDetail::op, CollectiveOp::kUnknown);
  result.communicator = common(calls, &CollectiveDetail::communicator, uint64_t{0});
  result.participants = common(calls, &CollectiveDetail::participants, uint32_t{0});
  result.rank = common(calls, &CollectiveDetail::rank, int32_t{-1});
  result.peer = common(calls, &CollectiveDetail::peer, int32_t{-1});
  result.data_type = common(calls, &CollectiveDetail::data_type, DataType::kUnknown);
  result.algorithm = common(calls, &CollectiveDetail::algorithm, CollectiveAlgorithm::kUnknown);
  result.protocol = common(calls, &CollectiveDetail::protocol, CollectiveProtocol::kUnknown);

  result.bytes = result.gpu_wait_ns = result.peer_wait_ns = result.network_wait_ns = 0;
  for (CollectiveDetail const& call : calls) {
    bool const counts =
        !all_to_all || call.op == CollectiveOp::kSend;  // the message is what is sent
    result.bytes += counts ? call.bytes : 0;
    result.channels = std::max(result.channels, call.channels);
    result.gpu_wait_ns += call.gpu_wait_ns;
    result.peer_wait_ns += call.peer_wait_ns;
    result.network_wait_ns += call.network_wait_ns;
  }
  return result;
}

bool merge_collective_calls(std::span<Track const> tracks,
                            std::vector<std::vector<EventBatch>>& batches) {
  Matches matches;
  std::vector<ThreadMerge> threads;
  for (size_t t = 0; t < tracks.size(); ++t) {
    if (tracks[t].kind != TrackKind::kThread ||
        std::none_of(batches[t].begin(), batches[t].end(), has_calls))
      continue;
    threads.emplace_back(batches[t]).match(matches);
  }
  if (matches.empty()) return !threads.empty();

  Matches carried;
  for (size_t t = 0; t < tracks.size(); ++t) {
    if (tracks[t].kind != TrackKind::kStream) continue;
    for (EventBatch& batch : batches[t]) turn_kernels(batch, matches, carried);
  }
  for (ThreadMerge& thread : threads) thread.apply(carried);
  return true;
}

}  // namespace stepscope::model
