#include "agent/tools/doubts.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/markdown/escape.h"
#include "reports/words/labels.h"
#include "reports/words/run_notes.h"
#include "reports/words/trace_integrity.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

/// More would push the answer itself out of sight.
constexpr size_t kMostDoubts = 20;

void add_absences(OpenRun const& run, std::vector<std::string>& doubts) {
  analyzer::Analysis const& analysis = run.analysis();
  if (analysis.devices.empty())
    doubts.emplace_back(
        "No device work is in the recording, so nothing is known about kernels, copies and idle "
        "devices.");
  if (analysis.steps.empty() && !analysis.devices.empty())
    doubts.emplace_back(
        "No step was recorded or found, so times are over each device's whole window, and no cost "
        "is one of a step.");
  if (analysis.step_source == analyzer::StepSource::kDetected)
    doubts.push_back(fmt::format(
        "The program marked no steps. Stepscope found them: {}. Step numbers are its own.",
        reports::step_source_label(analysis)));

  if (reports::count_ranks(run.run()) > 1 && analysis.collectives.empty())
    doubts.emplace_back(
        "No collective could be matched across ranks, so waiting for other ranks is not known.");
  bool const knows_memory = std::any_of(
      analysis.devices.begin(), analysis.devices.end(), [](analyzer::DeviceStats const& device) {
        return device.memory.peak_allocated_bytes || device.memory.peak_reserved_bytes;
      });
  if (!knows_memory && !analysis.devices.empty())
    doubts.emplace_back("The recording has no memory events, so memory use is not known.");
  if (!run.is_in_memory())
    doubts.emplace_back(
        "The run is large and was read process by process, so findings name no event ids; their "
        "SQL lists the events.");
}

}  // namespace

std::vector<std::string> doubts_of(OpenRun const& run) {
  std::vector<std::string> doubts;
  add_absences(run, doubts);
  for (std::string const& note : reports::run_notes(run.run(), run.analysis()))
    doubts.push_back(note);

  for (reports::Weakness const& each : reports::weaknesses(run.run(), run.analysis().integrity))
    doubts.push_back(fmt::format("{}: this weakens {}. Still reliable: {}.", each.fault,
                                 each.weakens, each.holds));
  for (std::string const& note : run.analysis().integrity.notes) doubts.push_back(note);
  for (std::string const& note : run.run().notes)
    if (std::find(doubts.begin(), doubts.end(), note) == doubts.end()) doubts.push_back(note);

  if (doubts.size() > kMostDoubts) {
    size_t const more = doubts.size() - kMostDoubts;
    doubts.resize(kMostDoubts);
    doubts.push_back(fmt::format("{} more notes: stepscope doctor RUN prints all.", more));
  }
  for (std::string& doubt : doubts) doubt = reports::shown(doubt, 600);
  return doubts;
}

std::string doubts_markdown(std::vector<std::string> const& doubts) {
  if (doubts.empty()) return {};
  std::string text = "\n### What this recording cannot tell, and notes\n\n";
  for (std::string const& doubt : doubts)
    text += fmt::format("- {}\n", reports::markdown_escape(doubt));
  return text;
}

}  // namespace stepscope::agent
