#include "tracer/record_parts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file.h"
#include "trace/stream/stream_file.h"
#include "tracer/core/options.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

constexpr int kNotFound = 127, kNotExecutable = 126, kSignalBase = 128;

constexpr char const* kNcclPluginVariable = "NCCL_PROFILER_PLUGIN";
/// Each names one library, which CUDA and NVTX load: ours.
constexpr std::array kInjectionVariables = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};
constexpr std::string_view kPreloadName = "libstepscope-exit.so";

/// What the user set the variable to, for another tool; empty = nothing. The value of an outer
/// `stepscope record` does not count.
std::string_view of_another_tool(char const* variable) {
  char const* const text = std::getenv(variable);
  std::string_view const library = text != nullptr ? text : "";
  return library.ends_with(kTracerLibrary) || library.ends_with(kPreloadName) ? std::string_view()
                                                                              : library;
}

/// The profiler plugin that the user chose for NCCL; empty = none. In an outer `stepscope record`
/// that has moved to a variable of its own.
std::string_view nccl_plugin_of_user() {
  if (auto const plugin = of_another_tool(kNcclPluginVariable); !plugin.empty()) return plugin;
  return of_another_tool(kOtherNcclPluginVariable);
}

/// NCCL's plugin stays the user's: Stepscope would record nothing of NCCL, or the user wants none.
bool keeps_nccl_plugin(RecordOptions const& options, std::string_view plugin) {
  return !plugin.empty() && (options.nccl == "off" || means_no_nccl_plugin(plugin));
}

/// The library that tells the tracer when a program ends without exit handlers. Nothing when it
/// cannot be preloaded: it is missing, or cannot be named, since the loader separates names by
/// spaces and colons.
std::optional<std::string> preload_library(fs::path const& tracer) {
  std::string library = tracer.parent_path() / kPreloadName;
  std::error_code error;
  if (library.find_first_of(" :") != std::string::npos || !fs::exists(library, error)) return {};
  return library;
}

/// LD_PRELOAD with `library` in front of what is there, if it is not there already.
std::string preloads(std::string const& library) {
  char const* const text = std::getenv("LD_PRELOAD");
  std::string const others = text != nullptr ? text : "";
  if (others.find(library) != std::string::npos) return others;
  return others.empty() ? library : library + ":" + others;
}

bool has_nothing_of_the_program(file::TraceFile const& file) {
  auto const& facts = file.info().facts;
  return file.event_count() == 0 || std::any_of(facts.begin(), facts.end(), [](auto const& fact) {
           return fact.first == kNeverBeganFact;
         });
}

/// What the command left in the folder.
struct Recorded {
  size_t files = 0, without_events = 0, unfinished = 0;
  uint64_t bytes = 0;
};

/// The run's folder, and those of its windows where it has several.
std::vector<std::string> folders_of(RecordOptions const& options) {
  std::vector<std::string> folders = base::windows_in(options.output);
  folders.insert(folders.begin(), options.output);
  return folders;
}

/// This process's, in all folders.
std::vector<fs::path> trace_files(RecordOptions const& options) {
  std::vector<fs::path> files;
  std::error_code error;
  for (std::string const& folder : folders_of(options))
    for (auto const& entry : fs::directory_iterator(folder, error)) {
      fs::path const& path = entry.path();
      if (path.extension() == base::kTraceSuffix && is_own_run_file(path.filename().string()))
        files.push_back(path);
    }
  return files;
}

Recorded look_at(RecordOptions const& options) {
  Recorded recorded;
  std::error_code error;
  for (fs::path const& path : trace_files(options)) {
    auto const file = file::TraceFile::open(path.string());
    ++recorded.files;
    recorded.bytes += fs::file_size(path, error);
    recorded.unfinished += static_cast<size_t>(!file || !file->is_finished());
    recorded.without_events += static_cast<size_t>(!file || has_nothing_of_the_program(*file));
  }

  return recorded;
}

/// How far this process's streams reach, and in how many files.
struct StreamedSteps {
  size_t files = 0;
  int64_t last_step = -1;
  uint64_t bytes = 0;
};

