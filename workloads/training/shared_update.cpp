// Asynchronous SGD: see update_scheme.h. The shared weights are memory of the first device. A
// device whose gradients are ready locks them, pulls them, updates them with its gradients and
// pushes them back, all on its own streams. Its next step begins with what it pushed. Under the
// lock no update is lost and no weights are torn; no device waits for another's computation, only
// for another's update.
#include <mutex>

#include "trace/base/check.h"
#include "tracer/api/annotate.h"
#include "workloads/training/update_scheme.h"

namespace stepscope::workloads {
namespace {

struct SharedWeights {
  std::mutex mutex;
  Buffer weights;       ///< of the first device, laid out as those of every device
  int64_t updates = 0;  ///< of all devices
};

class SharedUpdate final : public UpdateScheme {
 public:
  SharedUpdate(UpdateContext const& context, SharedWeights& shared)
      : c_(context), shared_(shared) {}

  void start(float const* /*state*/) override {
    std::lock_guard const lock(shared_.mutex);
    if (c_.rank == 0) push();
    c_.device->synchronize(c_.device->record(StreamKind::kCompute));
  }

  [[nodiscard]] bool exchanges() const override { return false; }
  void exchange(size_t /*b*/) override {
  }  // gradients stay where they are: the weights come to them

  void update(float rate, int64_t step) override {
    // Nothing is left to compute under the lock but the update.
    c_.device->synchronize(c_.device->record(StreamKind::kCompute));
    std::unique_lock lock(shared_.mutex, std::defer_lock);
    {
      api::Work const waiting("wait for the shared weights");
      lock.lock();
    }

    pull();
    for (Bucket const& bucket : *c_.buckets) {
      for (size_t id = bucket.first; id <= bucket.last; ++id) {
        Parameter const& p = c_.layout->parameters[id];
        update_parameter(*c_.device, c_.optimizer, p,
                         {c_.weights + p.offset, c_.gradients + p.offset, nullptr, 0, p.count},
                         rate, step);
      }
    }

    push();
    c_.device->synchronize(c_.device->record(StreamKind::kCompute));
    staleness_.push_back(shared_.updates - pulled_);
    pulled_ = ++shared_.updates;

    lock.unlock();
    api::note("staleness", staleness_.back());
  }

  void download_state(float* /*state*/) override {}

  void settle() override {
    std::lock_guard const lock(shared_.mutex);
    pull();
    c_.device->synchronize(c_.device->record(StreamKind::kCompute));
  }

  [[nodiscard]] std::vector<int64_t> staleness() const override { return staleness_; }

 private:
  [[nodiscard]] size_t first() const { return c_.buckets->front().offset; }
  [[nodiscard]] size_t bytes() const {
    return (c_.buckets->back().offset + c_.buckets->back().count - first()) * sizeof(float);
  }
  [[nodiscard]] CopyDirection direction() const {
    return c_.rank == 0 ? CopyDirection::kDeviceToDevice : CopyDirection::kPeerToPeer;
  }
  void pull() {
    c_.device->copy(StreamKind::kCompute, "pull.weights", c_.weights + first(),
                    shared_.weights.floats() + first(), bytes(), direction());
  }
  void push() {
    c_.device->copy(StreamKind::kCompute, "push.weights", shared_.weights.floats() + first(),
                    c_.weights + first(), bytes(), direction());
  }

  UpdateContext c_;
  SharedWeights& shared_;
  int64_t pulled_ = 0;  ///< SharedWeights::updates when this device took the weights
  std::vector<int64_t> staleness_;
};

}  // namespace

UpdateSchemeMaker shared_updates() {
  // Lives as long as the maker, which must outlive the schemes that it makes.
  return [shared = std::make_shared<SharedWeights>()](
             UpdateContext const& c) -> base::Expected<std::unique_ptr<UpdateScheme>> {
    STEPSCOPE_CHECK(c.optimizer.states() == 0);

    if (c.rank == 0 && shared->weights.bytes() == 0) {
      auto made = c.device->allocate(c.layout->floats * sizeof(float), MemoryPurpose::kWeights,
                                     "weights.shared");
      if (!made) return base::fail_with(made);
      shared->weights = std::move(*made);
    }

    if (shared->weights.bytes() == 0) {
      return base::fail(
          "{}: shared weights are memory of the first device, which is in another process: start "
          "one process",
          c.device->name());
    }

    return std::make_unique<SharedUpdate>(c, *shared);
  };
}

}  // namespace stepscope::workloads
