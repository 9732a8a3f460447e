#include "trace/import/formats/nccl_inspector/process_log.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>
#include <tuple>

#include <fmt/format.h>
#include <xxhash.h>

#include "trace/base/format.h"
#include "trace/import/common/coarse_times.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::CollectiveOp;
using model::EventKind;
using model::TrackId;
using RecordKind = InspectorRecord::Kind;
using RecordTiming = InspectorRecord::Timing;

constexpr size_t kMostLogTextBytes = 256;
constexpr int64_t kNsPerMicrosecond = 1000;
/// A process has some hundred; what a damaged log has beyond is put together.
constexpr size_t kMostMembers = size_t{1} << 14U;
/// Operations of one group call run at once; more than so many are shown on one stream, and overlap
/// there.
constexpr size_t kMostLanesOfMember = 64;

/// "0x7f8c496ae9f661" → the hash; another text → a hash of it.
uint64_t communicator_number(std::string_view id) {
  std::string_view const digits = id.starts_with("0x") ? id.substr(2) : id;
  uint64_t number = 0;
  auto const [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  bool const is_number =
      error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  return is_number ? number : XXH3_64bits(id.data(), id.size());
}

CollectiveOp inspector_op(std::string_view name) {
  return name == "All2All" ? CollectiveOp::kAllToAll : model::collective_op_of(name);
}

model::CollectiveAlgorithm inspector_algorithm(std::string_view name) {
  using enum model::CollectiveAlgorithm;
  if (name == "TREE") return kTree;
  if (name == "RING") return kRing;
  if (name == "COLLNET_DIRECT") return kCollnetDirect;
  if (name == "COLLNET_CHAIN") return kCollnetChain;
  if (name == "NVLS") return kNvls;
  if (name == "NVLS_TREE") return kNvlsTree;
  return name == "PAT" ? kPat : kUnknown;
}
model::CollectiveProtocol inspector_protocol(std::string_view name) {
  using enum model::CollectiveProtocol;
  if (name == "LL") return kLl;
  if (name == "LL128") return kLl128;
  return name == "SIMPLE" ? kSimple : kUnknown;
}

/// The log's bytes are the share of a rank where the ranks' shares are gathered or scattered.
uint64_t inspector_message_bytes(CollectiveOp op, uint64_t bytes, int32_t ranks) {
  uint64_t all = 0;
  if (!model::collective_op_info(op).counts_share) return bytes;
  return __builtin_mul_overflow(bytes, static_cast<uint64_t>(std::max(ranks, 0)), &all) ? 0 : all;
}

}  // namespace

uint32_t ProcessLog::member_of(InspectorRecord const& record) {
  if (!members_.empty() && record.rank == last_rank_ && record.communicator == last_communicator_)
    return last_member_;

  std::string id = json_text(record.communicator, kMostLogTextBytes);
  int32_t rank = record.rank;
  if (members_.size() >= kMostMembers && !numbers_.contains({id, rank})) {
    id = "others";
    rank = -1;
  }

  auto const [number, is_new] =
      numbers_.try_emplace({id, rank}, static_cast<uint32_t>(members_.size()));
  if (is_new) {
    std::string name = json_text(record.communicator_name, kMostLogTextBytes);
    if (name.empty() || name == "unknown") name = fmt::format("communicator {}", id);
    members_.push_back({std::move(name), communicator_number(id), rank, record.ranks, 0, 0});
  }

  last_communicator_ = record.communicator;
  last_rank_ = record.rank;
  return last_member_ = number->second;
}

ProcessLog::Name ProcessLog::name_of(std::string_view raw) {
  auto const [place, is_new] = names_.try_emplace(raw);
  if (is_new)
    place->second = {builder_.intern(json_text(raw, kMostLogTextBytes)), inspector_op(raw)};
  return place->second;
}

