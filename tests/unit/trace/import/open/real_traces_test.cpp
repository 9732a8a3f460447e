// Traces that PyTorch, Nsight Systems and JAX wrote on real machines: their device times are those
// of an independent calculation, exactly. They are in no repository: the tests are skipped without
// the folder of traces (../shared/traces next to the source tree, or STEPSCOPE_TRACES).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/paths.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::import {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class RealTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder() / "golden/device_time.json"))
      GTEST_SKIP() << "no traces of other tools in " << folder().string();
  }
  static fs::path folder() {
    char const* const named = std::getenv("STEPSCOPE_TRACES");
    return named != nullptr ? fs::path(named) : fs::path(support::source_path("../shared/traces"));
  }
  /// Run time, in order.
  static std::vector<int64_t> ends_of_collectives(model::RankTrace const& rank) {
    std::vector<int64_t> ends;
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      if (rank.trace.kind(row) == model::EventKind::kCollective)
        ends.push_back(rank.trace.end(row) + rank.offset_ns);
    std::sort(ends.begin(), ends.end());
    return ends;
  }
  static model::Run open(std::string const& name) {
    auto run = open_run((folder() / name).string());
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : model::Run();
  }
  static void expect_times(analyzer::DeviceStats const& found, Json const& expected) {
    EXPECT_EQ(found.window.length(), expected.at("window_ns"));
    EXPECT_EQ(found.time.busy_ns, expected.at("busy_ns"));
    EXPECT_EQ(found.time.compute_ns, expected.at("compute_ns"));
    EXPECT_EQ(found.time.comm_ns, expected.at("comm_ns"));
    EXPECT_EQ(found.time.copy_ns, expected.at("copy_ns"));
    EXPECT_EQ(found.time.exposed_comm_ns, expected.at("exposed_comm_ns"));
    EXPECT_EQ(found.time.exposed_copy_ns, expected.at("exposed_copy_ns"));
  }
};

TEST_F(RealTraces, HaveTheDeviceTimesOfAnIndependentCalculation) {
  std::ifstream file(folder() / "golden/device_time.json");
  Json const golden = Json::parse(file);
  int compared = 0;
  for (auto const& [name, devices] : golden.items()) {
    if (!name.starts_with("kineto/")) continue;
    SCOPED_TRACE(name);
    analyzer::Analysis const analysis = analyzer::analyze(open(name));
    EXPECT_EQ(analysis.devices.size(), devices.size());

    for (analyzer::DeviceStats const& found : analysis.devices) {
      Json const& expected = devices.at(std::to_string(found.ref.device));
      expect_times(found, expected);
      ++compared;
    }
  }

  EXPECT_GE(compared, 14);
}

/// StragglerAnalysis publishes these numbers of its job with a long last stage.
TEST_F(RealTraces, HaveTheSlowdownThatItsAuthorsPublish) {
  std::string const name = "chrome/megatron-8gpu.json.gz";
  if (!fs::exists(folder() / name)) GTEST_SKIP() << "no " << name;
  analyzer::Analysis const analysis = analyzer::analyze(open(name));
  EXPECT_EQ(analysis.devices.size(), 8U);

  ASSERT_TRUE(analysis.slowdown);
  constexpr double kTolerance = 0.0001;
  EXPECT_NEAR(analysis.slowdown->s, 1.1787, kTolerance);
  EXPECT_NEAR(analysis.slowdown->m_stage.value_or(0), 1.2194, kTolerance);
  EXPECT_NEAR(analysis.slowdown->m_worker.value_or(0), 0.0314, kTolerance);
  std::vector<double> const published = {0.9980, 0.9831, 0.9825, 1.2323};
  ASSERT_EQ(analysis.slowdown->stages.size(), published.size());
  for (size_t stage = 0; stage < published.size(); ++stage)
    EXPECT_NEAR(analysis.slowdown->stages[stage].s, published[stage], kTolerance);
}

/// TraceLens: fills count as computation there, too.
TEST_F(RealTraces, HaveTheTimeSplitThatAnotherToolFinds) {
  std::ifstream file(folder() / "golden/h100-vit.gpu_timeline.csv");
  std::map<std::string, double> golden_ms;
  for (std::string line; std::getline(file, line);) {
    size_t const comma = line.find(',');
    if (comma != std::string::npos)
      golden_ms[line.substr(0, comma)] = std::strtod(line.c_str() + comma + 1, nullptr);
  }

  analyzer::Analysis const analysis = analyzer::analyze(open("kineto/h100-vit.json.gz"));
  ASSERT_EQ(analysis.devices.size(), 1U);
  auto const& [window, time] = std::tie(analysis.devices[0].window, analysis.devices[0].time);

  constexpr double kNsPerMs = 1e6, kToleranceMs = 0.01;
  auto const expect = [&](char const* what, int64_t found_ns) {
    EXPECT_NEAR(static_cast<double>(found_ns) / kNsPerMs, golden_ms.at(what), kToleranceMs) << what;
  };

  expect("computation_time", time.compute_ns);
  expect("exposed_comm_time", time.exposed_comm_ns);
  expect("exposed_memcpy_time", time.exposed_copy_ns);
  expect("busy_time", time.busy_ns);
  expect("idle_time", window.length() - time.busy_ns);
  expect("total_time", window.length());
  expect("total_comm_time", time.comm_ns);
  expect("total_memcpy_time", time.copy_ns);
}

