#include "reports/text/text.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/text/layout.h"
#include "reports/text/top_kernels.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TopKernels, are_summed_over_devices_and_saturate) {
  analyzer::Analysis analysis;
  auto const add = [&](char const* name, model::EventKind kind, int64_t total_ns) {
    analyzer::KernelStats kernel;
    kernel.name = name;
    kernel.kind = kind;
    kernel.total_ns = total_ns;
    kernel.count = 2;
    analysis.kernels.push_back(kernel);
  };
  EXPECT_EQ(top_kernels_text(analysis, {}, 80), "");

  add("gemm", model::EventKind::kKernel, 30);
  add("copy", model::EventKind::kMemcpy, 900);
  add("all-reduce", model::EventKind::kCollective, 50);
  add("gemm", model::EventKind::kKernel, 20 + 100);
  std::string const text = top_kernels_text(analysis, {}, 80);
  EXPECT_THAT(text, testing::ContainsRegex("150 ns +75\\.0 % +4  gemm\n"));
  EXPECT_THAT(text, testing::ContainsRegex("50 ns +25\\.0 % +2  all-reduce\n"));
  EXPECT_THAT(text, Not(HasSubstr("copy")));

  for (int i = 0; i < 2; ++i)
    add("", model::EventKind::kKernel, std::numeric_limits<int64_t>::max());
  EXPECT_THAT(top_kernels_text(analysis, {}, 80), HasSubstr("without a name"));
}

TEST(AnalysisText, says_the_verdict_the_split_the_devices_and_the_findings) {
  Sample const sample = make_slow_sample();
  std::string const text = analysis_text(sample.run, sample.analysis);

  EXPECT_THAT(text, HasSubstr("2 devices"));
  EXPECT_THAT(text, HasSubstr("The largest loss is"));
  EXPECT_THAT(text, HasSubstr("idle: waiting for input"));
  EXPECT_THAT(text, HasSubstr("device 1"));
  EXPECT_THAT(text, HasSubstr("The devices wait for input data (input-bound)"));
  EXPECT_THAT(
      text, testing::ContainsRegex("look at [0-9.]+ – [0-9.]+ m?s on device 1 \\(step [0-9]+\\)"));
  EXPECT_THAT(text, HasSubstr("if fixed, by replay: 2.6 × as fast"));
}

TEST(AnalysisText, fits_a_terminal_of_80_columns_and_loses_nothing) {
  Sample const sample = make_slow_sample();
  std::string const narrow = analysis_text(sample.run, sample.analysis, {.width = 80});
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U) << line;

  std::string const wide = analysis_text(sample.run, sample.analysis);
  for (char const* const column : {"device ", " comm", "overlap", "reserved"}) {
    EXPECT_THAT(wide, HasSubstr(column));
    EXPECT_THAT(narrow, HasSubstr(column));
  }
}

