// A scaling series as text, Markdown, JSON and page: what stands where, that all agree, and that no
// name of a trace escapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/scaling/series.h"
#include "reports/html/scaling_page.h"
#include "reports/json/scaling_json.h"
#include "reports/markdown/scaling.h"
#include "reports/text/scaling.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using analyzer::ScalingSeries;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

analyzer::RunMeasurements scaled_sample(int32_t devices, uint32_t seed = 1, int64_t steps = 16) {
  support::SyntheticOptions options;
  options.devices = devices;
  options.steps = steps;
  options.seed = seed;
  options.link_alpha_ns = 300'000.0 * devices;
  Sample const sample = make_sample(options);
  analyzer::RunMeasurements result = analyzer::sample_run(sample.run, sample.analysis);
  result.name = "on " + std::to_string(devices);
  return result;
}

ScalingSeries const& made_series() {
  static ScalingSeries const series =
      analyzer::scale_series({scaled_sample(1), scaled_sample(2), scaled_sample(4),
                              scaled_sample(4, 2), scaled_sample(8)});
  return series;
}

TEST(ScalingText, SaysVerdictKindAndTablesInThisOrder) {
  std::string const text = scaling_text(made_series());

  size_t at = 0;
  for (char const* const part :
       {"8 devices do", "Communication efficiency broke first",
        "Weak scaling: each device does the same work", "device steps/s", "parallel efficiency",
        "Where it went", "of a step", "kernel, a step and device", "pays off up to", "Amdahl's law",
        "One run of 1, 2 and 8 devices"}) {
    size_t const found = text.find(part);
    ASSERT_NE(found, std::string::npos) << part << "\n" << text;
    EXPECT_GE(found, at) << part;
    at = found;
  }

  EXPECT_TRUE(text.ends_with("\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    EXPECT_LE(end - begin, 220U) << text.substr(begin, end - begin);
}

TEST(ScalingText, WhatCannotBeFittedIsSaid) {
  ScalingSeries const two = analyzer::scale_series({scaled_sample(1), scaled_sample(2)});
  EXPECT_THAT(scaling_notes(two),
              testing::Contains(HasSubstr("universal scalability law needs 3, performance model "
                                          "normal form needs 4; there are 2")));
  ScalingSeries const later = analyzer::scale_series({scaled_sample(2), scaled_sample(4)});
  EXPECT_THAT(scaling_text(later), HasSubstr("No run of one device"));
}

TEST(ScalingText, EveryRefusalSaysWhatToDo) {
  EXPECT_THAT(
      scaling_refusal(analyzer::scale_series({scaled_sample(2), scaled_sample(2, 3)})),
      testing::AllOf(HasSubstr("all runs are of 2 devices"), HasSubstr("stepscope compare")));

  analyzer::RunMeasurements empty = scaled_sample(4);
  empty.steps.clear();
  EXPECT_THAT(scaling_refusal(analyzer::scale_series({scaled_sample(1), empty})),
              testing::AllOf(HasSubstr("on 4: "), HasSubstr("mark each step")));

  analyzer::RunMeasurements other = scaled_sample(4);
  for (auto& kernel : other.kernels) kernel.name += "!";
  other.kernel_names.clear();
  EXPECT_THAT(scaling_refusal(analyzer::scale_series({scaled_sample(1), other})),
              HasSubstr("different programs"));

  analyzer::RunMeasurements more = scaled_sample(4);
  more.copied_in_bytes *= 2;
  EXPECT_THAT(scaling_refusal(analyzer::scale_series({scaled_sample(1), more})),
              HasSubstr("--scaling"));
}

TEST(ScalingText, TermsOfModelsAreFormulas) {
  using analyzer::CostTerm;
  using Shape = CostTerm::Shape;

  EXPECT_EQ(cost_term_text({}), "1");
  EXPECT_EQ(cost_term_text({Shape::kPower, 1, 2, 1}), "n^(1/2) · log2 n");
  EXPECT_EQ(cost_term_text({Shape::kPower, 0, 1, 2}), "log2^2 n");
  EXPECT_EQ(cost_term_text({Shape::kPower, 1, 1, 0}), "n");
  EXPECT_EQ(cost_term_text({Shape::kPower, 3, 1, 0}), "n^3");

  EXPECT_EQ(devices_text(std::vector<uint64_t>{1, 2, 4}), "1, 2 and 4 devices");
  EXPECT_EQ(devices_text(std::vector<uint64_t>{1}), "1 device");
  EXPECT_EQ(plain_number(1234567), "1,234,567");
  EXPECT_EQ(plain_number(7.843), "7.84");
}

TEST(ScalingJson, HoldsWhatTheTextSays) {
  ScalingSeries const& series = made_series();
  json const document = json::parse(scaling_json(series));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["headline"], scaling_headline(series));
  EXPECT_EQ(document["scaling"], "weak");
  EXPECT_EQ(document["known_by"], "copied_in");

  ASSERT_EQ(document["points"].size(), 4U);
  EXPECT_EQ(document["points"][2]["runs"], json::array({"on 4", "on 4"}));
  EXPECT_TRUE(document["points"][0]["efficiency"]["low"].is_null());
  EXPECT_LT(document["points"][3]["efficiency"]["low"],
            document["points"][3]["efficiency"]["value"]);

  for (json const& point : document["points"]) {
    double product = 1, sum = 0;
    for (char const* const factor : {"load_balance", "comm_eff", "orchestration"})
      product *= point["factors"][factor].get<double>();
    EXPECT_NEAR(product, point["factors"]["parallel"].get<double>(), 1e-12);
    for (json const& part : point["parts_ns"]) sum += part.get<double>();
    EXPECT_NEAR(sum, point["step_ns"]["value"].get<double>(), 1e-3);
  }

  ASSERT_EQ(document["losses"].size(), 5U);
  for (json const& loss : document["losses"]) {
    int64_t sum = 0;
    for (json const& part : loss["parts"]) sum += part["ns"].get<int64_t>();
    EXPECT_EQ(sum, loss["step_ns"].get<int64_t>() - loss["ideal_ns"].get<int64_t>());
  }

  EXPECT_EQ(document["broken"]["factor"], "comm_eff");
  ASSERT_EQ(document["fits"]["models"].size(), 3U);
  json const& amdahl = document["fits"]["models"][0];
  EXPECT_EQ(amdahl["model"], "amdahl");
  EXPECT_TRUE(amdahl["kappa"].is_null());
  EXPECT_EQ(amdahl["predictions"][0]["devices"], 1);
  EXPECT_EQ(amdahl["predictions"].back()["devices"], 128);
  EXPECT_EQ(document["fits"]["best"], to_string(series.fits.fits[*series.fits.best].model));
}

TEST(ScalingMarkdown, HasItsTables) {
  std::string const text = scaling_markdown(made_series());
  EXPECT_THAT(text, testing::StartsWith("## Scaling"));
  EXPECT_THAT(text, HasSubstr("| devices | runs | step |"));
  EXPECT_THAT(text, HasSubstr("|---|---:|"));
}

TEST(ScalingPage, HasEverySectionAndAllDataOfItsCharts) {
  std::string const page = scaling_html(made_series());
  for (char const* const id :
       {"summary", "speed", "factors", "loss", "parts", "kernels", "fits", "runs"})
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\"")) << id;
  json const data = json::parse(scaling_page_data(made_series()));
  EXPECT_EQ(data["scaling"]["points"].size(), 4U);
  EXPECT_EQ(data["scaling"]["losses"].size(), 5U);
  EXPECT_EQ(data["scaling"]["fits"].size(), 3U);
  EXPECT_NEAR(data["scaling"]["fits"][0]["line"].back()[0].get<double>(), 32, 1e-9);
}

