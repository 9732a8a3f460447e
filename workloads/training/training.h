// What the host threads of a data-parallel training share: when all stop, each step's loss and
// time, and Ctrl-C.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/options.h"

namespace stepscope::workloads {

/// Lets all threads end after the same step without a barrier. Collectives need every member: once
/// one thread has begun a step, all must do it.
class StopGate {
 public:
  /// With several processes: each process's first thread says before a step whether this process
  /// wants to end; true = all end.
  using Agreement = std::function<bool(bool wants_end)>;
  void agree_by(Agreement agreement) { agreement_ = std::move(agreement); }

  /// True: do this step. False: end. Steps are asked for in order.
  bool may_start(int64_t step) {
    std::lock_guard const lock(mutex_);
    if (agreement_ && step >= begun_ && step < end_ && agreement_(stopped_)) end_ = step;
    if (step >= end_) return false;
    if (step + 1 > begun_) begun_ = step + 1;
    return true;
  }
  /// Lets no step begin that no thread has begun, unless processes have to agree first. Keeps the
  /// `error` of the first caller. `step`: in which it happened, −1 = in the one that was begun
  /// last.
  void stop(std::optional<std::string> error, int64_t step = -1) {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
    if (!agreement_) end_ = begun_;
    if (!error || error_) return;
    error_ = std::move(error);
    error_step_ = step < 0 ? begun_ - 1 : step;
  }
  /// With several processes: the error that all agree came first.
  void replace_error(std::string error, int64_t step) {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
    error_ = std::move(error);
    error_step_ = step;
  }
  [[nodiscard]] bool stopped() const {
    std::lock_guard const lock(mutex_);
    return stopped_ || end_ != std::numeric_limits<int64_t>::max();
  }
  [[nodiscard]] std::optional<std::string> error() const {
    std::lock_guard const lock(mutex_);
    return error_;
  }
  [[nodiscard]] int64_t error_step() const {
    std::lock_guard const lock(mutex_);
    return error_step_;
  }

 private:
  mutable std::mutex mutex_;
  Agreement agreement_;
  bool stopped_ = false;
  int64_t begun_ = 0;
  int64_t end_ = std::numeric_limits<int64_t>::max();
  std::optional<std::string> error_;
  int64_t error_step_ = -1;
};

/// Collects each device's loss and step time; the last device to report a step prints its line.
class StepLog {
 public:
  struct Settings {
    int64_t first_step, devices, samples_per_step;
    std::string samples;              ///< what they are called: "images"
    std::vector<std::string> losses;  ///< names of a step's losses: "loss"
    int64_t every;                    ///< steps from line to line, 0 = none
    std::FILE* out;                   ///< null = silent
  };
  explicit StepLog(Settings const& settings)
      : settings_(settings), step_ns_(static_cast<size_t>(settings.devices)) {}

  /// `losses`: as many as Settings::losses.
  void report(int64_t device, int64_t step, std::span<double const> losses, int64_t step_ns);
  /// Loss `number`: mean over the devices, by step; only steps that all have reported.
  [[nodiscard]] std::vector<double> losses(size_t number) const;
  [[nodiscard]] std::vector<std::vector<int64_t>> const& step_ns() const { return step_ns_; }

 private:
  void print(int64_t step);

  Settings settings_;
  std::mutex mutex_;
  std::vector<double> loss_sum_;  ///< [step][loss]
  std::vector<int64_t> reports_;
  std::vector<std::vector<int64_t>> step_ns_;
  int64_t printed_ns_ = 0;  ///< slowest device's time since the last line
  int64_t printed_steps_ = 0;
};

/// Whether all replicas have the same weights after a step: compares what the devices report.
class ReplicaCheck {
 public:
  explicit ReplicaCheck(int64_t devices) : devices_(devices) {}
  /// Says what differs, on the device that comes second. Steps may overlap between devices.
  std::optional<std::string> report(int64_t device, int64_t step, std::span<float const> weights);
  [[nodiscard]] static uint64_t checksum(std::span<float const> weights);
  struct Checked {
    int64_t step = -1;
    uint64_t checksum = 0;
  };
  /// What was reported last.
  [[nodiscard]] Checked latest() const {
    std::lock_guard const lock(mutex_);
    return latest_;
  }

 private:
  struct First {
    int64_t device, reports;
    uint64_t checksum;
  };
  int64_t devices_;
  mutable std::mutex mutex_;
  Checked latest_;
  std::map<int64_t, First> steps_;  ///< that not all devices have reported
};

/// Why the training ends: `what` ("the loss") of `workload` is not finite. What to try follows.
std::string not_finite(std::string const& workload, std::string const& what, double value,
                       int64_t step, std::string const& device);

/// While one of these lives, SIGINT sets interrupted() instead of ending the process; a second
/// SIGINT ends it.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(InterruptGuard const&) = delete;
  InterruptGuard& operator=(InterruptGuard const&) = delete;
  [[nodiscard]] static bool interrupted();
};

struct TrainingResult {
  int64_t first_step = 0;
  std::vector<std::vector<int64_t>> step_ns;  ///< by device, by step, on the workload's own clock
  std::vector<double> loss;  ///< by step, mean over the devices; of several losses the first
  struct Loss {
    std::string name;  ///< empty where there is one only
    std::vector<double> by_step;
  };
  std::vector<Loss> losses;
  std::vector<std::vector<float>> weights;  ///< by device of this process, at the end
  std::vector<uint64_t> weights_checksums;  ///< by device
  uint32_t rank = 0, processes = 1;
  /// For each device and step: updates by others between pull and push; empty where devices wait
  /// for each other.
  std::vector<std::vector<int64_t>> staleness;
  bool lost_processes = false;  ///< another one is gone: this is the result of this one alone
  std::optional<double> test_accuracy;
  OpCounts counts;                ///< sum over the devices
  std::vector<MemoryUse> memory;  ///< by device
  bool interrupted = false;
  std::optional<std::string> failure;  ///< training went wrong (NaN loss); what and where
};
/// The JSON object that --json prints: the numbers of the result, on one line.
std::string summarize(std::string const& workload, TrainOptions const& options,
                      TrainingResult const& result);

OpCounts operator+(OpCounts const& a, OpCounts const& b);

}  // namespace stepscope::workloads
