// Buffers in the structures of each version of CUPTI say the same. All bytes that the decoder has
// no reason to read are garbage, and what lies behind a buffer cannot be read.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/decode/record_decoder.h"

#if CUPTI_API_VERSION >= 130000

#include "tests/cuda_doubles/cupti/record_layouts.h"

namespace stepscope::tracer {
namespace {

using namespace cuda_doubles;
using testing::ElementsAreArray;

/// The version that wrote the records; CUPTI's function has no parameter for it.
uint32_t& walked_version() {
  static uint32_t version = 0;
  return version;
}
CUptiResult walk_on(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  return next_record_of(walked_version(), buffer, valid_bytes, record);
}

/// Bytes that end where their page does. The page behind cannot be read.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::span<uint8_t const> bytes) : bytes_(bytes.size()) {
    auto const page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    room_ = (bytes.size() + page - 1) / page * page;
    void* const mapped =
        ::mmap(nullptr, room_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();

    mapped_ = static_cast<uint8_t*>(mapped);
    mapped_bytes_ = room_ + page;
    EXPECT_EQ(::mprotect(mapped_ + room_, page, PROT_NONE), 0);
    std::copy(bytes.begin(), bytes.end(), span().begin());
  }
  ~GuardedBytes() { ::munmap(mapped_, mapped_bytes_); }
  GuardedBytes(GuardedBytes const&) = delete;
  GuardedBytes& operator=(GuardedBytes const&) = delete;

  [[nodiscard]] std::span<uint8_t> span() { return {mapped_ + room_ - bytes_, bytes_}; }

 private:
  uint8_t* mapped_ = nullptr;
  size_t bytes_, room_ = 0, mapped_bytes_ = 0;
};

/// The records of a small program, as one version writes them. Each field that is not set is
/// garbage.
class Program {
 public:
  explicit Program(uint32_t version) : version_(version) {
    add_device();
    add_memory();
    add_calls();
    add_ops();
    add_event();
    add_rest();
  }
  [[nodiscard]] std::vector<std::vector<uint8_t>> const& records() const { return records_; }

 private:
  template <class Layouts, class Fill>
  void add(Layouts layouts, CUpti_ActivityKind kind, Fill&& fill) {
    with_record(layouts, version_, [&](auto record) {
      constexpr int kGarbage = 0xEE;
      std::memset(static_cast<void*>(&record), kGarbage, sizeof record);
      record.kind = kind;
      fill(record);
      auto const* const bytes = reinterpret_cast<uint8_t const*>(&record);
      records_.emplace_back(bytes, bytes + sizeof record);
    });
  }

  /// The limits of an H100.
  void add_device() {
    add(DeviceLayouts{}, CUPTI_ACTIVITY_KIND_DEVICE, [](auto& record) {
      record.id = 0;
      record.name = "H100";
      record.globalMemorySize = uint64_t{80} << 30;
      record.numMultiprocessors = 132;
      record.numThreadsPerWarp = 32;
      record.maxWarpsPerMultiprocessor = 64;

      record.maxBlocksPerMultiprocessor = 32;
      record.maxRegistersPerMultiprocessor = 65'536;
      record.maxSharedMemoryPerMultiprocessor = 233'472;
      record.computeCapabilityMajor = 9;
      record.isMigEnabled = 0;
    });
    add(ContextLayouts{}, CUPTI_ACTIVITY_KIND_CONTEXT, [](auto& record) {
      record.contextId = 1;
      record.deviceId = 0;
      record.nullStreamId = 7;
    });
  }

  static constexpr uint64_t kPool = 0x700, kPoolBytes = 65'536;
  void add_memory() {
    add(PoolLayouts{}, CUPTI_ACTIVITY_KIND_MEMORY_POOL, [](auto& record) {
      record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED;
      record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
      record.deviceId = 0;
      record.address = kPool;
      record.size = kPoolBytes;
    });

    add(MemoryLayouts{}, CUPTI_ACTIVITY_KIND_MEMORY2, [](auto& record) {
      record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
      record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.correlationId = 1;
      record.address = 0x5000;
      record.bytes = 4'096;
      record.timestamp = kOrigin + 105;
      record.deviceId = 0;

      record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
      record.memoryPoolConfig.address = kPool;
      record.memoryPoolConfig.pool.size = kPoolBytes;
    });
  }

