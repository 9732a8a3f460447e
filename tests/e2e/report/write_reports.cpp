// Writes the report pages that the browser test opens: runs that are healthy, faulty, large,
// hostile and empty, and one with every fact there is. Usage: write_reports FOLDER
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/scaling/series.h"
#include "reports/html/html.h"
#include "reports/html/scaling_page.h"
#include "reports/html/tuning/tuning_page.h"
#include "reports/json/json.h"
#include "reports/text/text.h"
#include "tests/e2e/report/full_analysis.h"
#include "tests/e2e/report/hostile_run.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/reports/tuning_samples.h"
#include "trace/base/files/output_file.h"

namespace {

using stepscope::reports::analysis_json;
using stepscope::reports::analysis_text;
using stepscope::reports::report_html;
using stepscope::support::SyntheticOptions;

stepscope::model::Run named(std::string name, SyntheticOptions const& options) {
  stepscope::model::Run run = stepscope::support::make_synthetic_run(options);
  run.name = std::move(name);
  return run;
}

SyntheticOptions faulty() {
  SyntheticOptions options;
  options.steps = 24;
  options.input_delay_ns = 9'000'000;
  options.straggler_device = 1;
  options.straggler_factor = 1.3;
  options.allocate_in_step = true;
  options.leak_bytes_per_step = 4U << 20U;
  options.slow_step = 17;
  return options;
}

SyntheticOptions many_ranks() {
  SyntheticOptions options;
  options.devices = 8;
  options.process_per_device = true;
  options.steps = 600;
  options.straggler_device = 5;
  return options;
}

/// What rules and notes take over from a trace is hostile, too.
void make_hostile(stepscope::analyzer::Analysis& analysis) {
  using stepscope::support::kHostileText;
  analysis.integrity.notes.emplace_back(kHostileText);
  for (auto& finding : analysis.findings) {
    finding.subjects.emplace_back(kHostileText, kHostileText);
    finding.metrics.emplace_back(kHostileText, 1.5);
  }
  if (!analysis.findings.empty()) analysis.findings.back().rule = kHostileText;
  stepscope::support::add_all_facts(analysis, kHostileText);
}

/// A job that communicates more and more, with repeats; `hostile`: all its names are.
stepscope::analyzer::ScalingSeries scaling_series(bool hostile) {
  std::vector<stepscope::analyzer::RunMeasurements> runs;
  for (int32_t const devices : {1, 2, 4, 8})
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      SyntheticOptions options;
      options.devices = devices;
      options.steps = 16;
      options.seed = seed;
      options.link_alpha_ns = 250'000.0 * devices;
      options.straggler_device = devices == 8 ? 3 : -1;
      options.straggler_factor = 1.1;

      stepscope::model::Run run = named("series", options);
      if (hostile) run = stepscope::support::with_hostile_texts(run);
      runs.push_back(stepscope::analyzer::sample_run(run, stepscope::analyzer::analyze(run)));
      runs.back().name =
          hostile ? stepscope::support::kHostileText : "run-" + std::to_string(devices);

      if (hostile && devices > 1)
        runs.back().facts.emplace_back(
            std::string("<img src=x> ") + stepscope::support::kHostileText,
            stepscope::support::kHostileText);
    }
  return stepscope::analyzer::scale_series(std::move(runs));
}

bool write_page(std::filesystem::path const& folder, std::string const& name,
                std::string const& html) {
  auto const written =
      stepscope::base::write_file_atomically((folder / (name + ".html")).string(), html);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written.has_value();
}

bool write(std::filesystem::path const& folder, std::string const& name,
           stepscope::model::Run const& run, stepscope::analyzer::Analysis const& analysis) {
  stepscope::reports::ReportOptions options;
  options.version = "test";
  stepscope::reports::TextOptions text;
  text.color = true;

  for (auto const& [suffix, content] :
       {std::pair<std::string, std::string>{".html", report_html(run, analysis, options)},
        {".json", analysis_json(run, analysis)},
        {".txt", analysis_text(run, analysis, text)}}) {
    auto const written =
        stepscope::base::write_file_atomically((folder / (name + suffix)).string(), content);
    if (written) continue;
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return false;
  }
  return true;
}

