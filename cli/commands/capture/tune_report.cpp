#include "cli/commands/tune_report.h"

#include <filesystem>

#include "cli/commands/capture/tune_folder.h"
#include "cli/commands/capture/tune_search.h"
#include "reports/html/tuning/tuning_page.h"
#include "trace/base/files/output_file.h"
#include "tune/command_line.h"

namespace stepscope::cli {
namespace {

std::string page_of_search(TuneFolder const& folder, tune::Study const& study,
                           std::string const& unpredicted, reports::ReportOptions const& options) {
  TunePlan const& plan = folder.plan();
  std::string const command =
      tune::shell_text(tune::command_for(plan.space, plan.words, study.best()));
  return reports::tuning_html({study, folder.path(), command, unpredicted}, options);
}

}  // namespace

bool holds_search(std::string const& folder) {
  std::error_code error;
  return TuneFolder::is_one(folder) || std::filesystem::exists(folder + "/trials.jsonl", error);
}

base::Expected<std::string> search_page(std::string const& folder,
                                        reports::ReportOptions const& options) {
  auto const found = TuneFolder::open(folder, true);
  if (!found) return base::fail_with(found);
  tune::Study study(found->plan().space, study_options(found->plan()), found->trials());
  tune::Action next;
  std::string const unpredicted = predict_next(study, next);
  return page_of_search(*found, study, unpredicted, options);
}

base::Expected<std::string> write_search_page(TuneFolder const& folder, tune::Study const& study,
                                              std::string const& unpredicted) {
  std::string path = folder.path() + "/tuning.html";
  std::string const page = page_of_search(folder, study, unpredicted, {});
  if (auto const written = base::write_file_atomically(path, page); !written)
    return base::fail_with(written);
  return path;
}

}  // namespace stepscope::cli
