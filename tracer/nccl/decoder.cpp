#include "tracer/nccl/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tracer/nccl/handle.h"
#include "tracer/nccl/launch_links.h"
#include "tracer/nccl/message_bytes.h"

namespace stepscope::tracer::nccl {
namespace {

/// Open calls are looked through this often: half of a call's time to settle more or less is the
/// same to a reader.
constexpr int64_t kSettlePeriodNs = OpenCall::kSettleNs / 2;

/// NCCL counts by function: with the function it is one number for each collective of a
/// communicator. 0 stays "none". Calls of the copy engines have a count of their own.
uint64_t unique_sequence(Call const& call) {
  constexpr uint64_t kOfCopyEngine = uint64_t{1} << 63;
  static_assert(model::kCollectiveOpCount <= 16);
  if (call.has_sequence == 0) return 0;
  return call.sequence << 4 | static_cast<uint64_t>(call.op) |
         (call.by_copy_engine != 0 ? kOfCopyEngine : 0);
}

uint16_t words_of(RecordType type) {
  switch (type) {
    case RecordType::kCall:
    case RecordType::kProgramCall:
      return kCallWords;
    case RecordType::kCallEnd:
      return kCallEndWords;
    case RecordType::kNetworkBegin:
      return kNetworkBeginWords;
    case RecordType::kNetworkEnd:
      return kNetworkEndWords;
    case RecordType::kLaunch:
      return kLaunchWords;
    case RecordType::kLaunchEnd:
      return kLaunchEndWords;
    case RecordType::kPadding:
      break;
  }
  return 0;
}

}  // namespace

size_t Decoder::decode(uint32_t recorder, int64_t thread_id, std::span<uint64_t const> words,
                       ClockFit const& clock) {
  size_t at = 0;
  while (at < words.size()) {
    RecordHeader header{};
    std::memcpy(&header, &words[at], sizeof header);

    auto const type = static_cast<RecordType>(header.type);
    bool const is_padding = type == RecordType::kPadding;
    if (header.words == 0 || header.words > words.size() - at ||
        (!is_padding && header.words != words_of(type))) {
      ++malformed_;
      return words.size();  // where the next one begins is not known
    }

    auto const record = words.subspan(at, header.words);
    at += header.words;
    if (is_padding) continue;

    int64_t const now = clock.to_trace_ns(static_cast<int64_t>(record[1]));
    if (type == RecordType::kCall) {
      Call call;
      std::memcpy(static_cast<void*>(&call), &record[2], sizeof call);
      begin_call(recorder, thread_id, call, now);
    } else if (type == RecordType::kCallEnd) {
      end_call(record[2], now);
    } else if (decode_program_call(type, recorder, thread_id, record, now)) {
      continue;
    } else if (NetworkEvent const event = network_event(record, clock); !apply(event)) {
      early_.push_back(event);
    }
  }
  return at;
}

/// False when the record is not of these.
bool Decoder::decode_program_call(RecordType type, uint32_t recorder, int64_t thread_id,
                                  std::span<uint64_t const> record, int64_t now) {
  if (type == RecordType::kProgramCall) {
    Call call;
    std::memcpy(static_cast<void*>(&call), &record[2], sizeof call);
    program_calls_.add(thread_id, call, now);
  } else if (type == RecordType::kLaunch) {
    Launch launch;
    std::memcpy(static_cast<void*>(&launch), &record[2], sizeof launch);
    program_calls_.begin_launch(thread_id, launch, now);
    // A group belongs to the thread that calls: another one that launches was started for it.
    if (launch.group != 0 && recorder_of(launch.group) != (recorder & kRecorderMask))
      threads_of_nccl_.push_back({thread_id, static_cast<uint32_t>(launch.communicator)});
  } else if (type == RecordType::kLaunchEnd) {
    program_calls_.end_launch(record[2], now);
  } else {
    return false;
  }

  return true;
}

Decoder::NetworkEvent Decoder::network_event(std::span<uint64_t const> record,
                                             ClockFit const& clock) {
  NetworkEvent event;
  event.call = record[2];
  event.at_ns = clock.to_trace_ns(static_cast<int64_t>(record[1]));
  event.change = record.size() == kNetworkBeginWords ? 1 : -1;

  if (event.change > 0) return event;

  for (size_t i = 0; i < kWaits; ++i) {
    int64_t const waited =
        event.at_ns - clock.to_trace_ns(static_cast<int64_t>(record[1] - record[3 + i]));
    event.waited_ns[i] = static_cast<uint64_t>(std::max<int64_t>(waited, 0));
  }
  return event;
}

OpenCall* Decoder::find(uint64_t handle) {
  auto const found = calls_.find(handle);
  return found == calls_.end() ? nullptr : &found->second;
}

void Decoder::begin_call(uint32_t recorder, int64_t thread_id, Call const& call, int64_t now) {
  uint64_t& last = last_call_[recorder];
  if (OpenCall* const before = find(last); before != nullptr && before->end_ns < 0)
    before->end_ns = now;
  last = call.handle;

  OpenCall open;
  open.call = call;
  open.thread_id = thread_id;
  open.start_ns = now;
  open.heard_ns = now;

  calls_.insert_or_assign(call.handle, open);
}

void Decoder::end_call(uint64_t handle, int64_t now) {
  OpenCall* const open = find(handle);
  if (open == nullptr) return;
  open->returned = true;
  if (open->end_ns < 0) open->end_ns = now;
  open->heard_ns = std::max(open->heard_ns, now);
}

bool Decoder::apply(NetworkEvent const& event) {
  OpenCall* const open = find(event.call);
  if (open == nullptr) return false;
  open->open_network_ops += event.change;
  open->heard_ns = std::max(open->heard_ns, event.at_ns);
  for (size_t i = 0; i < kWaits; ++i) open->waited_ns[i] += event.waited_ns[i];
  return true;
}

void Decoder::apply_early_events() {
  // Heads of rings are read one after the other: a call can be a round later than what a network
  // thread says of it.
  constexpr int kMaxRounds = 2;
  std::erase_if(early_,
                [&](NetworkEvent& event) { return apply(event) || ++event.rounds > kMaxRounds; });
}

model::CollectiveDetail Decoder::detail_of(OpenCall const& open) const {
  Call const& call = open.call;
  Communicator const communicator = communicators_.get(call.communicator);

  model::CollectiveDetail detail;
  detail.bytes = message_bytes(call, communicator.ranks);
  detail.communicator = communicator.hash != 0 ? communicator.hash : call.communicator_hash;
  detail.sequence = unique_sequence(call);
  detail.op = call.op;
  detail.participants = communicator.ranks;
  detail.rank = communicator.rank >= 0 ? communicator.rank : call.rank;
  detail.peer = call.peer;
  detail.data_type = call.data_type;
  detail.algorithm = call.algorithm;
  detail.protocol = call.protocol;
  detail.channels = call.channels;
  detail.plan = call.plan;
  detail.launch = open.launch;

  static_assert(kWaits == 3 && static_cast<int>(Wait::kGpu) == 1 &&
                static_cast<int>(Wait::kPeer) == 2);
  detail.gpu_wait_ns = open.waited_ns[0];
  detail.peer_wait_ns = open.waited_ns[1];
  detail.network_wait_ns = open.waited_ns[2];
  return detail;
}

void Decoder::write(OpenCall const& open, TraceStore& store) const {
  model::TrackId const track = store.thread_track(open.thread_id);
  TrackRows& rows = store.rows(track);
  int64_t const duration = open.end_ns < 0 ? 0 : std::max<int64_t>(open.end_ns - open.start_ns, 0);
  rows.add(model::EventKind::kCollectiveCall, open.start_ns, duration,
           store.intern(model::collective_op_info(open.call.op).nccl_call), 0, detail_of(open));
  store.row_begun(track, rows);
}

void Decoder::share_tracks(TraceStore& store) {
  for (ThreadOfNccl const& thread : std::exchange(threads_of_nccl_, {})) {
    Communicator const communicator = communicators_.get(thread.communicator);
    std::string const name = communicator.name.empty()
                                 ? fmt::format("communicator {:x}", communicator.hash)
                                 : communicator.name;
    store.share_thread_track(thread.thread_id, thread.communicator,
                             fmt::format("NCCL's own threads, {}", name));
  }
}

void Decoder::end_round(int64_t now_ns, TraceStore& store) {
  share_tracks(store);
  apply_early_events();
  if (now_ns - settled_ns_ < kSettlePeriodNs) return;
  settled_ns_ = now_ns;
  settle(now_ns, store);
}

void Decoder::settle_groups(int64_t now_ns, ProgramCalls::Operations const& operations,
                            std::vector<OpenCall>& settled) {
  for (uint64_t const handle : program_calls_.settled(now_ns, operations)) {
    CallGroup const group = program_calls_.take(handle);

    std::vector<OpenCall*> done;
    if (auto const found = operations.find(handle); found != operations.end()) done = found->second;
    for (OpenCall& call : link_launches(group, done)) settled.push_back(call);

    for (OpenCall const* const call : done) {
      settled.push_back(*call);
      calls_.erase(settled.back().call.handle);
    }
  }
}

void Decoder::settle(int64_t now_ns, TraceStore& store) {
  std::vector<OpenCall> settled;
  ProgramCalls::Operations operations;

  for (auto& [handle, open] : calls_) {
    if (uint64_t const group = program_calls_.group_of(open.call.program_call); group != 0)
      operations[group].push_back(&open);
    else if (open.is_settled(now_ns))
      settled.push_back(open);
  }

  for (OpenCall& call : settled) {
    // Its group is over: a graph runs again what was captured there, or it is very late.
    if (call.call.program_call != 0) call.launch = model::CallLaunch::kNone;
    calls_.erase(call.call.handle);
  }

  settle_groups(now_ns, operations, settled);
  // In the order of their starts, so that the file has little to sort.
  std::sort(settled.begin(), settled.end(), [](OpenCall const& a, OpenCall const& b) {
    return std::pair(a.start_ns, a.call.handle) < std::pair(b.start_ns, b.call.handle);
  });

  for (OpenCall const& call : settled) write(call, store);
}

void Decoder::finish(TraceStore& store) {
  share_tracks(store);
  apply_early_events();
  settle(INT64_MAX / 2, store);
}

}  // namespace stepscope::tracer::nccl
