// slice() and anonymize() on small traces whose parts are counted by hand.
#include "trace/model/derive/slice.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/processor_time.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/anonymize.h"

namespace stepscope::model {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> names_of(Trace const& trace) {
  std::vector<std::string> names;
  for (uint32_t row = 0; row < trace.event_count(); ++row) names.emplace_back(trace.name(row));
  return names;
}

std::set<std::string> texts_of(Trace const& trace) {
  std::set<std::string> texts;
  for (uint32_t id = 1; id < trace.strings().size(); ++id) texts.emplace(trace.text(StringId{id}));
  texts.insert({trace.info().tool, trace.info().host, trace.info().command});
  for (auto const& [key, value] : trace.info().facts) texts.insert({key, value});
  for (Track const& track : trace.tracks()) texts.insert(track.name);
  for (Device const& device : trace.devices()) texts.insert(device.name);
  for (std::string const& note : trace.log().notes) texts.insert(note);
  texts.erase("");
  return texts;
}

/// A thread that launches for one stream; steps 1 and 2 are [0, 100) and [100, 200).
class Made {
 public:
  Made() {
    thread_ = builder_.add_track({TrackKind::kThread, "secret thread", 77, -1, {}, 0});
    stream_ = builder_.add_track({TrackKind::kStream, "secret stream", 7, 0, {}, 3});
    builder_.add_device({0, "secret device", 1000, 1, 1});

    builder_.info().tool = "secret tool";
    builder_.info().host = "secret host";
    builder_.info().command = "secret command";
    builder_.info().process_id = 4711;
    builder_.info().rank = 2;
    builder_.info().world_size = 4;
    builder_.info().origin_epoch_ns = 5'000;
    builder_.info().facts = {{"cores", "8"}, {"secret key", "secret value"}};

    builder_.log().unknown_events = 5;
    builder_.log().notes = {"secret note"};
  }
  void host(EventKind kind, int64_t begin, int64_t end, std::string_view name) {
    builder_.events(thread_).add(kind, begin, end - begin, builder_.intern(name));
  }
  void step(int64_t index, int64_t begin, int64_t end) {
    builder_.events(thread_).add(EventKind::kStep, begin, end - begin, builder_.intern("step"), 0,
                                 StepDetail{index});
  }
  void launched(int64_t launch, int64_t begin, int64_t end, std::string_view name,
                std::string_view call = "launch") {
    ++correlation_;
    builder_.events(thread_).add(EventKind::kLaunch, launch, 5, builder_.intern(call),
                                 correlation_);
    builder_.events(stream_).add(EventKind::kKernel, begin, end - begin, builder_.intern(name),
                                 correlation_, KernelDetail{1, 2, 3});
  }
  void memory(MemoryOp op, int64_t begin, uint64_t address, uint64_t allocated,
              std::string_view name, int32_t device = 0) {
    builder_.events(thread_).add(
        EventKind::kMemory, begin, 2, builder_.intern(name), 0,
        MemoryDetail{address, 8, allocated, 0, device, op, MemoryPurpose::kWeights});
  }
  void collective(int64_t begin, int64_t end, std::string_view name) {
    CollectiveDetail detail;
    detail.op = CollectiveOp::kAllReduce;
    builder_.events(stream_).add(EventKind::kCollective, begin, end - begin, builder_.intern(name),
                                 0, detail);
  }
  /// On a stream of its own.
  void kernels_beside(std::initializer_list<std::pair<Interval, std::string_view>> kernels) {
    TrackId const beside = builder_.add_track({TrackKind::kStream, "beside", 8, 0, {}, 3});
    for (auto const& [when, name] : kernels)
      builder_.events(beside).add(EventKind::kKernel, when.begin, when.length(),
                                  builder_.intern(name), 0, KernelDetail{1, 2, 3});
  }
  Trace finish() { return std::move(builder_).finish(); }
  [[nodiscard]] TrackId thread() const { return thread_; }

