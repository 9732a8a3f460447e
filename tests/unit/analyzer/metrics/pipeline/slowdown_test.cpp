// What unequal workers cost, against a twin that knows the schedule and relaxes its constraints
// until nothing moves.
#include "analyzer/metrics/pipeline/slowdown.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

/// An operation of a worker: data rank, stage, name, number.
using OpKey = std::tuple<int, int, std::string, int>;
struct TwinOp {
  double duration = 0;  ///< of a collective its transfer
  double ready = 0, end = 0;
  std::vector<OpKey> after;
};
using TwinStep = std::map<OpKey, TwinOp>;

/// One forward and one backward pass in turn, without virtual stages.
struct TwinJob {
  int stages = 3, data_ranks = 2, micro_batches = 4;
  std::vector<TwinStep> steps;

  struct Pass {
    bool is_forward;
    int number;
  };
  [[nodiscard]] std::vector<Pass> passes(int stage) const {
    int const ahead = std::min(micro_batches, stages - stage) - 1;
    std::vector<Pass> result;
    for (int i = 0; i < micro_batches + ahead; ++i) {
      if (i < micro_batches) result.push_back({true, i});
      if (i >= ahead) result.push_back({false, i - ahead});
    }
    return result;
  }

  void add_step(std::function<double(OpKey const&)> const& duration) {
    TwinStep& step = steps.emplace_back();
    for (int data = 0; data < data_ranks; ++data)
      for (int stage = 0; stage < stages; ++stage) add_worker(data, stage, step);
    for (auto& [key, op] : step) op.duration = duration(key);
  }

 private:
  void add_worker(int data, int stage, TwinStep& step) const {
    auto const key = [&](std::string const& name, int number) {
      return OpKey{data, stage, name, number};
    };
    step[key("params-all-gather", 0)];
    OpKey last{};
    std::vector<OpKey> done;
    bool was_backward = false;

    for (Pass const& pass : passes(stage)) {
      std::string const way = pass.is_forward ? "forward" : "backward";
      OpKey const own = key(way + "-compute", pass.number);
      TwinOp& op = step[own];
      if (!done.empty()) op.after.push_back(done.back());
      if (pass.is_forward && pass.number == 0) op.after.push_back(key("params-all-gather", 0));

      bool const receives = pass.is_forward ? stage > 0 : stage + 1 < stages;
      bool const sends = pass.is_forward ? stage + 1 < stages : stage > 0;
      for (bool const is_receive : {true, false}) {
        if (!(is_receive ? receives : sends)) continue;
        std::string const name = way + (is_receive ? "-recv" : "-send");
        TwinOp& message = step[key(name, pass.number)];
        if (pass.number > 0) message.after.push_back(key(name, pass.number - 1));
        if (is_receive && pass.number > 0)
          message.after.push_back(key(way + "-compute", pass.number - 1));
        if (is_receive) step[own].after.push_back(key(name, pass.number));
        if (!is_receive) message.after.push_back(own);
        if (!pass.is_forward && !was_backward && done.size() >= 2)
          message.after.push_back(done[done.size() - 2]);
      }
      was_backward = was_backward || !pass.is_forward;
      done.push_back(own);
    }

    last = done.back();
    for (std::string const name :
         {"grads-reduce-scatter", "optimizer-clip-main-grad", "optimizer"}) {
      TwinOp& op = step[key(name, 0)];
      op.after.push_back(last);
      if (name == "grads-reduce-scatter") op.after.push_back(key("params-all-gather", 0));
      last = key(name, 0);
    }
  }
};

/// Who begins together with it.
std::vector<OpKey> partners_of(OpKey const& key, TwinStep const& step) {
  auto const& [data, stage, name, number] = key;
  std::vector<OpKey> partners = {key};
  auto const add_all = [&](auto const& is_one) {
    for (auto const& [other, op] : step)
      if (std::get<2>(other) == name && is_one(other)) partners.push_back(other);
  };

  if (name == "forward-send") partners.push_back({data, stage + 1, "forward-recv", number});
  if (name == "forward-recv") partners.push_back({data, stage - 1, "forward-send", number});
  if (name == "backward-send") partners.push_back({data, stage - 1, "backward-recv", number});
  if (name == "backward-recv") partners.push_back({data, stage + 1, "backward-send", number});
  if (name == "params-all-gather" || name == "grads-reduce-scatter")
    add_all([&, of = stage](OpKey const& other) { return std::get<1>(other) == of; });
  if (name == "optimizer-clip-main-grad") add_all([](OpKey const&) { return true; });
  return partners;
}

/// Moves operations until each begins when all that it waits for is over; returns the last end.
double relax_twin(TwinStep& step,
                  std::function<double(OpKey const&, TwinOp const&)> const& duration) {
  for (auto& [key, op] : step) op.ready = op.end = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [key, op] : step) {
      for (OpKey const& before : op.after) op.ready = std::max(op.ready, step.at(before).end);
      double begin = 0;
      for (OpKey const& partner : partners_of(key, step))
        begin = std::max(begin, step.at(partner).ready);
      double const end = begin + duration(key, op);
      moved = moved || end != op.end;
      op.end = end;
    }
  }

  double last = 0;
  for (auto const& [key, op] : step) last = std::max(last, op.end);
  return last;
}