void ProcessLog::add(InspectorRecord const& record, std::string_view text) {
  if (!record.version.empty() && version_.empty())
    version_ = json_text(record.version, kMostLogTextBytes);
  strange_ += record.strange;

  uint32_t const member = member_of(record);
  if (record.kind == RecordKind::kStatistics)
    members_[member].dropped = std::max(members_[member].dropped, record.dropped);
  if (record.kind == RecordKind::kOther) ++other_;
  if (record.kind != RecordKind::kCollective && record.kind != RecordKind::kMessage) return;

  // Doubled within the same communicator and rank, which a record does not name from v4.3 on.
  if (!seen_.insert(XXH3_64bits_withSeed(text.data(), text.size(), member)).second) {
    ++doubled_;
    return;
  }

  Member const& of = members_[member];
  auto const [name, op] = name_of(record.operation);
  Operation operation{member, name, record.kind == RecordKind::kMessage};
  model::CollectiveDetail& detail = operation.detail;
  detail.op = op;
  detail.bytes = inspector_message_bytes(op, record.bytes, of.ranks);
  detail.communicator = of.communicator;
  detail.participants = static_cast<uint32_t>(std::max(of.ranks, 0));
  detail.rank = of.rank;
  detail.peer = record.peer;
  detail.algorithm = inspector_algorithm(record.algorithm);
  detail.protocol = inspector_protocol(record.protocol);
  detail.channels = record.channels;
  detail.launch = model::CallLaunch::kNone;

  if (!operation.is_message && record.sequence) {
    // NCCL counts by function: with the function it is one number. Our own recordings have the
    // same.
    detail.sequence = *record.sequence << 4U | static_cast<uint64_t>(op);
    Sequences& sequences = sequences_[{member, static_cast<uint8_t>(op)}];
    sequences.first = std::min(sequences.first, *record.sequence);
    sequences.last = std::max(sequences.last, *record.sequence);
    ++sequences.count;
  }

  if (record.timing == RecordTiming::kCollectiveHost || !record.duration_us)
    return add_call(record, operation);
  host_timed_ += record.timing == RecordTiming::kKernelHost ? 1 : 0;
  operation.is_timed = record.kernel_end_us > 0;
  untimed_ += operation.is_timed ? 0 : 1;
  operation.end_us = operation.is_timed ? record.kernel_end_us : record.written_us;
  operation.duration_us = *record.duration_us;

  if (operation.end_us == 0) {
    ++unusable_;
    return;
  }
  operations_.push_back(operation);
}

void ProcessLog::add_call(InspectorRecord const& record, Operation operation) {
  operation.end_us = record.call_end_us > 0 ? record.call_end_us : record.written_us;
  if (record.call_begin_us > 0) {
    int64_t const took_us = std::max<int64_t>(0, operation.end_us - record.call_begin_us);
    bool const can_be = took_us <= InspectorRecord::kMostDurationUs;
    operation.duration_us = can_be ? took_us : 0;
    strange_ += can_be ? 0 : 1;
  }

  if (operation.end_us == 0)
    ++unusable_;
  else
    calls_.push_back(operation);
}

/// A record tells when it was written: its operation had ended then, and before the next of its
/// kind began.
void ProcessLog::place_untimed() {
  std::map<std::tuple<uint32_t, bool, CollectiveOp, int32_t>, int64_t> next_begin;
  for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
    if (operation->is_timed) continue;

    // Messages of one group call run at once, but for those to the same peer.
    bool const is_message = operation->is_message;
    auto const key = std::tuple(operation->member, is_message,
                                is_message ? operation->detail.op : CollectiveOp::kUnknown,
                                is_message ? operation->detail.peer : -1);

    auto const [next, is_last] = next_begin.try_emplace(key, operation->end_us);
    if (!is_last) operation->end_us = std::min(operation->end_us, next->second);
    // Not before 1970, however many damaged durations add up: times stay what fits into 64 bits as
    // ns.
    next->second = std::max<int64_t>(0, operation->end_us - operation->duration_us);
  }
}

/// A process with several GPUs: the n-th of its ranks in a communicator has the n-th GPU.
void ProcessLog::number_devices() {
  std::map<uint64_t, std::vector<uint32_t>> members_of;
  for (uint32_t m = 0; m < members_.size(); ++m) members_of[members_[m].communicator].push_back(m);
  for (auto& [communicator, members] : members_of) {
    std::stable_sort(members.begin(), members.end(),
                     [&](uint32_t a, uint32_t b) { return members_[a].rank < members_[b].rank; });
    for (size_t i = 0; i < members.size(); ++i)
      members_[members[i]].device = static_cast<int32_t>(i);
  }
}

