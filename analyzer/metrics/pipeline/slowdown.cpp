#include "analyzer/metrics/pipeline/slowdown.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/pipeline/pass_graph.h"

namespace stepscope::analyzer {
namespace {

/// Beside those of stages and operations: recorded, equal, two lanes for each data rank, M_S, M_W.
constexpr uint64_t kOtherEvaluations = 6;
/// Some seconds of work.
constexpr uint64_t kMostEvaluations = 1'000'000'000;
/// Below this share of the step the loss is what clocks and rounding make of it.
constexpr double kLeastLoss = 0.001;
/// M_W speaks of so many of a hundred workers, at least one.
constexpr size_t kSlowestPercent = 3;

/// The median, and of an even number the mean of the two in the middle, as the method's authors
/// have it. Transfers often come in two sizes, so that it matters.
double middle_transfer(std::vector<double>& values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double mean_length(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Messages of one direction count as one operation, from both of their sides.
std::string_view shown_operation(std::string_view name) {
  if (name == "forward-send" || name == "forward-recv") return "forward-pp-comm";
  return name == "backward-send" || name == "backward-recv" ? "backward-pp-comm" : name;
}

class SlowdownFinder {
 public:
  SlowdownFinder(PipelineSteps steps, PassGraph graph)
      : steps_(std::move(steps)), graph_(std::move(graph)) {}

  base::Expected<SlowdownStats> find() {
    if (!choose_steps()) return base::fail("one step has too many operations");
    find_durations();
    find_equal_durations();

    std::vector<double> ends;
    stats_.ideal_step_ns =
        graph_.step_end(1, ends, [&](uint32_t operation, size_t) { return equal_of(operation); });
    if (!(stats_.ideal_step_ns > 0)) return base::fail("operations take no time");
    stats_.step_ns = mean_step([&](uint32_t operation, size_t step, size_t lane) {
      return durations_[steps_.place(operation, step, lane)];
    });
    stats_.s = slowdown_of(stats_.step_ns);

    add_stages();
    add_data_ranks();
    add_operations();
    add_workers();
    add_shares();
    return std::move(stats_);
  }

 private:
  [[nodiscard]] PipelineSeat seat_of(uint32_t operation) const {
    return steps_.seats[steps_.operations[operation].seat];
  }
  [[nodiscard]] double slowdown_of(double step_ns) const { return step_ns / stats_.ideal_step_ns; }
  [[nodiscard]] double equal_of(uint32_t operation) const {
    return equal_[steps_.operations[operation].name];
  }

  /// The middle steps, where there are too many.
  bool choose_steps() {
    uint64_t const of_step = steps_.operations.size() * steps_.lanes();
    uint64_t const evaluations = steps_.seats.size() + steps_.names.size() + kOtherEvaluations;
    uint64_t const most = kMostEvaluations / std::max<uint64_t>(1, of_step * evaluations);
    chosen_ = std::min<size_t>(steps_.steps.size(), most);
    first_ = (steps_.steps.size() - chosen_) / 2;

    stats_.steps = chosen_;
    stats_.left_out_steps = steps_.left_out_steps + steps_.steps.size() - chosen_;
    return chosen_ > 0;
  }

  /// A collective's duration is its transfer: from the last participant's begin to the own end.
  void find_durations() {
    durations_.resize(steps_.when.size());
    double recorded = 0;

    for (size_t step = first_; step < first_ + chosen_; ++step) {
      Interval all = steps_.when[steps_.place(0, step, 0)];
      for (PipelineSteps::Joined const& joined : steps_.joined) {
        for (size_t lane = 0; lane < steps_.lanes(); ++lane) {
          int64_t const begin = last_begin(joined, step, lane);
          for (uint32_t const operation : joined.operations) {
            size_t const place = steps_.place(operation, step, lane);
            Interval const when = steps_.when[place];
            durations_[place] = static_cast<double>(std::max<int64_t>(0, when.end - begin));
            all = {std::min(all.begin, when.begin), std::max(all.end, when.end)};
          }
        }
      }
      recorded += static_cast<double>(all.length());
    }
    stats_.recorded_step_ns = recorded / static_cast<double>(chosen_);
  }

  [[nodiscard]] int64_t last_begin(PipelineSteps::Joined const& joined, size_t step,
                                   size_t own_lane) const {
    int64_t last = steps_.when[steps_.place(joined.operations[0], step, own_lane)].begin;
    size_t const first_lane = joined.joins_data_ranks ? 0 : own_lane,
                 last_lane = joined.joins_data_ranks ? steps_.lanes() : own_lane + 1;
    for (uint32_t const operation : joined.operations)
      for (size_t lane = first_lane; lane < last_lane; ++lane)
        last = std::max(last, steps_.when[steps_.place(operation, step, lane)].begin);
    return last;
  }

  void find_equal_durations() {
    std::vector<std::vector<double>> all(steps_.names.size());
    std::vector<bool> is_comm(steps_.names.size());
    for (uint32_t i = 0; i < steps_.operations.size(); ++i) {
      is_comm[steps_.operations[i].name] = steps_.operations[i].is_comm;
      for (size_t step = first_; step < first_ + chosen_; ++step)
        for (size_t lane = 0; lane < steps_.lanes(); ++lane)
          all[steps_.operations[i].name].push_back(durations_[steps_.place(i, step, lane)]);
    }

    equal_.resize(all.size());
    for (size_t name = 0; name < all.size(); ++name)
      if (!all[name].empty())
        equal_[name] = is_comm[name] ? middle_transfer(all[name]) : mean_length(all[name]);
  }

  /// The mean over the steps, with duration(operation, step, lane).
  template <class Duration>
  [[nodiscard]] double mean_step(Duration const& duration) const {
    std::vector<double> lengths(chosen_);
    tbb::parallel_for(size_t{0}, chosen_, [&](size_t i) {
      std::vector<double> ends;
      lengths[i] = graph_.step_end(steps_.lanes(), ends, [&](uint32_t operation, size_t lane) {
        return duration(operation, first_ + i, lane);
      });
    });
    return mean_length(lengths);
  }

  /// With the recorded durations where is_recorded(operation, lane), all others equal.
  template <class IsRecorded>
  [[nodiscard]] double mean_step_of(IsRecorded const& is_recorded) const {
    return mean_step([&](uint32_t operation, size_t step, size_t lane) {
      return is_recorded(operation, lane) ? durations_[steps_.place(operation, step, lane)]
                                          : equal_of(operation);
    });
  }

  void add_stages() {
    std::map<int32_t, double> compute;
    for (uint32_t i = 0; i < steps_.operations.size(); ++i) {
      double& of_stage = compute[seat_of(i).stage];
      if (steps_.operations[i].is_comm) continue;
      for (size_t step = first_; step < first_ + chosen_; ++step)
        for (size_t lane = 0; lane < steps_.lanes(); ++lane)
          of_stage += durations_[steps_.place(i, step, lane)];
    }

    double all = 0;
    for (auto const& [stage, of_stage] : compute) all += of_stage;
    for (auto const& [stage, of_stage] : compute) {
      auto const is_of_stage = [&, number = stage](uint32_t operation, size_t) {
        return seat_of(operation).stage == number;
      };
      double const ratio = all > 0 ? of_stage * static_cast<double>(compute.size()) / all : 1;
      stats_.stages.push_back({stage, slowdown_of(mean_step_of(is_of_stage)), ratio});
    }
  }

  /// All other data ranks are equal: one stands for them, so that this costs two lanes a rank.
  void add_data_ranks() {
    size_t const lanes = std::min<size_t>(2, steps_.lanes());
    stats_.data_ranks.resize(steps_.lanes());

    tbb::parallel_for(size_t{0}, steps_.lanes(), [&](size_t own) {
      std::vector<double> ends;
      double sum = 0;
      for (size_t step = first_; step < first_ + chosen_; ++step) {
        sum += graph_.step_end(lanes, ends, [&](uint32_t operation, size_t lane) {
          return lane == 0 ? durations_[steps_.place(operation, step, own)] : equal_of(operation);
        });
      }
      stats_.data_ranks[own] = {steps_.data_ranks[own],
                                slowdown_of(sum / static_cast<double>(chosen_))};
    });
  }

  void add_operations() {
    std::vector<std::string_view> shown;
    for (std::string const& name : steps_.names) shown.push_back(shown_operation(name));
    std::vector<std::string_view> distinct = shown;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());

    for (std::string_view const name : distinct) {
      auto const is_named = [&](uint32_t operation, size_t) {
        return shown[steps_.operations[operation].name] == name;
      };
      stats_.operations.push_back({std::string(name), slowdown_of(mean_step_of(is_named))});
    }
    std::stable_sort(stats_.operations.begin(), stats_.operations.end(),
                     [](auto const& a, auto const& b) { return a.s > b.s; });
  }

  /// A worker is slow if its stage and its data rank are.
  void add_workers() {
    for (size_t seat = 0; seat < steps_.seats.size(); ++seat) {
      auto const stage = std::find_if(
          stats_.stages.begin(), stats_.stages.end(),
          [&](SlowdownStats::Stage const& of) { return of.stage == steps_.seats[seat].stage; });
      for (size_t lane = 0; lane < steps_.lanes(); ++lane) {
        SlowdownStats::Worker worker;
        worker.ref = steps_.devices[seat * steps_.lanes() + lane];
        worker.stage = steps_.seats[seat].stage;
        worker.tensor_rank = steps_.seats[seat].tensor;
        worker.data_rank = steps_.data_ranks[lane];
        worker.s = std::min(stage->s, stats_.data_ranks[lane].s);
        stats_.workers.push_back(worker);
      }
    }

    std::vector<size_t> slowest(stats_.workers.size());
    std::iota(slowest.begin(), slowest.end(), size_t{0});
    std::stable_sort(slowest.begin(), slowest.end(),
                     [&](size_t a, size_t b) { return stats_.workers[a].s > stats_.workers[b].s; });
    constexpr size_t kAll = 100;
    slowest.resize((slowest.size() * kSlowestPercent + kAll - 1) / kAll);
    for (size_t const worker : slowest) stats_.workers[worker].is_among_slowest = true;
  }

  /// Which share of the loss is gone when some operations take as long as those of equal workers.
  template <class IsEqual>
  [[nodiscard]] double regained(IsEqual const& is_equal) const {
    double const step_ns =
        mean_step_of([&](uint32_t operation, size_t lane) { return !is_equal(operation, lane); });
    return (stats_.step_ns - step_ns) / (stats_.step_ns - stats_.ideal_step_ns);
  }

  void add_shares() {
    if (stats_.step_ns - stats_.ideal_step_ns < kLeastLoss * stats_.ideal_step_ns) return;
    int32_t const last = steps_.seats.back().stage;

    stats_.m_stage =
        regained([&](uint32_t operation, size_t) { return seat_of(operation).stage == last; });
    auto const slowest = std::max_element(
        stats_.stages.begin(), stats_.stages.end(),
        [](SlowdownStats::Stage const& a, SlowdownStats::Stage const& b) { return a.s < b.s; });
    stats_.m_slowest_stage =
        slowest->stage == last ? stats_.m_stage : regained([&](uint32_t operation, size_t) {
          return seat_of(operation).stage == slowest->stage;
        });
    stats_.m_worker = regained([&](uint32_t operation, size_t lane) {
      return stats_.workers[steps_.operations[operation].seat * steps_.lanes() + lane]
          .is_among_slowest;
    });
  }

  PipelineSteps steps_;
  PassGraph graph_;
  size_t first_ = 0, chosen_ = 0;  ///< of steps_.steps
  std::vector<double> durations_;  ///< by place
  std::vector<double> equal_;      ///< by name
  SlowdownStats stats_;
};

}  // namespace

base::Expected<SlowdownStats> find_slowdown(std::vector<WorkerOps> workers) {
  auto steps = line_up_steps(std::move(workers));
  if (!steps) return base::fail_with(steps);
  auto graph = PassGraph::make(*steps);
  if (!graph) return base::fail_with(graph);
  return SlowdownFinder(std::move(*steps), std::move(*graph)).find();
}

}  // namespace stepscope::analyzer
