// Waiting for peers, and pipelines, in the text, the JSON and the words of findings.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/json/json.h"
#include "reports/text/text.h"
#include "reports/words/wording.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

Sample waiting_sample() {
  support::SyntheticOptions options;
  options.steps = 10;
  options.straggler_device = 1;
  return make_sample(options);
}

TEST(WaitsText, names_who_makes_the_others_wait) {
  Sample sample = waiting_sample();
  TextOptions options;
  options.width = 400;
  std::string const text = analysis_text(sample.run, sample.analysis, options);
  EXPECT_THAT(text, HasSubstr("Waiting for peers: "));
  EXPECT_THAT(text, HasSubstr("Device 1 is late: it causes 100.0 % of the exposed waiting"));
  EXPECT_THAT(text, Not(HasSubstr(", caused by "))) << "the finding has said it";

  sample.analysis.findings.clear();
  EXPECT_THAT(analysis_text(sample.run, sample.analysis, options),
              HasSubstr(", caused by device 1 (compute) 100.0 %"));

  Sample const healthy = make_sample();
  EXPECT_THAT(analysis_text(healthy.run, healthy.analysis, options),
              Not(HasSubstr("Waiting for peers")));
}

TEST(WaitsText, a_host_op_cannot_send_escape_codes) {
  Sample sample = waiting_sample();
  sample.analysis.waits.at(0).cause = analyzer::WaitCause::kIdle;
  sample.analysis.waits.at(0).idle = analyzer::IdleCause::kLaunchBound;
  sample.analysis.waits.at(0).host_op = "gc\x1b[31m";
  sample.analysis.findings.clear();
  std::string const text = analysis_text(sample.run, sample.analysis);
  EXPECT_THAT(text, HasSubstr("“gc"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(WaitsJson, rows_have_their_keys_and_what_is_not_known_is_null) {
  Sample const sample = waiting_sample();
  auto const waits = nlohmann::json::parse(analysis_json(sample.run, sample.analysis)).at("waits");
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits[0].at("device"), 1);
  EXPECT_EQ(waits[0].at("cause"), "compute");
  EXPECT_TRUE(waits[0].at("host_op").is_null());
  for (char const* key : {"rank", "gpu_ns", "exposed_ns", "collectives"})
    EXPECT_TRUE(waits[0].at(key).is_number()) << key;
}

TEST(PipelinesJson, stages_come_with_their_ranks) {
  Sample sample = make_sample();
  EXPECT_TRUE(
      nlohmann::json::parse(analysis_json(sample.run, sample.analysis)).at("pipelines").empty());

  analyzer::PipelineStats pipeline;
  pipeline.stages = {{{0, 1}, 1000, 300, 600, 10}, {{0, 0}, 1000, 200, 700, 10}};
  pipeline.micro_batches = 4;
  sample.analysis.pipelines = {pipeline};

  auto document = nlohmann::json::parse(analysis_json(sample.run, sample.analysis)).at("pipelines");
  EXPECT_TRUE(document[0].at("schedule").is_null());
  EXPECT_EQ(document[0].at("stages")[0],
            nlohmann::json::parse(R"json({"rank": 0, "device": 1, "steps": 10, "total_ns": 1000,
                                                                   "bubble_ns": 300, "compute_ns": 600})json"));

  sample.analysis.pipelines[0].schedule = analyzer::PipelineSchedule::kOneForwardOneBackward;
  document = nlohmann::json::parse(analysis_json(sample.run, sample.analysis)).at("pipelines");
  EXPECT_EQ(document[0].at("schedule"), "1f1b");
}

TEST(WaitsWording, a_straggler_says_why_it_is_late) {
  Sample const sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "straggler";
  finding.subjects = {{"cause", "host"}, {"host_op", "save checkpoint"}};
  EXPECT_THAT(words_of(sample.run, sample.analysis, finding).explanation,
              HasSubstr("It is launch-bound: its host spends most time in “save checkpoint”."));
  finding.subjects = {{"cause", "input"}};
  EXPECT_THAT(words_of(sample.run, sample.analysis, finding).explanation,
              HasSubstr("It waits for its data."));
}

TEST(WaitsWording, the_advice_on_a_straggler_goes_by_why_it_is_late) {
  Sample const sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "straggler";
  std::set<std::string> advice = {words_of(sample.run, sample.analysis, finding).advice};

  for (char const* cause :
       {"compute", "host", "input", "communication", "copy", "late_start", "before_recording"}) {
    finding.subjects = {{"cause", cause}};
    EXPECT_TRUE(advice.insert(words_of(sample.run, sample.analysis, finding).advice).second)
        << cause;
  }
}

TEST(WaitsWording, a_link_is_named_by_its_ends) {
  Sample const sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "slow-link";
  finding.subjects = {{"op", "send"}, {"ranks", "1, 2"}};
  finding.metrics = {
      {"median_ns", 2e6}, {"reference_ns", 1e6}, {"bytes", 1024}, {"slow_share", 0.5}};
  EXPECT_THAT(words_of(sample.run, sample.analysis, finding).explanation,
              HasSubstr("On the link of ranks “1, 2”, “send” of 1.00 KiB takes 2.00 ms (median) "
                        "instead of the usual 1.00 ms"));
}

}  // namespace
}  // namespace stepscope::reports
