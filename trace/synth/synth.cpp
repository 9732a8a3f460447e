#include "trace/synth/synth.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <sys/resource.h>

#include "trace/base/check.h"
#include "trace/file/writer.h"
#include "trace/synth/jobs/exchange.h"
#include "trace/synth/process/process.h"
#include "trace/synth/truth_file.h"

namespace stepscope::synth {
namespace {

using base::Expected;

/// Events of all ranks that wait for their block: about 120 bytes each.
constexpr size_t kRowsInMemory = 1U << 20;
constexpr size_t kFewestBlockRows = 4096;

size_t block_rows(int32_t ranks) {
  return std::clamp(kRowsInMemory / static_cast<size_t>(ranks), kFewestBlockRows,
                    file::kMaxBlockRows);
}

Job job_of(SynthOptions const& options, bool happens) {
  return {options.ranks, options.seed, options.fault, options.shape, happens};
}

/// A run in the making: all its ranks, moved on step by step together.
class Simulation {
 public:
  /// An empty `folder`: nothing is written, only time passes.
  Simulation(SynthOptions const& options, Job const& job, std::string folder)
      : options_(options),
        job_(job),
        folder_(std::move(folder)),
        schedule_(options.pattern->schedule(job_, strings_)),
        names_(job_, strings_),
        exchange_(schedule_.joins, options.seed) {}

  Expected<SynthSummary> run() {
    auto truth = TruthFile::create(folder_, {options_.pattern->name, job_, events_asked_for()});
    if (!truth) return base::fail_with(truth);
    if (auto const done = start(); !done) return base::fail_with(done);

    SynthSummary summary;
    do {
      if (auto const done = step(summary.steps++, &*truth); !done) return base::fail_with(done);
      if (options_.progress) options_.progress(share_done(summary.steps));
    } while (!is_over(summary.steps));

    for (Process& process : processes_) {
      summary.events += process.event_count();
      if (auto const done = process.finish(); !done) return base::fail_with(done);
    }

    std::optional<FaultTruth> fault;
    if (job_.is_tuned()) {
      auto const without_fault = step_ns_without_fault(summary.steps);
      if (!without_fault) return base::fail_with(without_fault);
      fault = FaultTruth{step_ns(summary.steps), *without_fault};
    }

    if (auto const done = truth->finish(schedule_, summary.steps, processes_, fault); !done)
      return base::fail_with(done);
    return summary;
  }

  /// Half a run is worse than none: it would be taken for a whole one.
  void remove_what_was_made() const {
    std::error_code ignored;
    std::filesystem::remove(TruthFile::unfinished_path(folder_), ignored);
    for (size_t rank = 0; rank < processes_.size(); ++rank)
      if (is_recorded(static_cast<int32_t>(rank)))
        std::filesystem::remove(processes_[rank].path(), ignored);
  }

 private:
  [[nodiscard]] bool is_recorded(int32_t rank) const {
    return !folder_.empty() && (rank == 0 || !job_.has(FaultType::kMissingRanks));
  }

  Expected<void> start() {
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      auto process = Process::create({is_recorded(rank) ? folder_ : std::string(), rank, &job_,
                                      options_.pattern->name, &schedule_.of(rank), &strings_,
                                      &names_, schedule_.joins, block_rows(options_.ranks)});
      if (!process) return base::fail_with(process);
      processes_.push_back(std::move(*process));
    }
    return {};
  }

  /// `truth`: to which it is added; may be null.
  Expected<void> step(int64_t number, TruthFile* truth) {
    std::vector<StepFaults> faults;

    exchange_.begin_step();
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      faults.push_back(faults_of(job_, number, rank, schedule_.of(rank).reads_input));
      processes_[static_cast<size_t>(rank)].begin_step(number, faults.back());
    }

    play_all();
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      auto const time = processes_[static_cast<size_t>(rank)].end_step();
      if (!time) return base::fail_with(time);
      last_end_ = std::max(last_end_, time->window.end);

      if (truth == nullptr) continue;
      if (auto const done = truth->add_step(rank, number, *time, faults[static_cast<size_t>(rank)]);
          !done)
        return done;
    }

