#include "reports/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/steps/skeleton_rows.h"
#include "reports/html/assets.h"
#include "reports/html/escape.h"
#include "reports/html/page_data.h"
#include "reports/html/timeline_data.h"
#include "tests/unit/reports/sample.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The page's data, as its script reads them; null without a script.
nlohmann::json data_of(std::string const& html) {
  std::string const open = "<script type=\"application/json\" id=\"data\">";
  size_t const begin = html.find(open);
  if (begin == std::string::npos) return nullptr;
  size_t const end = html.find("</script>", begin);
  return nlohmann::json::parse(html.substr(begin + open.size(), end - begin - open.size()));
}

size_t count_of(std::string const& text, std::string const& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Escape, makes_markup_text_and_attributes_safe) {
  EXPECT_EQ(escape("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
  EXPECT_EQ(escape("\x1b[0m"), "\xEF\xBF\xBD[0m");
}

/// Otherwise a browser shows the 5 in front of the name.
TEST(Escape, names_from_the_right_are_isolated) {
  EXPECT_EQ(escape("שלום: 5 ms"), "&#x2068;שלום&#x2069;: 5 ms");
  EXPECT_EQ(escape("a <שלום 5 עולם> (العربية)"), "a &lt;&#x2068;שלום 5 עולם&gt; (العربية&#x2069;)");
  EXPECT_EQ(escape("שלום x עולם"), "&#x2068;שלום&#x2069; x &#x2068;עולם&#x2069;");
  EXPECT_EQ(escape("שלום 占 3 %，עולם"), "&#x2068;שלום&#x2069; 占 3 %，&#x2068;עולם&#x2069;");
  EXPECT_EQ(escape_exactly("<שלום: 5"), "&lt;שלום: 5");
  EXPECT_EQ(escape("👩‍🚀 é 训练 ﷺ"), "👩‍🚀 é 训练 &#x2068;ﷺ&#x2069;");
  EXPECT_EQ(escape(""), "");
}

TEST(ScriptSafe, is_the_same_json_without_anything_that_ends_a_script) {
  nlohmann::json const value = {{"</script><!--", "a&b \xE2\x80\xA8 \xE2\x80\xA9 ü"}};
  std::string const safe = script_safe(value.dump());
  for (char const* part : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    EXPECT_THAT(safe, Not(HasSubstr(part)));
  EXPECT_EQ(nlohmann::json::parse(safe), value);
}

TEST(Report, has_a_section_for_what_there_is_and_names_what_there_is_not) {
  Sample const sample = make_slow_sample();
  std::string const whole = report_html(sample.run, sample.analysis);
  for (char const* id : {"summary", "findings", "steps", "devices", "idle", "timeline",
                         "communication", "memory", "kernels", "facts", "quality"})
    EXPECT_THAT(whole, HasSubstr(std::string("<section id=\"") + id + "\"")) << id;
  EXPECT_THAT(whole, Not(HasSubstr("<section id=\"left-out\"")));

  std::string const empty = report_html({}, {});
  for (char const* id : {"devices", "idle", "timeline", "communication", "memory", "kernels"})
    EXPECT_THAT(empty, Not(HasSubstr(std::string("<section id=\"") + id + "\""))) << id;
  EXPECT_THAT(empty, HasSubstr("<section id=\"left-out\""));
  EXPECT_THAT(empty, HasSubstr("<li>Communication: No device operation was recorded.</li>"));
}

TEST(Report, shows_who_is_late_beside_who_waits) {
  Sample const sample = make_late_sample();
  ASSERT_FALSE(sample.analysis.findings.empty());
  ASSERT_EQ(sample.analysis.findings[0].rule, "straggler");
  std::string const html = report_html(sample.run, sample.analysis);

  size_t const picture = html.find("<div class=\"scene\"");
  ASSERT_NE(picture, std::string::npos);
  std::string const text = html.substr(picture, html.find("</ul>", picture) - picture);
  ASSERT_NE(text.find("<span>rank 1: late</span>"), std::string::npos);
  ASSERT_LT(text.find("<span>rank 0</span>"), text.find("<span>rank 1: late</span>"));
  EXPECT_THAT(text, HasSubstr("rank 0 waits "));
  EXPECT_THAT(text, HasSubstr("from its arrival to the last one"));

  // The late rank arrives where the other's wait ends.
  auto const mark_of = [&](char const* label) {
    size_t const mark = text.find("<b style=\"left:", text.find(label));
    double left = 0, width = 0;
    if (mark == std::string::npos) return std::pair(-1.0, -1.0);
    EXPECT_EQ(std::sscanf(text.c_str() + mark, "<b style=\"left:%lf%%;width:%lf%%", &left, &width),
              2);
    return std::pair(left, width);
  };
  auto const waits = mark_of("<span>rank 0</span>"), late = mark_of("<span>rank 1: late</span>");
  EXPECT_NEAR(waits.first + waits.second, late.first, 0.5);
  EXPECT_NEAR(late.second, 0, 0.01);
}

/// Where a finding names another device than its place, nothing says that one waits for the other.
TEST(Report, shows_a_place_alone_where_the_named_device_takes_no_part) {
  Sample sample = make_late_sample();
  sample.analysis.findings[0].where = analyzer::DeviceRef{1, analyzer::kHostDevice};
  std::string const host = report_html(sample.run, sample.analysis);
  EXPECT_THAT(host, HasSubstr("<div class=\"scene\""));
  EXPECT_THAT(host, Not(HasSubstr(": late</span>")));
  EXPECT_THAT(host, Not(HasSubstr("rank 0 waits ")));

  // Nor for a stretch of time that is no wait in a collective.
  sample = make_late_sample();
  for (auto& place : sample.analysis.findings[0].evidence) place.when.end += 1;
  EXPECT_THAT(report_html(sample.run, sample.analysis), Not(HasSubstr(": late</span>")));
}

TEST(Report, shows_each_finding_where_it_is) {
  Sample const sample = make_slow_sample();
  std::string const html = report_html(sample.run, sample.analysis);
  ASSERT_FALSE(sample.analysis.findings.empty());

  size_t const card = html.find("<article class=\"finding");
  size_t const picture = html.find("<div class=\"scene\"", card),
               end = html.find("</article>", card);
  ASSERT_LT(picture, end);

  std::string const text = html.substr(picture, end - picture);
  // The thread that waits for its input, and the device's streams. The picture marks 30 ms, with
  // 0.4 of their length before and behind.
  EXPECT_THAT(text, HasSubstr("<i class=\"c-input\""));
  EXPECT_THAT(text, HasSubstr("<i class=\"c-compute\""));
  EXPECT_THAT(text, HasSubstr("</b>30.1 ms on device 1"));
  EXPECT_THAT(text, HasSubstr("<b style=\"left:22.22%;width:55.56%\"></b>"));
}

/// A run of three processes with only their outlines in memory, and its page.
struct OutlinedSample {
  model::Run outline, whole;
  analyzer::Analysis analysis;
  base::Expected<std::string> page(ReadProcess const& read) const {
    return report_html(outline, analysis, read);
  }
};

OutlinedSample make_outlined_sample() {
  support::SyntheticOptions options;
  options.devices = 3;
  options.process_per_device = true;
  options.input_delay_ns = 12'000'000;

  OutlinedSample sample{
      support::make_synthetic_run(options), support::make_synthetic_run(options), {}};

  for (model::RankTrace& rank : sample.outline.ranks) {
    std::vector<uint32_t> const rows = analyzer::skeleton_rows(rank.trace);
    rank.trace = model::skeleton_of(std::move(rank.trace), rows);
  }

  auto const read = [&](size_t process) -> base::Expected<model::RankTrace> {
    return std::move(support::make_synthetic_run(options).ranks[process]);
  };
  sample.analysis = *analyzer::analyze(
      {sample.outline, read, [&](size_t process, model::Interval) { return read(process); }});
  return sample;
}

TEST(Report, of_a_run_that_is_read_process_by_process_is_that_of_the_run_in_memory) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  OutlinedSample const sample = make_outlined_sample();
  auto const page =
      sample.page([&](size_t process) { return Whole(Whole(), &sample.whole.ranks[process]); });
  ASSERT_TRUE(page);
  EXPECT_TRUE(*page ==
              report_html(sample.whole, sample.analysis));  // a page is too long to be printed
}

TEST(Report, of_a_process_that_cannot_be_read_again_says_so) {
  OutlinedSample const sample = make_outlined_sample();
  auto const page =
      sample.page([](size_t) -> base::Expected<std::shared_ptr<model::RankTrace const>> {
        return base::fail("rank1.stepscope: is gone");
      });
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().message, "rank1.stepscope: is gone");
}

TEST(Report, lets_no_name_of_the_trace_become_markup) {
  Sample const sample = make_hostile_sample();
  std::string const html = report_html(sample.run, sample.analysis);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_EQ(count_of(html, "</script>"), report_has_charts() ? 2U : 0U);
}

TEST(Report, loads_nothing_from_anywhere) {
  Sample const sample = make_slow_sample();
  std::string const html = report_html(sample.run, sample.analysis);
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  std::string const page = html.substr(0, html.find("<script"));
  for (char const* part : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(Report, names_its_script_by_hash_and_allows_no_other) {
  std::string const html = report_html({}, {});
  if (!report_has_charts()) {
    EXPECT_THAT(html, HasSubstr("script-src 'none'"));
    EXPECT_THAT(html, HasSubstr("built without its charts"));
    return;
  }
  EXPECT_THAT(html, HasSubstr("script-src '" + std::string(report_script_hash()) + "'"));
}

TEST(Report, carries_the_tables_of_every_chart_without_the_script) {
  Sample const sample = make_slow_sample();
  std::string const html = report_html(sample.run, sample.analysis);
  for (char const* id :
       {"steps-table", "devices-table", "idle-table", "collectives-table", "waits-table",
        "memory-table", "memory-curve-table", "kernels-table", "streams-table", "quality-table"})
    EXPECT_THAT(html, HasSubstr(std::string("<table id=\"") + id + "\"")) << id;
}

TEST(Report, gives_charts_the_parts_of_each_counted_step) {
  if (!report_has_charts()) GTEST_SKIP() << "built without npm: the page has no data for charts";
  Sample const sample = make_slow_sample();
  nlohmann::json const data = data_of(report_html(sample.run, sample.analysis));
  ASSERT_EQ(data.at("steps").size(), 2U);
  nlohmann::json const& device = data.at("steps").at(0);
  size_t const counted = static_cast<size_t>(std::count_if(
      sample.analysis.steps.begin(), sample.analysis.steps.end(), [](auto const& step) {
        return !step.warmup && step.ref == analyzer::DeviceRef{0, 0};
      }));

  EXPECT_EQ(device.at("first").size(), counted);
  EXPECT_TRUE(device.at("parts").contains("compute"));
  EXPECT_TRUE(device.at("parts").contains("input"));
}

TEST(Report, stays_small_for_a_long_run) {
  support::SyntheticOptions options;
  options.devices = 4;
  options.steps = 600;
  Sample const sample = make_sample(options);
  EXPECT_LT(report_html(sample.run, sample.analysis).size(), 3'000'000U);
}

TEST(Timeline, thinned_spans_cover_every_event_and_count_it_once) {
  Sample const sample = make_sample();
  model::Trace const& trace = sample.run.ranks[0].trace;
  auto const [first, last] = trace.time_range();

  for (int const columns : {10, 100, 100'000})
    for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
      if (trace.tracks()[t].kind != model::TrackKind::kStream) continue;
      auto const rows = trace.rows_of(model::TrackId{t});
      uint32_t events = 0, spanned = 0;
      for (uint32_t row = rows.first; row < rows.last; ++row)
        if (model::is_device_op(trace.kind(row))) ++events;

      auto const spans =
          thinned_spans(trace, rows, RowContent::kDeviceOps, {first, last + 1}, columns);
      for (Span const& span : spans) spanned += span.count;
      EXPECT_EQ(spanned, events);
      EXPECT_LE(spans.size(), static_cast<size_t>(2 * columns + 1));
    }
}

TEST(Timeline, an_event_that_began_before_the_window_is_cut_at_its_edge) {
  Sample const sample = make_sample();
  model::Trace const& trace = sample.run.ranks[0].trace;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    auto const rows = trace.rows_of(model::TrackId{t});
    if (trace.tracks()[t].kind != model::TrackKind::kStream || rows.size() == 0) continue;
    if (!model::is_device_op(trace.kind(rows.first)) ||
        trace.end(rows.first) - trace.start(rows.first) < 10)
      continue;

    int64_t const middle =
        trace.start(rows.first) + (trace.end(rows.first) - trace.start(rows.first)) / 2;
    auto const spans =
        thinned_spans(trace, rows, RowContent::kDeviceOps, {middle, trace.end(rows.first)}, 1000);

    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].begin, middle);
    EXPECT_EQ(spans[0].end, trace.end(rows.first));
  }
}

TEST(Memory, thinning_keeps_the_peak_the_floor_and_the_end) {
  analyzer::MemoryTimeline points;
  for (int64_t i = 0; i < 1000; ++i) {
    auto bytes = static_cast<uint64_t>(500 + (i * 7919) % 100);
    if (i == 123) bytes = 10'000;
    if (i == 456) bytes = 1;
    points.push_back({i, bytes, 1000, {}});
  }

  auto const kept = thinned_memory(points, 20);
  EXPECT_LE(kept.size(), 42U);
  EXPECT_THAT(kept, testing::Contains(123U));
  EXPECT_THAT(kept, testing::Contains(456U));
  EXPECT_EQ(kept.back(), 999U);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST(Memory, thinning_nothing_gives_nothing) { EXPECT_TRUE(thinned_memory({}, 10).empty()); }

}  // namespace
}  // namespace stepscope::reports
