// Work that needs all events of a process and keeps little of them, such as sums. The program that
// has a process's file open does it; as many processes are in memory as there are cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "run_loading/team/team.h"
#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/run_skeleton.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

/// Answers a question with the events of one process. Run time = trace time + `offset_ns`. From
/// several threads at once.
using ProcessWork = std::function<base::Expected<std::string>(
    std::string_view question, model::Trace const& trace, int64_t offset_ns)>;

struct ProcessQuestion {
  std::string text;
  file::ColumnSelection columns;  ///< at least these are read of the events
};
template <class Archive>
void pack_fields(Archive& at, ProcessQuestion& question) {
  auto& [text, columns] = question;
  at(text, columns);
}

struct WorkedRun {
  std::vector<std::string> answers;  ///< of the run's processes
  model::Run run;                    ///< without events: what it and its processes note
};

/// The answers of all processes that give one; the run's notes name the others. `team` may be null;
/// its helpers have the same `work` (help()). Errors: the first one, where no process answers; a
/// process of the team is gone.
base::Expected<WorkedRun> work_on_each_process(import::RunSources const& sources,
                                               ProcessQuestion const& question,
                                               ProcessWork const& work, Team* team);

struct WorkedProcess {
  std::string bytes;
  model::WholeOfSkeleton whole;
};
/// One process, whose file this program has open. Errors: those of reading and of the work.
base::Expected<WorkedProcess> work_on_process(import::RankSource const& source,
                                              ProcessQuestion const& question,
                                              ProcessWork const& work);

}  // namespace stepscope::run_loading
