// The thread that looks after waiting ones; see group_watch.h.
#include "workloads/backend/cuda/group_watch.h"

#include <utility>

#include <fmt/format.h>

namespace stepscope::workloads::cuda {
namespace {

// A tenth of a second more does not matter when a training ends, and costs nothing while it runs.
constexpr std::chrono::milliseconds kEvery{100};

int64_t clock_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

GroupWatch::GroupWatch(Settings settings)
    : settings_(std::move(settings)),
      waiting_since_(std::make_unique<std::atomic<int64_t>[]>(settings_.devices)) {
  thread_ = std::thread([this] { run(); });
}

GroupWatch::~GroupWatch() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

GroupWatch::Waiting::Waiting(GroupWatch* watch, uint32_t device) {
  if (watch == nullptr) return;
  since_ = &watch->waiting_since_[device];
  since_->store(clock_ns(), std::memory_order_relaxed);
}

GroupWatch::Waiting::~Waiting() {
  if (since_ != nullptr) since_->store(0, std::memory_order_relaxed);
}

std::optional<std::string> GroupWatch::fault() {
  if (auto wrong = settings_.look()) return wrong;

  int64_t const now = clock_ns(), longest = std::chrono::nanoseconds(settings_.timeout).count();
  auto broken = settings_.look_at_nccl ? settings_.look_at_nccl() : std::nullopt;
  if (!broken) nccl_broken_since_ = 0;
  if (broken && nccl_broken_since_ == 0) nccl_broken_since_ = now;
  if (broken &&
      now - nccl_broken_since_ >= std::chrono::nanoseconds(settings_.time_to_name).count())
    return broken;

  for (uint32_t device = 0; device < settings_.devices; ++device) {
    int64_t const since = waiting_since_[device].load(std::memory_order_relaxed);
    if (since == 0 || now - since < longest) continue;
    return fmt::format(
        "a device did not come to its end for {} s: a collective waits for another process that "
        "hangs, or the step is that long; if so, raise --collective-timeout",
        std::chrono::duration<double>(settings_.timeout).count());
  }

  return std::nullopt;
}

void GroupWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    auto const wrong = fault();
    if (wrong) settings_.on_fault(*wrong);
    lock.lock();
    if (wrong) return;
    wake_.wait_for(lock, kEvery, [&] { return stopping_; });
  }
}

}  // namespace stepscope::workloads::cuda
