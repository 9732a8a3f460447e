#include "reports/words/language.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/rules/rule.h"
#include "reports/html/html.h"
#include "reports/html/scaling_page.h"
#include "reports/json/json.h"
#include "reports/text/text.h"
#include "reports/words/labels.h"
#include "reports/words/wording.h"
#include "tests/e2e/report/full_analysis.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Names, formats, commands and units that are the same in all languages, in small letters.
std::set<std::string> const kLatinWords = {
    // products, libraries, laws
    "amdahl", "chrome", "cuda", "gpipe", "javascript", "numa", "nvidia", "nvtx", "pcie", "python",
    "pytorch", "stepscope", "student", "talp", "tensor", "tensorflow",
    // terms that engineers do not translate
    "core", "graph", "rank", "token", "warp", "flop", "gflop", "tflop", "byte", "bytes", "epoch",
    // code, options and files
    "attention", "bucket", "cudnn", "distributeddataparallel", "flashattention", "perf", "product",
    "scaled", "softmax", "allocated", "analyze", "debug", "detail", "distributed", "annotations",
    "application", "backward", "bfloat", "compile", "cudahostalloc", "cudastreamnonblocking",
    "definitions", "docs", "doctor", "float", "forward", "guide", "reference", "json", "memory",
    "optimizer", "performance", "power", "report", "scaling", "step", "steps", "temperature",
    "torch", "view", "html",
    // collective operations by their names
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "send",
    "receive", "barrier", "gather", "scatter"};

void add_words(std::set<std::string>& words, std::string_view text) {
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    char const c = i < text.size() ? text[i] : ' ';
    bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }

    if (word.size() >= 4) words.insert(word);
    word.clear();
  }
}

/// What people see or hear of a page: its text and the texts of attributes, without scripts, styles
/// and names of a trace (code).
std::string visible_text(std::string html) {
  for (auto const& [open, close] : {std::pair<std::string, std::string>{"<script", "</script>"},
                                    {"<style", "</style>"},
                                    {"<code", "</code>"}})
    for (size_t at = html.find(open); at != std::string::npos; at = html.find(open, at))
      html.erase(at, html.find(close, at) + close.size() - at);

  std::string text;
  for (size_t at = 0; at < html.size();) {
    size_t const open = html.find('<', at);
    text += html.substr(at, open == std::string::npos ? open : open - at) + " ";
    if (open == std::string::npos) break;
    size_t const close = html.find('>', open);
    std::string const tag = html.substr(open, close - open);
    for (std::string const attribute :
         {" title=\"", " aria-label=\"", " data-tab=\"", " data-tabs=\"", " placeholder=\""})
      if (size_t const begin = tag.find(attribute); begin != std::string::npos) {
        size_t const from = begin + attribute.size();
        text += tag.substr(from, tag.find('"', from) - from) + " ";
      }
    at = close + 1;
  }

  return text;
}

/// Words of four Latin letters and more that neither the trace nor the list has: holes in the
/// translation.
std::vector<std::string> english_words(std::string const& text,
                                       std::set<std::string> const& of_trace = {}) {
  std::set<std::string> words;
  std::string plain = text;

  for (std::string const entity : {"&quot;", "&apos;", "&nbsp;"})
    for (size_t at = plain.find(entity); at != std::string::npos; at = plain.find(entity))
      plain.replace(at, entity.size(), " ");
  add_words(words, plain);

  std::vector<std::string> left;
  std::copy_if(words.begin(), words.end(), std::back_inserter(left), [&](std::string const& word) {
    return !kLatinWords.contains(word) && !of_trace.contains(word);
  });
  return left;
}

std::set<std::string> words_of_trace(model::Run const& run) {
  std::set<std::string> words;
  add_words(words, run.name);
  add_words(words, run.clock.method);

  for (model::RankTrace const& rank : run.ranks) {
    model::TraceInfo const& info = rank.trace.info();
    for (std::string const& text : {info.tool, info.host, info.command}) add_words(words, text);
    for (auto const& [key, value] : info.facts) {
      add_words(words, key);
      add_words(words, value);
    }

    for (auto const& device : rank.trace.devices()) add_words(words, device.name);
    for (auto const& track : rank.trace.tracks()) add_words(words, track.name);
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      add_words(words, rank.trace.name(row));
  }
  return words;
}

