#include "analyzer/metrics/pipeline/pipeline_steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace stepscope::analyzer {
namespace {

/// How many operations of each name each seat has in a step, on all data ranks alike: by seat, then
/// name.
using StepContents = std::vector<uint32_t>;

class StepAligner {
 public:
  explicit StepAligner(std::vector<WorkerOps> workers) : workers_(std::move(workers)) {}

  base::Expected<PipelineSteps> align() {
    if (!find_workers())
      return base::fail("data-parallel ranks have different stages, or one worker is there twice");
    if (!are_stages_whole()) return base::fail("not all stages were recorded");
    find_names();
    if (result_.names.size() > kMostOperationNames)
      return base::fail("workers have more than {} different operations", kMostOperationNames);

    sort_ops();
    if (!choose_steps()) return base::fail("in no step do all data-parallel ranks do the same");

    add_operations();
    add_times();
    add_order();
    add_joined();
    return std::move(result_);
  }

 private:
  /// The operations of a worker in a step: places in WorkerOps::ops.
  struct StepOps {
    size_t first = 0, last = 0;
  };

  /// Each seat has one worker of each data rank; workers_ comes out in this order.
  bool find_workers() {
    for (WorkerOps const& worker : workers_) {
      result_.seats.push_back({worker.place.stage, worker.place.tensor});
      result_.data_ranks.push_back(worker.place.data);
    }
    auto const make_unique = [](auto& values) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
    };
    make_unique(result_.seats);
    make_unique(result_.data_ranks);

    auto const key = [](WorkerOps const& worker) {
      return std::tuple(worker.place.stage, worker.place.tensor, worker.place.data);
    };
    std::sort(workers_.begin(), workers_.end(),
              [&](WorkerOps const& a, WorkerOps const& b) { return key(a) < key(b); });
    for (size_t i = 1; i < workers_.size(); ++i)
      if (key(workers_[i - 1]) == key(workers_[i])) return false;
    for (WorkerOps const& worker : workers_) result_.devices.push_back(worker.ref);
    return workers_.size() == result_.seats.size() * result_.lanes();
  }

  [[nodiscard]] bool are_stages_whole() const {
    int32_t next = 0;
    for (PipelineSeat const& seat : result_.seats) {
      if (seat.stage > next) return false;
      next = seat.stage + 1;
    }
    return true;
  }

  /// One numbering of names for all workers.
  void find_names() {
    std::map<std::string, uint32_t> numbers;

    for (WorkerOps& worker : workers_) {
      std::vector<uint32_t> name_of(worker.names.size());
      for (size_t i = 0; i < worker.names.size(); ++i) {
        auto const [known, is_new] =
            numbers.try_emplace(worker.names[i], static_cast<uint32_t>(result_.names.size()));
        if (is_new) result_.names.push_back(worker.names[i]);
        name_of[i] = known->second;
      }
      for (WorkerOp& op : worker.ops) op.name = name_of[op.name];
    }
  }

  void sort_ops() {
    for (WorkerOps& worker : workers_) {
      std::stable_sort(
          worker.ops.begin(), worker.ops.end(), [](WorkerOp const& a, WorkerOp const& b) {
            return std::tie(a.step, a.name, a.when.begin) < std::tie(b.step, b.name, b.when.begin);
          });

      auto& steps = of_steps_.emplace_back();
      for (size_t first = 0, last = 0; first < worker.ops.size(); first = last) {
        while (last < worker.ops.size() && worker.ops[last].step == worker.ops[first].step) ++last;
        steps[worker.ops[first].step] = {first, last};
      }
    }
  }

  [[nodiscard]] size_t worker_at(size_t seat, size_t lane) const {
    return seat * result_.lanes() + lane;
  }

  /// Nothing where data ranks differ.
  [[nodiscard]] std::optional<StepContents> contents_of(int64_t step) const {
    size_t const names = result_.names.size();
    StepContents contents(result_.seats.size() * names);
    for (size_t seat = 0; seat < result_.seats.size(); ++seat) {
      for (size_t lane = 0; lane < result_.lanes(); ++lane) {
        size_t const worker = worker_at(seat, lane);
        auto const found = of_steps_[worker].find(step);
        if (found == of_steps_[worker].end()) return std::nullopt;

        std::vector<uint32_t> counts(names);
        for (size_t i = found->second.first; i < found->second.last; ++i)
          ++counts[workers_[worker].ops[i].name];
        auto const own = contents.begin() + static_cast<ptrdiff_t>(seat * names);
        if (lane == 0) std::copy(counts.begin(), counts.end(), own);
        if (!std::equal(counts.begin(), counts.end(), own)) return std::nullopt;
      }
    }
    return contents;
  }

