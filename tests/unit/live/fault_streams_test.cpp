// Whether `stepscope live` tells what is worth a window: of jobs that go wrong in the midst, over
// all faults of `stepscope synth`. Good jobs need none. Prints the table.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/live/live_run.h"
#include "tests/support/sanitized.h"
#include "trace/import/open/open_run.h"
#include "trace/stream/trace_steps.h"
#include "trace/synth/synth.h"

namespace stepscope::analyzer {
namespace {

using stream::TimePart;

constexpr int64_t kPlayedSteps = 120;

struct Played {
  model::TraceInfo info;
  std::vector<model::Device> devices;
  std::vector<stream::StepRecord> records;
};

std::vector<Played> play(std::string_view pattern, int32_t ranks, synth::Fault const& fault,
                         uint64_t seed, int64_t steps = kPlayedSteps) {
  std::string const folder = ::testing::TempDir() + "/fault-streams-" + std::to_string(::getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  synth::SynthOptions options;
  options.pattern = synth::find_pattern(pattern);
  options.ranks = ranks;
  options.steps = steps;
  options.seed = seed;
  options.fault = fault;
  auto const written = synth::make_run(options, folder);
  EXPECT_TRUE(written.has_value());

  auto const run = import::open_run(folder);
  std::filesystem::remove_all(folder);
  std::vector<Played> played;
  if (!run) return played;
  for (model::RankTrace const& rank : run->ranks)
    played.push_back({rank.trace.info(),
                      {rank.trace.devices().begin(), rank.trace.devices().end()},
                      stream::records_of(rank.trace)});
  return played;
}

synth::Fault usual(synth::FaultKind const& kind) { return {&kind, kind.usual}; }

synth::Fault no_fault() { return *synth::parse_fault("none"); }

/// Plays the n-th record of each rank, with `after` steps before it.
bool add_records(LiveRun& live, std::vector<Played> const& ranks, size_t n, int64_t after = 0) {
  bool has_any = false;
  for (Played const& rank : ranks) {
    if (n >= rank.records.size()) continue;
    stream::StepRecord record = rank.records[n];
    record.step += after;
    live.add(rank.info.rank, 0, record);
    has_any = true;
  }
  return has_any;
}

LiveRun begun(std::vector<Played> const& ranks) {
  LiveRun live;
  for (Played const& rank : ranks) {
    model::TraceInfo info = rank.info;
    info.process_id = 0;
    live.add_process(info);
    for (model::Device const& device : rank.devices) live.add_device(info.rank, 0, device);
  }
  return live;
}

/// What live must report of a fault.
struct Expected {
  std::string_view fault;
  std::vector<WorthKind> kinds;
  std::optional<TimePart> part;
  bool is_of_one_rank = false;
};

std::vector<Expected> const& expectations() {
  using Kind = WorthKind;
  static std::vector<Expected> const all = {
      {"input", {Kind::kSlower, Kind::kInput}, TimePart::kInput},
      {"host-bound", {Kind::kSlower, Kind::kSlowStep}, TimePart::kIdle},
      {"sync", {Kind::kSlower}, TimePart::kIdle},
      {"allocation", {Kind::kSlower, Kind::kAllocation}, TimePart::kAllocation},
      {"late-rank", {Kind::kSlower, Kind::kLateRank}, TimePart::kIdle, true},
      {"straggler", {Kind::kSlower, Kind::kLateRank}, TimePart::kCompute, true},
      {"imbalance", {Kind::kSlower, Kind::kLateRank}, {}},
      {"small-buckets", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},

      {"no-overlap", {Kind::kSlower}, TimePart::kCommunication},
      {"slow-link", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},
      {"slow-pair", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},
      {"slow-group", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},
      {"pageable-copies", {Kind::kSlower, Kind::kCopies}, TimePart::kCopy},
      {"serialized-copies", {Kind::kSlower, Kind::kCopies}, TimePart::kCopy},
      {"tiny-kernels", {Kind::kSlower, Kind::kSlowStep}, TimePart::kIdle},
      {"tensor-cores", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCompute},

      {"small-grids", {Kind::kSlower}, TimePart::kCompute},
      {"serialized-streams", {Kind::kSlower}, TimePart::kCompute},
      {"outliers", {Kind::kSlowStep}, TimePart::kIdle, true},
      {"warmup", {Kind::kSlowStep}, TimePart::kIdle},
      {"leak", {Kind::kMemoryGrows}, {}},
      {"pressure", {Kind::kMemoryFull}, {}},
      {"fragmentation", {Kind::kFragmented}, {}},
      {"throttling", {Kind::kSlower}, TimePart::kCompute},
      {"lost-records", {Kind::kLost}, {}},
      {"unfused-attention", {Kind::kSlower}, TimePart::kCompute},
      {"misaligned-matrices", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCompute},
      {"elementwise", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCompute},
      {"unsized-buckets", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},
      {"missing-ranks", {Kind::kSlower, Kind::kSlowStep}, TimePart::kCommunication},
      {"python-frames", {Kind::kSlower, Kind::kSlowStep}, TimePart::kIdle}};
  return all;
}

bool is_right(Worth const& worth, Expected const& expected) {
  bool const is_kind =
      std::find(expected.kinds.begin(), expected.kinds.end(), worth.kind) != expected.kinds.end();
  bool const is_part = !expected.part || worth.part == expected.part;
  bool const is_rank = !expected.is_of_one_rank || (worth.line && worth.line->rank == 0);
  return is_kind && is_part && is_rank;
}

struct Outcome {
  int64_t told_after_ns = -1;   ///< anything; −1 = nothing was
  int64_t right_after_ns = -1;  ///< the right thing
  bool is_right_first = false;  ///< what was named first is it
};

/// A good job, in which the fault begins after kPlayedSteps.
Outcome begins_to_fail(std::string_view pattern, synth::FaultKind const& kind,
                       Expected const& expected) {
  int32_t const ranks = std::max(4, kind.fewest_ranks);
  // Memory is judged by blocks of records, and short steps share a record.
  bool const is_memory = expected.kinds.front() == WorthKind::kMemoryGrows;
  auto const good = play(pattern, ranks, no_fault(), 1);
  auto const bad = play(pattern, ranks, usual(kind), 1, (is_memory ? 4 : 1) * kPlayedSteps);

  LiveRun live = begun(good);
  for (size_t n = 0; add_records(live, good, n); ++n) continue;
  EXPECT_TRUE(live.worth().empty()) << pattern;

  Outcome outcome;
  int64_t passed_ns = 0;
  for (size_t n = 0; add_records(live, bad, n, kPlayedSteps) && outcome.right_after_ns < 0; ++n) {
    passed_ns += bad.front().records[n].length_ns;
    for (Worth const& worth : live.worth()) {
      if (outcome.told_after_ns < 0) outcome.is_right_first = is_right(worth, expected);
      if (outcome.told_after_ns < 0) outcome.told_after_ns = passed_ns;
      if (is_right(worth, expected)) outcome.right_after_ns = passed_ns;
    }
  }
  return outcome;
}

double seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// Under the sanitizers one pattern, and every sixth fault.
std::vector<std::string_view> patterns() {
  if (support::kSanitized) return {"moe"};
  return {"dp", "pipeline", "moe"};
}

TEST(FaultStreams, FaultThatBeginsInTheMidstIsTold) {
  size_t jobs = 0, told = 0, right = 0, right_first = 0, place = 0;
  for (Expected const& expected : expectations()) {
    if (support::kSanitized && place++ % 6 != 0) continue;
    for (std::string_view const pattern : patterns()) {
      auto const fault = synth::parse_fault(expected.fault);
      ASSERT_TRUE(fault.has_value()) << expected.fault;
      std::string_view const patterns = fault->kind->patterns;
      if (!patterns.empty() && patterns.find(pattern) == std::string_view::npos) continue;

      Outcome const outcome = begins_to_fail(pattern, *fault->kind, expected);
      ++jobs;
      told += static_cast<size_t>(outcome.told_after_ns >= 0);
      right += static_cast<size_t>(outcome.right_after_ns >= 0);
      right_first += static_cast<size_t>(outcome.is_right_first);
      fmt::print("{:20} {:9} told after {:6.2f} s, rightly after {:6.2f} s\n", expected.fault,
                 pattern, seconds(outcome.told_after_ns), seconds(outcome.right_after_ns));
    }
  }

  fmt::print("{} jobs: {} told, {} with the right reason, {} at once\n", jobs, told, right,
             right_first);
  EXPECT_GE(static_cast<double>(told), 0.95 * static_cast<double>(jobs));
  EXPECT_GE(static_cast<double>(right), 0.95 * static_cast<double>(jobs));
  EXPECT_GE(static_cast<double>(right_first), 0.95 * static_cast<double>(told)) << "precision";
}

TEST(FaultStreams, EveryFaultHasAnExpectation) {
  for (synth::FaultKind const& kind : synth::fault_kinds())
    EXPECT_TRUE(kind.name == "none" ||
                std::any_of(expectations().begin(), expectations().end(),
                            [&](Expected const& one) { return one.fault == kind.name; }))
        << kind.name;
}

/// At no step of any of them.
TEST(FaultStreams, NothingIsToldOfGoodJobs) {
  size_t jobs = 0, silent = 0;
  for (std::string_view const pattern : patterns())
    for (int32_t const ranks : {1, 2, 4, 8})
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        auto const good = play(pattern, ranks, no_fault(), seed);
        LiveRun live = begun(good);
        bool is_silent = true;

        for (size_t n = 0; add_records(live, good, n); ++n)
          is_silent = is_silent && live.worth().empty();
        ++jobs;
        silent += static_cast<size_t>(is_silent);
        EXPECT_TRUE(is_silent) << pattern << " " << ranks << " " << seed << " "
                               << (live.worth().empty() ? ""
                                                        : to_string(live.worth().front().kind));
      }
  fmt::print("{} good jobs: {} of them silent\n", jobs, silent);
}

}  // namespace
}  // namespace stepscope::analyzer
