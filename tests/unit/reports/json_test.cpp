#include "reports/json/json.h"

#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "tests/e2e/report/full_analysis.h"
#include "tests/support/json_schema.h"
#include "tests/support/paths.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using Json = nlohmann::json;

Json parsed(Sample const& sample) {
  return Json::parse(analysis_json(sample.run, sample.analysis));
}

TEST(AnalysisJson, has_every_key_of_the_contract) {
  Json const document = parsed(make_slow_sample());
  EXPECT_EQ(document.at("schema"), 1);
  for (char const* key : {"name", "ranks", "hosts", "clock"})
    EXPECT_TRUE(document.at("run").contains(key)) << key;
  for (char const* key : {"method", "residual_median_ns", "residual_p95_ns"})
    EXPECT_TRUE(document.at("run").at("clock").contains(key)) << key;

  Json const& rank = document.at("ranks").at(0);
  for (char const* key : {"rank", "host", "devices"}) EXPECT_TRUE(rank.contains(key)) << key;
  Json const& device = rank.at("devices").at(0);
  for (char const* key : {"device", "name", "window_ns", "busy_ns", "idle_ns", "compute_ns",
                          "comm_ns", "copy_ns", "exposed_comm_ns", "exposed_copy_ns", "overlap",
                          "utilization", "kernels", "copies", "collectives", "memory"})
    EXPECT_TRUE(device.contains(key)) << key;
  for (char const* key :
       {"capacity_bytes", "peak_allocated_bytes", "peak_reserved_bytes", "fragmentation"})
    EXPECT_TRUE(device.at("memory").contains(key)) << key;

  for (char const* key : {"rank", "device", "step", "begin_ns", "dur_ns", "compute_ns",
                          "exposed_comm_ns", "exposed_copy_ns", "idle_ns"})
    EXPECT_TRUE(document.at("steps").at(0).contains(key)) << key;
  for (char const* key : {"comm", "seq", "op", "bytes", "ranks", "transfer_ns", "wait_ns",
                          "busbw_gbps", "last_rank", "skew_ns"})
    EXPECT_TRUE(document.at("collectives").at(0).contains(key)) << key;

  for (char const* key : {"rule", "severity", "title", "rank", "device", "cost_ns_per_step",
                          "gain_ceiling", "metrics", "evidence", "advice"})
    EXPECT_TRUE(document.at("findings").at(0).contains(key)) << key;
  for (char const* key : {"begin_ns", "end_ns", "track"})
    EXPECT_TRUE(document.at("findings").at(0).at("evidence").at(0).contains(key)) << key;

  for (char const* key : {"dropped", "unmatched_launches", "negative_latencies",
                          "overlapping_slices", "truncated", "missing_ranks", "score"})
    EXPECT_TRUE(document.at("quality").contains(key)) << key;
}

TEST(AnalysisJson, parts_of_every_step_sum_to_its_length) {
  Json const document = parsed(make_slow_sample());
  for (Json const& step : document.at("steps")) {
    int64_t sum = step.at("compute_ns").get<int64_t>() + step.at("exposed_comm_ns").get<int64_t>() +
                  step.at("exposed_copy_ns").get<int64_t>();
    int64_t period = sum;
    for (auto const& [cause, ns] : step.at("idle_ns").items()) sum += ns.get<int64_t>();
    for (auto const& [cause, ns] : step.at("period_idle_ns").items()) period += ns.get<int64_t>();

    EXPECT_EQ(sum, step.at("dur_ns").get<int64_t>());
    EXPECT_EQ(period, step.at("period_ns").get<int64_t>());
  }
}

TEST(AnalysisJson, times_are_decimal_integers) {
  Json const document = parsed(make_sample());
  Json const& device = document.at("ranks").at(0).at("devices").at(0);
  for (char const* key : {"window_ns", "busy_ns", "idle_ns", "compute_ns"})
    EXPECT_TRUE(device.at(key).is_number_integer()) << key;
  EXPECT_TRUE(document.at("steps").at(0).at("dur_ns").is_number_integer());
  EXPECT_TRUE(document.at("collectives").at(0).at("wait_ns").at(0).is_number_integer());
}

TEST(AnalysisJson, absent_facts_are_null_and_never_zero) {
  Sample sample = make_sample();
  sample.analysis.devices[0].memory = {};
  sample.analysis.devices[0].time = {};
  sample.analysis.collectives[0].busbw_gbps.reset();
  sample.analysis.collectives[0].last_participant = -1;
  sample.analysis.findings = {{}};

  Json const document = parsed(sample);
  Json const& device = document.at("ranks").at(0).at("devices").at(0);
  for (char const* key : {"overlap", "utilization"}) EXPECT_TRUE(device.at(key).is_null()) << key;
  for (auto const& [key, value] : device.at("memory").items()) EXPECT_TRUE(value.is_null()) << key;
  EXPECT_TRUE(document.at("collectives").at(0).at("busbw_gbps").is_null());
  EXPECT_TRUE(document.at("collectives").at(0).at("last_rank").is_null());
  for (char const* key : {"rank", "device", "cost_ns_per_step", "gain_ceiling"})
    EXPECT_TRUE(document.at("findings").at(0).at(key).is_null()) << key;
}