TEST(Scaling, HostileNamesAreMadeHarmless) {
  std::vector<analyzer::RunMeasurements> runs = {scaled_sample(1), scaled_sample(2)};
  for (analyzer::RunMeasurements& run : runs) {
    run.name = support::kHostileText;
    for (auto& kernel : run.kernels) kernel.name = support::kHostileText + kernel.name;
    run.kernel_names.clear();
    for (auto const& kernel : run.kernels) run.kernel_names.insert(kernel.name);
    for (auto& late : run.late) late.host_op = support::kHostileText;
  }
  runs[1].facts.emplace_back(support::kHostileText, support::kHostileText);
  runs[1].tool = support::kHostileText;

  ScalingSeries const series = analyzer::scale_series(runs);
  ASSERT_FALSE(series.refusal);

  EXPECT_THAT(scaling_text(series), Not(HasSubstr("\x1b")));
  EXPECT_THAT(scaling_json(series), Not(HasSubstr("\x1b")));
  EXPECT_TRUE(json::accept(scaling_json(series)));
  EXPECT_THAT(scaling_markdown(series), Not(testing::ContainsRegex("[^\\\\]<img")));

  std::string const page = scaling_html(series);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;img"));
}

/// The series above with a curve, as a replay of its largest run predicts one.
ScalingSeries series_with_curve() {
  ScalingSeries series = made_series();
  analyzer::ReplayedCurve& curve = series.replayed.emplace();
  curve.base_devices = 8;
  curve.base_run = "on <8>";
  curve.base_error = -0.004;
  curve.law = analyzer::CollectiveLaw::kRing;
  curve.is_law_measured = true;

  for (uint64_t const devices : {2U, 8U, 16U, 64U}) {
    double const ns = series.points.back().step_ns.value;
    analyzer::ReplayedPoint point{devices, {ns, 0.9 * ns, 1.1 * ns}, {}};
    if (devices == 2) point.error = 0.0123;
    curve.points.push_back(point);
  }
  return series;
}

