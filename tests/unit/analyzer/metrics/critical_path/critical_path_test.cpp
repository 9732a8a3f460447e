// The critical path of runs whose path and slack are known by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "reports/json/critical_path_json.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::SyncDetail;
using model::SyncKind;
using model::TrackId;
using testing::ElementsAre;
using testing_support::ns_of;
using testing_support::path_of;
using testing_support::path_pieces;
using testing_support::path_run;
using testing_support::PathRank;
using testing_support::sum_of;

constexpr int64_t kUs = 1000;

/// "class name begin-end", from the begin of the path to its end, µs of run time.
std::vector<std::string> story(model::Run const& run, AnalyzeOptions const& options = {}) {
  Analysis const analysis = analyze(run, options);
  std::vector<std::string> result;

  for (PathPiece const& piece : path_pieces(run, analysis, options.launch_latency_limit_ns)) {
    model::RankTrace const& rank = run.ranks[static_cast<size_t>(piece.rank_index)];
    std::string const name = piece.row ? " " + std::string(rank.trace.name(*piece.row)) : "";
    std::string const where = run.ranks.size() > 1 ? std::to_string(piece.rank_index) + ": " : "";
    result.insert(result.begin(), where + to_string(piece.path_class) + name + " " +
                                      std::to_string(piece.when.begin / kUs) + "-" +
                                      std::to_string(piece.when.end / kUs));
  }
  return result;
}

PathSlack slack_of(CriticalPathStats const& path, std::string const& name) {
  for (PathSlack const& slack : path.slack_by_name)
    if (slack.name == name) return slack;
  ADD_FAILURE() << "no slack of " << name;
  return {};
}

/// Takes times in µs.
struct UsRank : PathRank {
  using PathRank::PathRank;
  void range(TrackId thread, int64_t begin, int64_t end, std::string const& name) {
    PathRank::range(thread, begin * kUs, end * kUs, name);
  }
  void host(TrackId thread, EventKind kind, int64_t begin, int64_t end, std::string const& name) {
    PathRank::host(thread, kind, begin * kUs, end * kUs, name);
  }
  void step(TrackId thread, int64_t begin, int64_t end, int64_t index) {
    PathRank::step(thread, begin * kUs, end * kUs, index);
  }
  void sync(TrackId thread, int64_t begin, int64_t end,
            SyncDetail const& detail = {SyncKind::kDevice, 0, -1}) {
    PathRank::sync(thread, begin * kUs, end * kUs, detail);
  }
  uint64_t launch(TrackId thread, int64_t begin, int64_t end, std::string const& name = "launch") {
    return PathRank::launch(thread, begin * kUs, end * kUs, name);
  }
  void kernel(TrackId stream, int64_t begin, int64_t end, std::string const& name,
              uint64_t correlation = 0) {
    PathRank::kernel(stream, begin * kUs, end * kUs, name, correlation);
  }
  void copy(TrackId stream, int64_t begin, int64_t end, std::string const& name,
            uint64_t correlation = 0) {
    PathRank::copy(stream, begin * kUs, end * kUs, name, correlation);
  }
  void wait(TrackId stream, int64_t begin, int64_t end, model::StreamWaitDetail const& detail,
            uint64_t correlation = 0) {
    PathRank::wait(stream, begin * kUs, end * kUs, detail, correlation);
  }
  void all_reduce(TrackId stream, int64_t begin, int64_t end, uint64_t sequence,
                  uint64_t correlation = 0) {
    PathRank::all_reduce(stream, begin * kUs, end * kUs, sequence, correlation);
  }
};