Sample faulty_sample() {
  support::SyntheticOptions options;
  options.steps = 24;
  options.input_delay_ns = 9'000'000;
  options.straggler_device = 1;
  options.straggler_factor = 1.3;
  options.allocate_in_step = true;
  options.leak_bytes_per_step = 4U << 20U;
  options.slow_step = 17;
  return make_sample(options);
}

ReportOptions in_chinese() {
  ReportOptions options;
  options.language = Language::kChinese;
  return options;
}

/// All numbers that any rule has, so that a finding has every sentence of its rule.
constexpr char const* kMetrics[] = {"share",
                                    "op_share",
                                    "at_most_ns_per_step",
                                    "apparent_gbps",
                                    "at_least_gbps",
                                    "messages",
                                    "expected_ranks",
                                    "host_share",
                                    "python_frames_per_step",
                                    "recording_ns_per_step",
                                    "devices",
                                    "kernel_median_ns",
                                    "call_median_ns",
                                    "pageable_copies",
                                    "blocking_copies",
                                    "overlap",
                                    "waiting_ns_per_step",
                                    "share_of_waits",
                                    "busy_share",
                                    "before_first_op_ns_per_step",
                                    "long_gaps_ns_per_step",
                                    "queued_ns_per_step",
                                    "queued_ops",
                                    "compute_ratio",
                                    "load_balance",
                                    "stages",
                                    "micro_batches",
                                    "ideal_share",
                                    "doubled_share",
                                    "slowest_stage",
                                    "stage_imbalance",
                                    "median_ns",
                                    "reference_ns",
                                    "slow_share",
                                    "exposed_share",
                                    "expected_speedup",
                                    "bytes",
                                    "mean_bytes",
                                    "collectives_per_step",
                                    "half_bandwidth_bytes",
                                    "pinning_calls_per_step",
                                    "steps_to_full",
                                    "bytes_per_step",
                                    "time_to_full_ns",
                                    "peak_reserved_bytes",
                                    "earliest_steps_to_full",
                                    "retries",
                                    "capacity_bytes",
                                    "peak_allocated_bytes",
                                    "fragmentation",
                                    "fragmented_growth_bytes",
                                    "pressure",
                                    "unused_bytes",
                                    "peak_bytes",
                                    "batch_factor",
                                    "latest_steps_to_full",
                                    "kernel_slowdown",
                                    "clock_to_peers",
                                    "clock_mhz",
                                    "lowest_clock_mhz",
                                    "sustained_clock_mhz",
                                    "slow_steps",
                                    "steps",
                                    "median_step_ns",
                                    "steps_to_leave_out",
                                    "highest_temperature_c",
                                    "outliers",
                                    "threads",
                                    "cores",
                                    "score",
                                    "dropped",
                                    "truncated",
                                    "missing_ranks",
                                    "lost_blocks",
                                    "sequence",
                                    "unmatched_launches",
                                    "unmatched_ops",
                                    "alpha_us",
                                    "cause_share",
                                    "share_of_worst",
                                    "bubble_share",
                                    "negative_latencies",
                                    "gaps_per_step",
                                    "launches_per_step",
                                    "highest_power_w",
                                    "stranded_bytes",
                                    "overlapping_slices",
                                    "ratio",
                                    "slow_links",
                                    "share_of_steps_late",
                                    "throttled_share",
                                    "small_grid_ns_per_step",
                                    "pipelines",
                                    "hung_collectives",
                                    "participants",
                                    "step_ns",
                                    "longest_minus_mean_ns_per_step"};