TEST(ScalingCurveReport, SaysWhichRunWasReplayedAndHowFarItIsOff) {
  ScalingSeries const series = series_with_curve();
  std::string const text = scaling_text(series);
  EXPECT_THAT(text, HasSubstr("A replay of the run on 8 devices predicts the step"));
  EXPECT_THAT(replayed_curve_text(series), HasSubstr("misses the measured steps by at most 1.2 %"));
  EXPECT_THAT(replayed_curve_text(series), HasSubstr("grow as those of a ring."));
  EXPECT_THAT(text, HasSubstr("+1.23 %"));
  EXPECT_THAT(scaling_markdown(series), HasSubstr("| replayed step |"));

  std::string const page = scaling_html(series, {});
  EXPECT_THAT(page, HasSubstr("replayed-table"));
  EXPECT_THAT(page, HasSubstr("+1.23 %"));
  EXPECT_THAT(page, Not(HasSubstr("on <8>")));
}

TEST(ScalingCurveReport, HoldsEachNumberAsJson) {
  ScalingSeries const series = series_with_curve();
  json const curve = json::parse(scaling_json(series))["replayed"];
  EXPECT_TRUE(curve["refused"].is_null());
  EXPECT_EQ(curve["base_devices"], 8);
  EXPECT_EQ(curve["collectives"], "ring");

  EXPECT_EQ(curve["points"].size(), 4U);
  EXPECT_EQ(curve["points"][0]["measured_step_ns"], series.points[1].step_ns.value);
  EXPECT_TRUE(curve["points"][2]["measured_step_ns"].is_null());
  EXPECT_NEAR(curve["points"][1]["efficiency"]["value"].get<double>(),
              series.points.back().efficiency.value, 1e-9);
  EXPECT_LT(curve["points"][2]["throughput"]["low"], curve["points"][2]["throughput"]["high"]);
}

TEST(ScalingCurveReport, SaysWhyThereIsNoCurve) {
  ScalingSeries series = made_series();
  EXPECT_TRUE(json::parse(scaling_json(series))["replayed"].is_null());

  for (auto const refusal :
       {analyzer::CurveRefusal::kNoCollectives, analyzer::CurveRefusal::kPipeline,
        analyzer::CurveRefusal::kGroups, analyzer::CurveRefusal::kNoReplay,
        analyzer::CurveRefusal::kFidelity, analyzer::CurveRefusal::kKernels}) {
    series.replayed.emplace().refusal = refusal;
    EXPECT_THAT(scaling_text(series), HasSubstr("No replay predicts other numbers: "));
    EXPECT_THAT(scaling_html(series, {}), Not(HasSubstr("replayed-table")));
    EXPECT_EQ(json::parse(scaling_json(series))["replayed"]["refused"],
              analyzer::to_string(refusal));
  }
}

}  // namespace
}  // namespace stepscope::reports
