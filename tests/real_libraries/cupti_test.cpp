// CUPTI 13.0 Update 1 without a driver: sizes and order of records, ends of buffers, names of
// functions. What the decoder reads and what the double writes must be what the real one says.
#include <cupti.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/real_libraries/real_library.h"
#include "tracer/cupti/activities.h"
#include "tracer/cupti/decode/record_decoder.h"

namespace stepscope::real_libraries {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char const* kCupti = "libcupti.so.13";
constexpr uint32_t kPinnedCupti = 130'001;

#if CUPTI_API_VERSION == 130001

struct KindSize {
  CUpti_ActivityKind kind;
  size_t bytes;
};

/// What the decoder reads or passes over, by the toolkit's headers.
constexpr KindSize kKinds[] = {
    {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(CUpti_ActivityCudaEvent2)},
    {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4)},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(CUpti_ActivityMemoryPool3)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3)},
    {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice5)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext3)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
    {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
    {CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, sizeof(CUpti_ActivityDeviceAttribute)},
};

/// Aligned as CUPTI's buffers are.
class Buffer {
 public:
  template <class Record>
  Buffer& add(Record const& record) {
    return add_bytes(&record, sizeof record);
  }
  /// A record of that kind whose fields are all 0.
  Buffer& add(KindSize const& of) {
    std::vector<uint8_t> bytes(of.bytes);
    std::memcpy(bytes.data(), &of.kind, sizeof of.kind);
    return add_bytes(bytes.data(), bytes.size());
  }
  Buffer& add_zeros(size_t bytes) {
    std::vector<uint8_t> const zeros(bytes);
    return add_bytes(zeros.data(), bytes);
  }
  [[nodiscard]] uint8_t* data() { return reinterpret_cast<uint8_t*>(words_.data()); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  Buffer& add_bytes(void const* from, size_t bytes) {
    words_.resize((bytes_ + bytes) / sizeof(uint64_t) + 1);
    std::memcpy(data() + bytes_, from, bytes);
    bytes_ += bytes;
    return *this;
  }
  std::vector<uint64_t> words_;
  size_t bytes_ = 0;
};

/// What cuptiActivityGetNextRecord() says of a buffer.
struct Walk {
  std::vector<size_t> offsets;
  CUptiResult end = CUPTI_SUCCESS;
  bool operator==(Walk const&) const = default;
};
std::ostream& operator<<(std::ostream& out, Walk const& walk) {
  for (size_t const offset : walk.offsets) out << offset << ' ';
  return out << "end " << walk.end;
}

Walk walk(RealLibrary const& library, Buffer& buffer, size_t valid_bytes) {
  auto const next =
      library.function<decltype(&cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  Walk result;
  CUpti_Activity* record = nullptr;
  while ((result.end = next(buffer.data(), valid_bytes, &record)) == CUPTI_SUCCESS)
    result.offsets.push_back(
        static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer.data()));
  return result;
}

class RealCupti : public ::testing::Test {
 protected:
  void SetUp() override {
    real_ = RealLibrary::of_toolkit(kCupti);
    SKIP_WITHOUT(real_, kCupti);
    uint32_t version = 0;
    real_->function<decltype(&cuptiGetVersion)>("cuptiGetVersion")(&version);
    SKIP_UNLESS_VERSION(*real_, version, kPinnedCupti);
    made_ = RealLibrary::of_doubles(kCupti);
  }

  std::optional<RealLibrary> real_;
  std::optional<RealLibrary> made_;
};

TEST_F(RealCupti, WritesEachKindWithTheSizeOfTheNewestLayout) {
  for (KindSize const& one : kKinds) {
    Buffer buffer;
    buffer.add(one).add(one).add(one);
    EXPECT_EQ(walk(*real_, buffer, buffer.bytes()),
              (Walk{{0, one.bytes, 2 * one.bytes}, CUPTI_ERROR_MAX_LIMIT_REACHED}))
        << "kind " << one.kind;
  }
}

TEST_F(RealCupti, IsAskedOnlyForKindsThatAreComparedHere) {
  for (tracer::Activity const& activity : tracer::kActivities)
    EXPECT_TRUE(std::any_of(std::begin(kKinds), std::end(kKinds),
                            [&](KindSize const& one) { return one.kind == activity.kind; }))
        << "kind " << activity.kind;
}

TEST_F(RealCupti, EndsAtAHoleAndAtACutRecord) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  Buffer hole;
  hole.add(call).add_zeros(sizeof(CUpti_ActivityKernel10)).add(call);
  EXPECT_EQ(walk(*real_, hole, hole.bytes()), (Walk{{0}, CUPTI_ERROR_INVALID_KIND}));

  Buffer cut;
  cut.add(call).add(call);
  EXPECT_EQ(walk(*real_, cut, cut.bytes() - 1), (Walk{{0}, CUPTI_ERROR_MAX_LIMIT_REACHED}));
  EXPECT_EQ(walk(*real_, cut, 0), (Walk{{}, CUPTI_ERROR_MAX_LIMIT_REACHED}));
}

/// A record without times is one all the same: the tracer counts it.
TEST_F(RealCupti, GivesRecordsWithoutTimes) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  Buffer buffer;
  buffer.add(kernel);
  kernel.start = 100;
  buffer.add(kernel).add(kernel);
  EXPECT_THAT(walk(*real_, buffer, buffer.bytes()).offsets, SizeIs(3));
}