    if (number == 0) first_end_ = last_end_;
    return {};
  }

  [[nodiscard]] std::optional<uint64_t> events_asked_for() const {
    return options_.steps > 0 ? std::nullopt : std::optional(options_.events_per_rank);
  }

  [[nodiscard]] bool is_over(int64_t steps) const {
    return options_.steps > 0 ? steps >= options_.steps
                              : fewest_events() >= options_.events_per_rank;
  }

  /// Mean of the steps after the first, from the end of one to the end of the next on all ranks; 0
  /// with one step.
  [[nodiscard]] int64_t step_ns(int64_t steps) const {
    return steps > 1 ? (last_end_ - first_end_) / (steps - 1) : 0;
  }

  /// The same of the job without its fault, simulated for as many steps.
  [[nodiscard]] Expected<int64_t> step_ns_without_fault(int64_t steps) const {
    Simulation other(options_, job_of(options_, false), {});
    if (auto const done = other.start(); !done) return base::fail_with(done);
    for (int64_t number = 0; number < steps; ++number)
      if (auto const done = other.step(number, nullptr); !done) return base::fail_with(done);
    return other.step_ns(steps);
  }

  /// Lets every rank play until it waits for others, as often as it takes all to come to the step's
  /// end.
  void play_all() {
    std::vector<size_t> playing(processes_.size());
    for (size_t rank = 0; rank < playing.size(); ++rank) playing[rank] = rank;

    for (size_t rounds = 0; !playing.empty(); ++rounds) {
      STEPSCOPE_CHECK(rounds <=
                      schedule_.joins +
                          1);  // else the programs' collectives wait for each other in a circle
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

  [[nodiscard]] double share_done(int64_t steps) const {
    if (options_.steps > 0) return static_cast<double>(steps) / static_cast<double>(options_.steps);
    return std::min(
        1.0, static_cast<double>(fewest_events()) / static_cast<double>(options_.events_per_rank));
  }

  SynthOptions const& options_;
  Job job_;
  std::string folder_;
  model::StringTable strings_;
  Schedule schedule_;
  CommonNames names_;
  Exchange exchange_;
  std::vector<Process> processes_;
  int64_t first_end_ = 0, last_end_ = 0;  // of the first step and of the last, on any rank
};

/// Every rank's file is open until the last step. Errors: more than the system lets a process open.
Expected<void> allow_files(int32_t ranks) {
  constexpr rlim_t kOthers = 32;  // truth, standard streams, what the caller has open
  rlim_t const needed = static_cast<rlim_t>(ranks) + kOthers;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return {};
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur == needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return base::fail(
      "{} ranks need {} open files, the limit is {}: raise it with ulimit -n, or make fewer ranks",
      ranks, needed, limit.rlim_max);
}

}  // namespace

Expected<void> check_fault(SynthOptions const& options) {
  if (!options.fault) return {};
  FaultKind const& kind = *options.fault->kind;

  bool fits = kind.patterns.empty();
  std::string usable;
  for (Pattern const& pattern : patterns()) {
    if (kind.patterns.find(pattern.name) == std::string_view::npos) continue;
    fits = fits || pattern.name == options.pattern->name;
    usable += fmt::format("{}{}", usable.empty() ? "" : " or ", pattern.name);
  }

  if (!fits)
    return base::fail("fault {}: is not of the pattern {}, use --pattern {}", kind.name,
                      options.pattern->name, usable);
  if (options.ranks < kind.fewest_ranks)
    return base::fail("fault {}: needs at least {} ranks, use --ranks {}", kind.name,
                      kind.fewest_ranks, kind.fewest_ranks);
  if (kind.type == FaultType::kSlowGroup && options.ranks % kExpertGroup != 0)
    return base::fail("fault {}: needs groups of {} ranks, use --ranks {}", kind.name, kExpertGroup,
                      kind.fewest_ranks);
  return {};
}

Expected<void> check_shape(SynthOptions const& options) {
  PipelineShape const usual, &shape = options.shape;
  bool const is_usual = shape.micro_batches == usual.micro_batches &&
                        shape.size_percent == usual.size_percent && shape.stage_layers.empty();
  if (is_usual) return {};

  if (options.pattern->name != "pipeline")
    return base::fail(
        "only a pipeline has micro-batches and stages, use --pattern pipeline with "
        "--micro-batches, --micro-batch-percent and --stage-layers");
  if (!shape.stage_layers.empty() &&
      shape.stage_layers.size() != static_cast<size_t>(options.ranks))
    return base::fail("--stage-layers has {} numbers, write one for each of the {} ranks",
                      shape.stage_layers.size(), options.ranks);
  return {};
}

Expected<SynthSummary> make_run(SynthOptions const& options, std::string const& folder) {
  STEPSCOPE_CHECK(options.pattern != nullptr && options.ranks >= 1 && options.ranks <= kMaxRanks);
  STEPSCOPE_CHECK(options.steps >= 0 && options.steps <= kMaxSteps);
  STEPSCOPE_CHECK(options.steps > 0 ||
                  (options.events_per_rank >= 1 && options.events_per_rank <= kMaxEventsPerRank));

  if (auto const possible = check_fault(options); !possible) return base::fail_with(possible);
  if (auto const possible = check_shape(options); !possible) return base::fail_with(possible);
  if (auto const allowed = allow_files(options.ranks); !allowed) return base::fail_with(allowed);

  Simulation simulation(options, job_of(options, true), folder);
  auto summary = simulation.run();
  if (!summary) simulation.remove_what_was_made();
  return summary;
}

}  // namespace stepscope::synth
