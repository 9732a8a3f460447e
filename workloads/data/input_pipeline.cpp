// Loader threads that prepare batches ahead; see input_pipeline.h.
#include "workloads/data/input_pipeline.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "trace/base/check.h"
#include "trace/base/expected.h"
#include "tracer/api/annotate.h"
#include "workloads/data/random.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

constexpr uint64_t kShuffleStream =
    0x73'6875;  // keeps the shuffle's random numbers apart from the augmentation's

/// A plain NVTX range, as any program's loader would have.
class LoaderRange {
 public:
  explicit LoaderRange(char const* name) { nvtxRangePushA(name); }
  ~LoaderRange() { nvtxRangePop(); }
  LoaderRange(LoaderRange const&) = delete;
  LoaderRange& operator=(LoaderRange const&) = delete;
};

}  // namespace

InputPipeline::InputPipeline(Samples const& samples, InputSettings const& settings)
    : samples_(samples), settings_(settings) {
  STEPSCOPE_CHECK(samples.size() > 0 && settings.devices > 0 && settings.batch > 0 &&
                  settings.depth > 0 && settings.threads > 0);

  if (settings_.all_devices == 0) settings_.all_devices = settings_.devices;
  // A slow store serves all devices at the same time, whatever the number of threads that prepare.
  if (settings_.delay_ms > 0) settings_.threads = std::max(settings_.threads, settings_.devices);

  lanes_.resize(static_cast<size_t>(settings_.devices));
  for (Lane& lane : lanes_) {
    lane.asked = lane.taken = lane.released = settings_.first_step;
    lane.slots.resize(static_cast<size_t>(settings_.depth));
    for (Slot& slot : lane.slots) {
      slot.inputs.resize(static_cast<size_t>(settings_.batch) * samples.input_bytes());
      slot.labels.resize(static_cast<size_t>(settings_.batch) * samples.label_bytes());
    }
  }

  for (int64_t i = 0; i < settings_.threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

InputPipeline::~InputPipeline() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  loaders_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<std::span<std::byte const>> InputPipeline::buffers(int64_t device) const {
  std::vector<std::span<std::byte const>> buffers;
  for (Slot const& slot : lanes_[static_cast<size_t>(device)].slots) {
    buffers.emplace_back(slot.inputs);
    buffers.emplace_back(slot.labels);
  }
  return buffers;
}

HostBatch InputPipeline::next(int64_t device) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[static_cast<size_t>(device)];
  int64_t const step = lane.taken;
  STEPSCOPE_CHECK(step < settings_.end_step && step - lane.released < settings_.depth);

  lane.asked = step + 1;
  if (settings_.delay_ms > 0) loaders_.notify_all();

  Slot const& slot = lane.slots[static_cast<size_t>(step % settings_.depth)];
  consumers_.wait(lock, [&] { return slot.ready_step == step; });

  lane.taken = step + 1;
  return {slot.inputs.data(), slot.labels.data()};
}

void InputPipeline::release(int64_t device) {
  {
    std::lock_guard const lock(mutex_);
    Lane& lane = lanes_[static_cast<size_t>(device)];
    STEPSCOPE_CHECK(lane.released < lane.taken);
    ++lane.released;
  }
  loaders_.notify_all();
}

bool InputPipeline::may_prepare(int64_t job) const {
  int64_t const step = settings_.first_step + job / settings_.devices;
  Lane const& lane = lanes_[static_cast<size_t>(job % settings_.devices)];
  return step - lane.released < settings_.depth && (settings_.delay_ms == 0 || step < lane.asked);
}

void InputPipeline::run(int64_t thread) {
  name_this_thread(fmt::format("loader {}", thread));
  int64_t const jobs = (settings_.end_step - settings_.first_step) * settings_.devices;
  std::unique_lock lock(mutex_);

  for (;;) {
    loaders_.wait(lock, [&] { return stopping_ || next_job_ >= jobs || may_prepare(next_job_); });
    if (stopping_ || next_job_ >= jobs) return;

    int64_t const job = next_job_++;
    int64_t const step = settings_.first_step + job / settings_.devices;
    int64_t const device = job % settings_.devices;
    Slot& slot =
        lanes_[static_cast<size_t>(device)].slots[static_cast<size_t>(step % settings_.depth)];

    if (next_job_ >= jobs) loaders_.notify_all();  // the last one: the other loaders may go
    lock.unlock();

    if (settings_.delay_ms > 0) {
      LoaderRange const range("slow store");
      std::this_thread::sleep_for(std::chrono::milliseconds(settings_.delay_ms));
    }
    prepare(step, device, slot);

    lock.lock();
    slot.ready_step = step;
    consumers_.notify_all();
  }
}

void InputPipeline::prepare(int64_t step, int64_t device, Slot& slot) {
  LoaderRange const range("prepare batch");
  auto const count = static_cast<int64_t>(samples_.size());
  int64_t const first =
      (step * settings_.all_devices + settings_.first_device + device) * settings_.batch;

  for (int64_t i = 0; i < settings_.batch; ++i) {
    int64_t const epoch = (first + i) / count;
    uint32_t const sample = (*order_of(epoch))[static_cast<size_t>((first + i) % count)];

    auto const at = static_cast<size_t>(i);
    samples_.prepare(sample, Random::of(settings_.seed, epoch, sample),
                     slot.inputs.data() + at * samples_.input_bytes(),
                     slot.labels.data() + at * samples_.label_bytes());
  }
}

InputPipeline::Order InputPipeline::order_of(int64_t epoch) {
  std::lock_guard const lock(order_mutex_);
  Order& order = orders_[epoch];

  if (order == nullptr) {
    std::vector<uint32_t> shuffled(samples_.size());
    std::iota(shuffled.begin(), shuffled.end(), 0U);
    Random random = Random::of(settings_.seed, kShuffleStream, epoch);
    for (auto i = static_cast<uint32_t>(shuffled.size()); i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[random.below(i)]);
    order = std::make_shared<std::vector<uint32_t> const>(std::move(shuffled));
  }

  Order const result = order;
  constexpr size_t kKept =
      2;  // a batch spans two epochs at most, when there are more samples than in a batch
  while (orders_.size() > kKept) orders_.erase(orders_.begin());
  return result;
}

}  // namespace stepscope::workloads
