// stepscope ps [RUN]: the processes that are being recorded, and how far they are.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "reports/text/layout.h"
#include "trace/base/format.h"
#include "trace/base/parse_time.h"
#include "tracer/requests/asking.h"
#include "tracer/requests/recorded_processes.h"

namespace stepscope::cli {
namespace {

using tracer::ProcessState;

struct PsCommand {
  std::string run, timeout = "2s";
  bool as_json = false;
};

/// Processes of one run. Who did not answer has said earlier how far it was.
struct Listed {
  std::string run;
  std::vector<ProcessState> processes;
  std::string problem;
};

char const* phase_text(ProcessState::Phase phase) {
  switch (phase) {
    case ProcessState::Phase::kWaiting:
      return "waits for a request";
    case ProcessState::Phase::kAsked:
      return "waits for its steps";
    case ProcessState::Phase::kRecording:
      return "records";
    case ProcessState::Phase::kKeeping:
      return "keeps a ring";
    case ProcessState::Phase::kEnded:
      return "has ended";
  }
  return "";
}

Listed list_run(std::string const& run, std::chrono::nanoseconds timeout) {
  Listed listed{.run = run};

  auto asking = tracer::Asking::begin(run);
  auto const answers = asking ? asking->ask(timeout) : base::fail_with(asking);
  if (answers) {
    listed.processes = *answers;
    return listed;
  }

  listed.problem = answers.error().message;
  for (ProcessState& process : tracer::read_process_states(run))
    if (tracer::may_live(process)) listed.processes.push_back(std::move(process));
  return listed;
}

/// The processes on this machine. One that is recorded without requests says nothing of its steps.
std::vector<Listed> list_machine(std::chrono::nanoseconds timeout) {
  std::map<std::string, Listed> by_run;
  std::set<std::string> asked;
  for (tracer::RecordedProcess const& process : tracer::recorded_processes()) {
    Listed& listed = by_run[process.run];
    listed.run = process.run;
    if (process.is_on_request) {
      if (asked.insert(process.run).second) listed = list_run(process.run, timeout);
      continue;
    }
    listed.processes.push_back({.host = process.host,
                                .process_id = process.process_id,
                                .rank = process.rank.value_or(-1),
                                .command = process.command,
                                .phase = ProcessState::Phase::kRecording});
  }

  std::vector<Listed> all;
  for (auto& [run, listed] : by_run) all.push_back(std::move(listed));
  return all;
}

void print_text(std::vector<Listed> const& runs) {
  reports::Paint const paint{use_color(), terminal_width()};
  for (Listed const& listed : runs) {
    std::printf("%s\n", base::printable(listed.run).c_str());

    std::vector<std::vector<std::string>> rows = {
        {"rank", "process", "host", "step", "step time", "state"}};
    for (ProcessState const& process : listed.processes)
      rows.push_back(
          {process.rank < 0 ? "-" : std::to_string(process.rank),
           std::to_string(process.process_id), base::printable(process.host),
           process.step < 0 ? "-" : base::format_count(static_cast<uint64_t>(process.step)),
           process.step_ns > 0 ? base::format_duration(process.step_ns) : "-",
           phase_text(process.phase)});

    std::printf("%s", reports::aligned(rows, paint).c_str());
    if (!listed.problem.empty())
      std::fprintf(stderr, "stepscope: %s\n", base::printable(listed.problem).c_str());
  }
}

void print_json(std::vector<Listed> const& runs) {
  nlohmann::json all = nlohmann::json::array();
  for (Listed const& listed : runs) {
    nlohmann::json processes = nlohmann::json::array();
    for (ProcessState const& process : listed.processes)
      processes.push_back(nlohmann::json::parse(tracer::to_text(process)));
    all.push_back({{"run", listed.run}, {"processes", processes}, {"problem", listed.problem}});
  }
  std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int ps(PsCommand const& options) {
  auto const timeout = base::parse_duration(options.timeout, "--timeout");
  if (!timeout) return report_error(timeout.error());
  std::chrono::nanoseconds const patience(*timeout);

  auto const runs = options.run.empty() ? list_machine(patience)
                                        : std::vector<Listed>{list_run(options.run, patience)};
  if (!options.run.empty() && runs.front().processes.empty())
    return report_error({runs.front().problem});
  if (options.as_json)
    print_json(runs);
  else if (runs.empty())
    std::printf("stepscope: no process of yours is being recorded on this machine\n");
  else
    print_text(runs);
  return kGood;
}

}  // namespace

Action add_ps(CLI::App& app) {
  auto const options = std::make_shared<PsCommand>();
  app.footer("Steps are known of programs that are recorded with --on-request or --ring.");
  app.add_option(
      "RUN", options->run,
      "only the processes of this run, on all machines (default: yours on this machine)");
  app.add_option("--timeout", options->timeout, "wait so long for the answer of a process")
      ->capture_default_str();
  app.add_flag("--json", options->as_json, "print JSON");
  return [options] { return ps(*options); };
}

}  // namespace stepscope::cli