TEST(AnalysisJson, numbers_that_are_not_finite_are_null) {
  Sample sample = make_slow_sample();
  sample.analysis.findings[0].gain_ceiling = std::numeric_limits<double>::infinity();
  sample.analysis.findings[0].metrics = {{"odd", std::numeric_limits<double>::quiet_NaN()}};
  Json const finding = parsed(sample).at("findings").at(0);
  EXPECT_TRUE(finding.at("gain_ceiling").is_null());
  EXPECT_TRUE(finding.at("metrics").at("odd").is_null());
}

TEST(AnalysisJson, ranks_of_the_output_are_the_jobs_rank_numbers) {
  support::SyntheticOptions options;
  options.process_per_device = true;
  options.devices = 3;
  Sample sample = make_sample(options);

  // Only two of the run's ranks were given: the index is not the rank.
  sample.run.ranks.erase(sample.run.ranks.begin());
  sample.analysis = analyzer::analyze(sample.run);

  Json const document = parsed(sample);
  EXPECT_EQ(document.at("run").at("ranks"), 2);
  EXPECT_EQ(document.at("ranks").at(0).at("rank"), 1);
  EXPECT_EQ(document.at("steps").at(0).at("rank"), 1);
}

TEST(AnalysisJson, waits_are_beside_the_ranks_of_the_communicator) {
  Json const document = parsed(make_sample());
  for (Json const& collective : document.at("collectives")) {
    EXPECT_EQ(collective.at("ranks"), Json({0, 1}));
    EXPECT_EQ(collective.at("wait_ns").size(), 2U);
    EXPECT_EQ(collective.at("participants").size(), 2U);
  }
}

TEST(AnalysisJson, hostile_names_give_valid_json) {
  Json const document = parsed(make_hostile_sample());
  EXPECT_NE(document.at("run").at("name").get<std::string>().find("<img src=x"), std::string::npos);
}

TEST(AnalysisJson, of_an_empty_run_is_complete) {
  Json const document = Json::parse(analysis_json({}, {}));
  EXPECT_EQ(document.at("ranks"), Json::array());
  EXPECT_EQ(document.at("findings"), Json::array());
  EXPECT_EQ(document.at("quality").at("score"), 100);
}

/// Every key, wherever it is, except names from the trace and from rules.
void collect_keys(Json const& value, std::string const& parent, std::vector<std::string>& keys) {
  if (value.is_array()) {
    for (Json const& item : value) collect_keys(item, parent, keys);
  } else if (value.is_object() && parent != "metrics" && parent != "subjects") {
    for (auto const& [key, item] : value.items()) {
      keys.push_back(key);
      collect_keys(item, key, keys);
    }
  }
}

TEST(AnalysisJson, every_key_is_described_in_the_documentation) {
  std::ifstream file(support::source_path("docs/reference/ANALYSIS_JSON.md"));
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> keys;
  collect_keys(parsed(make_slow_sample()), "", keys);
  EXPECT_GT(keys.size(), 50U);
  for (std::string const& key : keys)
    EXPECT_NE(text.str().find("`" + key + "`"), std::string::npos) << key;
}

TEST(AnalysisJson, is_as_its_schema_says) {
  std::ifstream file(support::source_path("docs/reference/analysis.schema.json"));
  ASSERT_TRUE(file.is_open());
  Json const schema = Json::parse(file);
  Sample full = make_slow_sample();
  support::add_all_facts(full.analysis, "named");
  EXPECT_THAT(support::schema_faults(schema, parsed(full)), testing::IsEmpty());
  EXPECT_THAT(support::schema_faults(schema, parsed(make_hostile_sample())), testing::IsEmpty());
  EXPECT_THAT(support::schema_faults(schema, parsed(make_sample())), testing::IsEmpty());
  EXPECT_THAT(support::schema_faults(schema, parsed({})), testing::IsEmpty());
}

TEST(JsonSchema, faults_are_found) {
  Json const schema = Json::parse(
      R"json({"type": "object", "required": ["a"], "$defs": {"pair": {"type": "array", "items": {"type": "integer"}}},
    "properties": {"a": {"type": ["integer", "null"]}, "b": {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "null"}]}, "c": {"enum": ["x"]}}})json");

  auto const faults = [&](char const* text) {
    return support::schema_faults(schema, Json::parse(text)).size();
  };

  EXPECT_EQ(faults(R"({"a": 1, "b": [1, 2], "c": "x"})"), 0U);
  EXPECT_EQ(faults(R"({"a": null, "b": null})"), 0U);
  EXPECT_EQ(faults("{}"), 1U);
  EXPECT_EQ(faults(R"({"a": 1.5})"), 1U);
  EXPECT_EQ(faults(R"({"a": 1, "b": [1, "2"]})"), 1U);
  EXPECT_EQ(faults(R"({"a": 1, "c": "y"})"), 1U);
  EXPECT_EQ(faults(R"({"a": 1, "d": 1})"), 1U);
  EXPECT_EQ(support::schema_faults(Json::parse(R"({"minimum": 3})"), 5).size(), 1U);
}

}  // namespace
}  // namespace stepscope::reports