TEST(CriticalPath, HostThatLaunchesLateIsThePath) {
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  uint64_t const a = rank.launch(thread, 0, 10), b = rank.launch(thread, 70, 80);
  rank.range(thread, 20, 90, "python");
  rank.kernel(stream, 15, 25, "a", a);
  rank.kernel(stream, 84, 100, "b", b);

  model::Run const run = path_run(std::move(rank).finish());
  EXPECT_THAT(story(run), ElementsAre("host 15-20", "host python 20-70", "launch launch 70-80",
                                      "launch b 80-84", "compute b 84-100"));

  CriticalPathStats const path = path_of(run);
  EXPECT_EQ(path.window, (Interval{15 * kUs, 100 * kUs}));
  EXPECT_EQ(ns_of(path, PathClass::kHost), 55 * kUs);
  EXPECT_EQ(path.ops, 1U);

  ASSERT_EQ(path.places.size(), 2U);
  EXPECT_FALSE(path.places[0].device);
  EXPECT_EQ(sum_of(path.places[0].by_class), 65 * kUs);
  EXPECT_EQ(path.places[1].device, 0);
  ASSERT_FALSE(path.contributors.empty());
  EXPECT_EQ(path.contributors[0].name, "python");
  EXPECT_EQ(path.contributors[0].ns, 50 * kUs);
  EXPECT_EQ(path.contributors[0].count, 1U);
  EXPECT_NEAR(path.contributors[0].share, 50. / 85, 1e-9);

  // Only the device waits for the first kernel, and it has time until the second begins.
  EXPECT_EQ(slack_of(path, "a").min_ns, 55 * kUs);
}

TEST(CriticalPath, DeviceThatIsAlwaysBusyIsThePath) {
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  std::vector<uint64_t> launches;
  for (int64_t i = 0; i < 4; ++i) launches.push_back(rank.launch(thread, i * 5, i * 5 + 4));
  rank.kernel(stream, 6, 40, "a", launches[0]);
  rank.copy(stream, 41, 60, "b", launches[1]);
  rank.kernel(stream, 80, 90, "c", launches[2]);  // 20 µs late without a known cause
  rank.kernel(stream, 90, 100, "d", launches[3]);

  EXPECT_THAT(story(path_run(std::move(rank).finish())),
              ElementsAre("compute a 6-40", "launch b 40-41", "copy b 41-60", "unexplained c 60-80",
                          "compute c 80-90", "compute d 90-100"));
}

TEST(CriticalPath, HostThatWaitsForTheDeviceLeadsBackToIt) {
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0), other = rank.stream(1);
  uint64_t const a = rank.launch(thread, 0, 5), short_one = rank.launch(thread, 5, 8);
  rank.sync(thread, 10, 60);
  rank.allocate(thread, 62 * kUs, 70 * kUs, "cudaMalloc");
  uint64_t const b = rank.launch(thread, 75, 80);

  rank.kernel(stream, 6, 50, "a", a);
  rank.kernel(other, 10, 42, "short", short_one);
  rank.kernel(stream, 80, 100, "b", b);

  model::Run const run = path_run(std::move(rank).finish());
  EXPECT_THAT(story(run), ElementsAre("compute a 6-50", "sync synchronize 50-60", "host 60-62",
                                      "allocation cudaMalloc 62-70", "host 70-75",
                                      "launch launch 75-80", "compute b 80-100"));

  // It ends 8 µs before the other kernel that the host waits for.
  EXPECT_EQ(slack_of(path_of(run), "short").min_ns, 8 * kUs);
}

TEST(CriticalPath, SyncsOfOneStreamOrEventWaitForNothingElse) {
  for (bool const is_event : {false, true}) {
    UsRank rank;
    TrackId const thread = rank.thread(1), stream = rank.stream(0), other = rank.stream(1);
    uint64_t const a = rank.launch(thread, 0, 5), x = rank.launch(thread, 5, 8);

    // The event is recorded by call 3, before the kernel that follows.
    uint64_t const recorded = 3;
    rank.launch(thread, 8, 9, "record");
    uint64_t const later = rank.launch(thread, 9, 10);
    rank.sync(thread, 11, 60,
              is_event ? SyncDetail{SyncKind::kEvent, 0, 0, recorded}
                       : SyncDetail{SyncKind::kStream, 0, 0});

    uint64_t const b = rank.launch(thread, 60, 70);
    rank.kernel(stream, 6, 40, "a", a);
    rank.kernel(other, 10, 58, "other", x);
    if (is_event) rank.kernel(stream, 40, 55, "later", later);
    rank.kernel(stream, 75, 100, "b", b);

    std::vector<std::string> const pieces = story(path_run(std::move(rank).finish()));
    EXPECT_EQ(pieces[0], "compute a 6-40") << is_event;
    EXPECT_EQ(pieces[1], "sync synchronize 40-60") << is_event;
  }
}