  /// Most steps hold the same: the first ones of them are the first with these contents.
  bool choose_steps() {
    std::map<StepContents, std::vector<int64_t>> alike;
    for (auto const& [step, ops] : of_steps_.front())
      if (auto contents = contents_of(step)) alike[std::move(*contents)].push_back(step);
    if (alike.empty()) return false;

    auto const best = std::max_element(
        alike.begin(), alike.end(),
        [](auto const& a, auto const& b) { return a.second.size() < b.second.size(); });
    contents_ = best->first;
    result_.steps = best->second;
    result_.left_out_steps = of_steps_.front().size() - result_.steps.size();
    return true;
  }

  [[nodiscard]] WorkerOp const* ops_of(size_t worker, size_t step) const {
    return workers_[worker].ops.data() + of_steps_[worker].at(result_.steps[step]).first;
  }

  void add_operations() {
    size_t const names = result_.names.size();
    for (uint32_t seat = 0; seat < result_.seats.size(); ++seat) {
      first_of_seat_.push_back(result_.operations.size());
      WorkerOp const* op = ops_of(worker_at(seat, 0), 0);
      for (uint32_t name = 0; name < names; ++name)
        for (uint32_t number = 0; number < contents_[seat * names + name]; ++number, ++op)
          result_.operations.push_back({seat, name, number, op->chunk, op->is_comm});
    }
    first_of_seat_.push_back(result_.operations.size());
  }

  void add_times() {
    result_.when.resize(result_.operations.size() * result_.steps.size() * result_.lanes());

    for (size_t seat = 0; seat < result_.seats.size(); ++seat) {
      for (size_t lane = 0; lane < result_.lanes(); ++lane) {
        for (size_t step = 0; step < result_.steps.size(); ++step) {
          WorkerOp const* op = ops_of(worker_at(seat, lane), step);
          for (size_t i = first_of_seat_[seat]; i < first_of_seat_[seat + 1]; ++i, ++op)
            result_.when[result_.place(i, step, lane)] = op->when;
        }
      }
    }
  }

  void add_order() {
    result_.order.resize(result_.operations.size());
    std::iota(result_.order.begin(), result_.order.end(), 0U);
    std::stable_sort(result_.order.begin(), result_.order.end(), [&](uint32_t a, uint32_t b) {
      auto const key = [&](uint32_t i) {
        return std::pair(result_.operations[i].seat, result_.when[result_.place(i, 0, 0)].begin);
      };
      return key(a) < key(b);
    });
  }

  /// Collectives of the first step with one number are one. An operation without number is alone.
  void add_joined() {
    std::map<std::pair<uint64_t, uint64_t>, size_t> known;
    std::vector<bool> is_in(result_.operations.size());
    for_each_partner(0, [&](size_t operation, WorkerOp const& op) {
      auto const [place, is_new] =
          known.try_emplace({op.communicator, op.sequence}, result_.joined.size());
      if (is_new) result_.joined.emplace_back();
      result_.joined[place->second].operations.push_back(static_cast<uint32_t>(operation));
      is_in[operation] = true;
    });

    for (size_t lane = 1; lane < result_.lanes(); ++lane) {
      for_each_partner(lane, [&](size_t, WorkerOp const& op) {
        auto const place = known.find({op.communicator, op.sequence});
        if (place != known.end()) result_.joined[place->second].joins_data_ranks = true;
      });
    }

    for (uint32_t i = 0; i < result_.operations.size(); ++i)
      if (!is_in[i]) result_.joined.push_back({{i}, false});
  }

  /// Calls visit(operation, op) for what a data rank has in the first step that has a number.
  template <class Visit>
  void for_each_partner(size_t lane, Visit visit) const {
    for (size_t seat = 0; seat < result_.seats.size(); ++seat) {
      WorkerOp const* op = ops_of(worker_at(seat, lane), 0);
      for (size_t i = first_of_seat_[seat]; i < first_of_seat_[seat + 1]; ++i, ++op)
        if (op->is_comm && op->communicator != 0) visit(i, *op);
    }
  }

  std::vector<WorkerOps> workers_;                    ///< by seat, then data rank
  std::vector<std::map<int64_t, StepOps>> of_steps_;  ///< beside workers_
  StepContents contents_;
  std::vector<size_t> first_of_seat_;
  PipelineSteps result_;
};

}  // namespace

base::Expected<PipelineSteps> line_up_steps(std::vector<WorkerOps> workers) {
  return StepAligner(std::move(workers)).align();
}

}  // namespace stepscope::analyzer
