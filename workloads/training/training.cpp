// Shared state of a training's host threads; see training.h.
#include "workloads/training/training.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include <xxhash.h>

namespace stepscope::workloads {
namespace {

// Signal handlers can reach nothing else. Lock-free, as handlers need.
std::atomic<int>& interrupt_count() {
  static std::atomic<int> count = 0;
  return count;
}
static_assert(std::atomic<int>::is_always_lock_free);

struct sigaction& previous_action() {
  static struct sigaction action = {};
  return action;
}

void on_interrupt(int signal) {
  interrupt_count().store(1);
  // The second Ctrl-C is for a program that does not react: the default action ends it.
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_count().store(0);
  static_cast<void>(previous_action());  // constructed before a handler could need it
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &previous_action());
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &previous_action(), nullptr); }

bool InterruptGuard::interrupted() { return interrupt_count().load() != 0; }

void StepLog::report(int64_t device, int64_t step, std::span<double const> losses,
                     int64_t step_ns) {
  std::lock_guard const lock(mutex_);
  auto const index = static_cast<size_t>(step - settings_.first_step);
  if (reports_.size() <= index) {
    loss_sum_.resize((index + 1) * losses.size());
    reports_.resize(index + 1);
  }
  for (size_t i = 0; i < losses.size(); ++i) loss_sum_[index * losses.size() + i] += losses[i];
  step_ns_[static_cast<size_t>(device)].push_back(step_ns);
  if (++reports_[index] == settings_.devices) print(step);
}

void StepLog::print(int64_t step) {
  auto const index = static_cast<size_t>(step - settings_.first_step);
  int64_t slowest = 0;
  for (auto const& times : step_ns_) slowest = std::max(slowest, times[index]);
  printed_ns_ += slowest;
  ++printed_steps_;
  if (settings_.out == nullptr || settings_.every == 0 || (step + 1) % settings_.every != 0) return;
  double const samples = static_cast<double>(printed_steps_ * settings_.samples_per_step);
  std::string line = fmt::format("step {:5}", step + 1);
  for (size_t i = 0; i < settings_.losses.size(); ++i) {
    double const loss =
        loss_sum_[index * settings_.losses.size() + i] / static_cast<double>(settings_.devices);
    line += fmt::format("  {} {:.4f}", settings_.losses[i], loss);
  }
  fmt::print(settings_.out, "{}  {:8.1f} {}/s\n", line,
             samples * 1e9 / static_cast<double>(printed_ns_), settings_.samples);
  std::fflush(settings_.out);
  printed_ns_ = 0;
  printed_steps_ = 0;
}

std::vector<double> StepLog::losses(size_t number) const {
  std::vector<double> result;
  for (size_t i = 0; i < reports_.size() && reports_[i] == settings_.devices; ++i) {
    result.push_back(loss_sum_[i * settings_.losses.size() + number] /
                     static_cast<double>(settings_.devices));
  }
  return result;
}

uint64_t ReplicaCheck::checksum(std::span<float const> weights) {
  return XXH3_64bits(weights.data(), weights.size_bytes());
}

std::optional<std::string> ReplicaCheck::report(int64_t device, int64_t step,
                                                std::span<float const> weights) {
  uint64_t const checksum = ReplicaCheck::checksum(weights);
  std::lock_guard const lock(mutex_);
  latest_ = {step, checksum};
  auto const at = steps_.try_emplace(step, First{device, 0, checksum}).first;
  First const first = at->second;
  if (++at->second.reports == devices_) steps_.erase(at);
  if (first.checksum == checksum) return std::nullopt;
  return fmt::format(
      "the weights of devices {} and {} differ after step {} (checksums {:016x} and {:016x}): a "
      "collective or an update went wrong",
      first.device, device, step, first.checksum, checksum);
}

std::string not_finite(std::string const& workload, std::string const& what, double value,
                       int64_t step, std::string const& device) {
  std::string const shown =
      std::isnan(value) ? "nan" : fmt::format("{}", value);  // its sign says nothing
  return fmt::format(
      "{}: {} is {} at step {} on {}: lower --learning-rate, check the data, or go on with "
      "--allow-nan",
      workload, what, shown, step, device);
}

OpCounts operator+(OpCounts const& a, OpCounts const& b) {
  return {a.launches + b.launches,
          a.kernels + b.kernels,
          a.copies + b.copies,
          a.collectives + b.collectives,
          a.host_to_device_bytes + b.host_to_device_bytes,
          a.device_to_host_bytes + b.device_to_host_bytes,
          a.collective_bytes + b.collective_bytes,
          a.graphs + b.graphs};
}

}  // namespace stepscope::workloads
