#include "trace/synth/truth_file.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>

namespace stepscope::synth {
namespace {

constexpr size_t kFlushBytes = 1U << 20;

base::Expected<void> cannot_write(std::string const& path) {
  return base::fail("{}: cannot write ({}), free disk space or choose another place with -o", path,
                    std::strerror(errno));
}

}  // namespace

std::string TruthFile::unfinished_path(std::string const& folder) {
  return fmt::format("{}/{}.tmp", folder, kTruthFileName);
}

TruthFile::TruthFile(std::string const& folder, Header const& header)
    : header_(header),
      path_(fmt::format("{}/{}", folder, kTruthFileName)),
      unfinished_path_(unfinished_path(folder)),
      file_(std::fopen(unfinished_path_.c_str(), "wbe")) {}

base::Expected<TruthFile> TruthFile::create(std::string const& folder, Header const& header) {
  TruthFile truth(folder, header);
  if (!truth.file_) return base::fail_with(cannot_write(truth.path_));

  truth.put(R"({{"schema": 1, "pattern": "{}", "seed": {}, "ranks": {}, "events_per_rank": {},)"
            "\n",
            header.pattern, header.job.seed, header.job.ranks,
            header.events_per_rank ? fmt::format("{}", *header.events_per_rank) : "null");

  int32_t const straggler =
      header.job.is_tuned() ? -1 : straggler_of(header.job.seed, header.job.ranks);
  if (straggler >= 0) {
    truth.put(
        R"("straggler": {{"rank": {}, "first_step": {}, "last_step": {}, "every_steps": {}, "slowdown_permille": {}}},)"
        "\n",
        straggler, kFirstStragglerStep, kLastStragglerStep, kCycle, kStragglerPermille);
  } else {
    truth.put("\"straggler\": null,\n");
  }

  truth.put("\"steps\": [");
  return truth;
}

base::Expected<void> TruthFile::add_step(int32_t rank, int64_t step, TimeTruth const& truth,
                                         StepFaults const& faults) {
  put("{}\n{{\"rank\": {}, \"step\": {}, ", has_steps_ ? "," : "", rank, step);
  has_steps_ = true;
  put_time(truth);

  if (faults.cost_ns > 0) {
    put(R"(, "injected": {{"cause": "{}", "ns": {}}})", to_string(faults.cause), faults.cost_ns);
  } else {
    put(R"(, "injected": null)");
  }

  put(R"(, "straggler": {}}})", faults.straggler);
  return buffer_.size() < kFlushBytes ? base::Expected<void>() : flush();
}

base::Expected<void> TruthFile::finish(Schedule const& schedule, int64_t steps,
                                       std::span<Process const> processes,
                                       std::optional<FaultTruth> const& fault) {
  put("\n],\n");
  if (fault) put_fault(*fault);
  put_collectives(schedule, steps);

  put("\"devices\": [");
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    put("{}\n", rank == 0 ? "" : ",");
    put_device(static_cast<int32_t>(rank), processes[rank]);
  }
  put("\n]}}\n");

  if (auto const done = flush(); !done) return done;
  if (std::fclose(file_.release()) != 0) return cannot_write(path_);
  if (std::rename(unfinished_path_.c_str(), path_.c_str()) != 0) return cannot_write(path_);
  return {};
}

void TruthFile::put_fault(FaultTruth const& fault) {
  FaultKind const& kind = *header_.job.fault->kind;
  auto const text = [](std::string_view word) {
    return word.empty() ? std::string("null") : fmt::format("\"{}\"", word);
  };

  std::string_view const finding = finding_of(kind, header_.pattern, header_.job.ranks);
  int32_t const rank = rank_of_fault(header_.job);

  put(R"("fault": {{"name": "{}", "amount": {}, "unit": {}, "rank": {}, "expected_finding": {}, )",
      kind.name, header_.job.fault->amount, text(kind.unit),
      rank < 0 ? "null" : fmt::format("{}", rank), text(finding));

  bool const has_cost = kind.has_cost || (kind.type == FaultType::kNone && !finding.empty());
  put(R"("step_ns": {}, "step_ns_without": {}, "cost_ns_per_step": {}}},)"
      "\n",
      fault.step_ns, fault.without_ns,
      has_cost ? fmt::format("{}", fault.step_ns - fault.without_ns) : "null");
}

void TruthFile::put_time(TimeTruth const& truth) {
  put(R"("begin_ns": {}, "end_ns": {}, "busy_ns": {}, "compute_ns": {}, "comm_ns": {}, "copy_ns": {}, )",
      truth.window.begin, truth.window.end, truth.busy_ns, truth.compute_ns, truth.comm_ns,
      truth.copy_ns);
  put(R"("exposed_comm_ns": {}, "exposed_copy_ns": {}, "exposed_wait_ns": {}, "idle_ns": {{)",
      truth.exposed_comm_ns, truth.exposed_copy_ns, truth.exposed_wait_ns);
  for (size_t cause = 0; cause < kIdleCauseCount; ++cause)
    put(R"({}"{}": {})", cause == 0 ? "" : ", ", to_string(static_cast<IdleCause>(cause)),
        truth.idle_ns[cause]);
  put("}}");
}

void TruthFile::put_collectives(Schedule const& schedule, int64_t steps) {
  // (communicator, op, bytes) → collectives in a step; a send and its receive are one.
  std::map<std::tuple<uint64_t, model::CollectiveOp, uint64_t>, int64_t> per_step;
  std::vector<bool> seen(schedule.joins);

  for (Program const& program : schedule.programs) {
    for (CollectiveSpec const& spec : program.collectives) {
      if (seen[spec.join]) continue;
      seen[spec.join] = true;
      ++per_step[{
          spec.communicator,
          spec.kind == model::CollectiveOp::kReceive ? model::CollectiveOp::kSend : spec.kind,
          spec.bytes}];
    }
  }

  put("\"collectives\": [");
  char const* separator = "\n";

  for (auto const& [key, count] : per_step) {
    auto const& [communicator, op, bytes] = key;
    put(R"({}{{"communicator": {}, "op": "{}", "bytes": {}, "count": {}}})", separator,
        communicator, model::to_string(op), bytes, count * steps);
    separator = ",\n";
  }
  put("\n],\n");
}

void TruthFile::put_device(int32_t rank, Process const& process) {
  Counts const& counts = process.counts();
  put(R"({{"rank": {}, "file": "rank-{}.stepscope", "events": {}, "offset_ns": {}, )", rank, rank,
      process.event_count(), process.offset_ns());
  put(R"("kernels": {}, "copies": {}, "collectives": {}, "launches": {}, "peak_allocated_bytes": {}, )",
      counts.kernels, counts.copies, counts.collectives, counts.launches,
      process.peak_allocated_bytes());
  put_time(process.total());
  put("}}");
}

base::Expected<void> TruthFile::flush() {
  bool const good = std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) == buffer_.size();
  buffer_.clear();
  if (!good) return cannot_write(path_);
  return {};
}

}  // namespace stepscope::synth