 private:
  TraceBuilder builder_;
  TrackId thread_, stream_;
  uint64_t correlation_ = 0;
};

TEST(Slice, KeepsWholeWhatTouchesTheWindow) {
  Made made;
  made.host(EventKind::kRange, 0, 100, "before");
  made.host(EventKind::kRange, 60, 101, "over the begin");
  made.host(EventKind::kMark, 99, 99, "instant before");
  made.host(EventKind::kMark, 100, 100, "instant at the begin");
  made.host(EventKind::kRange, 120, 130, "inside");
  made.host(EventKind::kRange, 199, 300, "over the end");
  made.host(EventKind::kMark, 200, 200, "instant at the end");
  made.host(EventKind::kRange, 200, 210, "after");

  Trace const part = slice(made.finish(), {{100, 200}, {100, 200}});
  EXPECT_THAT(names_of(part),
              ElementsAre("over the begin", "instant at the begin", "inside", "over the end"));
  EXPECT_EQ(part.start(0), 60);
  EXPECT_EQ(part.end(3), 300);
}

TEST(Slice, KeepsLaunchAndOpTogetherAndWhatEnclosesTheLaunch) {
  Made made;
  made.step(1, 0, 100);
  made.host(EventKind::kRange, 10, 20, "layer");
  made.launched(12, 150, 160, "late op");
  made.launched(30, 50, 60, "early op");
  made.host(EventKind::kRange, 70, 80, "unrelated");
  made.step(2, 110, 200);
  made.launched(140, 400, 410, "op after the window");
  made.launched(300, 310, 320, "later op");

  Trace const part = slice(made.finish(), {{120, 200}, {120, 200}});
  EXPECT_THAT(names_of(part), ElementsAre("step", "layer", "launch", "step", "launch", "late op",
                                          "op after the window"));
  EXPECT_EQ(part.log().unmatched_launches, 0U);
  EXPECT_EQ(part.log().unmatched_ops, 0U);
  EXPECT_EQ(part.detail<StepDetail>(3).index, 2);
  EXPECT_EQ(part.detail<KernelDetail>(6).grid_x, 3U);
}

TEST(Slice, LeavesWhatIsKnownOfTheProcessAndDropsTextsThatNothingUses) {
  Made made;
  made.host(EventKind::kRange, 0, 10, "out");
  made.host(EventKind::kRange, 20, 30, "in");

  Trace const whole = made.finish();
  Trace const part = slice(whole, {{20, 30}, {20, 30}});
  EXPECT_EQ(part.info().command, whole.info().command);
  ASSERT_EQ(part.tracks().size(), whole.tracks().size());
  EXPECT_EQ(part.tracks()[1].name, "secret stream");
  EXPECT_EQ(part.devices().size(), 1U);
  EXPECT_EQ(part.log().dropped, 3U);
  EXPECT_EQ(part.log().unknown_events, 5U);
  EXPECT_FALSE(part.strings().find("out").valid());
}

TEST(Slice, OfEverythingIsTheTraceItself) {
  Made made;
  made.step(1, 0, 100);
  made.launched(12, 150, 160, "late op");
  made.collective(170, 180, "sum");

  Trace const whole = made.finish();
  Trace const part = slice(whole, {{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MAX}});
  EXPECT_EQ(names_of(part), names_of(whole));
  EXPECT_EQ(part.columns().start, whole.columns().start);
  EXPECT_EQ(part.columns().dur, whole.columns().dur);
  EXPECT_EQ(part.columns().correlation, whole.columns().correlation);
  EXPECT_EQ(part.columns().link, whole.columns().link);
}

TEST(Slice, HostAndDeviceMayLieApart) {
  Made made;
  made.step(1, 0, 100);
  made.launched(12, 500, 510, "op");
  made.launched(120, 600, 610, "next op");
  made.host(EventKind::kRange, 501, 504, "later");
  made.host(EventKind::kOverhead, 505, 508, "overhead");
  Trace const part = slice(made.finish(), {{0, 100}, {500, 510}});
  EXPECT_THAT(names_of(part), ElementsAre("step", "launch", "overhead", "op"));
}

TEST(Slice, KeepsWhatEndsTheStreamsIdleTimeAndWhatKeptItsLaunch) {
  Made made;
  made.step(1, 0, 100);
  made.launched(10, 20, 190, "of step 1");
  made.step(2, 100, 300);
  made.host(EventKind::kRange, 110, 120, "before the launch");
  made.host(EventKind::kRange, 150, 250, "ends behind the window");
  made.host(EventKind::kRange, 200, 210, "behind the window");
  made.launched(240, 260, 270, "next");
  made.launched(280, 290, 295, "the one after");

  Trace const part = slice(made.finish(), {{0, 100}, {0, 190}, true});
  EXPECT_THAT(names_of(part), ElementsAre("step", "launch", "before the launch",
                                          "ends behind the window", "launch", "of step 1", "next"));
  EXPECT_EQ(part.log().unmatched_launches, 0U);
}

TEST(Slice, KeepsWhatHidesTheCommunicationThatOutlastsTheWindow) {
  Made made;
  made.collective(50, 200, "outlasts the window");
  made.collective(200, 300, "next");
  made.collective(300, 400, "the one after");
  made.kernels_beside({{{20, 60}, "in the window"},
                       {{110, 150}, "hides some"},
                       {{160, 190}, "hides more"},
                       {{210, 220}, "next beside"},
                       {{230, 240}, "one after beside"}});

  Trace const part = slice(made.finish(), {{0, 100}, {0, 100}, true});
  EXPECT_THAT(names_of(part), ElementsAre("outlasts the window", "next", "in the window",
                                          "hides some", "hides more", "next beside"));
}

TEST(Slice, LooksForTheNextOpNearTheWindowOnly) {
  Made made;
  made.launched(10, 20, 90, "in the window");
  made.launched(500, 501, 510, "next");
  EXPECT_EQ(next_ops(made.finish(), {0, 100}).rows.size(), 0U);
  Made other;
  other.launched(10, 20, 90, "in the window");
  other.launched(490, 500, 510, "next");
  EXPECT_EQ(next_ops(other.finish(), {0, 100}).rows.size(), 1U);
  EXPECT_EQ(last_begin_of_next({INT64_MIN, INT64_MAX}), kMaxTime);
}

TEST(Slice, KeepsWhatWasLiveBeforeAndTheLastCallOfEachDevice) {
  Made made;
  made.memory(MemoryOp::kAllocate, 0, 1, 8, "live");
  made.memory(MemoryOp::kAllocate, 10, 2, 16, "freed before");
  made.memory(MemoryOp::kFree, 20, 2, 8, "free before");
  made.memory(MemoryOp::kAllocate, 30, 3, 8, "reused");
  made.memory(MemoryOp::kAllocate, 40, 3, 8, "live again");
  made.memory(MemoryOp::kAllocate, 50, 1, 8, "the same address elsewhere", 1);
  made.memory(MemoryOp::kFree, 60, 9, 16, "last before");
  made.memory(MemoryOp::kAllocate, 150, 4, 24, "inside");
  made.memory(MemoryOp::kAllocate, 250, 5, 32, "after");

  Trace const part = slice(made.finish(), {{100, 200}, {110, 200}});
  EXPECT_THAT(names_of(part), ElementsAre("live", "live again", "the same address elsewhere",
                                          "last before", "inside"));
}

TEST(Slice, EnclosingIsFoundAmongRangesThatOverlap) {
  Made made;
  made.host(EventKind::kRange, 0, 300, "outer");
  made.host(EventKind::kRange, 10, 40, "ends inside the launch");
  made.host(EventKind::kRange, 20, 43, "begins before, ends after");
  made.launched(37, 150, 160, "op");  // the call: [37, 42)
  made.host(EventKind::kRange, 39, 60, "begins inside the launch");
  Trace const part = slice(made.finish(), {{140, 200}, {140, 200}});
  EXPECT_THAT(names_of(part), ElementsAre("outer", "begins before, ends after", "launch", "op"));
}

TEST(Slice, OfManyOverlappingRangesTakesTimeInProportion) {
  Made made;
  constexpr int64_t kCount = 400'000;
  for (int64_t i = 0; i < kCount; ++i) made.host(EventKind::kRange, i, 3 * kCount - i, "all open");
  double const begin = support::processor_seconds();
  Trace const part = slice(made.finish(), {{0, 3 * kCount}, {0, 3 * kCount}});
  EXPECT_EQ(part.event_count(), kCount);
  EXPECT_LT(support::processor_seconds() - begin, 5) << "a minute when each looks at all around it";
}

TEST(Slice, KnowsTheStepsOfTheWhole) {
  Made made;
  made.step(7, 0, 100);
  Trace const part = slice(made.finish(), {{0, 50}, {0, 50}}, {9, 5});
  EXPECT_EQ(part.info().whole_steps.count, 9);
  Trace const smaller = slice(part, {{0, 20}, {0, 20}}, {1, 7});
  EXPECT_EQ(smaller.info().whole_steps.count, 9) << "of the whole, not of the part";
  EXPECT_EQ(smaller.info().whole_steps.first, 5);
}

TEST(WindowOfSteps, BeginsWhereTheDeviceBecameIdleAndEndsWithTheLastOpOfTheSteps) {
  Made made;
  made.step(1, 0, 100);
  made.launched(10, 20, 90, "of step 1");
  made.step(2, 100, 200);
  made.launched(110, 150, 260, "of step 2");
  made.step(3, 200, 300);
  made.launched(210, 270, 290, "of step 3");
  Trace const trace = made.finish();

  auto const window = [&](Interval steps) {
    return window_of_steps(trace, {{made.thread(), steps}});
  };

  EXPECT_EQ(window({100, 200}).device, (Interval{89, 260}));
  EXPECT_EQ(window({100, 200}).host, (Interval{89, 200}));
  EXPECT_EQ(window({200, 300}).device, (Interval{200, 290}))
      << "work of step 2 goes on into step 3";
  EXPECT_EQ(window({200, 300}).host, (Interval{200, 300}));
  EXPECT_EQ(window({0, 200}).device, (Interval{0, 260}));
}

TEST(WindowOfSteps, HasAllWorkSinceItsBeginWhoeverLaunchedIt) {
  Made made;
  made.collective(20, 90, "its launch was lost");
  made.launched(92, 105, 110, "launched between the steps");
  made.launched(94, 120, 125, "so was this, which ends last");
  made.step(2, 100, 200);
  made.launched(110, 150, 260, "of step 2");
  made.collective(255, 270, "its launch was lost, too");
  Trace const trace = made.finish();
  EXPECT_EQ(window_of_steps(trace, {{made.thread(), {100, 200}}}).device, (Interval{89, 260}));
}

Pseudonyms::Meaning meaning(std::string_view name) {
  if (name == "secret step 12") return {"step 12", {}};
  return {{}, name == "secret layer 3" ? "layer.3" : ""};
}

TEST(Anonymize, LeavesNoTextOfTheTrace) {
  Made made;
  made.step(1, 0, 100);
  for (EventKind const kind : {EventKind::kRange, EventKind::kMark, EventKind::kPhase,
                               EventKind::kInputWait, EventKind::kApi, EventKind::kOverhead})
    made.host(kind, 1, 2, "secret event");
  made.host(EventKind::kRange, 10, 20, "secret step 12");
  made.launched(12, 150, 160, "secret kernel", "secret GraphLaunch");
  made.collective(170, 180, "secret collective");

  Trace const trace = made.finish();
  Pseudonyms pseudonyms(meaning);
  Trace const anonymous = anonymize(trace, pseudonyms, -4'000);
  EXPECT_THAT(texts_of(anonymous),
              UnorderedElementsAre("stepscope slice --anonymize", "host-1", "cores", "8",
                                   "thread-1", "stream-1", "device-1", "step-1", "range-1",
                                   "mark-1", "phase-1", "input_wait-1", "api-1", "overhead-1",
                                   "step 12", "launch-1 (GraphLaunch)", "kernel-1 (compute)",
                                   "collective-1 (all_reduce)"));

  EXPECT_EQ(anonymous.columns().start, trace.columns().start);
  EXPECT_EQ(anonymous.columns().kind, trace.columns().kind);
  EXPECT_EQ(anonymous.columns().link, trace.columns().link);
  EXPECT_EQ(anonymous.info().origin_epoch_ns, 1'000);
  EXPECT_EQ(anonymous.info().rank, 2);
  EXPECT_EQ(anonymous.info().process_id, 2);
  EXPECT_EQ(anonymous.tracks()[0].id, 1);
  EXPECT_EQ(anonymous.tracks()[1].id, 7) << "what stream waits refer to";
}

/// What a call of the runtime does is read from its name, which every program has.
TEST(Anonymize, KeepsTheNamesOfTheVendorsCallsAlone) {
  Made made;
  made.launched(12, 150, 160, "cudaSecretKernel", "cudaMemcpyAsync");
  made.launched(20, 170, 180, "cudaSecretKernel", "customer_launch");
  made.host(EventKind::kApi, 30, 31, "cuStreamWaitEvent");
  made.host(EventKind::kApi, 40, 41, "cuda Secret");
  made.host(EventKind::kApi, 50, 51, "cuAcmeSecretModel");
  made.host(EventKind::kApi, 60, 61, "hipDeviceSynchronize");
  made.host(EventKind::kRange, 70, 71, "cudaSecretRange");
  made.host(EventKind::kApi, 80, 81, "ncclAllReduce" + std::string(80, 'x'));
  made.host(EventKind::kRange, 90, 91, "secret layer 3");

  Pseudonyms pseudonyms(meaning);
  EXPECT_THAT(names_of(anonymize(made.finish(), pseudonyms, 0)),
              ElementsAre("cudaMemcpyAsync", "launch-1", "cuStreamWaitEvent", "api-1", "api-2",
                          "hipDeviceSynchronize", "range-1", "api-3", "range-2 (layer.3)",
                          "kernel-1 (compute)", "kernel-1 (compute)"));
}

/// What memory a copy reads and writes is read from its name.
TEST(Anonymize, KeepsTheNamesOfTheProfilersCopiesAlone) {
  TraceBuilder builder;
  TrackId const stream = builder.add_track({TrackKind::kStream, "stream", 7, 0, {}, 3});
  for (char const* const name :
       {"Memcpy HtoD (Pageable -> Device)", "Memcpy customer embeddings", "secret copy"})
    builder.events(stream).add(EventKind::kMemcpy, 10, 5, builder.intern(name), 0, CopyDetail{});
  builder.events(stream).add(EventKind::kKernel, 20, 5, builder.intern("Memcpy kernel"), 0,
                             KernelDetail{});

  Pseudonyms pseudonyms(meaning);
  EXPECT_THAT(names_of(anonymize(std::move(builder).finish(), pseudonyms, 0)),
              UnorderedElementsAre("Memcpy HtoD (Pageable -> Device)", "memcpy-1 (copy)",
                                   "memcpy-2 (copy)", "kernel-1 (compute)"));
}

TEST(Anonymize, KeepsWhatRangesSayBesideTheirNames) {
  TraceBuilder builder;

  TrackId const track = builder.add_track({});
  RangeDetail detail;
  detail.category = 7;
  detail.bytes = 4096;
  builder.info().facts = {{"category 7", "secret category"}};
  builder.events(track).add(EventKind::kAnnotatedRange, 0, 10, builder.intern("secret step 12"), 0,
                            detail);
  builder.events(track).add(EventKind::kAnnotatedRange, 10, 10, builder.intern("secret range"), 0,
                            detail);

  Pseudonyms pseudonyms(meaning);
  Trace const anonymous = anonymize(std::move(builder).finish(), pseudonyms, 0);
  EXPECT_TRUE(anonymous.info().facts.empty());
  EXPECT_EQ(anonymous.name(0), "step 12");
  EXPECT_EQ(anonymous.name(1), "range-1");
  EXPECT_EQ(anonymous.detail<RangeDetail>(1).category, 7U);
  EXPECT_EQ(anonymous.detail<RangeDetail>(1).bytes, 4096U);
}

TEST(Anonymize, TheSameTextHasTheSamePseudonymInEveryTrace) {
  Pseudonyms pseudonyms(meaning);
  Made first, second;
  first.host(EventKind::kRange, 0, 10, "a");
  first.host(EventKind::kRange, 10, 20, "b");
  second.host(EventKind::kRange, 0, 10, "b");
  second.host(EventKind::kRange, 10, 20, "c");

  EXPECT_THAT(names_of(anonymize(first.finish(), pseudonyms, 0)),
              ElementsAre("range-1", "range-2"));
  EXPECT_THAT(names_of(anonymize(second.finish(), pseudonyms, 0)),
              ElementsAre("range-2", "range-3"));
}

}  // namespace
}  // namespace stepscope::model
