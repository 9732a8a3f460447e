// How a capture is asked for: the environment contract between `stepscope record` and the library
// inside the traced process.
//   STEPSCOPE_OUTPUT          the run's folder; not set = nothing is recorded
//   STEPSCOPE_TRACER          the library's file, for programs that start and stop it themselves
//   STEPSCOPE_STEPS           A:B, both inclusive: only these steps; A:B,C:D: in several windows
//   STEPSCOPE_EVERY_STEPS     N: those of STEPSCOPE_STEPS again N steps later, 2 N and so on
//   STEPSCOPE_ON_REQUEST      1: only the steps that `stepscope trigger` asks for, each time in a
//                             window of its own
//   STEPSCOPE_RING            what to keep in memory and when to write it (flight_options.h)
//   STEPSCOPE_STREAM          1: a record of each step is written (trace/stream), and without
//                             STEPSCOPE_RING nothing else
//   STEPSCOPE_RANGE           NAME or NAME@DOMAIN: only while the first NVTX range of it is open
//   STEPSCOPE_DELAY_NS        only from this long after the program's first event
//   STEPSCOPE_FROM_CODE       1: only from cudaProfilerStart to cudaProfilerStop, or from and to
//                             the calls of tracer/api/capture.h; repeat: as often as they come,
//                             each time in a window of its own
//   STEPSCOPE_DURATION_NS     only this long
//   STEPSCOPE_BUFFER_MB       memory for events on their way to the file, all threads together
//   STEPSCOPE_SAMPLE_MS       how often the counters of the GPUs are read; 0 = not at all
//   STEPSCOPE_NCCL            off, calls or network: what NCCL reports; not set = network
//   STEPSCOPE_NCCL_PLUGIN     the profiler plugin of NCCL that the user chose: ours passes calls on
//   STEPSCOPE_CUDA_BUFFER_MB  memory for what CUDA reports, on top of that
//   STEPSCOPE_CUDA_BUFFER_KB  of each of the buffers that it is cut into
//   STEPSCOPE_CUDA_HES        the GPU's own timestamps where it has them (Blackwell and later):
//                             1 = yes, 0 = no, not set = from CUDA 13.4 Update 1 on where CUPTI
//                             is taken alone
//   STEPSCOPE_CUPTI_SHARED    0: CUPTI is taken alone, though other tools could record beside us
//   STEPSCOPE_CUPTI_FINALIZE  1: CUPTI leaves the process when recording ends, where that is safe
//   STEPSCOPE_TURN_SOCKET     name of the command's socket (sockets/local_socket.h), and
//   STEPSCOPE_TURN_STEPS      steps: the program takes turns with another one, see interleave.h
//   STEPSCOPE_REPORT_LOSS     (or STEPSCOPE_VERBOSE) one line on stderr at exit when something was
//                             lost
//   RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID, PMI_RANK name the file and the rank
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "tracer/core/capture_window.h"
#include "tracer/core/flight/flight_options.h"

namespace stepscope::tracer {

/// The library that is loaded into traced programs.
inline constexpr std::string_view kTracerLibrary = "libstepscope-tracer.so";
/// Whichever is set first tells the process's rank in its job.
inline constexpr std::array<char const*, 4> kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK",
                                                              "SLURM_PROCID", "PMI_RANK"};
inline constexpr char const* kTracerVariable = "STEPSCOPE_TRACER";
inline constexpr char const* kOutputVariable = "STEPSCOPE_OUTPUT";
inline constexpr char const* kStepsVariable = "STEPSCOPE_STEPS";
inline constexpr char const* kEveryVariable = "STEPSCOPE_EVERY_STEPS";
inline constexpr char const* kOnRequestVariable = "STEPSCOPE_ON_REQUEST";
inline constexpr char const* kRingVariable = "STEPSCOPE_RING";
inline constexpr char const* kStreamVariable = "STEPSCOPE_STREAM";
inline constexpr char const* kRangeVariable = "STEPSCOPE_RANGE";
inline constexpr char const* kDelayVariable = "STEPSCOPE_DELAY_NS";
inline constexpr char const* kFromCodeVariable = "STEPSCOPE_FROM_CODE";
inline constexpr std::string_view kRepeats = "repeat";  ///< a value of it
inline constexpr char const* kDurationVariable = "STEPSCOPE_DURATION_NS";
inline constexpr char const* kBufferVariable = "STEPSCOPE_BUFFER_MB";
inline constexpr char const* kSampleVariable = "STEPSCOPE_SAMPLE_MS";
inline constexpr char const* kSamplerVariable = "STEPSCOPE_SAMPLER";
inline constexpr char const* kNcclVariable = "STEPSCOPE_NCCL";
inline constexpr char const* kOtherNcclPluginVariable = "STEPSCOPE_NCCL_PLUGIN";
inline constexpr char const* kCudaBufferVariable = "STEPSCOPE_CUDA_BUFFER_MB";
inline constexpr char const* kCudaBufferSizeVariable = "STEPSCOPE_CUDA_BUFFER_KB";
inline constexpr char const* kTurnSocketVariable = "STEPSCOPE_TURN_SOCKET";
inline constexpr char const* kTurnStepsVariable = "STEPSCOPE_TURN_STEPS";
inline constexpr char const* kReportLossVariable = "STEPSCOPE_REPORT_LOSS";
inline constexpr char const* kVerboseVariable = "STEPSCOPE_VERBOSE";

