// `stepscope record --in-turn`: records two programs that train some steps in turn, so that what
// the machine does meanwhile, it does to both (docs/design/decisions/0028-turns-of-steps.md). While
// one trains the other is stopped, all of its processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "tracer/record.h"

namespace stepscope::tracer {

/// One of the two.
struct InterleavedProgram {
  std::string output;  ///< its run's folder
  std::vector<std::string> command;
};

/// `options` has what both share; its output does not count, and no part may be chosen. A turn has
/// `turn_steps` steps of each process that annotates steps. Turns end, and both programs go on
/// beside each other, when one program ends, or keeps its turn too long. The command reports that.
/// The exit code is that of the first program that failed, else 0.
base::Expected<int> record_interleaved(RecordOptions const& options, int64_t turn_steps,
                                       InterleavedProgram const& first,
                                       InterleavedProgram const& second);

}  // namespace stepscope::tracer
