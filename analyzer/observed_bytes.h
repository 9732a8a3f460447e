// What a process that observes another one's devices is asked, and what it answers, as bytes: for
// programs of the same build that analyze a run together (trace/base/pack.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/observe_process.h"
#include "trace/base/pack.h"

namespace stepscope::analyzer {

/// What is asked about one process.
struct ProcessQuestion {
  int32_t rank_index = 0;
  bool has_devices = true;           ///< else it is asked for what its host did
  std::vector<KnownOfDevice> known;  ///< by device
  StepSource step_source = StepSource::kNone;
  bool has_layers = false;                     ///< HostSteps::layers is there
  std::vector<std::vector<HostStep>> threads;  ///< HostSteps::threads of this process
  AnalyzeOptions options;
};

/// Nothing where the bytes are no question.
std::string packed_question(ProcessQuestion const& question);
std::optional<ProcessQuestion> unpacked_question(std::string_view bytes);
void pack_answer(base::Packer& at, ObservedProcess const& observed);
void unpack_answer(base::Unpacker& at, ObservedProcess& observed);

/// Observes the process that is asked about. `skeleton`: of its trace, with the rows of
/// skeleton_rows(); `whole`: all of it. Errors: as of observe_process().
base::Expected<ObservedProcess> answer_question(ProcessQuestion question,
                                                model::RankTrace const& skeleton,
                                                model::RankTrace const& whole);

}  // namespace stepscope::analyzer