/// Two threads at 10 M ranges/s of 24 bytes for half a second: what the writer may be kept from its
/// work.
inline constexpr size_t kDefaultBufferMb = 256;
/// More than any machine's memory: a larger number is a mistake.
inline constexpr size_t kMaxBufferMb = 1 << 20;

/// Some samples a training step of ordinary length. A round of NVML calls takes about a millisecond
/// a GPU, in the process of the command that records: a hundredth of a core.
inline constexpr int32_t kDefaultSampleMs = 100, kMaxSampleMs = 3'600'000;

/// Whether this value of NCCL_PROFILER_PLUGIN means that the user wants no plugin at all. NCCL
/// reads it so: "none" in any case.
bool means_no_nccl_plugin(std::string_view value);

/// What NCCL reports: nothing, its calls, or its calls and what its network threads wait for (they
/// call us five times a transfer, some 10 ns each).
enum class NcclDetail : uint8_t { kOff, kCalls, kNetwork };

/// A million launches a second, of some 300 bytes each, for most of a second.
inline constexpr size_t kDefaultCudaBufferMb = 256;
/// Large enough that a thread asks for one a few hundred times a second at most. Small enough that
/// an ordinary training loop fills one in about a second: CUPTI returns a buffer when it is full,
/// or when nothing in it still runs.
inline constexpr size_t kDefaultCudaBufferBytes = 256 << 10;
/// CUPTI's largest records have some hundred bytes and it asks for a buffer on the program's
/// thread: not for every few of them.
inline constexpr size_t kMinCudaBufferKb = 16, kMaxCudaBufferKb = 1 << 20;
/// The fact of a trace whose window never opened: what is in it is only what later events would
/// have needed.
inline constexpr char const* kNeverBeganFact = "recorded part never began";
// The setting to enlarge, as messages name it.
inline constexpr std::string_view kBufferSetting = "STEPSCOPE_BUFFER_MB (--buffer-mb)";
inline constexpr std::string_view kCudaBufferSetting =
    "STEPSCOPE_CUDA_BUFFER_MB (--cuda-buffer-mb)";

struct CaptureOptions {
  std::string folder;
  WindowOptions window;
  std::optional<FlightOptions> ring;  ///< instead of a window
  bool stream = false;                ///< a record a step; without a ring nothing else
  size_t buffer_bytes = kDefaultBufferMb << 20;
  size_t cuda_buffers_bytes = kDefaultCudaBufferMb << 20;  ///< all of CUPTI's buffers together
  size_t cuda_buffer_bytes = kDefaultCudaBufferBytes;      ///< each of them
  std::optional<int32_t> rank;
  int32_t world_size = 1;
  std::vector<std::pair<std::string, std::string>> job_labels;  ///< facts (job_labels.h)
  NcclDetail nccl = NcclDetail::kNetwork;
  int32_t sample_ms = kDefaultSampleMs;  ///< 0 = no counters of GPUs
  std::string sampler;       ///< where who reads them is reached (nvml/sampling_service.h)
  std::string turn_address;  ///< of the command (local_socket.h); empty = the program has no turns
  int64_t turn_steps = 1;
  bool report_loss = false;
  bool forked = false;  ///< the process is a fork of a traced one: never takes the rank's file name
};

/// Events wait in memory for seconds or minutes, so that signals that end the program let them be
/// written first.
inline bool keeps_events_back(CaptureOptions const& options) {
  return options.stream || options.ring;
}

/// "A:B", "A:" or ":B", both inclusive. Errors: not numbers, negative, or B < A.
base::Expected<StepRange> parse_steps(std::string const& text);
/// Several of them with commas between, each behind the one before and at least a step away from
/// it, as its file is written meanwhile. Errors: as above; not in this order.
base::Expected<std::vector<StepRange>> parse_step_ranges(std::string const& text);

/// "off", "calls" or "network". Errors: anything else.
base::Expected<NcclDetail> parse_nccl_detail(std::string const& text);

/// This process's rank in its job, from the first of RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID,
/// PMI_RANK that is set.
std::optional<int32_t> rank_from_environment();

/// Nothing when STEPSCOPE_OUTPUT is not set. A malformed variable counts as not set: `stepscope
/// record` checks them beforehand.
std::optional<CaptureOptions> options_from_environment();

/// Whether this process may write a run's file of that name: any, or, as one rank of a job that
/// shares the folder, that rank's traces.
bool is_own_run_file(std::string_view file_name);

/// The n-th choice of file name for this process; a file that exists is never overwritten, so the
/// next choice is tried.
std::string trace_file_name(CaptureOptions const& options, int64_t process_id, int64_t attempt);

}  // namespace stepscope::tracer
