// Makes a trace of a process whose rows have all been read: links, memory, tracks, devices, notes.
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/formats/rocprofv3/process.h"
#include "trace/model/build/memory_names.h"

namespace stepscope::import::rocm {
namespace {

using model::EventKind;

/// A program that makes more streams uses each for a moment: its work is shown by queue.
constexpr size_t kMostStreams = 64;
constexpr std::string_view kUnnamedDevice = "AMD GPU";

/// Numbers of copy tracks lie above those of streams and queues.
constexpr int64_t kFirstCopyTrack = int64_t{1} << 32U;

std::string_view name_of_copy_lane(model::CopyDirection direction) {
  switch (direction) {
    case model::CopyDirection::kHostToDevice:
      return "copies to the device";
    case model::CopyDirection::kDeviceToHost:
      return "copies to the host";
    case model::CopyDirection::kPeerToPeer:
      return "copies to other devices";
    case model::CopyDirection::kUnknown:
    case model::CopyDirection::kDeviceToDevice:
    case model::CopyDirection::kHostToHost:
      break;
  }
  return "copies";
}

/// What most of a track's ops do.
model::StreamKind kind_of_lane(std::vector<model::EventBatch const*> const& batches) {
  size_t all = 0, copies = 0, collectives = 0;
  for (model::EventBatch const* const batch : batches) {
    all += batch->size();
    copies +=
        static_cast<size_t>(std::count(batch->kind.begin(), batch->kind.end(), EventKind::kMemcpy));
    collectives += static_cast<size_t>(
        std::count(batch->kind.begin(), batch->kind.end(), EventKind::kCollective));
  }

  if (2 * collectives > all) return model::StreamKind::kCommunication;
  return 2 * copies > all ? model::StreamKind::kCopy : model::StreamKind::kCompute;
}

}  // namespace

/// Numbers of the agents that worked. Where the file does not name them, they get the next numbers
/// in the order of their handles. What does not state its GPU goes to the first one.
std::map<uint64_t, int32_t> Process::number_devices() const {
  std::map<uint64_t, int32_t> numbers;
  std::set<int32_t> taken;
  for (Agent const& agent : agents_) {
    bool const is_named = agent.is_gpu && agent.handle != 0 && agent.number && *agent.number >= 0 &&
                          *agent.number < static_cast<int32_t>(kMostAgents);
    if (is_named && !numbers.contains(agent.handle) && taken.insert(*agent.number).second)
      numbers.emplace(agent.handle, *agent.number);
  }

  int32_t next = 0;
  auto const take_next = [&](uint64_t agent) {
    if (numbers.contains(agent)) return;
    while (next + 1 < static_cast<int32_t>(kMostAgents) && taken.contains(next)) ++next;
    taken.insert(next);
    numbers.emplace(agent, next);
  };

  // Without stated numbers all GPUs of the machine count, also those that other processes use.
  std::set<uint64_t> gpus;
  for (Agent const& agent : agents_)
    if (agent.is_gpu && agent.handle != 0) gpus.insert(agent.handle);
  for (uint64_t const gpu : gpus) take_next(gpu);

  std::optional<int32_t> first;
  for (auto const& [key, ops] : ops_) {
    if (!is_device(key.agent)) continue;
    take_next(key.agent);
    first = std::min(first.value_or(INT32_MAX), numbers.at(key.agent));
  }

  for (auto const& [key, ops] : ops_) numbers.try_emplace(key.agent, first.value_or(0));
  return numbers;
}

bool Process::is_device(uint64_t handle) const {
  Agent const* const agent = find_agent(handle);
  return handle != 0 && (agent == nullptr || agent->is_gpu);
}

int32_t Process::only_device() const {
  std::map<uint64_t, int32_t> const numbers = number_devices();
  std::set<int32_t> devices;
  for (auto const& [key, ops] : ops_) devices.insert(numbers.at(key.agent));
  return devices.size() == 1 ? *devices.begin() : -1;
}

/// Ops get the correlation of the call that programs know. Without any traced call a correlation
/// leads nowhere, and a missing call is no loss.
void Process::link_ops() {
  OuterCalls outer;
  CommunicationCalls communication;
  for (auto& [id, thread] : threads_) {
    find_outer_calls(thread.calls, outer);
    find_communication(thread.calls, communication);
  }

  for (auto& [key, ops] : ops_) {
    std::vector<uint32_t> const details =
        communication.empty() ? std::vector<uint32_t>() : ops.rows.detail_rows();
    auto& collectives = std::get<model::DetailColumn<model::CollectiveDetail>>(ops.rows.details);

    for (size_t row = 0; row < ops.rows.size(); ++row) {
      uint64_t& correlation = ops.rows.correlation[row];
      auto const around = outer.find(correlation);
      if (around != outer.end()) correlation = around->second;

      if (ops.rows.kind[row] == EventKind::kCollective && !communication.empty()) {
        auto const call = communication.find(correlation);
        model::CollectiveOp& op = collectives[details[row]].op;
        if (call != communication.end() && op == model::CollectiveOp::kUnknown) op = call->second;
      }
      if (!has_calls_) correlation = 0;
    }
  }

  for (MemoryRecord& record : memory_) {
    auto const around = outer.find(record.correlation);
    if (around != outer.end()) record.correlation = around->second;
  }
}

/// What an allocation says goes to the HIP call that made it. The others are rows of their own.
void Process::add_memory_rows() {
  account_memory(memory_);
  std::unordered_map<uint64_t, size_t, base::HashNumber> by_correlation;
  for (size_t i = 0; i < memory_.size(); ++i)
    if (memory_[i].correlation != 0) by_correlation.try_emplace(memory_[i].correlation, i);

  std::vector<bool> is_taken(memory_.size(), false);
  for (auto& [id, thread] : threads_) {
    auto& details = std::get<model::DetailColumn<model::MemoryDetail>>(thread.rows.details);
    size_t detail = 0;

    for (size_t row = 0; row < thread.rows.size(); ++row) {
      if (thread.rows.kind[row] != EventKind::kMemory) continue;
      auto const found = by_correlation.find(thread.rows.correlation[row]);
      if (found != by_correlation.end() && !is_taken[found->second]) {
        details[detail] = memory_[found->second].detail;
        is_taken[found->second] = true;
      }
      ++detail;
    }
  }

  for (size_t i = 0; i < memory_.size(); ++i) {
    if (is_taken[i]) continue;
    MemoryRecord const& record = memory_[i];
    thread(record.thread)
        .rows.add(EventKind::kMemory, record.start, record.dur,
                  builder.intern(model::name_without_call(record.detail)), record.correlation,
                  record.detail);
  }
}

void Process::add_threads() {
  for (auto& [id, thread] : threads_) {
    model::Track track;
    track.id = static_cast<int64_t>(id & static_cast<uint64_t>(INT64_MAX));
    track.name = id == 0 ? std::string("thread unknown") : fmt::format("thread {}", id);
    builder.append(builder.add_track(std::move(track)), std::move(thread.rows));
  }
}

void Process::add_streams() {
  std::map<uint64_t, int32_t> const numbers = number_devices();
  std::map<int32_t, std::set<uint64_t>> streams;
  for (auto const& [key, ops] : ops_)
    if (key.stream) streams[numbers.at(key.agent)].insert(*key.stream);

  std::map<Lane, std::vector<Ops*>> lanes;
  for (auto& [key, ops] : ops_) {
    int32_t const device = numbers.at(key.agent);
    bool const by_stream = key.stream && streams[device].size() <= kMostStreams;

    Lane lane{device, Lane::Kind::kCopies, static_cast<uint64_t>(key.direction)};
    if (by_stream)
      lane = {device, Lane::Kind::kStream, *key.stream};
    else if (key.queue)
      lane = {device, Lane::Kind::kQueue, *key.queue};

    for (Ops::Peer const& peer : ops.peers) {
      auto const number = numbers.find(peer.agent);
      if (number != numbers.end()) copies_of(ops.rows)[peer.copy].peer_device = number->second;
    }
    lanes[lane].push_back(&ops);
  }

  for (auto const& [lane, ops] : lanes) add_lane(lane, ops);
  add_devices(numbers);
}

void Process::add_lane(Lane const& lane, std::vector<Ops*> const& ops) {
  model::Track track;
  track.kind = model::TrackKind::kStream;
  track.device = lane.device;
  track.id = static_cast<int64_t>(lane.number & static_cast<uint64_t>(INT64_MAX));

  if (lane.kind == Lane::Kind::kStream) track.name = fmt::format("stream {}", lane.number);
  if (lane.kind == Lane::Kind::kQueue) track.name = fmt::format("queue {}", lane.number);
  if (lane.kind == Lane::Kind::kCopies) {
    track.name = name_of_copy_lane(static_cast<model::CopyDirection>(lane.number));
    track.id += kFirstCopyTrack;
  }

  std::vector<model::EventBatch const*> batches;
  for (Ops const* const each : ops) batches.push_back(&each->rows);
  track.stream_kind = kind_of_lane(batches);

  model::TrackId const id = builder.add_track(std::move(track));
  for (Ops* const each : ops) builder.append(id, std::move(each->rows));
}

/// Where agents cannot be told apart but have one name, each device has it.
void Process::add_devices(std::map<uint64_t, int32_t> const& numbers) {
  std::set<std::string> names;
  for (Agent const& agent : agents_)
    if (agent.is_gpu && !agent.name.empty()) names.insert(agent.name);
  std::string const common = names.size() == 1 ? *names.begin() : std::string(kUnnamedDevice);

  std::set<int32_t> added;
  for (auto const& [key, ops] : ops_) {
    int32_t const number = numbers.at(key.agent);
    if (!added.insert(number).second) continue;

    model::Device device;
    device.id = number;
    device.name = common;
    if (Agent const* const agent = find_agent(key.agent); agent != nullptr && agent->is_gpu) {
      if (!agent->name.empty()) device.name = agent->name;
      device.capacity_bytes = agent->memory_bytes;
      device.threads = agent->compute_units;
    }
    builder.add_device(std::move(device));
  }
}

void Process::add_notes() {
  model::ImportLog& log = builder.log();
  auto const note = [&](uint64_t count, char const* what) {
    if (count > 0) log.notes.push_back(base::count_sentence(count, what));
  };

  note(untimed_, "records have no time and were left out");
  note(folded_, "threads and streams are more than are shown: their rows are on one track");
  note(host_copies_,
       "copies from host memory to host memory are no work of a GPU and were left out");
  note(nameless_, "kernels have no name in the file: they have a number instead");

  log.dropped += untimed_;
}

model::Trace Process::finish() && {
  link_ops();

  std::map<uint64_t, int32_t> const numbers = number_devices();
  for (MemoryRecord& record : memory_) {
    Agent const* const agent = find_agent(record.agent);
    auto const number = numbers.find(record.agent);
    if (number != numbers.end() && is_device(record.agent)) record.detail.device = number->second;
    if (agent != nullptr)
      record.detail.memory =
          agent->is_gpu ? model::MemoryKind::kDevice : model::MemoryKind::kPinned;
  }

  add_memory_rows();
  add_threads();
  add_streams();
  add_notes();
  builder.take_calls_as_launches();
  return std::move(builder).finish();
}

}  // namespace stepscope::import::rocm