StreamedSteps streamed_steps(RecordOptions const& options) {
  constexpr size_t kLastRecords = 64;
  StreamedSteps found;
  std::error_code error;
  fs::path const folder = fs::path(options.output) / base::kStreamFolder;
  for (auto const& entry : fs::directory_iterator(folder, error)) {
    if (!is_own_run_file(entry.path().filename().string())) continue;
    stream::GrowingStream file(entry.path().string());
    auto const last = file.read_new(kLastRecords);
    if (!last || last->steps.empty()) continue;

    ++found.files;
    found.bytes += fs::file_size(entry.path(), error);
    for (stream::StepRecord const& record : last->steps)
      found.last_step = std::max(found.last_step, record.step + record.steps - 1);
  }
  return found;
}

void print_what_was_streamed(RecordOptions const& options, std::string const& program) {
  StreamedSteps const found = streamed_steps(options);

  if (found.files == 0)
    fmt::print(stderr,
               "stepscope: no step was streamed: {} marked none, or was killed within three "
               "seconds, unless a line above says otherwise; docs/guide/ANNOTATIONS.md says how to "
               "mark steps\n",
               program);
  else
    fmt::print(stderr, "stepscope: streamed sums up to step {}, {}, in {}/{}\n",
               base::format_count(static_cast<uint64_t>(found.last_step)),
               base::format_bytes(found.bytes), options.output, base::kStreamFolder);
}

/// Files of the kernel's driver; the second where Linux runs inside of Windows.
bool has_nvidia_device() {
  std::error_code error;
  return fs::exists("/dev/nvidiactl", error) || fs::exists("/dev/dxg", error);
}

std::string why_no_events(Recorded const& recorded, RecordOptions const& options, int exit_code) {
  if (recorded.files == 0 && exit_code > kSignalBase && exit_code < kSignalBase + NSIG)
    return fmt::format(
        "was ended by signal {} ({}) before it used CUDA or NVTX; if you did not send that, run it "
        "alone to see whether the signal comes then, too",
        exit_code - kSignalBase, ::strsignal(exit_code - kSignalBase));

  if (recorded.files == 0 && exit_code != 0)
    return fmt::format(
        "ended with exit code {} before it used CUDA or NVTX: see what it says above", exit_code);

  if (recorded.files == 0)
    return std::string(
               "used neither CUDA nor NVTX, unless a line above says otherwise: annotate it as "
               "docs/guide/ANNOTATIONS.md says or record a program that does") +
           (has_nvidia_device() ? ""
                                : "; CUDA cannot be used on this machine, which has no NVIDIA "
                                  "device (stepscope doctor says more)");

  if (recorded.unfinished > 0)
    return "was ended (a signal, an exit without exit handlers) before anything reached its file, "
           "which takes up to a second";

  if (!options.steps.empty())
    return fmt::format("reached none of the steps {}, choose others with --steps", options.steps);
  if (options.every_steps > 0)
    return fmt::format("did not reach step {}, choose a smaller --every", options.every_steps);
  if (options.on_request)
    return fmt::format("was asked for no steps, ask while it runs with stepscope trigger {}",
                       base::printable(options.output));
  if (options.ring)
    return "marked nothing, was forked from a program that is recorded, or was ended by a signal "
           "that leaves no time to write the ring (SIGKILL, a lack of memory)";
  if (!options.range.empty())
    return fmt::format("opened no NVTX range {}, choose another with --range",
                       base::printable(options.range));
  if (options.delay_ns)
    return fmt::format("did nothing after {}, choose a shorter --delay",
                       base::format_duration(*options.delay_ns));
  if (options.from_code)
    return "called neither cudaProfilerStart() nor stepscope::api::start_capture(), as --from-code "
           "asks for";

  return "used CUDA or NVTX, but no range, mark or operation of the device";
}

}  // namespace

Expected<bool> prepare_folder(RecordOptions const& options) {
  auto const rank = rank_from_environment();
  auto const made =
      rank ? base::prepare_shared_run_folder(options.output, options.force, is_own_run_file)
           : base::prepare_run_folder(options.output, options.force);
  if (made) forget_processes(options.output, rank);
  return made;
}