analyzer::Finding made_finding(std::string_view rule) {
  analyzer::Finding finding;
  finding.rule = rule;
  finding.cost_ns_per_step = 1'000'000;
  finding.where = analyzer::DeviceRef{0, 1};

  double value = 1;
  for (char const* const key : kMetrics) finding.metrics.emplace_back(key, value += 1);

  finding.subjects = {
      {"host_op", "xyz"}, {"caller", "xyz"},   {"kernel", "xyz"},    {"op", "xyz"},
      {"ranks", "0, 1"},  {"cause", "host"},   {"limit", "thermal"}, {"part", "input"},
      {"host", "xyz"},    {"waiting", "0, 1"}, {"completed", "2"},   {"missing", "3"},
      {"options", "xyz"}, {"calls", "xyz"},    {"unrecorded", "4"},  {"different", "xyz"}};
  return finding;
}

TEST(Language, has_the_names_that_people_write) {
  EXPECT_EQ(language_of("en"), Language::kEnglish);
  EXPECT_EQ(language_of("zh"), Language::kChinese);
  EXPECT_EQ(language_of("xx"), std::nullopt);
}

TEST(Language, is_english_except_while_another_is_spoken) {
  EXPECT_EQ(tr("no time"), "no time");
  EXPECT_EQ(counted(2, "device"), "2 devices");

  {
    ScopedLanguage const spoken(Language::kChinese);
    EXPECT_EQ(html_language(), "zh-CN");
    EXPECT_EQ(tr("Findings ({})", 3), "发现的问题（3）");
    EXPECT_EQ(counted(2'000, "device"), "2,000 台设备");
    EXPECT_EQ(tr("a name of a trace"), "a name of a trace");
    ScopedLanguage const within(Language::kEnglish);
    EXPECT_EQ(tr("no time"), "no time");
  }

  EXPECT_EQ(html_language(), "en");
}

/// {number: format} of a sentence; English placeholders are numbered by their order.
std::map<int, std::string> placeholders(std::string const& text) {
  std::map<int, std::string> found;
  int next = 0;
  for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    std::string const inside = text.substr(at + 1, text.find('}', at) - at - 1);
    size_t const colon = std::min(inside.find(':'), inside.size());
    int const number = colon == 0 ? next++ : std::stoi(inside.substr(0, colon));
    found[number] = inside.substr(colon);
  }
  return found;
}

TEST(Language, sentences_of_a_catalogue_have_the_placeholders_of_the_english_ones) {
  for (auto const* words :
       {&catalogue(Language::kChinese), &script_catalogue(Language::kChinese)}) {
    EXPECT_GT(words->size(), 50U);
    for (auto const& [english, translated] : *words)
      EXPECT_EQ(placeholders(english), placeholders(translated)) << english << "\n" << translated;
  }
}

TEST(Language, every_rule_says_all_in_chinese) {
  Sample const sample = make_sample();
  for (analyzer::Rule const& rule : analyzer::all_rules()) {
    FindingWords const english = words_of(sample.run, sample.analysis, made_finding(rule.name));
    ScopedLanguage const spoken(Language::kChinese);
    FindingWords const words = words_of(sample.run, sample.analysis, made_finding(rule.name));

    EXPECT_NE(words.title, english.title) << rule.name;
    EXPECT_NE(words.advice, english.advice) << rule.name;
    EXPECT_THAT(english_words(words.title), IsEmpty()) << rule.name << ": " << words.title;
    EXPECT_THAT(english_words(words.explanation), IsEmpty())
        << rule.name << ": " << words.explanation;

    std::vector<std::string> left = english_words(words.advice);
    std::erase(left, "pin");
    EXPECT_THAT(left, IsEmpty()) << rule.name << ": " << words.advice;
  }
}

TEST(Language, every_part_of_time_has_chinese_words) {
  ScopedLanguage const spoken(Language::kChinese);
  for (int i = 0; i < kPartCount; ++i)
    EXPECT_THAT(english_words(std::string(part(i).label) + " " + std::string(part(i).meaning)),
                IsEmpty())
        << part(i).key;
  for (size_t i = 0; i < analyzer::kPathClassCount; ++i)
    EXPECT_THAT(english_words(std::string(path_part(static_cast<analyzer::PathClass>(i)).label)),
                IsEmpty())
        << i;
}

/// A run with each fact and a finding of each rule, whose names are not words.
Sample full_sample() {
  Sample sample = faulty_sample();
  support::add_all_facts(sample.analysis, "xyz");
  for (analyzer::Rule const& rule : analyzer::all_rules())
    sample.analysis.findings.push_back(made_finding(rule.name));
  sample.analysis.integrity.missing_ranks = {3};
  return sample;
}

TEST(Language, a_chinese_page_has_no_english_words_left) {
  Sample const full = full_sample(), faulty = faulty_sample();
  std::set<std::string> of_trace = words_of_trace(full.run);

  // Names of made facts, and a rule's id in its finding's footer.
  for (char const* const name :
       {"owner", "layer", "phase", "late", "contributor", "beside", "kernel", "host"})
    of_trace.insert(name);
  for (analyzer::Rule const& rule : analyzer::all_rules()) add_words(of_trace, rule.name);

  for (Sample const* sample : {&full, &faulty}) {
    std::string const html = report_html(sample->run, sample->analysis, in_chinese());
    EXPECT_THAT(html, HasSubstr("<html lang=\"zh-CN\">"));
    EXPECT_THAT(english_words(visible_text(html), of_trace), IsEmpty());
  }
  EXPECT_THAT(english_words(visible_text(report_html({}, {}, in_chinese()))), IsEmpty());
}

TEST(Language, a_chinese_scaling_page_has_no_english_words_left) {
  std::vector<analyzer::RunMeasurements> runs;
  for (int32_t const devices : {1, 2, 4, 8}) {
    support::SyntheticOptions options;
    options.devices = devices;
    options.steps = 16;
    options.link_alpha_ns = 250'000.0 * devices;
    options.straggler_device = devices == 8 ? 3 : -1;
    options.straggler_factor = 1.1;
    model::Run const run = support::make_synthetic_run(options);
    runs.push_back(analyzer::sample_run(run, analyzer::analyze(run)));
    runs.back().name = "xyz";
  }

  std::set<std::string> const of_trace = words_of_trace(support::make_synthetic_run({}));
  analyzer::ScalingSeries const series = analyzer::scale_series(std::move(runs));
  ASSERT_FALSE(series.refusal);

  std::string const html = scaling_html(series, in_chinese());
  EXPECT_THAT(html, HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(english_words(visible_text(html), of_trace), IsEmpty());
}

TEST(Language, the_page_s_script_gets_its_words_with_the_data) {
  if (!report_has_charts()) GTEST_SKIP() << "built without npm";
  Sample const sample = make_sample();
  EXPECT_THAT(report_html(sample.run, sample.analysis, in_chinese()), HasSubstr("\"words\":{"));
  EXPECT_THAT(report_html(sample.run, sample.analysis), testing::Not(HasSubstr("\"words\":{")));
}

TEST(Language, hostile_names_are_escaped_and_stay_as_they_are) {
  Sample const sample = make_hostile_sample();
  std::string const html = report_html(sample.run, sample.analysis, in_chinese());
  EXPECT_THAT(html, testing::Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(Language, other_outputs_are_english_after_a_chinese_page) {
  Sample const sample = make_slow_sample();
  std::string const analyzed = analysis_json(sample.run, sample.analysis),
                    text = analysis_text(sample.run, sample.analysis);
  std::string const page = report_html(sample.run, sample.analysis);
  EXPECT_NE(report_html(sample.run, sample.analysis, in_chinese()), page);
  EXPECT_EQ(analysis_json(sample.run, sample.analysis), analyzed);
  EXPECT_EQ(analysis_text(sample.run, sample.analysis), text);
  EXPECT_EQ(report_html(sample.run, sample.analysis), page);
}

}  // namespace
}  // namespace stepscope::reports
