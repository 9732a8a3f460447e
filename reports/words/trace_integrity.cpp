#include "reports/words/trace_integrity.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Sums over the ranks' logs.
struct Faults {
  uint64_t events = 0, dropped = 0, lost_blocks = 0, truncated = 0, unmatched_launches = 0,
           unmatched_ops = 0, doubled_launches = 0, negative_latencies = 0, overlapping = 0,
           negative_durations = 0, impossible_times = 0, empty = 0;
};

Faults faults_of(model::Run const& run) {
  Faults sum;
  for (model::RankTrace const& rank : run.ranks) {
    model::ImportLog const& log = rank.trace.log();

    sum.events += rank.trace.whole_event_count();
    sum.dropped += log.dropped;
    sum.lost_blocks += log.lost_blocks;
    sum.truncated += log.truncated ? 1 : 0;
    sum.unmatched_launches += log.unmatched_launches;
    sum.unmatched_ops += log.unmatched_ops;
    sum.doubled_launches += log.doubled_launches;
    sum.negative_latencies += log.negative_latencies;
    sum.overlapping += log.overlapping_slices;
    sum.negative_durations += log.negative_durations;
    sum.impossible_times += log.impossible_times;
    sum.empty += rank.trace.whole_event_count() == 0 ? 1 : 0;
  }

  return sum;
}

struct Meaning {
  uint64_t Faults::*count;
  char const* one;   ///< behind the count 1
  char const* many;  ///< and behind others
  char const* weakens;
  char const* holds;
};

/// Ordered by how much they weaken conclusions, the worst first.
constexpr std::array kMeanings = {
    Meaning{&Faults::empty, "trace without events", "traces without events",
            "everything about this process: "
            "it did nothing while it was recorded, or the recording failed",
            "everything about the other processes"},
    Meaning{
        &Faults::impossible_times, "event with an impossible time", "events with impossible times",
        "windows, shares of the window, everything near their ends", "lengths of single events"},
    Meaning{&Faults::lost_blocks, "damaged block of the file", "damaged blocks of the file",
            "every sum over the time that they covered: the split, kernels, memory",
            "everything outside of that time"},
    Meaning{&Faults::dropped, "event lost", "events lost",
            "counts, sums and the time split are too low where they were; a lost op looks like "
            "idle time",
            "lengths and order of the remaining events"},
    Meaning{&Faults::negative_latencies, "device op that begins before its launch",
            "device ops that begin before their launch",
            "launch latency, queue depth and the causes of idle time: the clocks of host and "
            "device disagree",
            "device times, overlap, communication"},
    Meaning{&Faults::unmatched_ops, "device op whose launch is not in the trace",
            "device ops whose launch is not in the trace",
            "which step they belong to and why the device was idle before them",
            "device times, overlap, communication"},
    Meaning{&Faults::doubled_launches, "launch with the id of an earlier one",
            "launches with the id of an earlier one",
            "the launch that a device op belongs to, and so its step and the causes of idle time",
            "device times, overlap, communication"},
    Meaning{&Faults::unmatched_launches, "launch whose device op is not in the trace",
            "launches whose device op is not in the trace",
            "the end of the steps that contain them, and idle time that their ops may have filled",
            "host activity"},
    Meaning{&Faults::overlapping, "device op that overlaps another on the same stream",
            "device ops that overlap another on the same stream",
            "the kernel that ran at an instant, and sums of durations",
            "busy and idle time, which are unions"},
    Meaning{&Faults::negative_durations, "event that ends before it begins, taken as an instant",
            "events that end before they begin, taken as instants", "the time of these events",
            "everything else"},
    Meaning{&Faults::truncated, "trace that was cut off or is still being written",
            "traces that were cut off or are still being written",
            "the last step and what came after it", "everything before"},
};

}  // namespace

std::vector<Weakness> weaknesses(model::Run const& run, analyzer::TraceIntegrity const& integrity) {
  Faults const faults = faults_of(run);
  std::vector<Weakness> found;

  for (Meaning const& meaning : kMeanings) {
    uint64_t const count = faults.*meaning.count;
    if (count == 0) continue;

    bool const is_of_events = meaning.count != &Faults::empty &&
                              meaning.count != &Faults::lost_blocks &&
                              meaning.count != &Faults::truncated;
    std::string fault =
        fmt::format("{} {}", base::format_count(count), count == 1 ? meaning.one : meaning.many);

    if (is_of_events) {
      double const share =
          static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(1, faults.events));
      fault += fmt::format(" ({} of all events)", base::format_share(share));
    }

    found.push_back({std::move(fault), meaning.weakens, meaning.holds});
  }
  if (!integrity.missing_ranks.empty())
    found.push_back({fmt::format("{} of the job not in the run",
                                 base::format_count(integrity.missing_ranks.size(), "rank")),
                     "late ranks, waiting, bandwidth and scaling: a missing rank may be the cause",
                     "the time split, idle causes and memory of the other ranks"});

  return found;
}

}  // namespace stepscope::reports