TEST(CriticalPath, CopyThatBlocksTheHostLeadsBackToTheDevice) {
  for (char const* const name : {"cudaMemcpy", "cudaMemcpyAsync"}) {
    UsRank rank;
    TrackId const thread = rank.thread(1), stream = rank.stream(0);
    uint64_t const a = rank.launch(thread, 0, 5), copied = rank.launch(thread, 10, 60, name),
                   b = rank.launch(thread, 60, 65);

    rank.kernel(stream, 6, 30, "a", a);
    rank.copy(stream, 30, 55, "copy", copied);
    rank.kernel(stream, 70, 100, "b", b);

    bool const is_async = std::string(name).ends_with("Async");
    EXPECT_EQ(ns_of(path_of(path_run(std::move(rank).finish())), PathClass::kCopy),
              is_async ? 0 : 25 * kUs)
        << name;
  }
}

TEST(CriticalPath, WaitingForDataIsInput) {
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  uint64_t const a = rank.launch(thread, 0, 5);
  rank.range(thread, 5, 60, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  rank.range(thread, 10, 40, "decode");
  rank.host(thread, EventKind::kInputWait, 60, 70, "wait for batch");
  rank.kernel(stream, 5, 8, "a", a);
  rank.kernel(stream, 75, 80, "b", rank.launch(thread, 70, 75));

  CriticalPathStats const path = path_of(path_run(std::move(rank).finish()));
  EXPECT_EQ(ns_of(path, PathClass::kInput), 65 * kUs);
  EXPECT_EQ(path.contributors[0].name, "decode");  // a part of the wait
  EXPECT_EQ(path.contributors[0].path_class, PathClass::kInput);
}

TEST(CriticalPath, EventsLeadFromStreamToStream) {
  enum class How { kByTime, kByCalls, kNotRecorded };
  for (How const how : {How::kByTime, How::kByCalls, How::kNotRecorded}) {
    UsRank rank;
    TrackId const thread = rank.thread(1), compute = rank.stream(0), copies = rank.stream(1);
    uint64_t const a = rank.launch(thread, 0, 2), copied = rank.launch(thread, 2, 4);
    uint64_t const recorded = 3, waits = 4;
    rank.launch(thread, 4, 5, "record");
    rank.launch(thread, 5, 6, "wait");
    uint64_t const b = rank.launch(thread, 6, 8);

    rank.kernel(compute, 4, 30, "a", a);
    rank.copy(copies, 5, 70, "batch", copied);
    rank.kernel(compute, 72, 100, "b", b);
    if (how == How::kByTime) rank.wait(compute, 30, 70, {0, 1});
    if (how == How::kByCalls) rank.wait(compute, 5, 6, {0, 1, recorded}, waits);

    model::Run const run = path_run(std::move(rank).finish());
    EXPECT_THAT(story(run), ElementsAre("launch batch 4-5", "copy batch 5-70", "launch b 70-72",
                                        "compute b 72-100"))
        << static_cast<int>(how);

    CriticalPathStats const path = path_of(run);
    EXPECT_EQ(path.guessed_waits, how == How::kNotRecorded ? 1U : 0U);
    EXPECT_EQ(slack_of(path, "a").min_ns, 40 * kUs);
  }
}

TEST(CriticalPath, BackwardPassOfAnotherThreadIsFollowed) {
  UsRank rank;
  TrackId const main = rank.thread(1), autograd = rank.thread(2), stream = rank.stream(0);
  rank.step(main, 0, 100, 0);
  rank.range(main, 0, 30, "forward");
  uint64_t const f = rank.launch(main, 20, 25);
  rank.range(main, 30, 80, "run_backward");
  rank.range(autograd, 35, 75, "backward");
  uint64_t const g = rank.launch(autograd, 60, 65);
  uint64_t const o = rank.launch(main, 85, 90);

  rank.kernel(stream, 26, 28, "f", f);
  rank.kernel(stream, 66, 70, "g", g);
  rank.kernel(stream, 92, 100, "o", o);

  EXPECT_THAT(
      story(path_run(std::move(rank).finish())),
      ElementsAre("host forward 26-30", "host run_backward 30-35", "host backward 35-60",
                  "launch launch 60-65", "host backward 65-75", "host run_backward 75-80",
                  "host step 80-85", "launch launch 85-90", "launch o 90-92", "compute o 92-100"));
}

TEST(CriticalPath, ThreadThatJoinedTrainersIsFollowedToThem) {
  UsRank rank;
  TrackId const main = rank.thread(1), trainer = rank.thread(2), stream = rank.stream(0);
  uint64_t const first = rank.launch(main, 0, 4);
  rank.step(trainer, 10, 60, 0);
  uint64_t const trained = rank.launch(trainer, 12, 15);
  rank.sync(trainer, 20, 60);
  uint64_t const last = rank.launch(main, 70, 75);

  rank.kernel(stream, 5, 8, "first", first);
  rank.kernel(stream, 16, 55, "trained", trained);
  rank.kernel(stream, 80, 90, "last", last);

  EXPECT_THAT(
      story(path_run(std::move(rank).finish())),
      ElementsAre("unexplained 5-10", "host step 10-12", "launch launch 12-15",
                  "launch trained 15-16", "compute trained 16-55", "sync synchronize 55-60",
                  "host 60-70", "launch launch 70-75", "launch last 75-80", "compute last 80-90"));
}

/// Rank 1 comes to the collective 50 µs late; its clock is `ahead` of rank 0's.
model::Run late_rank(int64_t ahead_us, int64_t last_kernel_end) {
  UsRank zero(0), one(1);
  TrackId const zero_thread = zero.thread(1), zero_stream = zero.stream(0),
                one_thread = one.thread(1), one_stream = one.stream(0);
  std::vector<uint64_t> l;
  for (UsRank* const rank : {&zero, &one})
    for (int64_t i = 0; i < 3; ++i)
      l.push_back(rank->launch(rank == &zero ? zero_thread : one_thread, -10 + i, -9 + i));

  zero.kernel(zero_stream, 0, 30, "a", l[0]);
  zero.all_reduce(zero_stream, 30, 100, 1, l[1]);
  zero.kernel(zero_stream, 100, last_kernel_end, "c", l[2]);
  one.kernel(one_stream, 0, 80, "b", l[3]);
  one.all_reduce(one_stream, 80, 100, 1, l[4]);

  return path_run(std::move(zero).finish(), std::move(one).finish(ahead_us * kUs));
}

TEST(CriticalPath, CollectiveLeadsToTheRankThatCameLast) {
  model::Run const run = late_rank(0, 120);
  EXPECT_THAT(story(run), ElementsAre("1: compute b 0-80", "0: communication all-reduce 80-100",
                                      "0: compute c 100-120"));
  CriticalPathStats const path = path_of(run);
  EXPECT_EQ(path.jumps, 1U);
  EXPECT_EQ(path.clock_disagreement_ns, 0);
  // As long as rank 0 waits for the other one.
  EXPECT_EQ(slack_of(path, "a").min_ns, 50 * kUs);
  EXPECT_TRUE(path.is_slack_exact);
}

TEST(CriticalPath, ClocksThatDisagreeLeaveNoHoles) {
  // The clock of the late rank is behind: its part begins earlier, the transfer is longer.
  CriticalPathStats const behind = path_of(late_rank(-7, 120));
  EXPECT_EQ(ns_of(behind, PathClass::kCompute), 100 * kUs);
  EXPECT_EQ(ns_of(behind, PathClass::kCommunication), 27 * kUs);
  EXPECT_EQ(behind.clock_disagreement_ns, 7 * kUs);

  // It is behind by more than the other rank waited: part of the transfer lies before the
  // collective.
  EXPECT_EQ(path_of(late_rank(-60, 120)).clock_filled_ns, 10 * kUs);

  // The clock is so far ahead that the rank arrives when the collective is over.
  CriticalPathStats const ahead = path_of(late_rank(40, 200));
  EXPECT_EQ(ns_of(ahead, PathClass::kCommunication), 0);
  EXPECT_EQ(ns_of(ahead, PathClass::kCompute), 180 * kUs);
  EXPECT_EQ(ahead.clock_cut_ns, 20 * kUs);

  for (CriticalPathStats const& path : {behind, ahead})
    EXPECT_EQ(sum_of(path.by_class), path.window.length());
}

TEST(CriticalPath, CollectiveThatWaitsForTheLastLaunchLeadsToIt) {
  // Both start together, once rank 1 has launched: no rank waits inside the collective.
  UsRank zero(0), one(1);
  TrackId const zero_thread = zero.thread(1), zero_stream = zero.stream(0),
                one_thread = one.thread(1), one_stream = one.stream(0);
  uint64_t const a = zero.launch(zero_thread, -5, -4), r0 = zero.launch(zero_thread, -4, -3);
  uint64_t const b = one.launch(one_thread, -5, -4);
  one.range(one_thread, 0, 70, "checkpoint");
  uint64_t const r1 = one.launch(one_thread, 70, 75);

  zero.kernel(zero_stream, 0, 30, "a", a);
  zero.all_reduce(zero_stream, 76, 100, 1, r0);
  one.kernel(one_stream, 0, 20, "b", b);
  one.all_reduce(one_stream, 76, 100, 1, r1);

  model::Run const run = path_run(std::move(zero).finish(), std::move(one).finish());
  EXPECT_THAT(story(run),
              ElementsAre("1: host checkpoint 0-70", "1: launch launch 70-75",
                          "1: launch all-reduce 75-76", "0: communication all-reduce 76-100"));
  EXPECT_EQ(slack_of(path_of(run), "a").min_ns, 46 * kUs);
}

TEST(CriticalPath, SlackEndsWhereAnotherRankNeedsTheResult) {
  UsRank zero(0), one(1);
  TrackId const thread = zero.thread(1), stream = zero.stream(0), comm = zero.stream(1);
  TrackId const one_thread = one.thread(1), one_stream = one.stream(0);
  uint64_t const l = zero.launch(thread, -9, -8), x = zero.launch(thread, -8, -7),
                 r0 = zero.launch(thread, -7, -6);
  uint64_t const r1 = one.launch(one_thread, -9, -8), y = one.launch(one_thread, -8, -7),
                 z = one.launch(one_thread, 80, 90);

  zero.kernel(stream, 0, 100, "long", l);
  zero.kernel(comm, 0, 10, "x", x);
  zero.all_reduce(comm, 10, 20, 1, r0);
  one.all_reduce(one_stream, 10, 20, 1, r1);
  one.kernel(one_stream, 20, 50, "y", y);
  one.kernel(one_stream, 90, 100, "z", z);

  CriticalPathStats const path =
      path_of(path_run(std::move(zero).finish(), std::move(one).finish()));
  EXPECT_EQ(path.ops, 1U);
  EXPECT_EQ(slack_of(path, "y").min_ns, 40 * kUs);
  EXPECT_EQ(slack_of(path, "x").min_ns, 40 * kUs);
  EXPECT_EQ(slack_of(path, "all-reduce").ops, 2U);
  EXPECT_EQ(slack_of(path, "all-reduce").median_ns, 40 * kUs);
  EXPECT_EQ(slack_of(path, "z").min_ns, 0);

  // The limit is 1 % of the window: only z is nearly critical among the ops off the path.
  EXPECT_EQ(path.nearly_critical_below_ns, kUs);
  EXPECT_EQ(slack_of(path, "z").nearly_critical_ns, 10 * kUs);
  EXPECT_EQ(slack_of(path, "y").nearly_critical_ns, 0);
}

TEST(CriticalPath, OneRankAloneWaitsForItsPeers) {
  model::Run const run = late_rank(0, 120);
  AnalyzeOptions options;
  options.rank = 0;
  CriticalPathStats const path = path_of(run, options);
  EXPECT_EQ(path.window, (Interval{0, 120 * kUs}));
  EXPECT_EQ(ns_of(path, PathClass::kCompute), 50 * kUs);
  EXPECT_EQ(ns_of(path, PathClass::kPeer), 50 * kUs);
  EXPECT_EQ(ns_of(path, PathClass::kCommunication), 20 * kUs);
  EXPECT_EQ(path.jumps, 0U);
}

TEST(CriticalPath, DeviceAloneIsEnough) {
  UsRank rank;
  TrackId const first = rank.stream(0), second = rank.stream(1);
  rank.kernel(first, 0, 30, "a");
  rank.kernel(second, 33, 60, "b");  // on another stream: what ended last before it
  rank.kernel(first, 50, 80, "c");
  rank.kernel(first, 70, 90, "d");  // overlaps the one before it

  model::Run const run = path_run(std::move(rank).finish());
  EXPECT_THAT(story(run), ElementsAre("compute a 0-30", "unexplained c 30-50", "compute c 50-70",
                                      "compute d 70-90"));
  EXPECT_EQ(slack_of(path_of(run), "b").min_ns, 30 * kUs);
}

TEST(CriticalPath, LaunchesAfterTheirOpAndDoubledOnesDoNotLeadAstray) {
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  uint64_t const late = rank.launch(thread, 50, 60);
  rank.kernel(stream, 0, 20, "a");
  rank.kernel(stream, 40, 70, "b", late);
  rank.host(thread, EventKind::kRange, 0, 100, "range");
  model::StringId const name = rank.builder().intern("launch");
  rank.builder().events(thread).add(EventKind::kLaunch, 90 * kUs, 5 * kUs, name, late);
  rank.kernel(stream, 96, 100, "c", late);

  CriticalPathStats const path = path_of(path_run(std::move(rank).finish()));
  EXPECT_EQ(sum_of(path.by_class), 100 * kUs);
  EXPECT_EQ(ns_of(path, PathClass::kHost), 80 * kUs);  // c was launched by the second of both
}

TEST(CriticalPath, NoDeviceWorkHasNoPath) {
  EXPECT_FALSE(analyze(model::Run{}).critical_path);
  EXPECT_FALSE(analyze(path_run(PathRank().finish())).critical_path);
  UsRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  rank.range(thread, 0, 100, "host");
  rank.kernel(stream, 50, 50, "nothing", rank.launch(thread, 10, 20));
  EXPECT_FALSE(analyze(path_run(std::move(rank).finish())).critical_path);
}

TEST(CriticalPath, TimesAtBothEndsOfTheRangeDoNotOverflow) {
  std::vector<model::RankTrace> ranks;
  for (int32_t r = 0; r < 2; ++r) {
    PathRank rank(r);
    TrackId const thread = rank.thread(1), stream = rank.stream(0);
    rank.sync(thread, -model::kMaxTime, model::kMaxTime, {SyncKind::kDevice, 0, -1});
    rank.kernel(stream, -model::kMaxTime, -model::kMaxTime + 5, "first",
                rank.launch(thread, -model::kMaxTime, model::kMaxTime));
    rank.all_reduce(stream, r == 0 ? -model::kMaxTime + 9 : model::kMaxTime - 9, model::kMaxTime,
                    1);
    ranks.push_back(std::move(rank).finish());
  }

  CriticalPathStats const path = path_of(path_run(std::move(ranks[0]), std::move(ranks[1])));
  EXPECT_EQ(path.window.length(), 2 * model::kMaxTime);
  EXPECT_EQ(sum_of(path.by_class), path.window.length());
}

TEST(CriticalPath, JsonHasEveryNumber) {
  model::Run const run = late_rank(-7, 120);
  auto const json = reports::critical_path_json(run, analyze(run));
  EXPECT_EQ(json["begin_ns"], -7 * kUs);
  EXPECT_EQ(json["dur_ns"], 127 * kUs);
  EXPECT_EQ(json["ns"]["communication"], 27 * kUs);

  EXPECT_EQ(json["places"].size(), 2U);
  EXPECT_EQ(json["places"][1]["rank"], 1);
  EXPECT_EQ(json["places"][1]["device"], 0);
  EXPECT_EQ(json["contributors"][0]["name"], "b");
  EXPECT_EQ(json["contributors"][0]["class"], "compute");

  EXPECT_EQ(json["jumps"], 1);
  EXPECT_EQ(json["clock_disagreement_ns"], 7 * kUs);
  EXPECT_EQ(json["slack"]["exact"], true);
  EXPECT_EQ(json["slack"]["names"][0]["name"], "a");
  EXPECT_TRUE(reports::critical_path_json(model::Run{}, Analysis{}).is_null());
}

}  // namespace
}  // namespace stepscope::analyzer