Expected<std::string> find_library(RecordOptions const& options) {
  fs::path library = options.library;
  std::error_code error;
  if (library.empty())
    library = fs::read_symlink("/proc/self/exe", error).parent_path() / "../lib" / kTracerLibrary;

  fs::path const absolute = fs::weakly_canonical(library, error);
  if (!fs::exists(absolute, error))
    return fail(
        "{}: the tracer library is missing, build the target stepscope-tracer or install Stepscope "
        "again",
        library.lexically_normal().string());
  return absolute.string();
}

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

int64_t steps_at_once(RecordOptions const& options) {
  constexpr int64_t kDefault = 5;
  return options.for_steps > 0 ? options.for_steps : kDefault;
}

void set_window(RecordOptions const& options, Variables& set) {
  if (!options.steps.empty()) set.emplace_back(kStepsVariable, options.steps);
  if (int64_t const every = options.every_steps; every > 0) {
    set.emplace_back(kStepsVariable,
                     fmt::format("{}:{}", every, every + steps_at_once(options) - 1));
    set.emplace_back(kEveryVariable, fmt::format("{}", every));
  }
  if (options.on_request) set.emplace_back(kOnRequestVariable, "1");
  if (options.ring) set.emplace_back(kRingVariable, to_variable(*options.ring));
  if (options.stream) set.emplace_back(kStreamVariable, "1");

  if (!options.range.empty()) set.emplace_back(kRangeVariable, options.range);
  if (options.delay_ns) set.emplace_back(kDelayVariable, fmt::format("{}", *options.delay_ns));
  if (options.duration_ns)
    set.emplace_back(kDurationVariable, fmt::format("{}", *options.duration_ns));
  if (options.from_code)
    set.emplace_back(kFromCodeVariable, options.repeats ? std::string(kRepeats) : "1");
}

/// Stepscope's plugin, which passes NCCL's calls on to the user's.
void set_nccl_plugin(RecordOptions const& options, std::string const& library, Variables& set) {
  std::string const plugin(nccl_plugin_of_user());
  if (keeps_nccl_plugin(options, plugin)) {
    set.emplace_back(kNcclPluginVariable, plugin);
    return;
  }
  set.emplace_back(kNcclPluginVariable, library);
  if (!plugin.empty()) set.emplace_back(kOtherNcclPluginVariable, plugin);
}

void set_buffers(RecordOptions const& options, Variables& set) {
  if (options.buffer_mb != 0)
    set.emplace_back(kBufferVariable, fmt::format("{}", options.buffer_mb));
  if (options.cuda_buffer_mb != 0)
    set.emplace_back(kCudaBufferVariable, fmt::format("{}", options.cuda_buffer_mb));
  if (options.cuda_buffer_kb != 0)
    set.emplace_back(kCudaBufferSizeVariable, fmt::format("{}", options.cuda_buffer_kb));
}

void set_preload(std::string const& library, Variables& set) {
  set.emplace_back("LD_PRELOAD", preloads(library));
  // Programs built with the address sanitizer refuse to start behind a preloaded library else; what
  // the user set comes after.
  char const* const options_of_user = std::getenv("ASAN_OPTIONS");
  set.emplace_back("ASAN_OPTIONS", std::string("verify_asan_link_order=0") +
                                       (options_of_user != nullptr ? ":" : "") +
                                       (options_of_user != nullptr ? options_of_user : ""));
}

/// The environment without what `set` replaces, and without what an outer `stepscope record` set
/// for its own run: that must not leak into this one.
std::vector<std::string> inherited_environment(Variables const& set) {
  std::array<std::string, 22> const ours = {
      "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", kOutputVariable,   kReportLossVariable,
      kStepsVariable,          kRangeVariable,          kEveryVariable,    kOnRequestVariable,
      kDelayVariable,          kDurationVariable,       kFromCodeVariable, kBufferVariable,
      kCudaBufferVariable,     kCudaBufferSizeVariable, kNcclVariable,     kSampleVariable,
      kTurnSocketVariable,     kTurnStepsVariable,      kSamplerVariable,  kOtherNcclPluginVariable,
      kRingVariable,           kStreamVariable};

  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string_view const text = *variable;
    std::string_view const name = text.substr(0, text.find('='));
    bool const replaced =
        std::find(ours.begin(), ours.end(), name) != ours.end() ||
        std::any_of(set.begin(), set.end(), [&](auto const& one) { return one.first == name; });
    if (!replaced) environment.emplace_back(text);
  }
  return environment;
}

}  // namespace

