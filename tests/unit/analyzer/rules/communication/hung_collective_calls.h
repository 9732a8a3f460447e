// Recordings of collective calls and what the rule hung-collective reports about them, for its
// tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "reports/words/wording.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer::hung_collective_tests {

using model::CollectiveOp;
using model::CollectiveState;

struct MadeCall {
  uint64_t sequence;
  CollectiveState state = CollectiveState::kCompleted;
  CollectiveOp op = CollectiveOp::kAllReduce;
  uint64_t communicator = 7;
  uint64_t bytes = 0;  ///< of floats; 0 = not known
};

inline constexpr CollectiveState kPending = CollectiveState::kEnqueued;

/// ns; longer than any pause of a host and than any completed call of these tests.
inline constexpr int64_t kLong = 1'000'000'000;
inline constexpr int64_t kMs = 1'000'000;

/// One call a millisecond, which completes after half a millisecond, and one trace a rank. A trace
/// ends `waited_ns` after its first pending call, or with its last call if that is later. The clock
/// offset of a rank is its number in ns.
inline model::Run calls_of_ranks(std::vector<std::vector<MadeCall>> const& ranks,
                                 uint32_t participants, int64_t waited_ns = kLong) {
  model::Run run;
  for (size_t r = 0; r < ranks.size(); ++r) {
    model::TraceBuilder builder;
    builder.info().rank = static_cast<int32_t>(r);
    model::TrackId const track = builder.add_track(
        {model::TrackKind::kThread, "calls of group 0 (default_pg)", 0, -1, {}, 0});

    auto const is_pending = [](MadeCall const& call) {
      return call.state != CollectiveState::kCompleted;
    };
    auto const first_pending =
        std::find_if(ranks[r].begin(), ranks[r].end(), is_pending) - ranks[r].begin();
    int64_t const end = std::max((first_pending + 1) * kMs + waited_ns,
                                 static_cast<int64_t>(ranks[r].size()) * kMs);

    int64_t at = 0;
    for (MadeCall const& call : ranks[r]) {
      model::CollectiveDetail detail;
      detail.communicator = call.communicator;
      detail.sequence = call.sequence;
      detail.op = call.op;
      detail.participants = participants;
      detail.rank = static_cast<int32_t>(r);
      detail.state = call.state;
      detail.bytes = call.bytes;
      if (call.bytes > 0) detail.data_type = model::DataType::kFloat32;

      at += kMs;
      builder.events(track).add(model::EventKind::kCollectiveCall, at,
                                is_pending(call) ? end - at : kMs / 2,
                                builder.intern(model::to_string(call.op)), 0, detail);
    }
    run.ranks.push_back({std::move(builder).finish(), static_cast<int64_t>(r), ""});
  }
  return run;
}

/// The calls 1 to `last`; the first `completed` of them are completed.
inline std::vector<MadeCall> calls_until(uint64_t last, uint64_t completed) {
  std::vector<MadeCall> calls;
  for (uint64_t n = 1; n <= last; ++n)
    calls.push_back({n, n <= completed ? CollectiveState::kCompleted : kPending});
  return calls;
}

struct HungReport {
  Finding finding;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> subjects;
  std::string words;
};

inline std::vector<HungReport> hung_in(model::Run const& run) {
  Analysis const analysis = analyze(run);
  std::vector<HungReport> all;

  for (Finding const& finding : analysis.findings) {
    if (finding.rule != "hung-collective") continue;
    all.push_back({finding,
                   {finding.metrics.begin(), finding.metrics.end()},
                   {finding.subjects.begin(), finding.subjects.end()},
                   reports::words_of(run, analysis, finding).explanation});
  }
  return all;
}

}  // namespace stepscope::analyzer::hung_collective_tests