TEST(AnalysisText, fits_a_terminal_of_40_columns_and_names_causes) {
  for (Sample const& sample : {make_slow_sample(), make_late_sample()}) {
    std::istringstream lines(analysis_text(sample.run, sample.analysis, {.width = 40}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 40U) << line;
  }

  Sample const late = make_late_sample();
  std::string const text = analysis_text(late.run, late.analysis, {.width = 40});
  EXPECT_THAT(text, testing::ContainsRegex("rank 1 +0 ns +100\\.0 %\n    mostly by compute\n"));
  EXPECT_THAT(text, testing::ContainsRegex("exposed\n +communication\n? "));
}

TEST(Aligned, has_the_first_column_in_each_part_of_a_narrow_table) {
  std::vector<std::vector<std::string>> const rows = {{"name", "first", "second"}, {"a", "1", "2"}};
  EXPECT_EQ(aligned(rows, {}), "  name  first  second\n  a         1       2\n");
  EXPECT_EQ(aligned(rows, {.width = 21}), aligned(rows, {}));
  EXPECT_EQ(aligned(rows, {.width = 20}),
            "  name  first\n  a         1\n\n  name  second\n  a          2\n");
  EXPECT_EQ(aligned(rows, {.width = 1}), aligned(rows, {.width = 20})) << "a column at least";
  EXPECT_EQ(aligned({}, {.width = 20}), "");
}

TEST(Aligned, shortens_names_and_values_that_no_part_has_room_for) {
  std::vector<std::vector<std::string>> const rows = {
      {"name", "value", "words"},
      {"sm90_xmma_dgrad_implicit_gemm_f16f16_f32", "1.5 ms", "compute: a long sentence of words"}};

  for (int const width : {40, 50, 80}) {
    std::istringstream lines(aligned(rows, {.width = width}));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(columns_of(line), static_cast<size_t>(width)) << line;
  }
  EXPECT_THAT(aligned(rows, {.width = 40}), HasSubstr("1.5 ms"));
  EXPECT_THAT(aligned(rows, {.width = 100}), HasSubstr("a long sentence of words"));

  EXPECT_THAT(aligned({{"name", "value"}, {"a", std::string(31, 'v')}}, {.width = 40}),
              HasSubstr(std::string(31, 'v')))
      << "short names leave the room to values";
  std::string const alike = aligned({{"range of the program", "own time of a step"},
                                     {"forward_of_one_layer(1)", "1.5 ms"},
                                     {"forward_of_one_layer(2)", "1.5 ms"}},
                                    {.width = 40});
  std::istringstream lines(alike);
  std::string heading, first, second;
  std::getline(lines, heading);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_NE(first, second) << "names stay apart";
}

TEST(Aligned, names_come_first_where_numbers_leave_them_no_room) {
  std::vector<std::vector<std::string>> const rows = {{"total", "mean"}, {"1.25 ms", "0.25 ms"}};
  EXPECT_EQ(aligned_before_names(rows, {"name", "a kernel"}, {}, 40),
            "  total       mean  name\n  1.25 ms  0.25 ms  a kernel\n")
      << "room enough";
  EXPECT_EQ(
      aligned_before_names(rows, {"name", "a kernel"}, {}, 24),
      "  name        total\n  a kernel  1.25 ms\n\n  name         mean\n  a kernel  0.25 ms\n");
}

TEST(Wrapped, shortens_short_names_more_where_no_line_holds_them_and_nothing_else) {
  std::string const name = std::string(20, 'n') + "…" + std::string(20, 'e');
  std::string const setting = "torch.compile(mode='reduce-overhead',fullgraph=True)";
  std::string const text = wrapped("a " + name + " b", 30, "", "  ");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 30U) << line;
  EXPECT_THAT(wrapped("a " + setting, 30, "", ""), HasSubstr(setting));
  EXPECT_THAT(wrapped("a " + name, 100, "", ""), HasSubstr(name));
}

TEST(ListLine, has_words_behind_the_name_or_below_it) {
  std::string const words = "one two three four five six seven eight nine";

  EXPECT_EQ(list_line("  name", words, 10, 0), "  name    " + words + "\n");
  EXPECT_EQ(list_line("  name", words, 10, 40),
            "  name    one two three four five six\n          seven eight nine\n");
  EXPECT_EQ(list_line("  name", words, 30, 40),
            "  name\n      one two three four five six seven\n      eight nine\n");
  EXPECT_EQ(list_line("  a-name-of-many", "words", 10, 0), "  a-name-of-many words\n");
  EXPECT_EQ(list_line("  a-name-of-many", "words", 10, 80), "  a-name-of-many\n          words\n");
  EXPECT_EQ(list_line("  " + std::string(50, 'n'), "words", 10, 40),
            "  " + std::string(50, 'n') + "\n          words\n");
  EXPECT_EQ(list_line("  flag", "", 10, 40), "  flag\n");
  EXPECT_EQ(list_line("", "→ words", 30, 40), "      → words\n");
}

TEST(AnalysisText, has_no_escape_codes_unless_colour_is_asked_for) {
  Sample const sample = make_slow_sample();
  EXPECT_THAT(analysis_text(sample.run, sample.analysis), Not(HasSubstr("\x1b")));
  TextOptions options;
  options.color = true;
  EXPECT_THAT(analysis_text(sample.run, sample.analysis, options), HasSubstr("\x1b["));
}

TEST(AnalysisText, names_of_the_trace_cannot_send_escape_codes) {
  Sample const sample = make_hostile_sample();
  EXPECT_THAT(analysis_text(sample.run, sample.analysis), Not(HasSubstr("\x1b")));
}

TEST(AnalysisText, tables_fit_80_columns_in_pipes_too) {
  Sample const sample = make_late_sample();
  std::istringstream lines(analysis_text(sample.run, sample.analysis));
  for (std::string line; std::getline(lines, line);)
    if (line.find("  rank ") == 0 || line.find("  device ") == 0) {
      EXPECT_LE(columns_of(line), 80U) << line;
    }
}