TEST_F(RealTraces, OfNsightSystemsHaveTheDeviceTimesOfAnIndependentCalculation) {
  std::ifstream file(folder() / "golden/device_time.json");
  Json const golden = Json::parse(file);
  int compared = 0;
  for (auto const& [name, devices] : golden.items()) {
    if (!name.starts_with("nsys/")) continue;
    SCOPED_TRACE(name);
    model::Run const run = open(name);
    ASSERT_EQ(run.ranks.size(), 2U);
    analyzer::Analysis const analysis = analyzer::analyze(run);
    EXPECT_EQ(analysis.devices.size(), devices.size());

    for (analyzer::DeviceStats const& found : analysis.devices) {
      model::Trace const& trace = run.ranks[static_cast<size_t>(found.ref.rank_index)].trace;
      EXPECT_EQ(trace.info().rank, found.ref.device);
      EXPECT_EQ(trace.info().host, "modal");
      EXPECT_EQ(trace.info().origin_epoch_ns / 86'400'000'000'000, 20'599);  // 2026-05-26
      EXPECT_FALSE(trace.log().truncated);

      int64_t const global_id = int64_t{1} << 48 | trace.info().process_id << 24;
      expect_times(found, devices.at(fmt::format("{}/{}", global_id, found.ref.device)));
      EXPECT_EQ(found.kernels,
                devices.at(fmt::format("{}/{}", global_id, found.ref.device)).at("kernels"));
      ++compared;
    }
  }

  EXPECT_EQ(compared, 4);
}

TEST_F(RealTraces, ARunOfEightRanksMatchesItsCollectives) {
  model::Run const run = open("kineto/dlrm-8ranks");
  ASSERT_EQ(run.ranks.size(), 8U);
  for (int32_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(run.ranks[static_cast<size_t>(rank)].trace.info().rank, rank);

  analyzer::Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.collectives.size(), 8U);

  std::map<int32_t, int> last_to_come;
  for (analyzer::CollectiveStats const& collective : analysis.collectives) {
    ASSERT_EQ(collective.participants.size(), 8U);
    ++last_to_come[collective.participants[static_cast<size_t>(collective.last_participant)]
                       .ref.rank_index];
  }

  // The numbers come from an independent calculation on the files' times.
  EXPECT_EQ(last_to_come, (std::map<int32_t, int>{{4, 1}, {5, 2}, {7, 5}}));

  ASSERT_TRUE(run.clock.residual_p95_ns);
  EXPECT_LE(*run.clock.residual_p95_ns, 10'000);
}

TEST_F(RealTraces, WrongClocksOfEightRanksAreSetRight) {
  model::Run const recorded = open("kineto/dlrm-8ranks");
  ASSERT_EQ(recorded.ranks.size(), 8U);
  fs::path const there =
      fs::path(::testing::TempDir()) / fmt::format("wrong_clocks_{}", ::getpid());
  fs::create_directories(there);

  // The collectives lie in 8 ms and end within 5 µs: only so much drift is seen.
  auto const injected = [](int64_t r) { return static_cast<double>(r % 3) * 4e-3; };
  for (int64_t r = 0; r < 8; ++r) {
    model::RankTrace const& rank = recorded.ranks[static_cast<size_t>(r)];
    model::TraceBuilder builder;  // with another origin
    model::Trace wrong = model::correct_drift(rank.trace, {injected(r), 0});
    builder.info() = wrong.info();
    builder.info().origin_epoch_ns += r * 123'456'789;

    for (model::Device const& device : wrong.devices()) builder.add_device(device);
    for (uint32_t t = 0; t < wrong.tracks().size(); ++t) {
      model::TrackId const track = builder.add_track(wrong.tracks()[t]);
      auto const rows = wrong.rows_of(track);
      for (uint32_t row = rows.first; row < rows.last; ++row)
        if (wrong.kind(row) == model::EventKind::kCollective)
          builder.events(track).add(model::EventKind::kCollective, wrong.start(row),
                                    wrong.columns().dur[row], builder.intern(wrong.name(row)), 0,
                                    wrong.detail<model::CollectiveDetail>(row));
    }

    ASSERT_TRUE(file::write_trace(std::move(builder).finish(),
                                  (there / fmt::format("rank-{}.stepscope", r)).string()));
  }

  auto const run = open_run(there.string());
  fs::remove_all(there);
  ASSERT_TRUE(run) << run.error().message;

  EXPECT_EQ(run->clock.method, "collective ends");
  ASSERT_TRUE(run->clock.residual_p95_ns);
  EXPECT_LE(*run->clock.residual_p95_ns, 10'000);

  for (size_t r = 0; r < 8; ++r) {
    EXPECT_NEAR(run->ranks[r].drift, -injected(static_cast<int64_t>(r)), 800e-6) << r;
    auto const found = ends_of_collectives(run->ranks[r]),
               first = ends_of_collectives(run->ranks[0]);
    ASSERT_EQ(found.size(), 8U);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(static_cast<double>(found[i] - first[i]), 0, 12'000) << r << ": " << i;
  }
}

TEST_F(RealTraces, StepsAndLossesAreAsTheTraceSays) {
  model::Run const run = open("kineto/h100-vit.json.gz");
  ASSERT_EQ(run.ranks.size(), 1U);
  model::Trace const& trace = run.ranks[0].trace;
  EXPECT_THAT(trace.log().notes, ::testing::IsEmpty());
  EXPECT_EQ(trace.log().dropped, 0U);
  EXPECT_EQ(trace.event_count(), 2117U + 1258 + 620 + 334 + 154 + 49 + 2 + 2 + 1 + 1 + 1);
  EXPECT_EQ(trace.info().origin_epoch_ns / 1'000'000'000, 1751410836 + 1414456);
}

/// The numbers come from a decoder of the wire format and a sweep over the instants at which an op
/// begins or ends, both written in another language. They cover all ops of the
/// lines called "Stream #…"; times are in ps, and all of them are whole ns. Kernels called
/// __amd_rocclr_copyBuffer are the copies of ROCm's runtime. No op communicates.
TEST_F(RealTraces, AnXlaProfileHasTheDeviceTimesOfAnIndependentDecoder) {
  struct Expected {
    int64_t window_ns, busy_ns, compute_ns, copy_ns;
    uint64_t ops;
  };
  std::vector<Expected> const expected = {
      {138'470'832, 3'995'965, 3'436'644, 559'321, 60}, {112'106'106, 3'345'845, 3'345'845, 0, 25},
      {106'992'671, 3'524'285, 3'524'285, 0, 25},       {95'261'145, 3'403'364, 3'403'364, 0, 25},
      {91'596'080, 3'493'365, 3'493'365, 0, 25},        {92'938'503, 3'464'884, 3'464'884, 0, 25},
      {104'221'477, 3'403'004, 3'403'004, 0, 25},       {90'563'059, 3'502'165, 3'502'165, 0, 25}};

  model::Run const run = open("xplane/jax-conv-8gpu.xplane.pb");
  ASSERT_EQ(run.ranks.size(), 1U);
  analyzer::Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.devices.size(), expected.size());

  for (size_t i = 0; i < expected.size(); ++i) {
    analyzer::DeviceStats const& found = analysis.devices[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(found.window.length(), expected[i].window_ns);
    EXPECT_EQ(found.time.busy_ns, expected[i].busy_ns);
    EXPECT_EQ(found.time.compute_ns, expected[i].compute_ns);
    EXPECT_EQ(found.time.copy_ns, expected[i].copy_ns);
    EXPECT_EQ(found.time.exposed_copy_ns, expected[i].copy_ns);
    EXPECT_EQ(found.time.comm_ns, 0);
    EXPECT_EQ(found.memory.peak_allocated_bytes, i == 0 ? 1'730'171'904U : 1'732'169'984U);
  }

  model::Trace const& trace = run.ranks[0].trace;
  std::map<model::EventKind, uint64_t> kinds;
  for (uint32_t row = 0; row < trace.event_count(); ++row) ++kinds[trace.kind(row)];
  using model::EventKind;
  EXPECT_EQ(kinds[EventKind::kKernel], 200U);
  EXPECT_EQ(kinds[EventKind::kMemcpy], 35U);
  EXPECT_EQ(kinds[EventKind::kLaunch], 231U);
  EXPECT_EQ(kinds[EventKind::kMemory], 230U);
  EXPECT_EQ(kinds[EventKind::kMark], 225U);
  EXPECT_EQ(kinds[EventKind::kRange], 2726U);
  EXPECT_EQ(kinds[EventKind::kApi], 3U);

  EXPECT_EQ(trace.log().unmatched_ops, 4U);
  EXPECT_EQ(trace.log().unmatched_launches, 0U);
  EXPECT_THAT(trace.log().notes, ::testing::IsEmpty());

  EXPECT_EQ(trace.info().host, "tw003");
  EXPECT_EQ(trace.info().origin_epoch_ns, 1'771'595'639'214'724'894);
}

}  // namespace
}  // namespace stepscope::import
