// Sections of the report that not every run has: what they say, when they are left out, and that
// they stay small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "reports/html/html.h"
#include "reports/html/page_data.h"
#include "reports/html/table.h"
#include "tests/e2e/report/full_analysis.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

/// A synthetic run with every fact that a page can show.
Sample make_full_sample(std::string const& name = "named") {
  Sample sample = make_slow_sample();
  support::add_all_facts(sample.analysis, name);
  return sample;
}

/// The section's HTML; empty when the page has none.
std::string section_of(std::string const& html, std::string const& id) {
  size_t const begin = html.find("<section id=\"" + id + "\"");
  return begin == std::string::npos ? ""
                                    : html.substr(begin, html.find("</section>", begin) - begin);
}

std::set<std::string> all_of(std::string const& html, std::string const& pattern) {
  std::set<std::string> found;
  std::regex const regex(pattern);
  for (std::sregex_iterator at(html.begin(), html.end(), regex), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

std::string page_of(Sample const& sample) {
  std::string const html = report_html(sample.run, sample.analysis);
  return html.substr(0, html.find("<script"));
}

TEST(Sections, a_finding_on_the_recording_has_no_faults_that_are_not_there) {
  Sample sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "trace-quality";
  finding.metrics = {{"score", 97}, {"unmatched_launches", 24}, {"lost_blocks", 0}};
  sample.analysis.findings = {finding};
  std::string const findings = section_of(page_of(sample), "findings");
  EXPECT_THAT(findings, HasSubstr("24 launches without their device operation"));
  EXPECT_THAT(findings, HasSubstr("<dt>unmatched launches</dt><dd>24</dd>"));
  EXPECT_THAT(findings, Not(HasSubstr("lost blocks")));
}

TEST(Sections, fixes_are_a_waterfall_of_what_is_left_of_the_step) {
  Sample sample = make_sample();
  std::vector<analyzer::Finding> findings(3);
  findings[0].rule = "input-bound", findings[1].rule = "unexplained-idle";
  findings[2].rule = "tensor-cores-unused";
  findings[0].gain_alone = findings[0].gain_after_above = 1;  // half of the step
  findings[2].gain_alone = 0.05;                              // by itself
  findings[2].gain_after_above = 0.25;                        // of the half that is left
  sample.analysis.findings = findings;

  std::string const section = section_of(page_of(sample), "findings");
  std::string const waterfall = section.substr(section.find("<table class=\"waterfall\""));
  EXPECT_THAT(waterfall, HasSubstr("50.0 %</td><td class=\"num\">−50.0 %"));
  EXPECT_THAT(waterfall, HasSubstr("40.0 %</td><td class=\"num\">−10.0 %"));
  EXPECT_THAT(waterfall.substr(0, waterfall.find("</table>")), Not(HasSubstr("visible cause")));
}

TEST(Sections, there_is_no_waterfall_where_no_replay_shows_a_gain) {
  Sample sample = make_sample();
  sample.analysis.findings.resize(1);
  sample.analysis.findings[0].rule = "input-bound";
  EXPECT_THAT(section_of(page_of(sample), "findings"), Not(HasSubstr("waterfall")));
  sample.analysis.findings[0].gain_alone = sample.analysis.findings[0].gain_after_above = 0.001;
  EXPECT_THAT(section_of(page_of(sample), "findings"), Not(HasSubstr("waterfall")));
}

TEST(Sections, show_every_fact_of_the_analysis) {
  static constexpr char const* kTables[] = {"path-table",
                                            "path-names-table",
                                            "path-more-names-table",
                                            "path-slack-table",
                                            "path-places-table",
                                            "path-steps-table",
                                            "unhidden-table",
                                            "host-ops-table",
                                            "late-table",
                                            "wait-causes-table",
                                            "waits-table",
                                            "pipeline-1-table",
                                            "ops-table",
                                            "layers-table",
                                            "slow-table",
                                            "launches-table",
                                            "queues-table",
                                            "graphs-table",
                                            "copies-table",
                                            "device-copies-table",
                                            "phases-table",
                                            "device-phases-table",
                                            "memory-growth-table",
                                            "memory-room-table",
                                            "memory-owners-table",
                                            "memory-all-owners-table",
                                            "health-table",
                                            "slow-clock-table"};

  std::string const html = page_of(make_full_sample());

  for (char const* const table : kTables)
    EXPECT_THAT(html, HasSubstr(std::string("<table id=\"") + table + "\"")) << table;
}

TEST(Sections, are_all_linked_and_explained) {
  std::string const html = page_of(make_full_sample());
  std::set<std::string> const sections = all_of(html, "<section id=\"([a-z]+)\"");
  EXPECT_EQ(sections.size(), 18U);

  std::set<std::string> links =
      all_of(html.substr(html.find("<nav"), html.find("</nav>") - html.find("<nav")),
             "href=\"#([a-z]+)\"");
  EXPECT_EQ(links, sections);

  for (char const* id : {"path", "idle", "waiting", "pipelines", "kernels", "launches", "copies",
                         "phases", "memory", "health"})
    EXPECT_THAT(section_of(html, id), HasSubstr("How computed")) << id;
}

TEST(Sections, of_what_the_run_has_not_are_left_out_with_their_links) {
  std::string const html = report_html({}, {});
  for (char const* id :
       {"path", "waiting", "pipelines", "launches", "copies", "phases", "health"}) {
    EXPECT_EQ(section_of(html, id), "") << id;
    EXPECT_THAT(html, Not(HasSubstr(std::string("href=\"#") + id + "\""))) << id;
  }
}

TEST(Sections, let_no_name_become_markup_and_show_it_as_text) {
  std::string const html = page_of(make_full_sample(support::kHostileText));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  for (char const* id : {"path", "idle", "waiting", "kernels", "phases", "memory"})
    EXPECT_THAT(section_of(html, id), HasSubstr("&lt;img src=x onerror=alert(1)&gt;")) << id;
}

TEST(Sections, path_says_what_it_is_made_of_and_what_is_beside_it) {
  std::string const html = section_of(page_of(make_full_sample()), "path");
  EXPECT_THAT(html, HasSubstr("host code makes up 60.0\u00A0%"));
  EXPECT_THAT(html,
              HasSubstr("aria-label=\"compute 40.0 % (40.0 ms), host code 60.0 % (60.0 ms)\""));
  EXPECT_THAT(html, HasSubstr("4 more names"));
  EXPECT_THAT(
      html,
      HasSubstr("<td class=\"num\" data-v=\"50000000\">50.0 ms</td>"));  // compute at the same time
}

TEST(Sections, path_names_its_doubts_only_where_there_are_any) {
  Sample sample = make_full_sample();
  sample.analysis.critical_path->ops = 100;
  sample.analysis.critical_path->guessed_waits = 0;
  sample.analysis.critical_path->is_slack_exact = true;
  EXPECT_THAT(section_of(page_of(sample), "path"), Not(HasSubstr("class=\"note\"")));

  sample.analysis.critical_path->guessed_waits = 20;
  EXPECT_THAT(section_of(page_of(sample), "path"),
              HasSubstr("what 20 of the 100 device operations"));

  sample.analysis.critical_path->clock_disagreement_ns = 7'000'000;
  EXPECT_THAT(section_of(page_of(sample), "path"),
              Not(HasSubstr("clocks")));  // one process has one clock

  sample.run.ranks.emplace_back();
  EXPECT_THAT(section_of(page_of(sample), "path"), HasSubstr("by up to 7.00 ms"));
}

TEST(Sections, waiting_orders_late_devices_by_what_they_cost) {
  Sample sample = make_full_sample();
  sample.analysis.waits = {
      {{0, 1}, analyzer::WaitCause::kCompute, {}, {}, 9'000'000, 8'000'000, 4},
      {{0, 0},
       analyzer::WaitCause::kIdle,
       analyzer::IdleCause::kInput,
       "batch",
       5'000'000,
       2'000'000,
       4},
  };

  std::string const html = section_of(page_of(sample), "waiting");
  size_t const table = html.find("<table id=\"late-table\"");
  EXPECT_LT(html.find("device 1", table), html.find("device 0", table));
  EXPECT_THAT(html, HasSubstr("aria-label=\"compute 100.0 % (8.00 ms)\""));
  EXPECT_THAT(html, HasSubstr("<code>batch</code>"));
}

TEST(Sections, waiting_that_costs_next_to_nothing_is_folded) {
  Sample healthy = make_sample();
  healthy.analysis.waits = {{{0, 1}, analyzer::WaitCause::kCompute, {}, {}, 1'000, 1'000, 1}};
  std::string const html = section_of(page_of(healthy), "waiting");
  EXPECT_THAT(html, HasSubstr("costs less than 1 % of the time"));
  EXPECT_THAT(html, HasSubstr("<details><summary>Late devices that others waited for</summary>"));
}

TEST(Sections, waiting_says_when_the_other_ranks_are_not_there) {
  Sample sample = make_slow_sample();
  sample.analysis.waits.clear();
  for (analyzer::CollectiveStats& collective : sample.analysis.collectives) {
    collective.participants.resize(1);
    collective.expected_participants = 8;
  }

  EXPECT_THAT(section_of(page_of(sample), "left-out"), HasSubstr("not in this run"));
  EXPECT_THAT(section_of(page_of(sample), "waiting"), Not(HasSubstr("data-chart")));

  sample.analysis.collectives.clear();
  EXPECT_EQ(section_of(page_of(sample), "waiting"), "");
}

TEST(Sections, kernels_leave_out_columns_that_no_kernel_knows) {
  Sample sample = make_slow_sample();
  for (analyzer::KernelStats& kernel : sample.analysis.kernels) {
    kernel.tensor_cores.reset();
    kernel.peak_share.reset();
  }

  EXPECT_THAT(section_of(page_of(sample), "kernels"), Not(HasSubstr("Tensor cores</th>")));

  support::add_all_facts(sample.analysis, "named");
  std::string const html = section_of(page_of(sample), "kernels");
  EXPECT_THAT(html, HasSubstr("Tensor cores</th>"));
  EXPECT_THAT(html, HasSubstr("27.9 %"));
  EXPECT_THAT(html, HasSubstr("276 TFLOP/s"));
}

TEST(Sections, sum_copies_and_phases_over_devices) {
  Sample sample = make_slow_sample();
  sample.analysis.copies.clear();
  support::add_all_facts(sample.analysis, "named");
  std::string const html = page_of(sample);
  // Two devices with 1 GiB in 43 ms each.
  EXPECT_THAT(section_of(html, "copies"), HasSubstr("2.00 GiB"));
  EXPECT_THAT(section_of(html, "copies"), HasSubstr("8 (40.0 %)"));
  EXPECT_THAT(section_of(html, "phases"), HasSubstr("160 ms"));
}

TEST(Sections, memory_says_when_it_is_full_and_how_sure_that_is) {
  std::string const html = section_of(page_of(make_full_sample()), "memory");
  EXPECT_THAT(html, HasSubstr("1,100 – 1,300"));
  EXPECT_THAT(html, HasSubstr("Owners of memory at the peak of device 0"));
  EXPECT_THAT(html, HasSubstr("others"));
}

TEST(Sections, stay_small_for_a_job_of_512_devices) {
  support::SyntheticOptions options;
  options.steps = 6;
  Sample sample = make_sample(options);
  support::add_all_facts(sample.analysis, std::string(2000, 'n'));
  analyzer::Analysis& analysis = sample.analysis;

  analyzer::DeviceStats device = analysis.devices[0];
  for (int64_t i = 0; i < 5'000; ++i)
    device.memory.timeline.push_back({i * 1000, static_cast<uint64_t>(i % 97) << 30U, 0, {}});
  std::vector<analyzer::StepStats> const steps(analysis.steps.begin(), analysis.steps.begin() + 6);
  auto const kernel = analysis.kernels.back();

  for (int32_t d = 2; d < 512; ++d) {
    device.ref.device = d;
    analysis.devices.push_back(device);
    for (int64_t number = 0; number < 200; ++number) {
      analysis.steps.push_back(steps[1]);
      analysis.steps.back().ref = device.ref;
      analysis.steps.back().step = number;
    }

    for (int i = 0; i < 20; ++i) {
      analysis.kernels.push_back(kernel);
      analysis.kernels.back().ref = device.ref;
      std::string const name =
          std::string(2000, 'k') + std::to_string(i) + "of" + std::to_string(d);
      analysis.ops.push_back({device.ref, analyzer::OpStats::Level::kOp,
                              analyzer::OpStats::What::kRange, name, 1, 1000, 0.1});
      analysis.phases.push_back({device.ref, name, 1, 1, 1, 1, 1, 1, 1, 1, 1});
      analysis.host_ops.push_back({device.ref, analyzer::IdleCause::kLaunchBound, name, 1, 1, 1});
      analysis.waits.push_back({device.ref, analyzer::WaitCause::kCompute, {}, name, 1, 1, 1});
      analysis.critical_path->places.push_back({0, d, analysis.critical_path->places[1].by_class});
    }
  }

  std::string const html = report_html(sample.run, analysis);
  EXPECT_LT(html.size(), 3'000'000U);
  EXPECT_THAT(html, HasSubstr("more devices"));
}

TEST(PathData, has_the_path_of_each_step_by_class) {
  if (!report_has_charts()) GTEST_SKIP() << "built without npm: the page has no data for charts";
  Sample sample = make_full_sample();
  auto const data = [&] {
    std::string const html = report_html(sample.run, sample.analysis);
    std::string const open = "id=\"data\">";
    size_t const begin = html.find(open) + open.size();
    return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  };

  nlohmann::json const path = data().at("path");
  EXPECT_EQ(path.at("steps").at("first"), (std::vector<int64_t>{0, 1}));
  EXPECT_THAT(path.at("steps").at("parts").at("compute").get<std::vector<int64_t>>(),
              Each(40'000'000));
  EXPECT_THAT(path.at("steps").at("parts").at("launch_starved").get<std::vector<int64_t>>(),
              Each(60'000'000));

  sample.analysis.critical_path->steps.resize(1);
  EXPECT_TRUE(data().at("path").is_null());
}

TEST(PathData, curves_of_memory_are_those_of_the_fullest_devices) {
  analyzer::Analysis analysis;
  for (int32_t d = 0; d < 20; ++d) {
    analyzer::DeviceStats device;
    device.ref = {0, d};
    device.memory.peak_allocated_bytes = d == 3 ? 1'000 : static_cast<uint64_t>(d);
    if (d != 19) device.memory.timeline.push_back({});
    analysis.devices.push_back(device);
  }

  auto const chosen = fullest_devices(analysis);
  ASSERT_EQ(chosen.size(), kMaxMemoryCurves);
  EXPECT_EQ(chosen.front()->ref.device, 3);
  EXPECT_EQ(chosen.back()->ref.device, 18);
}

TEST(Table, leaves_out_columns_of_unknown_facts_and_keeps_the_filter_on_its_own) {
  Table table("t", "caption");
  table.text("Name").number("Unknown").if_known().text("Device").number("Known").if_known();
  table.row({text_cell("a"), none_cell(), text_cell("d0"), none_cell()});
  table.row({text_cell("b"), none_cell(), text_cell("d1"), count_cell(3)});
  table.filter_by(2);
  std::string const html = table.html();
  EXPECT_THAT(html, Not(HasSubstr("Unknown")));
  EXPECT_THAT(html, HasSubstr("Known"));
  EXPECT_THAT(html, HasSubstr("data-filter=\"1\""));
}

TEST(Cells, say_what_is_not_known_and_never_break_on_odd_numbers) {
  EXPECT_FALSE(bytes_cell(std::nullopt).is_known);
  EXPECT_FALSE(share_cell(std::nan("")).is_known);
  EXPECT_EQ(measure_cell(0.25, "").html, "0.250");
  EXPECT_EQ(measure_cell(1523.4, "MHz").html, "1523 MHz");
  EXPECT_FALSE(measure_cell(std::numeric_limits<double>::infinity(), "W").is_known);
  EXPECT_THAT(meter_cell("compute", 7.0).html, HasSubstr("width:100.00%"));
  EXPECT_THAT(meter_cell("compute", -1.0).html, HasSubstr("width:0.00%"));
}

}  // namespace
}  // namespace stepscope::reports
