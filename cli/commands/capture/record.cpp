// stepscope record -- CMD: runs any program with the tracer loaded into it.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/commands/recording.h"
#include "trace/base/parse_time.h"
#include "trace/base/shell_word.h"
#include "tracer/core/options.h"
#include "tracer/record.h"
#include "tracer/record_interleaved.h"

namespace stepscope::cli {
namespace {

base::Expected<void> set_time(std::string const& text, std::string_view option,
                              std::optional<int64_t>& ns) {
  if (text.empty()) return {};
  auto const parsed = base::parse_duration(text, option);
  if (!parsed) return base::fail_with(parsed);
  ns = *parsed;
  return {};
}

bool is_one_folder(std::string const& first, std::string const& second) {
  std::error_code error;
  return std::filesystem::weakly_canonical(first + "/", error) ==
         std::filesystem::weakly_canonical(second + "/", error);
}

/// The commands are separated as mpirun has it.
base::Expected<int> record_two(tracer::RecordOptions const& options,
                               std::string const& second_output, int64_t turn_steps,
                               std::vector<std::string> const& commands) {
  auto const colon = std::find(commands.begin(), commands.end(), ":");
  tracer::InterleavedProgram const first = {options.output, {commands.begin(), colon}};
  tracer::InterleavedProgram second = {second_output, {}};
  if (colon != commands.end()) second.command.assign(colon + 1, commands.end());

  if (std::find(second.command.begin(), second.command.end(), ":") != second.command.end())
    return base::fail("--in-turn: two programs, with one : between them");

  tracer::RecordOptions second_options = options;
  second_options.output = second_output;

  auto const first_folder = take_for_recording(options);
  if (!first_folder) return base::fail_with(first_folder);

  std::optional<base::OutputFolder> second_folder;
  if (!is_one_folder(options.output, second_output)) {  // that is refused below
    auto taken = take_for_recording(second_options);
    if (!taken) return base::fail_with(taken);
    second_folder.emplace(std::move(*taken));
  }

  return tracer::record_interleaved(options, turn_steps, first, second);
}

struct RecordCommand {
  tracer::RecordOptions record;
  std::string delay, duration, in_turn;
  std::string ring, slow_step, hang, ring_signal;
  bool has_ring = false, on_nan = false;
  int64_t turn_steps = 8;
  std::vector<std::string> command;
};

void add_time_options(CLI::App& app, RecordCommand& options) {
  app.add_option("--steps", options.record.steps,
                 "record only steps first:last; first:last,first:last: in several windows, each a "
                 "run in the output folder");
  app.add_option("--every", options.record.every_steps,
                 "record a window at each multiple of this step")
      ->check(whole_number(2, INT64_MAX));
  app.add_option("--for", options.record.for_steps, "steps of each window of --every")
      ->check(whole_number(1, INT64_MAX))
      ->default_str("5");
  app.add_flag("--on-request", options.record.on_request,
               "record nothing but the steps that stepscope trigger asks for while it runs");
  app.add_option("--range", options.record.range,
                 "record only while the first NVTX range NAME or NAME@DOMAIN is open");

  app.add_option("--delay", options.delay,
                 "start this long after the program's first use of CUDA or NVTX, "
                 "such as 30 (seconds) or 500ms");
  app.add_option("--duration", options.duration,
                 "stop after this time, such as 30 (seconds) or 500ms");

  app.add_flag("--from-code", options.record.from_code,
               "record only between cudaProfilerStart() and cudaProfilerStop(), or the calls of "
               "stepscope/capture.h");
  app.add_flag("--repeat", options.record.repeats,
               "with --from-code: as often as the program starts and stops, each time as a run in "
               "the output folder");
}

void add_ring_options(CLI::App& app, RecordCommand& options) {
  app.add_flag("--stream", options.record.stream,
               "write sums of each step for stepscope live, alone or beside --ring");
  auto* const ring = app.add_option(
      "--ring", options.ring,
      "keep only the last part in memory: 60s, 50steps, 200MB. It becomes a run in the output "
      "folder at stepscope trigger, a crash, the end, and what the --on options name");
  ring->each([&options](std::string const&) { options.has_ring = true; });

  app.add_option("--on-slow-step", options.slow_step,
                 "when a step takes so many times the usual, such as 1.3x")
      ->needs(ring);
  app.add_option("--on-hang", options.hang, "when no step has ended for so long, such as 120s")
      ->needs(ring);
  app.add_flag("--on-nan", options.on_nan, "when the program notes a number that is not finite")
      ->needs(ring);
  app.add_option("--on-signal", options.ring_signal,
                 "at this signal to the program, where it has no handler: USR1 or USR2")
      ->needs(ring);
}

base::Expected<void> set_ring(RecordCommand& options) {
  if (!options.has_ring) return {};
  auto ring = tracer::parse_ring(options.ring);
  if (!ring) return base::fail_with(ring);

  if (!options.slow_step.empty()) {
    auto const factor = tracer::parse_slow_step(options.slow_step);
    if (!factor) return base::fail_with(factor);
    ring->slow_step = *factor;
  }
  if (!options.ring_signal.empty()) {
    auto const signal = tracer::parse_ring_signal(options.ring_signal);
    if (!signal) return base::fail_with(signal);
    ring->signal = *signal;
  }

  std::optional<int64_t> hang;
  if (auto const set = set_time(options.hang, "--on-hang", hang); !set) return set;
  ring->hang_ns = hang.value_or(0);
  ring->on_nan = options.on_nan;
  options.record.ring = *ring;
  return {};
}

void add_source_options(CLI::App& app, RecordCommand& options) {
  app.add_option("--buffer-mb", options.record.buffer_mb,
                 "memory for events that are not yet written (MiB)")
      ->check(whole_number(1, tracer::kMaxBufferMb));
  app.add_option("--cuda-buffer-mb", options.record.cuda_buffer_mb,
                 "memory for CUPTI activity records (MiB)")
      ->check(whole_number(1, tracer::kMaxBufferMb));
  app.add_option("--cuda-buffer-kb", options.record.cuda_buffer_kb,
                 "size of each CUPTI buffer (KiB)")
      ->check(whole_number(tracer::kMinCudaBufferKb, tracer::kMaxCudaBufferKb));

  app.add_option("--sample-ms", options.record.sample_ms,
                 "sampling interval of the GPU counters (ms); 0 = do not sample")
      ->check(whole_number(0, tracer::kMaxSampleMs))
      ->default_str("100");

  app.add_option("--nccl", options.record.nccl,
                 "what to record of NCCL: "
                 "off, calls (collectives, point-to-point), or network (calls, "
                 "and waits of its network threads)")
      ->check(CLI::IsMember({"off", "calls", "network"}))
      ->default_str("network");
}

void add_turn_options(CLI::App& app, RecordCommand& options) {
  auto* const in_turn = app.add_option("--in-turn", options.in_turn,
                                       "interleave the training steps of two programs, CMD : CMD; "
                                       "this is the run folder of the second");
  app.add_option("--turn-steps", options.turn_steps,
                 "steps per turn; the first step of each turn is not measured")
      ->check(whole_number(2, 1'000'000))
      ->needs(in_turn)
      ->capture_default_str();
}

int record(RecordCommand& options) {
  auto const steps = steps_for_tracer(options.record.steps);
  if (!steps) return report_error(steps.error());
  options.record.steps = *steps;

  if (auto const set = set_time(options.delay, "--delay", options.record.delay_ns); !set)
    return report_error(set.error());
  if (auto const set = set_time(options.duration, "--duration", options.record.duration_ns); !set)
    return report_error(set.error());
  if (auto const set = set_ring(options); !set) return report_error(set.error());

  if (options.in_turn.empty())
    options.record.next = "stepscope analyze " + base::shell_word(options.record.output);
  auto const code = options.in_turn.empty() ? record_alone(options.record, options.command)
                                            : record_two(options.record, options.in_turn,
                                                         options.turn_steps, options.command);
  return code ? *code : report_error(code.error());
}

}  // namespace

Action add_record(CLI::App& app) {
  auto const options = std::make_shared<RecordCommand>();
  options->record.output = "stepscope-run";
  app.footer(
      "CMD and its arguments follow after --: stepscope record -o my-run -- python3 train.py");

  app.add_option("-o,--output", options->record.output, "the run folder to write")
      ->capture_default_str();
  add_time_options(app, *options);
  add_ring_options(app, *options);
  add_source_options(app, *options);
  add_turn_options(app, *options);
  app.add_flag("--force", options->record.force, "overwrite an existing run");
  app.add_option("CMD", options->command, "the program to record and its arguments, after --")
      ->required();

  return [options] { return record(*options); };
}

}  // namespace stepscope::cli
