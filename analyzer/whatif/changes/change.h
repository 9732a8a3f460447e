// A change of a run as one writes it on a command line, "kernel:gemm=/1.5" (docs/guide/WHATIF.md
// has the list): what is changed, which of it, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/scaling/collective_law.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

enum class ChangeKind : uint8_t {
  kKernel,      ///< kernel:REGEX=HOW     kernels whose name has a match
  kClass,       ///< class:compute=HOW    all device ops of a class: compute, communication, copy
  kBandwidth,   ///< comm:bandwidth=*2    what collectives and messages take beyond their latency
  kLatency,     ///< comm:latency=HOW     what they take whatever their size
  kCollective,  ///< collective:OP=HOW    transfers of one operation: all_reduce, send, …
  kBucket,      ///< bucket=25MiB         all-reduces in a row merge up to this size
  kRanks,       ///< ranks=16[:same-batch]  so many ranks, each with the same work, or all together
  kMicroBatches,  ///< micro-batches=16[:same-size]  so many of a step's batch, or of the same size
  kBatch,         ///< batch:RUN,PROBE=N  so many samples a step, by two runs of other numbers
  kStages,        ///< stages=balanced    stages of a pipeline compute for as long
  kOverlap,       ///< overlap              all-reduces begin as soon as their gradients are there
  kStraggler,     ///< straggler=RANK|median  kernels of a rank, or of all, as long as on the others
  kImbalance,     ///< imbalance=mean       in each step every device computes for as long
  kHostRange,     ///< host:NAME=HOW        the host's own time in ranges of that name
  kInput,         ///< input=HOW            the host's waiting for training data
  kSync,          ///< sync=off             no call waits for the device but each step's last
  kCopies,        ///< copies=HOW           copies, and calls that wait for them
  kAllocation,    ///< alloc=HOW            calls that allocate or free device memory
  kLaunch         ///< launch=HOW           the host's time from launch to launch (CUDA graphs: 0)
};

/// How a duration changes: by a factor, or to an amount.
struct HowMuch {
  double factor = 1;                 ///< new duration / old one; ≥ 0
  std::optional<int64_t> amount_ns;  ///< instead of it
  /// To the nearest ns, at most model::kMaxTime.
  [[nodiscard]] int64_t of(int64_t ns) const;
};

/// Samples of a step, or what else kernels work on more of: of the run, of the probe, and wanted.
struct BatchSizes {
  double run = 0, probe = 0, asked = 0;
};

struct WhatIfChange {
  ChangeKind kind = ChangeKind::kKernel;
  /// A regular expression (std::regex compiles it), a class, an operation's to_string() or a name;
  /// else empty. Hostile text, as is `text`.
  std::string selector;
  HowMuch how;                  ///< of the duration: "bandwidth=*2" is factor 0.5
  std::optional<int32_t> rank;  ///< of kStraggler: a rank, or in a run of one process a device;
                                ///< none = median
  uint64_t bytes = 0;           ///< of kBucket
  uint32_t ranks = 0;           ///< of kRanks
  uint32_t micro_batches = 0;   ///< of kMicroBatches
  BatchSizes batch;             ///< of kBatch: all above 0, and the first two differ
  bool keeps_batch = false;  ///< of kRanks and kMicroBatches: a step does the work that it does now
  std::optional<CollectiveLaw> law;  ///< of kRanks, where measurements tell; never written
  std::string text;                  ///< as it was written
};

/// HOW is "/1.5", "*2", "0", "off", "5us", "2ms", "300ns". Factors are at most 1e6, and amounts at
/// most model::kMaxTime. Errors: not of that form, with what would be; an impossible value; a
/// change that is known and not predicted yet.
base::Expected<WhatIfChange> parse_change(std::string_view text);
/// Several changes, separated by blanks or lines: all of them at once. One that has a blank itself
/// stands in double or single quotes, as in a shell. Errors: those of the first wrong one, and of
/// check_together().
base::Expected<std::vector<WhatIfChange>> parse_changes(std::string_view text);
/// Errors: two of them set the same thing, so that one of them would do nothing.
base::Expected<void> check_together(std::span<WhatIfChange const> changes);
/// The text that parse_changes() reads as these.
std::string written_changes(std::span<std::string const> changes);

}  // namespace stepscope::analyzer
