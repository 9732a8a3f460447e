#include "cli/team.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <tbb/global_control.h>

#include "cli/command.h"
#include "mpi/launch.h"
#include "mpi/processes.h"
#include "query/process_sums.h"
#include "run_loading/team/cores.h"
#include "run_loading/team/helper.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/malloc_tuning.h"

namespace stepscope::cli {
namespace {

constexpr std::array kShared = {"analyze", "report", "compare", "check", "query", "whatif"};

/// Silence of this length of a process that should say every second that it lives.
constexpr mpi::Patience kPatience{mpi::Processes::kDefaultTimeout, true, true,
                                  "nothing was written, start the command again",
                                  "nothing was written, start the command again"};

std::unique_ptr<run_loading::Team>& the_team() {
  static std::unique_ptr<run_loading::Team> one;
  return one;
}

/// Says that the others do not come, and ends the program when they never do, unless it goes
/// before.
class WaitingNote {
 public:
  static constexpr std::chrono::seconds kPatient{15}, kMostPatient{105};

  WaitingNote()
      : thread_([this] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, kPatient, [this] { return is_over_; })) return;
          std::fputs(
              "stepscope: still waiting for the other processes of the launcher; to read the run "
              "with this process alone, start it with --alone\n",
              stderr);
          if (over_.wait_for(lock, kMostPatient, [this] { return is_over_; })) return;
          std::fputs("stepscope: the other processes of the launcher have not come\n", stderr);
          // MPI waits for ever, and cannot be interrupted.
          std::_Exit(kWrongUse);
        }) {}
  ~WaitingNote() {
    {
      std::lock_guard const lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  WaitingNote(WaitingNote const&) = delete;
  WaitingNote& operator=(WaitingNote const&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

/// The same in all processes of one program: messages are as its memory has them.
std::string program_identity() {
  auto const program = base::MappedFile::open("/proc/self/exe");
  std::string_view const bytes =
      program ? std::string_view(reinterpret_cast<char const*>(program->bytes().data()),
                                 program->bytes().size())
              : std::string_view();
  return fmt::format("{} {}", STEPSCOPE_VERSION, std::hash<std::string_view>{}(bytes));
}

/// Error: of the first process that is another program, or was started with other options.
base::Expected<void> agree(mpi::Processes& processes, std::vector<std::string> const& arguments) {
  std::string options;
  for (std::string const& argument : arguments) options += (options.empty() ? "" : " ") + argument;
  auto const programs = processes.all_gather(program_identity());
  auto const commands = processes.all_gather(options);
  if (auto const why = processes.failure()) return base::fail("{}", *why);

  for (uint32_t rank = 1; rank < processes.size(); ++rank) {
    if (programs[rank] != programs[0])
      return base::fail(
          "process {} is another build of Stepscope than process 0: start the same program on all "
          "machines",
          rank);
    if (commands[rank] != commands[0])
      return base::fail(
          "process {} was started with \"{}\", process 0 with \"{}\": start all with the same "
          "command line, or each by itself with --alone",
          rank, commands[rank], commands[0]);
  }
  return {};
}

/// Divides the cores of a machine among its processes, and returns on how many this one does its
/// share of the work. Process 0 has work of its own when the others are done with theirs, or wait
/// for it: then it runs on their cores, too.
size_t share_cores(mpi::Processes& processes) {
  auto const all = processes.all_gather(run_loading::cores_of_process());
  auto const [own, of_machine] = run_loading::share_of_cores(all, processes.rank());

  if (processes.rank() == 0) {
    run_loading::use_cores(of_machine);
  } else {
    static std::optional<tbb::global_control> limit;
    limit.emplace(tbb::global_control::max_allowed_parallelism, own);
  }
  return own;
}

}  // namespace

bool& is_alone() {
  static bool alone = false;
  return alone;
}

run_loading::Team* team() { return the_team().get(); }
void leave_team() { the_team().reset(); }

std::optional<int> join_team(std::string const& command,
                             std::vector<std::string> const& arguments) {
  auto const is_shared = [&](char const* name) { return name == command; };
  if (is_alone() || std::none_of(kShared.begin(), kShared.end(), is_shared)) return std::nullopt;
  auto const launch = mpi::direct_launch_from_environment();
  if (!launch) return std::nullopt;

  if (!mpi::has_process_manager()) {
    if (launch->rank == 0)
      std::fprintf(stderr,
                   "stepscope: srun has started %u processes that cannot meet, so that each reads "
                   "the whole run: share it with srun --mpi=pmix, or say --alone\n",
                   launch->size);
    return std::nullopt;
  }

  if (auto const there = mpi::Processes::find_module(); !there) {
    if (launch->rank == 0)
      std::fprintf(stderr, "stepscope: each process reads the whole run: %s\n",
                   there.error().message.c_str());
    return std::nullopt;
  }

  // Before MPI starts threads. Each of them would get an arena of its own, which the C library
  // later shares out among all threads: memory in small pages, in holes of several heaps.
  base::keep_freed_memory();
  std::optional<WaitingNote> note(std::in_place);
  auto const joined = mpi::Processes::join(*launch, kPatience);
  note.reset();
  if (!joined)
    return report_error(
        {joined.error().message + "; with --alone each process reads the whole run"});

  // Every process knows the error: one says it, unless that is the one that is gone.
  if (auto const agreed = agree(**joined, arguments); !agreed) {
    bool const says_it = (*joined)->rank() == 0 || (*joined)->failure();
    return says_it ? report_error(agreed.error()) : kWrongUse;
  }

  size_t const own_cores = share_cores(**joined);
  if ((*joined)->rank() == 0) {
    the_team() = std::make_unique<run_loading::Team>(*joined, own_cores);
    return std::nullopt;
  }

  auto const helped = run_loading::help(**joined, query::sums_of_process);
  return helped ? kGood : report_error(helped.error());
}

}  // namespace stepscope::cli