/// A search that is over, one whose texts are all hostile, one that has measured nothing, and one
/// in Chinese.
bool write_searches(std::filesystem::path const& folder) {
  using stepscope::support::kHostileText;
  using stepscope::tune::testing_machine::unhurried;
  auto machine = stepscope::reports::tuning_machine();
  stepscope::tune::Study over(stepscope::reports::tuning_space(), unhurried());
  stepscope::tune::Study hostile(stepscope::reports::tuning_space(kHostileText), unhurried());
  stepscope::tune::Study begun(stepscope::reports::tuning_space(), unhurried());
  machine.search(over);
  machine.search(hostile);
  begun.next();

  std::string const command = "python3 train.py --delay 0 --name " + std::string(300, 'x');
  stepscope::reports::ReportOptions chinese;
  chinese.language = stepscope::reports::Language::kChinese;
  using stepscope::reports::tuning_html;
  return write_page(folder, "tuning", tuning_html({over, "tuned", command, ""})) &&
         write_page(folder, "tuning-zh", tuning_html({over, "tuned", command, ""}, chinese)) &&
         write_page(folder, "tuning-begun", tuning_html({begun, "tuned", command, ""})) &&
         write_page(folder, "tuning-hostile",
                    tuning_html({hostile, kHostileText, kHostileText, kHostileText}));
}

/// Pages in another language, of everything there is to say: "full-zh" and "scaling-zh".
bool write_chinese(std::filesystem::path const& folder, stepscope::model::Run const& run,
                   stepscope::analyzer::Analysis const& analysis) {
  stepscope::reports::ReportOptions options;
  options.language = stepscope::reports::Language::kChinese;
  return write_page(folder, "full-zh", report_html(run, analysis, options)) &&
         write_page(folder, "scaling-zh",
                    stepscope::reports::scaling_html(scaling_series(false), options));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_reports FOLDER\n", stderr);
    return 2;
  }

  std::filesystem::path const folder = argv[1];
  std::filesystem::create_directories(folder);
  bool good = true;
  SyntheticOptions one_device;
  one_device.devices = 1;
  one_device.marks = stepscope::support::StepMarks::kNone;
  one_device.steps = 2;  // too few to be detected

  for (auto const& [name, options] : {std::pair<std::string, SyntheticOptions>{"healthy", {}},
                                      {"faulty", faulty()},
                                      {"many-ranks", many_ranks()},
                                      {"one-device", one_device},
                                      {"one-step", {.steps = 1, .process_per_device = true}}}) {
    stepscope::model::Run const run = named(name, options);
    good = write(folder, name, run, stepscope::analyzer::analyze(run)) && good;
  }

  stepscope::model::Run const full = named("full", faulty());
  stepscope::analyzer::Analysis all_facts = stepscope::analyzer::analyze(full);
  stepscope::support::add_all_facts(all_facts,
                                    "made " + std::string(150, 'x'));  // nowhere to break
  good = write(folder, "full", full, all_facts) && write_chinese(folder, full, all_facts) && good;

  stepscope::model::Run const hostile =
      stepscope::support::with_hostile_texts(named("hostile", faulty()));
  stepscope::analyzer::Analysis analysis = stepscope::analyzer::analyze(hostile);
  make_hostile(analysis);
  good = write(folder, "hostile", hostile, analysis) && good;

  for (bool const is_hostile : {false, true})
    good = write_page(folder, is_hostile ? "scaling-hostile" : "scaling",
                      stepscope::reports::scaling_html(scaling_series(is_hostile))) &&
           good;

  good = write_searches(folder) && good;
  stepscope::model::Run const empty;
  good = write(folder, "empty", empty, stepscope::analyzer::analyze(empty)) && good;
  return good ? 0 : 1;
}
