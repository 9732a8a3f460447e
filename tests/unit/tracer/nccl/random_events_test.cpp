// Property: whatever NCCL (or a program that fakes it) calls in whatever order, the source neither
// crashes nor invents a collective. Every row is a call that began, once.
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nccl/nccl_fixture.h"

namespace stepscope::tracer::nccl {
namespace {

/// Plays random events of one version on a few threads: stops without starts, parents of the wrong
/// type, stale and made-up handles, several stops, none.
template <class Event>
class Chaos {
 public:
  explicit Chaos(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) threads_.push_back(nccl_.source.attach(100 + i));
    contexts_ = {nullptr, nccl_.context({1, 0, 2, ""}), nccl_.context({2, 1, 4, "x"}),
                 to_pointer(12'345)};
  }

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      Recorder& thread = *threads_[below(threads_.size())];

      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          start(thread);
          break;
        case 3:
          thread.wait(to_handle(any_handle()), wait_of(static_cast<int>(below(30))));
          break;
        case 7:
          if (below(20) == 0) nccl_.drain();
          break;
        default:
          thread.end(to_handle(any_handle()));
          break;
      }
    }
  }
  /// Each sequence number that was begun has one row, and no other number has any.
  void check() {
    std::map<uint64_t, int> rows;
    size_t unreported_calls = 0;

    for (CallRow const& row : nccl_.finish()) {
      if (row.detail.sequence == 0) {  // NCCL reported nothing but the program's call
        ++unreported_calls;
        continue;
      }
      ++rows[row.detail.sequence];
      EXPECT_GE(row.dur, 0);
      EXPECT_TRUE(begun_.contains(row.detail.sequence)) << "a collective that no thread called";
    }

    EXPECT_EQ(rows.size(), begun_.size());
    EXPECT_LE(unreported_calls, program_calls_);
    for (auto const& [sequence, count] : rows) EXPECT_EQ(count, 1);
  }

 private:
  size_t below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }
  void* any_handle() {
    if (handles_.empty() || below(10) == 0) return to_pointer(random_());
    return handles_[below(handles_.size())];
  }
  void start(Recorder& thread) {
    std::array<uint64_t, 12> const types = {
        kGroup,     kCollective,     kPointToPoint,     kProxyOp,      kProxyStep,  1 << 5,
        kGroupCall, kCollectiveCall, kPointToPointCall, kKernelLaunch, kCopyEngine, 0};

    Event event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.type = static_cast<decltype(event.type)>(types[below(types.size())]);
    event.parent = any_handle();

    if (event.type == kProxyOp) event.proxy_op.process = NcclPipeline::kProcess;
    if (event.type == kCollective) {
      event.collective.sequence = ++sequence_;
      event.collective.count = below(1 << 20);
    }
    if (event.type == kPointToPoint) event.type = 0;  // they have no sequence number to compare
    if constexpr (requires { event.copy_engine; })
      if (event.type == kCopyEngine) event.copy_engine.sequence = ++sequence_;

    void* const handle = nccl_.start(thread, contexts_[below(contexts_.size())], event);
    if (handle == nullptr) return;
    handles_.push_back(handle);
    if (event.type == kCollective)
      begun_.insert(sequence_ << 4 | static_cast<uint64_t>(expected_op()));
    if (event.type == kCopyEngine) begun_.insert(sequence_ << 4 | uint64_t{1} << 63);
    if (event.type == kCollectiveCall || event.type == kPointToPointCall) ++program_calls_;
  }
  /// The operation that an event of zeros names.
  static model::CollectiveOp expected_op() {
    return std::is_same_v<Event, EventV1> ? model::CollectiveOp::kBroadcast
                                          : model::CollectiveOp::kUnknown;
  }

  NcclPipeline nccl_;
  std::mt19937 random_;
  std::vector<Recorder*> threads_;
  std::vector<void*> contexts_, handles_;
  uint64_t sequence_ = 0;
  size_t program_calls_ = 0;
  std::set<uint64_t> begun_;
};

template <class Event>
class NcclRandomEvents : public ::testing::Test {};
using AllVersions = ::testing::Types<EventV1, EventV2, EventV3, EventV4, EventV5, EventV6>;
TYPED_TEST_SUITE(NcclRandomEvents, AllVersions);

TYPED_TEST(NcclRandomEvents, never_crash_and_never_invent_a_collective) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    Chaos<TypeParam> chaos(seed);
    chaos.run(4'000);
    chaos.check();
  }
}

TEST(NcclRandomRecords, damaged_records_never_crash_the_decoder) {
  std::mt19937_64 random(1);
  NcclPipeline nccl;
  ClockFit const clock({0, 0});
  Decoder decoder(nccl.communicators);

  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint64_t> words(1 + random() % 40);
    for (uint64_t& word : words) word = random();
    RecordHeader const header = {static_cast<uint8_t>(random() % 9), 0,
                                 static_cast<uint16_t>(random() % 20), 0, 0};
    std::memcpy(words.data(), &header, sizeof header);

    EXPECT_LE(decoder.decode(static_cast<uint32_t>(random() % 3), 1, words, clock), words.size());
    if (round % 100 == 0) decoder.end_round(round * int64_t{10'000'000}, nccl.store);
  }

  decoder.finish(nccl.store);
}

}  // namespace
}  // namespace stepscope::tracer::nccl