bool is_twin_compute(std::string const& name) {
  return name.ends_with("compute") || name == "optimizer";
}

/// Evaluations of a job by the plainest means.
class SlowdownTwin {
 public:
  explicit SlowdownTwin(TwinJob& job) : job_(job) {
    std::map<std::string, std::vector<double>> all;
    for (TwinStep const& step : job.steps)
      for (auto const& [key, op] : step) all[std::get<2>(key)].push_back(op.duration);

    for (auto& [name, durations] : all) {
      std::sort(durations.begin(), durations.end());
      size_t const n = durations.size();
      double sum = 0;
      for (double const each : durations) sum += each;
      equal_[name] = is_twin_compute(name) ? sum / static_cast<double>(n)
                                           : (durations[(n - 1) / 2] + durations[n / 2]) / 2;
    }
  }

  double mean(std::function<bool(OpKey const&)> const& is_recorded) {
    double sum = 0;
    for (TwinStep& step : job_.steps)
      sum += relax_twin(step, [&](OpKey const& key, TwinOp const& op) {
        return is_recorded(key) ? op.duration : equal_.at(std::get<2>(key));
      });
    return sum / static_cast<double>(job_.steps.size());
  }
  double slowdown(std::function<bool(OpKey const&)> const& is_recorded) {
    return mean(is_recorded) / mean([](OpKey const&) { return false; });
  }
  double regained(std::function<bool(OpKey const&)> const& is_equal) {
    double const all = mean([](OpKey const&) { return true; }),
                 none = mean([](OpKey const&) { return false; });
    return (all - mean([&](OpKey const& key) { return !is_equal(key); })) / (all - none);
  }

 private:
  TwinJob& job_;
  std::map<std::string, double> equal_;
};

/// What an importer makes of the job: participants begin when they are ready, and wait.
std::vector<WorkerOps> recorded_workers(TwinJob& job) {
  std::map<std::pair<int, int>, WorkerOps> workers;
  std::map<OpKey, uint64_t> groups;
  int64_t begin = 1'000'000;
  for (size_t index = 0; index < job.steps.size(); ++index) {
    TwinStep& step = job.steps[index];
    double const end = relax_twin(step, [](OpKey const&, TwinOp const& op) { return op.duration; });
    for (auto const& [key, op] : step) {
      auto const& [data, stage, name, number] = key;
      WorkerOps& worker = workers[{stage, data}];
      worker.place = {stage, data, 0};
      worker.ref = {0, stage * job.data_ranks + data};
      auto const known = std::find(worker.names.begin(), worker.names.end(), name);
      auto const place = static_cast<uint32_t>(known - worker.names.begin());
      if (known == worker.names.end()) worker.names.push_back(name);

      WorkerOp made;
      made.step = static_cast<int64_t>(index);
      made.name = place;
      made.is_comm = !is_twin_compute(name);
      made.when = {begin + static_cast<int64_t>(op.ready), begin + static_cast<int64_t>(op.end)};
      if (made.is_comm) {
        auto partners = partners_of(key, step);
        OpKey const first = *std::min_element(partners.begin(), partners.end());
        made.communicator = groups.try_emplace(first, groups.size() + 1).first->second;
        made.sequence = index + 1;
      }
      worker.ops.push_back(made);
    }
    begin += static_cast<int64_t>(end) + 1000;
  }

  std::vector<WorkerOps> result;
  for (auto& [place, worker] : workers) result.push_back(std::move(worker));
  return result;
}

TwinJob random_job(uint32_t seed) {
  std::mt19937 random(seed);
  auto const pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  TwinJob job;
  job.stages = pick(1, 4);
  job.data_ranks = pick(1, 3);
  job.micro_batches = pick(2, 5);
  int const slow_stage = pick(0, job.stages - 1), slow_data = pick(0, job.data_ranks - 1);

  for (int step = 0; step < 3; ++step)
    job.add_step([&](OpKey const& key) {
      bool const is_slow = std::get<0>(key) == slow_data && std::get<1>(key) == slow_stage;
      if (!is_twin_compute(std::get<2>(key))) return pick(10, 400);
      return pick(8'000, 12'000) * (is_slow ? 2 : 1);
    });
  return job;
}

