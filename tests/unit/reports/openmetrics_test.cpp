// Gauges for dashboards: the numbers of the analysis, in text that keeps the format's rules
// whatever the trace contains.
#include "reports/openmetrics/openmetrics.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/support/host_program.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

/// Samples by name and labels as they are written. Fails where a line breaks a rule of
/// OpenMetrics 1.0.0: families whole and once, metadata first, the unit at the name's end, no
/// sample twice, "# EOF" last.
std::map<std::string, double> samples_of(std::string const& text) {
  static std::regex const sample_line(
      "([a-z_]+)(\\{[a-z_]+=\"(?:[^\"\\\\]|\\\\[\\\\\"n])*\"(?:,[a-z_]+=\"(?:[^\"\\\\]|\\\\["
      "\\\\\"n])*\")*\\})? (\\S+)");
  static std::regex const meta_line("# (TYPE|UNIT|HELP) ([a-z_]+) (.+)");

  std::map<std::string, double> samples;
  std::set<std::string> families;
  std::string family, line;
  bool has_ended = false;
  std::istringstream lines(text);

  while (std::getline(lines, line)) {
    EXPECT_FALSE(has_ended) << line;
    std::smatch found;
    if (line == "# EOF") {
      has_ended = true;
    } else if (std::regex_match(line, found, meta_line)) {
      if (found[1] == "TYPE") {
        family = found[2];
        EXPECT_TRUE(families.insert(family).second) << family << " is there twice";
      }
      EXPECT_EQ(found[2], family);
      EXPECT_TRUE(found[1] != "UNIT" || family.ends_with("_" + found[3].str())) << line;
    } else if (std::regex_match(line, found, sample_line)) {
      std::string const suffix = found[1].str().starts_with(family)
                                     ? found[1].str().substr(family.size())
                                     : "other family";
      EXPECT_THAT(suffix, testing::AnyOf("", "_info", "_sum", "_count")) << line;
      EXPECT_TRUE(samples.emplace(found[1].str() + found[2].str(), std::stod(found[3])).second)
          << line << " is there twice";
    } else {
      ADD_FAILURE() << line;
    }
  }

  EXPECT_TRUE(has_ended);
  return samples;
}

TEST(OpenMetrics, AreTheNumbersOfTheAnalysis) {
  Sample const sample = make_slow_sample();
  auto const samples = samples_of(openmetrics(sample.run, sample.analysis));
  analyzer::DeviceStats const& device = sample.analysis.devices.at(1);

  EXPECT_DOUBLE_EQ(samples.at("stepscope_device_busy_seconds{rank=\"0\",device=\"1\"}"),
                   static_cast<double>(device.time.busy_ns) / 1e9);
  EXPECT_DOUBLE_EQ(
      samples.at("stepscope_device_idle_seconds{rank=\"0\",device=\"1\",cause=\"input\"}"),
      static_cast<double>(
          device.time.idle_by_cause[static_cast<size_t>(analyzer::IdleCause::kInput)]) /
          1e9);
  EXPECT_EQ(samples.at("stepscope_step_seconds_count"), 22);  // 12 of two devices, but the first

  double parts = 0;
  for (auto const& [name, value] : samples)
    if (name.starts_with("stepscope_step_part_seconds{")) parts += value;
  EXPECT_NEAR(parts, samples.at("stepscope_step_seconds_sum") / 22, 1e-9);

  EXPECT_EQ(samples.at("stepscope_findings{rule=\"input-bound\",severity=\"critical\"}"), 1);
  EXPECT_EQ(samples.at("stepscope_quality_score"), 100);
}

TEST(OpenMetrics, KeepTheFormatWithHostileTextAndWithoutContent) {
  Sample const hostile = make_hostile_sample();
  samples_of(openmetrics(hostile.run, hostile.analysis));
  samples_of(openmetrics({}, {}));
  EXPECT_EQ(openmetrics_label("a\"b\\c"), "\"a\\\"b\\\\c\"");
}

TEST(OpenMetrics, OfAProgramWithoutADeviceAreItsStepsRangesAndThreads) {
  model::Run const run = support::loop_with_waits(4);
  analyzer::Analysis const analysis = analyzer::analyze(run);
  auto const samples = samples_of(openmetrics(run, analysis));
  analyzer::HostStats const& host = analysis.hosts.at(0);
  auto const seconds = [](int64_t ns) { return static_cast<double>(ns) / 1e9; };

  EXPECT_EQ(samples.at("stepscope_step_seconds_count"), 9);
  EXPECT_DOUBLE_EQ(samples.at("stepscope_step_seconds{quantile=\"0.95\"}"), seconds(*host.p95_ns));
  EXPECT_DOUBLE_EQ(samples.at("stepscope_host_step_seconds{rank=\"0\",statistic=\"mean\"}"),
                   seconds(*host.mean_ns));
  EXPECT_DOUBLE_EQ(samples.at("stepscope_host_input_seconds{rank=\"0\"}"), seconds(*host.input_ns));
  EXPECT_DOUBLE_EQ(samples.at("stepscope_host_range_seconds{rank=\"0\",range=\"tokenize\"}"),
                   600'000 / 1e9);
  EXPECT_DOUBLE_EQ(samples.at("stepscope_host_thread_busy_seconds{rank=\"0\",thread=\"main\"}"),
                   seconds(host.threads.at(0).busy_ns));
}

TEST(OpenMetrics, ThreadsOfOneNameAreOneSample) {
  support::HostProgram program;
  program.range(0, 100, "a");
  program.range_on(program.thread("main"), 0, 50, "a\n\"");
  model::Run const run = std::move(program).run();
  auto const samples = samples_of(openmetrics(run, analyzer::analyze(run)));
  EXPECT_DOUBLE_EQ(samples.at("stepscope_host_thread_busy_seconds{rank=\"0\",thread=\"main\"}"),
                   150 / 1e9);
}

TEST(OpenMetrics, TellProcessesApartThatClaimOneRank) {
  support::SyntheticOptions options;
  options.process_per_device = true;
  model::Run run = support::make_synthetic_run(options),
             other = support::make_synthetic_run(options);
  run.ranks[1] = std::move(other.ranks[0]);
  auto const samples = samples_of(openmetrics(run, analyzer::analyze(run)));
  EXPECT_EQ(samples.count("stepscope_device_busy_seconds{rank=\"0\",device=\"0\",process=\"1\"}"),
            1U);
}

}  // namespace
}  // namespace stepscope::reports
