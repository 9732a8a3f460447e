#include "trace/synth/synth.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <sys/resource.h>

#include "trace/base/check.h"
#include "trace/file/writer.h"
#include "trace/synth/exchange.h"
#include "trace/synth/process.h"
#include "trace/synth/truth_file.h"

namespace stepscope::synth {
namespace {

using base::Expected;

/// Events of all ranks that wait for their block: about 120 bytes each.
constexpr size_t kRowsInMemory = 1U << 20;
constexpr size_t kFewestBlockRows = 4096;

size_t block_rows(int32_t ranks) {
  return std::clamp(kRowsInMemory / static_cast<size_t>(ranks), kFewestBlockRows, file::kMaxBlockRows);
}

/// A run in the making: all its ranks, moved on step by step together.
class Simulation {
 public:
  Simulation(SynthOptions const& options, std::string folder)
      : options_(options),
        folder_(std::move(folder)),
        schedule_(options.pattern->schedule(options.ranks, strings_)),
        names_(strings_),
        exchange_(schedule_.meetings, options.seed) {}

  Expected<SynthSummary> run() {
    auto truth = TruthFile::create(folder_, {options_.pattern->name, options_.seed, options_.ranks, options_.events_per_rank});
    if (!truth) return base::fail_with(truth);
    if (auto const done = start(); !done) return base::fail_with(done);
    SynthSummary summary;
    do {
      if (auto const done = step(summary.steps++, *truth); !done) return base::fail_with(done);
      if (options_.progress) options_.progress(share_done());
    } while (fewest_events() < options_.events_per_rank);
    for (Process& process : processes_) {
      summary.events += process.event_count();
      if (auto const done = process.finish(); !done) return base::fail_with(done);
    }
    if (auto const done = truth->finish(schedule_, summary.steps, processes_); !done) return base::fail_with(done);
    return summary;
  }

  /// Half a run is worse than none: it would be taken for a whole one.
  void remove_what_was_made() const {
    std::error_code ignored;
    std::filesystem::remove(TruthFile::unfinished_path(folder_), ignored);
    for (Process const& process : processes_) std::filesystem::remove(process.path(), ignored);
  }

 private:
  Expected<void> start() {
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      auto process = Process::create({folder_, rank, options_.ranks, options_.seed, options_.pattern->name, &schedule_.of(rank),
                                      &strings_, &names_, schedule_.meetings, block_rows(options_.ranks)});
      if (!process) return base::fail_with(process);
      processes_.push_back(std::move(*process));
    }
    return {};
  }

  Expected<void> step(int64_t number, TruthFile& truth) {
    std::vector<StepFaults> faults;
    exchange_.begin_step();
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      faults.push_back(faults_of(options_.seed, number, rank, options_.ranks, schedule_.of(rank).reads_input));
      processes_[static_cast<size_t>(rank)].begin_step(number, faults.back());
    }
    play_all();
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      auto const time = processes_[static_cast<size_t>(rank)].end_step();
      if (!time) return base::fail_with(time);
      if (auto const done = truth.add_step(rank, number, *time, faults[static_cast<size_t>(rank)]); !done) return done;
    }
    return {};
  }

  /// Lets every rank play until it waits for others, as often as it takes all to come to the step's end.
  void play_all() {
    std::vector<size_t> playing(processes_.size());
    for (size_t rank = 0; rank < playing.size(); ++rank) playing[rank] = rank;
    for (size_t rounds = 0; !playing.empty(); ++rounds) {
      STEPSCOPE_CHECK(rounds <= schedule_.meetings + 1);  // else the programs' meetings wait for each other in a circle
      std::erase_if(playing, [&](size_t rank) {
        bool const is_over = processes_[rank].advance();
        exchange_.settle(processes_, rank);
        return is_over;
      });
    }
  }

  [[nodiscard]] uint64_t fewest_events() const {
    uint64_t fewest = UINT64_MAX;
    for (Process const& process : processes_) fewest = std::min(fewest, process.event_count());
    return fewest;
  }

  [[nodiscard]] double share_done() const {
    return std::min(1.0, static_cast<double>(fewest_events()) / static_cast<double>(options_.events_per_rank));
  }

  SynthOptions const& options_;
  std::string folder_;
  model::StringTable strings_;
  Schedule schedule_;
  CommonNames names_;
  Exchange exchange_;
  std::vector<Process> processes_;
};

/// Every rank's file is open until the last step. Errors: more than the system lets a process open.
Expected<void> allow_files(int32_t ranks) {
  constexpr rlim_t kOthers = 32;  // truth, standard streams, what the caller has open
  rlim_t const needed = static_cast<rlim_t>(ranks) + kOthers;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return {};
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur == needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return base::fail("{} ranks need {} open files, the limit is {}: raise it with ulimit -n, or make fewer ranks", ranks, needed,
                    limit.rlim_max);
}

}  // namespace

Expected<SynthSummary> make_run(SynthOptions const& options, std::string const& folder) {
  STEPSCOPE_CHECK(options.pattern != nullptr && options.ranks >= 1 && options.ranks <= kMaxRanks);
  STEPSCOPE_CHECK(options.events_per_rank >= 1 && options.events_per_rank <= kMaxEventsPerRank);
  if (auto const allowed = allow_files(options.ranks); !allowed) return base::fail_with(allowed);
  Simulation simulation(options, folder);
  auto summary = simulation.run();
  if (!summary) simulation.remove_what_was_made();
  return summary;
}

}  // namespace stepscope::synth