TEST(Slowdown, IsWhatANaiveTwinFinds) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    TwinJob job = random_job(seed);
    if (job.stages * job.data_ranks < 2) continue;
    auto const found = find_slowdown(recorded_workers(job));
    ASSERT_TRUE(found) << seed << ": " << found.error().message;
    SlowdownTwin twin(job);

    EXPECT_NEAR(found->s, twin.slowdown([](OpKey const&) { return true; }), 1e-9) << seed;
    ASSERT_EQ(found->stages.size(), static_cast<size_t>(job.stages));
    for (auto const& stage : found->stages)
      EXPECT_NEAR(stage.s,
                  twin.slowdown([&](OpKey const& key) { return std::get<1>(key) == stage.stage; }),
                  1e-9)
          << seed;
    for (auto const& data_rank : found->data_ranks)
      EXPECT_NEAR(data_rank.s, twin.slowdown([&](OpKey const& key) {
        return std::get<0>(key) == data_rank.data_rank;
      }),
                  1e-9)
          << seed;

    ASSERT_TRUE(found->m_stage);
    EXPECT_NEAR(*found->m_stage,
                twin.regained([&](OpKey const& key) { return std::get<1>(key) == job.stages - 1; }),
                1e-6)
        << seed;
    ASSERT_TRUE(found->m_worker);
    EXPECT_NEAR(*found->m_worker, twin.regained([&](OpKey const& key) {
      return std::any_of(found->workers.begin(), found->workers.end(),
                         [&](SlowdownStats::Worker const& worker) {
                           return worker.is_among_slowest && worker.data_rank == std::get<0>(key) &&
                                  worker.stage == std::get<1>(key);
                         });
    }),
                1e-6)
        << seed;
  }
}

/// Passes of 10 µs, of the last stage twice as long.
TwinJob job_with_slow_end() {
  TwinJob job;
  for (int step = 0; step < 3; ++step)
    job.add_step([&](OpKey const& key) {
      bool const is_slow = std::get<1>(key) == job.stages - 1;
      if (!is_twin_compute(std::get<2>(key))) return 100.0;
      return is_slow ? 20'000.0 : 10'000.0;
    });
  return job;
}

TEST(Slowdown, ASlowLastStageAccountsForAllOfIt) {
  TwinJob job = job_with_slow_end();
  auto const found = find_slowdown(recorded_workers(job));
  ASSERT_TRUE(found);

  EXPECT_GT(found->s, 1.2);
  EXPECT_GT(*found->m_stage, 0.9);
  EXPECT_LT(*found->m_worker, 0.2);
  EXPECT_DOUBLE_EQ(*found->m_slowest_stage, *found->m_stage);
  EXPECT_NEAR(found->stages.back().compute_ratio, 1.5, 1e-9);
  EXPECT_EQ(found->steps, 3U);
  EXPECT_EQ(found->left_out_steps, 0U);
}

TEST(Slowdown, EqualWorkersLoseNothing) {
  TwinJob job;
  for (int step = 0; step < 3; ++step)
    job.add_step([](OpKey const& key) { return is_twin_compute(std::get<2>(key)) ? 1e4 : 100.0; });
  auto const found = find_slowdown(recorded_workers(job));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->s, 1);
  EXPECT_FALSE(found->m_stage);
  EXPECT_FALSE(found->m_worker);
}

TEST(Slowdown, AStepInWhichAWorkerDidSomethingElseIsLeftOut) {
  TwinJob job = job_with_slow_end();
  std::vector<WorkerOps> workers = recorded_workers(job);
  auto& ops = workers.front().ops;
  ops.erase(std::find_if(ops.begin(), ops.end(), [](WorkerOp const& op) { return op.step == 1; }));
  auto const found = find_slowdown(std::move(workers));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, 2U);
  EXPECT_EQ(found->left_out_steps, 1U);
}

TEST(Slowdown, IsRefusedWithTheReasonWhereWorkersAreMissing) {
  TwinJob job = job_with_slow_end();
  std::vector<WorkerOps> workers = recorded_workers(job);
  workers.pop_back();
  auto const found = find_slowdown(std::move(workers));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("different stages"), std::string::npos);
}

TEST(Slowdown, IsRefusedWhereAStageOrItsMessagesAreMissing) {
  TwinJob job = job_with_slow_end();
  std::vector<WorkerOps> without_stage = recorded_workers(job), without_messages = without_stage;
  std::erase_if(without_stage, [](WorkerOps const& worker) { return worker.place.stage == 1; });
  for (WorkerOps& worker : without_messages)
    std::erase_if(worker.ops,
                  [&](WorkerOp const& op) { return worker.names[op.name] == "forward-recv"; });

  auto const stage = find_slowdown(std::move(without_stage));
  ASSERT_FALSE(stage);
  EXPECT_NE(stage.error().message.find("not all stages"), std::string::npos);
  auto const messages = find_slowdown(std::move(without_messages));
  ASSERT_FALSE(messages);
  EXPECT_NE(messages.error().message.find("messages of stage 1"), std::string::npos);
}

TEST(Slowdown, IsRefusedWhereNoStepIsWhole) {
  TwinJob job = job_with_slow_end();
  std::vector<WorkerOps> workers = recorded_workers(job);
  workers.front().ops.clear();
  EXPECT_FALSE(find_slowdown(std::move(workers)));
}

TEST(Slowdown, CollectivesThatWaitInACircleAreRefused) {
  TwinJob job = job_with_slow_end();
  std::vector<WorkerOps> workers = recorded_workers(job);
  // The weights' gathering as the partner of the last clipping, as no program can have it.
  for (WorkerOps& worker : workers)
    for (WorkerOp& op : worker.ops)
      if (worker.names[op.name] == "params-all-gather" ||
          worker.names[op.name] == "optimizer-clip-main-grad")
        op.communicator = 999;

  auto const found = find_slowdown(std::move(workers));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("circle"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::analyzer