  void add_calls() {
    // The fake names no call that fills or copies between devices.
    constexpr CUpti_runtime_api_trace_cbid kCalls[] = {
        CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020};

    add(ExternalLayouts{}, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, [](auto& record) {
      record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
      record.externalId = 77;
      record.correlationId = 2;
    });
    for (uint32_t i = 0; i < std::size(kCalls); ++i)
      add(CallLayouts{}, CUPTI_ACTIVITY_KIND_RUNTIME, [&](auto& record) {
        record.cbid = kCalls[i];
        record.start = kOrigin + 100 * (i + 1);
        record.end = kOrigin + 100 * (i + 1) + 10;
        record.threadId = 42;
        record.correlationId = i + 1;
        record.returnValue = 0;
      });
  }

  template <class Record>
  static void set_place(Record& record, uint32_t correlation, uint64_t start) {
    record.start = kOrigin + start;
    record.end = kOrigin + start + 50;
    record.deviceId = 0;
    record.contextId = 1;
    record.streamId = 7;
    record.correlationId = correlation;
    record.graphId = 3;
    record.graphNodeId = 4;
  }
  void add_ops() {
    add(KernelLayouts{}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, [](auto& record) {
      set_place(record, 2, 1'000);
      record.name = "work";
      record.gridX = 10;
      record.gridY = 2;
      record.gridZ = 1;
      record.blockX = 128;
      record.blockY = 2;
      record.blockZ = 1;
      record.registersPerThread = 64;
      record.staticSharedMemory = 1'000;
      record.dynamicSharedMemory = 24;
      record.sharedMemoryExecuted = 0;
    });

    add(CopyLayouts{}, CUPTI_ACTIVITY_KIND_MEMCPY, [](auto& record) {
      set_place(record, 3, 1'100);
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
      record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
      record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.bytes = 111;
    });

    add(FillLayouts{}, CUPTI_ACTIVITY_KIND_MEMSET, [](auto& record) {
      set_place(record, 4, 1'200);
      record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.bytes = 222;
    });
    add(PeerCopyLayouts{}, CUPTI_ACTIVITY_KIND_MEMCPY2, [](auto& record) {
      set_place(record, 5, 1'300);
      record.srcKind = record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.srcDeviceId = 0;
      record.dstDeviceId = 1;
      record.bytes = 333;
    });
  }

  void add_event() {
    add(EventLayouts{}, CUPTI_ACTIVITY_KIND_CUDA_EVENT, [](auto& record) {
      record.eventId = 9;
      record.correlationId = 6;
      record.contextId = 1;
      record.streamId = 7;
    });

    add(SyncLayouts{}, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, [](auto& record) {
      record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
      record.start = kOrigin + 702;
      record.end = kOrigin + 708;
      record.correlationId = 7;
      record.contextId = 1;
      record.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
      record.cudaEventId = 9;
    });
  }

  void add_rest() {
    add(OverheadLayouts{}, CUPTI_ACTIVITY_KIND_OVERHEAD, [](auto& record) {
      record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
      record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
      record.objectId.pt.threadId = 42;
      record.start = kOrigin + 800;
      record.end = kOrigin + 805;
    });

    add(StreamLayouts{}, CUPTI_ACTIVITY_KIND_STREAM, [](auto&) {});
    add(AttributeLayouts{}, CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, [](auto&) {});
  }

  uint32_t version_;
  std::vector<std::vector<uint8_t>> records_;
};

std::string line(model::KernelDetail const& detail) {
  return fmt::format("grid {}x{}x{} block {}x{}x{} registers {} shared {} occupancy {} graph {}.{}",
                     detail.grid_x, detail.grid_y, detail.grid_z, detail.block_x, detail.block_y,
                     detail.block_z, detail.registers_per_thread, detail.shared_memory_bytes,
                     detail.occupancy_percent, detail.graph, detail.graph_node);
}
std::string line(model::CopyDetail const& detail) {
  return fmt::format("{} bytes, direction {} peer {} pinned {} graph {}.{}", detail.bytes,
                     static_cast<int>(detail.direction), detail.peer_device, detail.pinned,
                     detail.graph, detail.graph_node);
}
std::string line(model::MemoryDetail const& detail) {
  return fmt::format("{} bytes at {:#x} of pool {:#x} on {}: {} of {}", detail.bytes,
                     detail.address, detail.pool, detail.device, detail.allocated_bytes,
                     detail.reserved_bytes);
}
std::string line(model::SyncDetail const& detail) {
  return fmt::format("waits for call {} on {}.{}", detail.source_correlation, detail.device,
                     detail.stream);
}
std::string line(model::RangeDetail const& detail) {
  return fmt::format("number {}", detail.payload);
}

template <class Detail>
void add_details(model::EventBatch const& batch, std::vector<std::string>& lines) {
  for (Detail const& detail : std::get<model::DetailColumn<Detail>>(batch.details))
    lines.push_back(line(detail));
}

/// What is in the trace, a line for each row and each detail.
std::vector<std::string> describe(TraceStore& store) {
  std::vector<std::string> lines;
  for (model::Device const& device : store.devices())
    lines.push_back(fmt::format("device {} {} {} bytes {} multiprocessors", device.id, device.name,
                                device.capacity_bytes, device.threads));

  for (uint32_t track = 0; track < store.tracks().size(); ++track) {
    auto const batch = store.rows(model::TrackId{track}).take().copy();
    for (size_t i = 0; i < batch.size(); ++i)
      lines.push_back(fmt::format("{} | {} {} {}+{} #{}", store.tracks()[track].name,
                                  model::kind_info(batch.kind[i]).name, store.text(batch.name[i]),
                                  batch.start[i], batch.dur[i], batch.correlation[i]));
    add_details<model::KernelDetail>(batch, lines);
    add_details<model::CopyDetail>(batch, lines);
    add_details<model::MemoryDetail>(batch, lines);
    add_details<model::SyncDetail>(batch, lines);
    add_details<model::RangeDetail>(batch, lines);
  }
  return lines;
}

constexpr char const* kExpected[] = {
    "device 0 H100 85899345920 bytes 132 multiprocessors",
    "thread 42 | annotated_mark external id (custom 0) 200+0 #2",
    "thread 42 | launch cudaLaunchKernel 200+10 #2",
    "thread 42 | launch cudaMemcpyAsync 300+10 #3",
    "thread 42 | launch cudaMemcpyAsync 400+10 #4",
    "thread 42 | launch cudaMemcpyAsync 500+10 #5",
    "thread 42 | api cudaEventRecord 600+10 #6",
    "thread 42 | overhead CUPTI buffer flush 800+5 #0",
    "thread 42 | memory cudaMalloc 100+10 #1",
    "thread 42 | sync cudaEventSynchronize 700+10 #7",
    "4096 bytes at 0x5000 of pool 0x700 on 0: 4096 of 65536",
    "waits for call 6 on 0.7",
    "number 77",
    "stream 7 (default) | kernel work 1000+50 #2",
    "stream 7 (default) | memcpy Memcpy HtoD (Pinned -> Device) 1100+50 #3",
    "stream 7 (default) | memset Memset (Device) 1200+50 #4",
    "stream 7 (default) | memcpy Memcpy PtoP (Device -> Device) 1300+50 #5",
    "grid 10x2x1 block 128x2x1 registers 64 shared 1024 occupancy 50 graph 3.4",
    "111 bytes, direction 1 peer -1 pinned 1 graph 3.4",
    "222 bytes, direction 0 peer -1 pinned 0 graph 3.4",
    "333 bytes, direction 4 peer 1 pinned 0 graph 3.4"};

class VersionLayoutsTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    walked_version() = GetParam();
    api_.get_next_record = walk_on;
  }
  void decode(std::span<uint8_t const> bytes) {
    GuardedBytes buffer(bytes);
    decoder_.decode(buffer.span(), clock_, store_);
  }
  void expect_all() {
    decoder_.finish(clock_, store_);
    EXPECT_THAT(describe(store_), ElementsAreArray(kExpected));
    EXPECT_EQ(store_.log.unknown_events, 0U);
    EXPECT_EQ(decoder_.unreadable(), 0U);
    EXPECT_EQ(decoder_.untimed(), 0U);
  }

  CuptiApi api_ = FakeCupti::api();
  RecordDecoder decoder_{api_, false};
  TraceStore store_;
  RecordClock clock_{kOrigin};
};

INSTANTIATE_TEST_SUITE_P(Cupti, VersionLayoutsTest,
                         testing::Values(k12v0, k12v2, k12v3, k12v4, k12v5, k12v6, k12v8, k12v9,
                                         k13v0, k13v0Update1, k13v1, k13v2, k13v3, k13v4),
                         [](auto const& test) { return fmt::format("v{}", test.param); });

TEST_P(VersionLayoutsTest, decodes_to_the_same_rows_in_one_buffer) {
  Program const program(GetParam());
  std::vector<uint8_t> bytes;
  for (auto const& record : program.records())
    bytes.insert(bytes.end(), record.begin(), record.end());
  decode(bytes);
  expect_all();
}

/// Each record is the last of its buffer.
TEST_P(VersionLayoutsTest, decodes_to_the_same_rows_in_a_buffer_each) {
  Program const program(GetParam());
  for (auto const& record : program.records()) decode(record);
  expect_all();
}

}  // namespace
}  // namespace stepscope::tracer

#endif