TEST_F(RealCupti, AndItsDoubleWalkTheSameWay) {
  if (!made_) GTEST_SKIP() << "this build has no double of CUPTI";
  // It knows the sizes of all of them.
  std::vector<KindSize> known;
  for (KindSize const& one : kKinds) {
    Buffer alone;
    alone.add(one);
    if (walk(*made_, alone, alone.bytes()).offsets.size() == 1) known.push_back(one);
  }
  ASSERT_EQ(known.size(), std::size(kKinds));

  std::mt19937 random(30);
  auto const below = [&](size_t bound) { return random() % bound; };
  constexpr int kBuffers = 300;
  for (int i = 0; i < kBuffers; ++i) {
    Buffer buffer;
    for (size_t records = below(12); records > 0; --records) buffer.add(known[below(known.size())]);
    if (below(4) == 0) buffer.add_zeros(8 + below(20) * 8);
    if (below(4) == 0) buffer.add(known[below(known.size())]);
    size_t const valid = below(3) == 0 ? below(buffer.bytes() + 1) : buffer.bytes();
    EXPECT_EQ(walk(*made_, buffer, valid), walk(*real_, buffer, valid))
        << "buffer " << i << ", " << valid << " bytes";
  }
}

TEST_F(RealCupti, AndItsDoubleNameTheSameFunctions) {
  if (!made_) GTEST_SKIP() << "this build has no double of CUPTI";
  constexpr char const* kFunction = "cuptiGetCallbackName";
  auto const real = real_->function<decltype(&cuptiGetCallbackName)>(kFunction);
  auto const made = made_->function<decltype(&cuptiGetCallbackName)>(kFunction);
  auto const name_by = [](auto const& get, CUpti_CallbackDomain domain, uint32_t number) {
    char const* name = nullptr;
    bool const is_known = get(domain, number, &name) == CUPTI_SUCCESS && name != nullptr;
    return std::string(is_known ? name : "");
  };

  constexpr uint32_t kBeyondAll = 2'000;
  size_t named = 0;
  for (auto const domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    for (uint32_t number = 1; number < kBeyondAll; ++number) {
      std::string const name = name_by(real, domain, number);
      named += name.empty() ? 0 : 1;
      EXPECT_EQ(name_by(made, domain, number), name) << "domain " << domain << ", " << number;
    }
  }
  constexpr size_t kFewest = 1'000;
  EXPECT_GT(named, kFewest);
}

/// Texts of errors reach the trace and the terminal.
TEST_F(RealCupti, NamesItsErrors) {
  auto const name_of = real_->function<decltype(&cuptiGetResultString)>("cuptiGetResultString");
  for (CUptiResult const error :
       {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
        CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_UNKNOWN}) {
    char const* name = nullptr;
    ASSERT_EQ(name_of(error, &name), CUPTI_SUCCESS);
    EXPECT_TRUE(std::string(name).starts_with("CUPTI_ERROR_")) << name;
  }
}

constexpr uint32_t kCorrelation = 7;

/// The rows of the call and of its kernel.
void expect_rows_of_launch(tracer::TraceStore& store) {
  size_t kernels = 0;
  size_t launches = 0;

  for (uint32_t track = 0; track < store.tracks().size(); ++track) {
    auto const rows = store.rows(model::TrackId{track}).take().copy();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows.correlation[i] != kCorrelation) continue;
      bool const is_kernel = rows.kind[i] == model::EventKind::kKernel;
      ++(is_kernel ? kernels : launches);
      EXPECT_EQ(store.text(rows.name[i]), is_kernel ? "kernel of the test" : "cudaLaunchKernel");
      EXPECT_EQ(rows.start[i], is_kernel ? 3'000 : 1'000);
      EXPECT_EQ(rows.dur[i], is_kernel ? 1'500 : 1'000);
    }
  }

  EXPECT_EQ(kernels, 1U);
  EXPECT_EQ(launches, 1U);
}

/// Through the layouts of the headers, not through those that the decoder reads: it must find each
/// field where CUPTI 13.0 writes it.
TEST_F(RealCupti, IsDecodedByTheTracer) {
  tracer::CuptiApi api;
  api.get_next_record =
      real_->function<decltype(&cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  api.get_callback_name = real_->function<decltype(&cuptiGetCallbackName)>("cuptiGetCallbackName");

  Buffer buffer;
  for (KindSize const& one : kKinds) {
    bool const has_text = one.kind == CUPTI_ACTIVITY_KIND_DEVICE ||
                          one.kind == CUPTI_ACTIVITY_KIND_KERNEL ||
                          one.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if (!has_text) buffer.add(one);
  }

  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "GPU of the test";
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.start = 1'000;
  call.end = 2'000;
  call.threadId = 42;
  call.correlationId = kCorrelation;

  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = "kernel of the test";
  kernel.start = 3'000;
  kernel.end = 4'500;
  kernel.correlationId = kCorrelation;
  kernel.streamId = 13;
  kernel.gridX = 3;
  kernel.blockX = 64;
  buffer.add(device).add(call).add(kernel);

  tracer::RecordDecoder decoder(api, false);
  tracer::TraceStore store;
  tracer::RecordClock const clock(0);
  decoder.decode({buffer.data(), buffer.bytes()}, clock, store);
  decoder.finish(clock, store);
  EXPECT_EQ(store.log.unknown_events, 0U);
  EXPECT_EQ(decoder.unreadable(), 0U);

  expect_rows_of_launch(store);
}

#else

TEST(RealCupti, IsComparedWithItsHeaders) {
  GTEST_SKIP() << "the toolkit's headers are of CUPTI " << CUPTI_API_VERSION
               << ", these tests are for " << kPinnedCupti;
}

#endif

}  // namespace
}  // namespace stepscope::real_libraries
