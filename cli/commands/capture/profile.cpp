// stepscope profile WORKLOAD: run + record + analyze + report in one: the main job.
#include <cstdio>
#include <ctime>
#include <memory>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "cli/commands.h"
#include "cli/commands/recording.h"
#include "reports/html/html.h"
#include "reports/json/json.h"
#include "reports/text/text.h"
#include "trace/base/files/output_file.h"
#include "trace/base/format.h"
#include "tracer/core/options.h"
#include "tracer/record.h"
#include "workloads/workload.h"

namespace stepscope::cli {
namespace {

struct ProfileOptions {
  std::string workload;
  tracer::RecordOptions record;
};

/// A name that a second profile of the same workload does not meet again.
std::string default_output(std::string const& workload) {
  std::time_t const now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);

  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  return workload + "-" + stamp;
}

int analyze_and_report(std::string const& folder) {
  auto const run = open_run_and_warn({folder});
  if (!run) return report_error(run.error());
  analyzer::Analysis const analysis = analyzer::analyze(*run);

  constexpr auto kReplace = base::PartialFile::Links::kReplace;
  std::string const html = folder + "/report.html";
  std::string const json = folder + "/analysis.json";
  if (auto const written =
          base::write_file_atomically(html, reports::report_html(*run, analysis), kReplace);
      !written)
    return report_error(written.error());
  if (auto const written =
          base::write_file_atomically(json, reports::analysis_json(*run, analysis), kReplace);
      !written)
    return report_error(written.error());

  std::fputs(reports::analysis_text(*run, analysis, {use_color(), terminal_width()}).c_str(),
             stdout);
  std::printf("\nReport   %s\nFacts    %s\nTimeline stepscope view %s\n",
              base::printable(html).c_str(), base::printable(json).c_str(),
              base::printable(folder).c_str());
  return kGood;
}

int profile(ProfileOptions options, std::vector<std::string> const& workload_options) {
  auto const steps = steps_for_tracer(options.record.steps, "--trace-steps");
  if (!steps) return report_error(steps.error());
  options.record.steps = *steps;
  if (steps->find(',') != std::string::npos)
    return report_error(
        {.message = "--trace-steps: one range of steps can be profiled, record several windows "
                    "with stepscope record --steps"});

  if (options.record.output.empty()) options.record.output = default_output(options.workload);
  std::vector<std::string> command = {program_folder() + "/stepscope", "run", options.workload};
  command.insert(command.end(), workload_options.begin(), workload_options.end());

  auto const folder = take_for_recording(options.record);  // until the reports are there
  if (!folder) return report_error(folder.error());

  auto const code = tracer::record_command(options.record, command);
  if (!code) return report_error(code.error());
  if (*code == kWrongUse) return kWrongUse;  // the workload has said why

  int const analyzed = analyze_and_report(options.record.output);
  return *code != 0 ? *code : analyzed;
}

/// A name that is no workload is refused as it is without --help.
void print_workload_help(std::string const& workload) {
  std::fflush(stdout);
  std::printf("\n");
  std::vector<std::string> const arguments = {"--help"};
  if (auto const code = workloads::run_workload(workload, arguments); !code)
    report_error(code.error());
}

}  // namespace

Action add_profile(CLI::App& app) {
  auto const options = std::make_shared<ProfileOptions>();

  app.allow_extras();
  CLI::Option const* const workload =
      app.add_option("WORKLOAD", options->workload,
                     "the workload to train, see stepscope run --help")
          ->required();
  app.add_option("-o,--output", options->record.output,
                 "the run folder to write (default: name of the workload and current time)");

  app.add_option("--trace-steps", options->record.steps, "record only steps first:last");
  app.add_option("--buffer-mb", options->record.buffer_mb,
                 "memory for events that are not yet written (MiB)")
      ->check(whole_number(1, tracer::kMaxBufferMb));
  app.add_option("--cuda-buffer-mb", options->record.cuda_buffer_mb,
                 "memory for CUPTI activity records (MiB)")
      ->check(whole_number(1, tracer::kMaxBufferMb));
  app.add_option("--cuda-buffer-kb", options->record.cuda_buffer_kb,
                 "size of each CUPTI buffer (KiB)")
      ->check(whole_number(tracer::kMinCudaBufferKb, tracer::kMaxCudaBufferKb));
  app.add_flag("--force", options->record.force, "overwrite an existing run");
  app.footer([workload] {
    if (!workload->results().empty())
      further_help() = [name = workload->results().front()] { print_workload_help(name); };
    return std::string(
        "All other options go to the workload: stepscope profile WORKLOAD --help shows them");
  });

  return [options, &app] { return profile(*options, app.remaining()); };
}

}  // namespace stepscope::cli
