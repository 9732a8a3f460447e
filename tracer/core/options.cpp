#include "tracer/core/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "trace/base/files/run_folder.h"
#include "tracer/core/process/job_labels.h"

namespace stepscope::tracer {
namespace {

template <class Int>
std::optional<Int> parse_int(std::string_view text) {
  Int value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

template <class Int, size_t N>
std::optional<Int> first_number_of(std::array<char const*, N> const& variables) {
  for (char const* const name : variables) {
    char const* const text = std::getenv(name);
    if (text == nullptr) continue;
    if (auto const value = parse_int<Int>(text); value && *value >= 0) return value;
  }
  return {};
}

/// What the variable says, from `least` to `most`; nothing when it is not set or malformed.
std::optional<size_t> size_from_environment(char const* variable, size_t least, size_t most) {
  char const* const text = std::getenv(variable);
  if (text == nullptr) return {};
  auto const size = parse_int<size_t>(text);
  return size && *size >= least && *size <= most ? size : std::nullopt;
}

/// What the variable says in MB; `otherwise` when it is not set or malformed.
size_t buffer_bytes(char const* variable, size_t otherwise) {
  auto const megabytes = size_from_environment(variable, 1, kMaxBufferMb);
  return megabytes ? *megabytes << 20 : otherwise;
}

bool is_set(char const* variable) {
  char const* const text = std::getenv(variable);
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

std::optional<int64_t> time_from_environment(char const* variable) {
  return first_number_of<int64_t>(std::array<char const*, 1>{variable});
}

void set_turns_from_environment(CaptureOptions& options) {
  char const* const text = std::getenv(kTurnSocketVariable);
  auto const steps = first_number_of<int64_t>(std::array<char const*, 1>{kTurnStepsVariable});
  if (text == nullptr || !steps || *steps < 1) return;

  options.turn_address = text;
  options.turn_steps = *steps;
}

WindowOptions window_from_environment() {
  WindowOptions window;
  if (char const* const text = std::getenv(kStepsVariable); text != nullptr) {
    if (auto const ranges = parse_step_ranges(text)) {
      window.steps = ranges->front();
      window.later_steps.assign(ranges->begin() + 1, ranges->end());
    }
  }
  if (auto const every = first_number_of<int64_t>(std::array<char const*, 1>{kEveryVariable});
      every && window.steps)
    window.every_steps = *every;
  if (is_set(kOnRequestVariable) && !window.steps) {
    window.on_request = true;
    window.steps = kNoSteps;
  }

  if (char const* const text = std::getenv(kRangeVariable); text != nullptr) window.range = text;
  window.delay_ns = time_from_environment(kDelayVariable);
  window.duration_ns = time_from_environment(kDurationVariable);
  window.from_code = is_set(kFromCodeVariable);
  window.code_repeats = window.from_code && std::getenv(kFromCodeVariable) == kRepeats;
  return window;
}

}  // namespace

base::Expected<StepRange> parse_steps(std::string const& text) {
  size_t const colon = text.find(':');
  if (colon == std::string::npos || text.size() == 1)
    return base::fail("--steps {}: write it as A:B, the first and the last step to record", text);

  StepRange range;
  std::string const first = text.substr(0, colon);
  std::string const last = text.substr(colon + 1);
  auto const a = first.empty() ? std::optional<int64_t>(range.first) : parse_int<int64_t>(first);
  auto const b = last.empty() ? std::optional<int64_t>(range.last) : parse_int<int64_t>(last);

  if (!a || !b || *a < 0 || *b < *a)
    return base::fail(
        "--steps {}: write it as A:B with 0 <= A <= B, the first and the last step to record",
        text);
  return StepRange{*a, *b};
}

base::Expected<std::vector<StepRange>> parse_step_ranges(std::string const& text) {
  std::vector<StepRange> ranges;
  for (size_t begin = 0; begin <= text.size();) {
    size_t const end = std::min(text.find(',', begin), text.size());
    auto const range = parse_steps(text.substr(begin, end - begin));
    if (!range) return base::fail_with(range);

    if (!ranges.empty() && range->first - 1 <= ranges.back().last)
      return base::fail(
          "--steps {}: begin each window behind the one before, with a step or more between them: "
          "its file is written meanwhile",
          text);
    ranges.push_back(*range);
    begin = end + 1;
  }
  return ranges;
}

base::Expected<NcclDetail> parse_nccl_detail(std::string const& text) {
  if (text == "off") return NcclDetail::kOff;
  if (text == "calls") return NcclDetail::kCalls;
  if (text == "network") return NcclDetail::kNetwork;
  return base::fail("--nccl {}: write off, calls or network", text);
}

std::optional<int32_t> rank_from_environment() { return first_number_of<int32_t>(kRankVariables); }

std::optional<CaptureOptions> options_from_environment() {
  char const* const folder = std::getenv(kOutputVariable);
  if (folder == nullptr || *folder == '\0') return {};

  CaptureOptions options;
  options.folder = folder;
  options.window = window_from_environment();
  if (char const* const text = std::getenv(kRingVariable); text != nullptr)
    options.ring = from_variable(text);
  options.stream = is_set(kStreamVariable);

  options.buffer_bytes = buffer_bytes(kBufferVariable, options.buffer_bytes);
  options.cuda_buffers_bytes = buffer_bytes(kCudaBufferVariable, options.cuda_buffers_bytes);
  if (auto const kib =
          size_from_environment(kCudaBufferSizeVariable, kMinCudaBufferKb, kMaxCudaBufferKb))
    options.cuda_buffer_bytes = *kib << 10;

  if (char const* const text = std::getenv(kSampleVariable); text != nullptr) {
    if (auto const period = parse_int<int32_t>(text); period && *period >= 0)
      options.sample_ms = *period;
  }
  if (char const* const text = std::getenv(kSamplerVariable); text != nullptr)
    options.sampler = text;
  if (char const* const text = std::getenv(kNcclVariable); text != nullptr) {
    if (auto const detail = parse_nccl_detail(text)) options.nccl = *detail;
  }

  set_turns_from_environment(options);
  options.rank = rank_from_environment();
  options.world_size =
      first_number_of<int32_t>(std::array<char const*, 4>{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
                                                          "SLURM_NTASKS", "PMI_SIZE"})
          .value_or(1);
  options.job_labels = job_labels();
  options.report_loss = is_set(kReportLossVariable) || is_set(kVerboseVariable);
  return options;
}

bool means_no_nccl_plugin(std::string_view value) {
  constexpr std::string_view kNone = "none";
  return std::equal(value.begin(), value.end(), kNone.begin(), kNone.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

bool is_own_run_file(std::string_view file_name) {
  auto const rank = rank_from_environment();
  if (!rank) return base::is_run_file(file_name);
  std::string const own = fmt::format("rank-{}", *rank);
  return base::is_run_file(file_name) &&
         (file_name.starts_with(own + ".") || file_name.starts_with(own + "-"));
}

std::string trace_file_name(CaptureOptions const& options, int64_t process_id, int64_t attempt) {
  std::string const by_process = fmt::format("process-{}", process_id);
  if (options.rank && !options.forked) {
    if (attempt == 0) return fmt::format("rank-{}.stepscope", *options.rank);
    if (attempt == 1) return fmt::format("rank-{}-{}.stepscope", *options.rank, by_process);
    return fmt::format("rank-{}-{}-{}.stepscope", *options.rank, by_process, attempt);
  }
  return attempt == 0 ? by_process + ".stepscope"
                      : fmt::format("{}-{}.stepscope", by_process, attempt + 1);
}

}  // namespace stepscope::tracer