std::vector<std::string> traced_environment(
    RecordOptions const& options, std::string const& library,
    std::vector<std::pair<std::string, std::string>> const& more) {
  auto const preload = preload_library(library);
  Variables set = {{kInjectionVariables[0], library},
                   {kInjectionVariables[1],
                    preload.value_or(library)},  // which loads the tracer: inject/nvtx_preload.cpp
                   {kTracerVariable, library},
                   {kOutputVariable, fs::absolute(options.output).lexically_normal().string()},
                   {kReportLossVariable, "1"}};
  if (!options.nccl.empty()) set.emplace_back(kNcclVariable, options.nccl);
  if (options.sample_ms >= 0)
    set.emplace_back(kSampleVariable, fmt::format("{}", options.sample_ms));
  set_nccl_plugin(options, library, set);
  set_window(options, set);
  set_buffers(options, set);
  if (preload) set_preload(*preload, set);
  set.insert(set.end(), more.begin(), more.end());

  std::vector<std::string> environment = inherited_environment(set);
  for (auto const& [name, value] : set) environment.push_back(name + "=" + value);
  return environment;
}

std::unique_ptr<nvml::SamplingService> open_sampling(RecordOptions const& options) {
  if (options.sample_ms == 0) return nullptr;
  auto service = nvml::SamplingService::open();
  return service ? std::move(*service) : nullptr;
}

std::vector<std::pair<std::string, std::string>> sampling_variables(
    nvml::SamplingService const* service) {
  if (service == nullptr) return {};
  return {{kSamplerVariable, service->address()}};
}