TEST(AnalysisText, lines_of_waiting_keep_the_width_and_need_no_steps) {
  Sample sample = make_late_sample();
  ASSERT_FALSE(sample.analysis.waits.empty());
  for (auto& row : sample.analysis.waits) row.host_op = std::string(300, 'x') + "é";
  std::istringstream lines(analysis_text(sample.run, sample.analysis, {.width = 60}));
  for (std::string line; std::getline(lines, line);)
    if (line.find("  rank ") == 0) {
      EXPECT_LE(columns_of(line), 60U) << line;
    }

  sample = make_late_sample();
  sample.analysis.steps.clear();
  EXPECT_THAT(analysis_text(sample.run, sample.analysis),
              testing::ContainsRegex("device +causes of all  mostly by\n"));
}

TEST(AnalysisText, has_a_line_a_device_for_waiting) {
  Sample const sample = make_late_sample();
  std::string const text = analysis_text(sample.run, sample.analysis);
  EXPECT_THAT(
      text, testing::ContainsRegex("exposed communication \\([0-9.]+ ms caused by late peers\\)"));
  EXPECT_THAT(text, testing::ContainsRegex("device +waits a step +causes of all  mostly by\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rank 1 +0 ns +100\\.0 %  compute\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rank 0 +[0-9.]+ ms +0\\.0 %\n"));

  Sample const alone = make_slow_sample();
  EXPECT_THAT(analysis_text(alone.run, alone.analysis), Not(HasSubstr("mostly by")));
}

TEST(AnalysisText, notes_on_the_recording_are_one_list) {
  Sample sample = make_sample();
  sample.analysis.integrity.score = 98;
  sample.analysis.integrity.notes = {"the first", "the second"};
  EXPECT_THAT(analysis_text(sample.run, sample.analysis),
              HasSubstr("\n\nTrace quality 98 of 100.\n  - the first\n  - the second\n"));
}

TEST(AnalysisText, of_an_empty_run_says_that_there_is_nothing) {
  std::string const text = analysis_text({}, {});
  EXPECT_THAT(text, HasSubstr("nothing to analyze"));
  EXPECT_THAT(text, Not(HasSubstr("Findings")));  // where nothing was judged "none" would be praise
  EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
}

TEST(StackedBar, fills_exactly_its_width) {
  for (int const width : {10, 33, 80}) {
    std::array<double, kPartCount> shares{};
    shares[0] = 1.0 / 3;
    shares[1] = 1.0 / 3;
    shares[6] = 1 - shares[0] - shares[1];
    EXPECT_EQ(columns_of(stacked_bar(shares, width, {})), static_cast<size_t>(width));
  }
}

TEST(StackedBar, is_empty_when_there_is_nothing) { EXPECT_EQ(stacked_bar({}, 40, {}), ""); }

TEST(Wrapped, keeps_numbers_with_their_units) {
  EXPECT_EQ(wrapped("it takes 12.4 ms a step", 13, "", ""), "it takes\n12.4 ms a\nstep\n");
  EXPECT_EQ(wrapped("in 24 steps", 6, "", ""), "in 24\nsteps\n");
}

TEST(Wrapped, breaks_at_blanks_and_indents) {
  EXPECT_EQ(wrapped("aa bb cc", 6, "- ", "  "), "- aa\n  bb\n  cc\n");
}

TEST(AnalysisText, says_what_the_numbers_of_devices_are_of) {
  Sample sample = make_slow_sample();
  EXPECT_THAT(
      analysis_text(sample.run, sample.analysis),
      HasSubstr("In a step. comm, copy: exposed; overlap: of all communication with compute"));
  sample.analysis.steps.clear();
  EXPECT_THAT(analysis_text(sample.run, sample.analysis),
              HasSubstr("In the whole recording, from the first to the last"));
}

TEST(AnalysisText, calls_severities_as_the_json_does) {
  Sample sample = make_sample();
  sample.analysis.findings.emplace_back().rule = "small-grids";
  sample.analysis.findings.back().severity = analyzer::Severity::kInfo;
  EXPECT_THAT(analysis_text(sample.run, sample.analysis), HasSubstr(" INFO Kernels"));
}

}  // namespace
}  // namespace stepscope::reports
