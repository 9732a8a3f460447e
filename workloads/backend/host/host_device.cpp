// Streams, memory, copies and collectives of a host device; see host_device.h. The layers are in
// their own files.
#include "workloads/backend/host/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "trace/base/check.h"
#include "tracer/api/annotate.h"
#include "workloads/backend/host/collectives/process_transport.h"
#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/collectives/thread_transport.h"
#include "workloads/backend/host/threads.h"

namespace stepscope::workloads::host {
namespace {

constexpr uint32_t kMaxDevices = 64;  // three threads each: more is a typing error
// Without --memory-limit the devices together may hold half of the machine's memory: a runaway
// batch is then this program's error message and not the kernel's out-of-memory killer.
constexpr uint64_t kDefaultMemoryShare = 2;

using Clock = std::chrono::steady_clock;

/// Busy, not asleep: that is what it stands for.
void spin_until(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

void spin_for(char const* name, Clock::duration duration) {
  api::Work const range(name);
  spin_until(Clock::now() + duration);
}

class MappedMemory final : public SystemMemory {
 public:
  /// Populated at once: the cost of fresh pages belongs to the allocation, not to the first kernel
  /// that touches them.
  void* reserve(uint64_t bytes) override {
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
  }
  void give_back(void* data, uint64_t bytes) override { munmap(data, bytes); }
};

uint64_t physical_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

std::unique_ptr<SystemMemory> mapped_memory() { return std::make_unique<MappedMemory>(); }

HostDevice::HostDevice(uint32_t index, uint32_t member, Share const& share, uint64_t capacity_bytes,
                       DeviceFaults const& faults)
    : index_(index),
      member_(member),
      name_(fmt::format("host:{}", index)),
      threads_(share.threads),
      faults_(faults),
      arena_(name_, capacity_bytes, mapped_memory()),
      engine_(dnnl::engine::kind::cpu, 0),
      math_(engine_) {
  api::device_mark(api::DeviceSchema::kDevice, name_.c_str(),
                   api::DevicePayload{index, static_cast<uint32_t>(threads_), capacity_bytes, 0.0});

  for (StreamKind const kind :
       {StreamKind::kCompute, StreamKind::kCopy, StreamKind::kCommunication}) {
    streams_[static_cast<size_t>(kind)] =
        std::make_unique<HostStream>(index, name_, kind, threads_, share.cores);
  }
}

HostDevice::~HostDevice() {
  for (auto& stream : streams_) stream.reset();  // runs what is left
  workspace_ = Buffer();
}

void HostDevice::report_memory(Arena::Block const& block, api::MemoryOp op,
                               api::MemoryPayload& payload) const {
  MemoryUse const use = arena_.use();
  payload = {reinterpret_cast<uint64_t>(block.data),
             block.bytes,
             use.allocated_bytes,
             use.reserved_bytes,
             index_,
             op,
             block.purpose};
}

Expected<Buffer> HostDevice::allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) {
  std::string const name(owner);
  api::MemoryPayload payload{};
  api::DeviceResultRange<api::MemoryPayload> const range(api::DeviceSchema::kMemory, name.c_str(),
                                                         payload);

  if (faults_.uncached_memory) synchronize();
  Expected<Arena::Block> const block = arena_.allocate(bytes, purpose, owner);
  if (faults_.uncached_memory && block)
    std::memset(block->data, 0, bytes);  // what has just come from the system has no pages yet

  // A refused allocation is reported with address 0 and no bytes.
  report_memory(block.value_or(Arena::Block{nullptr, 0, purpose, name}), api::MemoryOp::kAllocate,
                payload);

  if (!block) return base::fail_with(block);
  return Buffer(*this, block->data, bytes);
}

void HostDevice::release(void* data) {
  api::MemoryPayload payload{};
  api::DeviceResultRange<api::MemoryPayload> const range(api::DeviceSchema::kMemory, "free",
                                                         payload);
  report_memory(arena_.release(data), api::MemoryOp::kFree, payload);
  if (faults_.uncached_memory) arena_.give_back();
}

Event HostDevice::record(StreamKind kind) { return stream(kind).record(); }

void HostDevice::wait(StreamKind kind, Event const& event) {
  auto host_event = std::dynamic_pointer_cast<HostEvent>(event);
  STEPSCOPE_CHECK(host_event != nullptr);
  stream(kind).wait(std::move(host_event));
}

void HostDevice::synchronize(Event const& event) {
  auto const* const host_event = dynamic_cast<HostEvent const*>(event.get());
  STEPSCOPE_CHECK(host_event != nullptr);
  api::SyncPayload const payload{index_, static_cast<uint32_t>(host_event->stream()),
                                 api::SyncKind::kEvent};
  api::DeviceRange const range(api::DeviceSchema::kSync, "synchronize event", payload);
  host_event->wait();
}

void HostDevice::synchronize() {
  api::DeviceRange const range(api::DeviceSchema::kSync, "synchronize device",
                               api::SyncPayload{index_, 0, api::SyncKind::kDevice});
  std::array<std::shared_ptr<HostEvent>, 3> events;
  std::transform(streams_.begin(), streams_.end(), events.begin(),
                 [](auto& stream) { return stream->record(); });
  for (auto const& event : events) event->wait();
}

void HostDevice::before_launch() const {
  if (faults_.launch_delay_us > 0)
    spin_for("busy host", std::chrono::microseconds(faults_.launch_delay_us));
}

void HostDevice::after_launch(StreamKind kind, bool is_copy) {
  if (faults_.synchronize_every_op || (is_copy && faults_.pageable_copies))
    synchronize(record(kind));
}

void HostDevice::launch_kernel(char const* name, double flops, uint64_t bytes,
                               std::function<void()> work) {
  before_launch();
  HostStream& compute = stream(StreamKind::kCompute);

  api::KernelPayload const payload{next_correlation(), index_, compute.id(), bytes, flops};
  api::DeviceRange const launch(api::DeviceSchema::kLaunch, name,
                                api::LaunchPayload{payload.correlation, index_, compute.id()});
  launches_.fetch_add(1, std::memory_order_relaxed);
  bool const slow = faults_.slow_device == static_cast<int64_t>(member_);

  compute.push([this, name, payload, slow, work = std::move(work)] {
    api::DeviceRange const range(api::DeviceSchema::kKernel, name, payload);
    auto const begin = Clock::now();
    work();
    if (slow) spin_until(begin + 2 * (Clock::now() - begin));
    kernels_.fetch_add(1, std::memory_order_relaxed);
  });

  after_launch(StreamKind::kCompute, false);
}

void HostDevice::copy(StreamKind kind, char const* name, void* to, void const* from, size_t bytes,
                      CopyDirection direction) {
  before_launch();
  HostStream& target = stream(kind);
  uint32_t const pinned = faults_.pageable_copies ? 0 : 1;

  api::CopyPayload const payload{next_correlation(), index_, target.id(), bytes,
                                 direction,          index_, pinned};
  api::DeviceRange const launch(api::DeviceSchema::kLaunch, name,
                                api::LaunchPayload{payload.correlation, index_, target.id()});
  launches_.fetch_add(1, std::memory_order_relaxed);

  target.push([this, name, payload, to, from, bytes, direction] {
    api::DeviceRange const range(api::DeviceSchema::kCopy, name, payload);
    std::memcpy(to, from, bytes);
    copies_.fetch_add(1, std::memory_order_relaxed);
    if (direction == CopyDirection::kHostToDevice)
      host_to_device_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (direction == CopyDirection::kDeviceToHost)
      device_to_host_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  });

  after_launch(kind, true);
}

api::CollectivePayload HostDevice::describe(Ring& ring, Collective const& what) {
  uint32_t const rank = member_;
  STEPSCOPE_CHECK(rank < ring.members());

  api::CollectivePayload payload = {};
  payload.correlation = next_correlation();
  payload.device = index_;
  payload.stream = static_cast<uint32_t>(StreamKind::kCommunication);
  payload.bytes = what.count * sizeof(float);
  payload.op = what.op;

  if (bool const sends = what.op == CollectiveOp::kSend;
      sends || what.op == CollectiveOp::kReceive) {
    STEPSCOPE_CHECK(what.peer < ring.members());
    payload.communicator =
        sends ? ring.mailbox_id(rank, what.peer) : ring.mailbox_id(what.peer, rank);
    auto& messages = sends ? sent_ : received_;
    if (messages.size() < ring.members()) messages.resize(ring.members());
    payload.sequence = messages[what.peer]++;
    payload.participants = 2;
    payload.rank = sends ? 0 : 1;
    payload.peer = 1 - payload.rank;
  } else {
    payload.communicator = ring.id();
    payload.sequence = ring.next_sequence(rank);
    payload.participants = ring.members();
    payload.rank = static_cast<int32_t>(rank);
    payload.peer = -1;
  }

  return payload;
}

void HostDevice::collective(char const* name, Communicator& communicator, Collective const& what) {
  auto& ring = dynamic_cast<Ring&>(communicator);
  before_launch();

  api::CollectivePayload const payload = describe(ring, what);
  api::DeviceRange const launch(api::DeviceSchema::kLaunch, name,
                                api::LaunchPayload{payload.correlation, index_, payload.stream});
  launches_.fetch_add(1, std::memory_order_relaxed);

  stream(StreamKind::kCommunication).push([this, name, payload, &ring, what] {
    api::DeviceRange const range(api::DeviceSchema::kCollective, name, payload);
    ring.exchange(member_, what);
    collectives_.fetch_add(1, std::memory_order_relaxed);
    collective_bytes_.fetch_add(payload.bytes, std::memory_order_relaxed);
  });

  after_launch(StreamKind::kCommunication, false);
}

Expected<void> HostDevice::reserve_workspace(size_t bytes, std::string_view owner) {
  if (bytes <= workspace_.bytes()) return {};
  synchronize();
  workspace_ = Buffer();
  Expected<Buffer> grown = allocate(bytes, MemoryPurpose::kWorkspace, owner);
  if (!grown) return base::fail_with(grown);
  workspace_ = std::move(*grown);
  return {};
}

OpCounts HostDevice::counts() const {
  return {launches_.load(),
          kernels_.load(),
          copies_.load(),
          collectives_.load(),
          host_to_device_bytes_.load(),
          device_to_host_bytes_.load(),
          collective_bytes_.load()};
}

namespace {

Expected<uint32_t> parse_host_count(std::string_view arguments) {
  uint32_t count = 1;
  if (arguments.empty()) return count;

  char const* const last = arguments.data() + arguments.size();
  auto const [end, error] = std::from_chars(arguments.data(), last, count);
  if (error != std::errc() || end != last || count == 0 || count > kMaxDevices) {
    return base::fail("host:{}: not a number of host devices, use host:1 to host:{}", arguments,
                      kMaxDevices);
  }
  return count;
}

}  // namespace

Expected<DeviceGroup> open_host_devices(std::string_view arguments, DeviceOptions const& options) {
  if (options.precision != Precision::kFp32) {
    return base::fail(
        "host: --precision {}: host devices compute in fp32 only, use a cuda device or --precision "
        "fp32",
        precision_name(options.precision));
  }

  if (options.graphs) {
    return base::fail(
        "host: --cuda-graphs: host devices have no CUDA graphs, use a cuda device or leave the "
        "option out");
  }

  auto const counted = parse_host_count(arguments);
  if (!counted) return base::fail_with(counted);
  uint32_t const count = *counted;

  std::shared_ptr<mpi::Processes> const& processes = options.processes;
  uint32_t const neighbours = processes ? processes->launch().local_size : 1;
  // A launcher that binds processes to cores has divided them already. OMP_NUM_THREADS, where it is
  // set, bounds a device as it bounds any OpenMP program.
  uint32_t const sharing = count * (available_cores() < online_cores() ? 1 : neighbours);
  int const threads =
      std::max(1, std::min(available_cores() / static_cast<int>(sharing), worker_threads()));

  uint64_t const capacity = options.memory_limit_bytes != 0
                                ? options.memory_limit_bytes
                                : physical_memory() / kDefaultMemoryShare / count / neighbours;

  DeviceGroup group;
  group.members = count * (processes ? processes->size() : 1);
  group.first_member = count * (processes ? processes->rank() : 0);

  std::unique_ptr<Transport> transport;
  if (processes) {
    transport = std::make_unique<ProcessTransport>(processes, count);
  } else {
    transport = std::make_unique<ThreadTransport>(count);
  }
  group.communicator = std::make_shared<Ring>(std::move(transport));

  for (uint32_t i = 0; i < count; ++i) {
    // A woken thread is often put behind one that computes on the same core, for milliseconds,
    // while another core is idle. Devices that each have their cores do not get into each other's
    // way. The launcher places several processes.
    HostDevice::Share const share{threads,
                                  processes ? std::vector<int>() : cores_of_device(i, count)};
    auto device = std::make_unique<HostDevice>(options.first_index + i, group.first_member + i,
                                               share, capacity, options.faults);

    if (!options.memory_growth) {
      if (auto reserved = device->reserve_memory(); !reserved) return base::fail_with(reserved);
    }
    group.devices.push_back(std::move(device));
  }

  return group;
}

}  // namespace stepscope::workloads::host