namespace {

std::vector<char*> as_c_array(std::vector<std::string> const& texts) {
  std::vector<char*> pointers;
  for (std::string const& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Expected<void> check_options(RecordOptions const& options) {
  if (!options.steps.empty()) {
    if (auto const steps = parse_step_ranges(options.steps); !steps) return base::fail_with(steps);
  }
  if (options.every_steps < 0 || options.for_steps < 0)
    return fail("--every and --for: numbers of steps, give 1 or more");
  if (options.for_steps > 0 && options.every_steps == 0)
    return fail("--for {}: goes with --every, or name the steps with --steps", options.for_steps);
  if (options.every_steps > 0 && steps_at_once(options) >= options.every_steps)
    return fail(
        "--every {} --for {}: leave a step or more between the windows, as the file of one is "
        "written meanwhile",
        options.every_steps, steps_at_once(options));

  int const choices =
      static_cast<int>(!options.steps.empty()) + static_cast<int>(options.every_steps > 0) +
      static_cast<int>(options.on_request) + static_cast<int>(options.ring.has_value()) +
      static_cast<int>(!options.range.empty()) + static_cast<int>(options.delay_ns.has_value()) +
      static_cast<int>(options.from_code);
  if (choices > 1)
    return fail(
        "--steps, --every, --on-request, --ring, --range, --delay and --from-code: each says what "
        "to record, give one of them");
  if (options.repeats && !options.from_code)
    return fail(
        "--repeat: goes with --from-code; --steps, --every and --on-request repeat as well");
  bool const is_part = choices > (options.ring ? 1 : 0) || options.duration_ns;
  if (options.stream && is_part)
    return fail(
        "--stream: tells of all steps, give it alone or with --ring; stepscope trigger then writes "
        "what the ring holds");
  if (options.ring && options.duration_ns)
    return fail("--duration: goes with a recording that has an end, leave it out beside --ring");

  if (!options.nccl.empty()) {
    if (auto const detail = parse_nccl_detail(options.nccl); !detail)
      return base::fail_with(detail);
  }

  if (options.buffer_mb > kMaxBufferMb)
    return fail("--buffer-mb {}: more than any machine has, give at most {}", options.buffer_mb,
                kMaxBufferMb);
  size_t const cuda_kb =
      (options.cuda_buffer_mb != 0 ? options.cuda_buffer_mb : kDefaultCudaBufferMb) << 10;
  if (options.cuda_buffer_kb > cuda_kb / 2)
    return fail("--cuda-buffer-kb {}: two of them must fit into --cuda-buffer-mb, which is {}",
                options.cuda_buffer_kb, cuda_kb >> 10);
  return {};
}

base::Expected<StartedCommand> start_command(std::vector<std::string> const& command,
                                             std::vector<std::string> const& environment,
                                             std::function<void()> const& in_child) {
  std::vector<char*> const arguments = as_c_array(command);
  std::vector<char*> const variables = as_c_array(environment);

  std::array<int, 2> pipe_ends{};  // closed by a successful exec, else brings its errno
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    return fail("{}: cannot be started ({})", command[0], std::strerror(errno));

  std::fflush(nullptr);
  StartedCommand started;
  started.child = ::fork();
  if (started.child == 0) {
    in_child();
    ::execvpe(arguments[0], arguments.data(), variables.data());
    int const reason = errno;
    [[maybe_unused]] ssize_t const written = ::write(pipe_ends[1], &reason, sizeof reason);
    ::_exit(kNotFound);
  }

  int const fork_error = errno;
  ::close(pipe_ends[1]);
  if (started.child < 0) {
    ::close(pipe_ends[0]);
    return fail("{}: cannot be started ({}), close other programs", command[0],
                std::strerror(fork_error));
  }

  ssize_t got = 0;
  do got = ::read(pipe_ends[0], &started.exec_error, sizeof started.exec_error);
  while (got < 0 && errno == EINTR);

  ::close(pipe_ends[0]);
  return started;
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

void print_what_is_left_out(RecordOptions const& options) {
  for (char const* const variable : kInjectionVariables)
    if (std::string_view const library = of_another_tool(variable); !library.empty())
      fmt::print(stderr,
                 "stepscope: {}={} was replaced for this program, so that the tool it is of saw "
                 "nothing; unset it\n",
                 variable, base::printable(std::string(library)));

  if (options.nccl != "off" && means_no_nccl_plugin(nccl_plugin_of_user()))
    fmt::print(
        stderr,
        "stepscope: {}=none is kept, so that nothing is recorded of NCCL; unset it to record "
        "its collectives\n",
        kNcclPluginVariable);
}

int explain_exec_error(std::string const& program, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) {
    fmt::print(stderr, "stepscope: {}: command not found, check its name or give its path\n",
               program);
    return kNotFound;
  }
  fmt::print(stderr, "stepscope: {}: cannot be executed ({}), check its permissions\n", program,
             std::strerror(reason));
  return kNotExecutable;
}

void complete_traces(RecordOptions const& options) {
  for (fs::path const& path : trace_files(options))
    if (auto const added = file::add_summaries(path.string()); !added)
      fmt::print(stderr, "stepscope: {}\n", base::printable(added.error().message));
}

void print_what_was_recorded(RecordOptions const& options, std::string const& program,
                             int exit_code) {
  if (options.stream) print_what_was_streamed(options, program);
  if (options.stream && !options.ring) return;
  Recorded const recorded = look_at(options);
  if (recorded.without_events == recorded.files) {
    fmt::print(stderr, "stepscope: nothing was recorded: {} {}\n", program,
               why_no_events(recorded, options, exit_code));
    return;
  }

  size_t const files = recorded.files - recorded.without_events;
  std::string of_windows;
  if (size_t const windows = base::windows_in(options.output).size(); windows > 0)
    of_windows = " of " + base::format_count(windows, options.ring ? "ring" : "window");
  // Each window is a run of its own.
  bool const has_next = of_windows.empty() && !options.next.empty();
  fmt::print(stderr, "stepscope: recorded {} trace file{}{}, {}, in {}{}\n", files,
             files == 1 ? "" : "s", of_windows, base::format_bytes(recorded.bytes), options.output,
             has_next ? "; next: " + options.next : "");
}

}  // namespace stepscope::tracer