/// Operations of a communicator that run at once are shown on parallel streams.
void ProcessLog::add_streams() {
  std::vector<std::vector<uint32_t>> of_member(members_.size());
  for (uint32_t i = 0; i < operations_.size(); ++i) of_member[operations_[i].member].push_back(i);

  int64_t const origin_ns = builder_.info().origin_epoch_ns;
  std::set<int32_t> devices;
  int64_t stream = 0;

  for (uint32_t m = 0; m < members_.size(); ++m) {
    auto const begin_of = [&](uint32_t i) {
      return operations_[i].end_us - operations_[i].duration_us;
    };

    std::vector<uint32_t>& order = of_member[m];
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return begin_of(a) < begin_of(b); });

    using Lane = std::pair<int64_t, size_t>;  // free from, number
    std::priority_queue<Lane, std::vector<Lane>, std::greater<>> lanes;
    std::vector<TrackId> tracks;

    for (uint32_t const i : order) {
      Operation const& operation = operations_[i];
      size_t lane = tracks.size();
      if (!lanes.empty() &&
          (lanes.top().first <= begin_of(i) || tracks.size() == kMostLanesOfMember)) {
        lane = lanes.top().second;
        lanes.pop();
      } else {
        std::string name = tracks.empty()
                               ? members_[m].name
                               : fmt::format("{}, {}", members_[m].name, tracks.size() + 1);
        tracks.push_back(
            builder_.add_track({model::TrackKind::kStream, std::move(name), ++stream,
                                members_[m].device, model::StreamKind::kCommunication, 0}));
        devices.insert(members_[m].device);
      }

      lanes.emplace(operation.end_us, lane);
      builder_.events(tracks[lane])
          .add(EventKind::kCollective, begin_of(i) * kNsPerMicrosecond - origin_ns,
               operation.duration_us * kNsPerMicrosecond, operation.name, 0, operation.detail);
    }
  }

  for (int32_t const device : devices)
    builder_.add_device({device, fmt::format("GPU {} of the process", device), 0, 0, 0});
}

void ProcessLog::add_calls() {
  if (calls_.empty()) return;
  TrackId const track = builder_.add_track(
      {model::TrackKind::kThread, "calls without times on the device", 0, -1, {}, 0});
  for (Operation const& call : calls_)
    builder_.events(track).add(
        EventKind::kCollectiveCall,
        (call.end_us - call.duration_us) * kNsPerMicrosecond - builder_.info().origin_epoch_ns,
        call.duration_us * kNsPerMicrosecond, call.name, 0, call.detail);
}

void ProcessLog::add_info() {
  model::TraceInfo& info = builder_.info();
  info.tool = version_.empty() ? "NCCL inspector" : "NCCL inspector " + version_;
  info.host = host_;
  info.process_id = process_id_;
  info.rank = -1;

  auto const largest =
      std::max_element(members_.begin(), members_.end(),
                       [](Member const& a, Member const& b) { return a.ranks < b.ranks; });
  constexpr int32_t kMostRanks = 1 << 24;
  if (largest != members_.end() && largest->ranks <= kMostRanks) {
    // The rank in the job, if it has a communicator of all ranks.
    info.world_size = std::max(1, largest->ranks);
    for (Member const& member : members_)
      if (member.communicator == largest->communicator &&
          (info.rank < 0 || member.rank < info.rank))
        info.rank = member.rank;
  }

  int64_t first_us = INT64_MAX;
  for (auto const* const list : {&operations_, &calls_})
    for (Operation const& operation : *list)
      first_us = std::min(first_us, operation.end_us - operation.duration_us);
  if (first_us != INT64_MAX) info.origin_epoch_ns = first_us * kNsPerMicrosecond;
  if (untimed_ > 0) info.facts.emplace_back(kCollectiveTimesFact, kLatestTimes);
}

void ProcessLog::add_notes() {
  model::ImportLog& log = builder_.log();
  auto const note = [&](uint64_t count, char const* what) {
    if (count > 0) log.notes.push_back(base::count_sentence(count, what));
  };

  if (untimed_ > 0)
    log.notes.push_back(
        "the log tells how long operations took, exact to the µs, not when. They are placed at "
        "the latest possible time, so trust durations, transfers and waits, not skew and idle "
        "time. NCCL_INSPECTOR_DUMP_VERBOSE=1 records times");
  if (untimed_ < operations_.size())
    log.notes.push_back(
        "operations end when a thread of NCCL saw them end, some µs late, and have the durations "
        "of the GPU");
  note(host_timed_, "durations were measured by a thread of the host, not by the GPU");
  note(calls_.size(), "operations have no time on the device: their calls are shown");
  note(doubled_, "records are there twice and were left out");
  note(unusable_, "records have no time and were left out");
  note(strange_, "numbers cannot be and were taken as not said");

  uint64_t missing = 0;
  for (auto const& [key, sequences] : sequences_) {
    uint64_t const span = sequences.last - sequences.first + 1;
    missing += span > sequences.count ? span - sequences.count : 0;
  }
  note(missing,
       "collectives between others are not in the log: they were small "
       "(NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES), not timed by the GPU, or lost");

  for (Member const& member : members_) log.dropped += member.dropped;
  log.dropped += unusable_;
  log.unknown_events += other_;
}

model::Trace ProcessLog::finish() && {
  place_untimed();
  number_devices();
  add_info();
  add_streams();
  add_calls();
  add_notes();
  return std::move(builder_).finish();
}

}  // namespace stepscope::import
