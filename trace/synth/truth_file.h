// truth.json: what is true of a made run, beside its traces (docs/reference/SYNTH.md). Written as
// the run is made, a line a step and rank.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "trace/base/expected.h"
#include "trace/synth/process/faults.h"
#include "trace/synth/process/process.h"
#include "trace/synth/process/program.h"

namespace stepscope::synth {

inline constexpr char kTruthFileName[] = "truth.json";

/// Mean steps of a job of one fault, after the first: with it and without.
struct FaultTruth {
  int64_t step_ns = 0, without_ns = 0;
};

/// Nobody sees half of it: it gets its name when it is finished. Errors: the folder cannot be
/// written, the disk is full.
class TruthFile {
 public:
  struct Header {
    std::string_view pattern;
    Job job;
    std::optional<uint64_t> events_per_rank;  ///< as asked for; none where steps were
  };
  static base::Expected<TruthFile> create(std::string const& folder, Header const& header);
  /// What it is called until then.
  static std::string unfinished_path(std::string const& folder);

  base::Expected<void> add_step(int32_t rank, int64_t step, TimeTruth const& truth,
                                StepFaults const& faults);
  /// `fault`: of a job of one fault.
  base::Expected<void> finish(Schedule const& schedule, int64_t steps,
                              std::span<Process const> processes,
                              std::optional<FaultTruth> const& fault);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  TruthFile(std::string const& folder, Header const& header);
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
  }
  void put_time(TimeTruth const& truth);
  void put_collectives(Schedule const& schedule, int64_t steps);
  void put_device(int32_t rank, Process const& process);
  void put_fault(FaultTruth const& fault);
  base::Expected<void> flush();

  Header header_;
  std::string path_, unfinished_path_;
  std::unique_ptr<std::FILE, Close> file_;
  fmt::memory_buffer buffer_;
  bool has_steps_ = false;
};

}  // namespace stepscope::synth
