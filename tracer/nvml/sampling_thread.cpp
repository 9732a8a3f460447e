#include "tracer/nvml/sampling_thread.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>

#include <fmt/format.h>

#include "tracer/core/clock.h"

namespace stepscope::tracer::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

char const* text_or_null(std::optional<std::string> const& text) {
  return text ? text->c_str() : nullptr;
}

/// What the thread is asked to do at a moment.
struct Orders {
  bool is_recording = false;
  uint64_t device_version = 0;
  std::optional<SamplingThread::UsedDevices> devices;
};

}  // namespace

/// Lives as long as the thread or the source, whichever ends later.
struct SamplingThread::State {
  explicit State(Settings of_thread) : settings(std::move(of_thread)) {}
  Settings const settings;

  std::mutex mutex;  ///< all below
  std::condition_variable wake;
  bool is_stopping = false, is_done = false;
  Orders orders;
  std::vector<Sample> samples;
  Facts facts;
  std::string outcome;

  /// False when the thread shall end.
  bool wait_until(SteadyClock::time_point time) {
    std::unique_lock lock(mutex);
    return !wake.wait_until(lock, time, [this] { return is_stopping; });
  }
  Orders current_orders() {
    std::lock_guard const lock(mutex);
    return orders;
  }
  void add(std::vector<Sample> const& fresh) {
    std::lock_guard const lock(mutex);
    samples.insert(samples.end(), fresh.begin(), fresh.end());
  }
  void add_fact(std::string name, std::string text) {
    std::lock_guard const lock(mutex);
    facts.emplace_back(std::move(name), std::move(text));
  }
};

namespace {

/// The devices that are sampled, opened anew when they change.
class OpenSampler {
 public:
  OpenSampler(Api const& api, DeviceVariables const& variables)
      : api_(api), variables_(variables) {}

  /// True when other devices than before are sampled.
  bool follow(Orders const& orders) {
    if (sampler_ && orders.device_version == version_) return false;
    version_ = orders.device_version;

    VisibleDevices visible;
    if (orders.devices)
      visible.devices = open_devices(api_, *orders.devices);
    else
      visible = visible_devices(api_, variables_);

    devices_ = std::move(visible.devices);
    problem_ = std::move(visible.problem);
    sampler_.emplace(api_, devices_);

    return true;
  }
  [[nodiscard]] Sampler& sampler() { return *sampler_; }
  [[nodiscard]] bool is_open() const { return sampler_.has_value(); }
  [[nodiscard]] std::vector<OpenDevice> const& devices() const { return devices_; }
  [[nodiscard]] std::string const& problem() const { return problem_; }

 private:
  Api const& api_;
  DeviceVariables const variables_;
  uint64_t version_ = 0;
  std::vector<OpenDevice> devices_;
  std::string problem_;
  std::optional<Sampler> sampler_;
};

/// Facts of the devices that have not been recorded yet.
class DeviceDescriptions {
 public:
  template <class Tell>
  void tell(Api const& api, OpenSampler& open, Tell const& tell) {
    if (open.devices().empty()) return;

    if (std::string links = describe_nvlink(api, open.devices());
        !links.empty() && links != links_) {
      tell("NVLink", links);
      links_ = std::move(links);
    }

    if (std::string surroundings = describe_surroundings(api, open.devices());
        !surroundings.empty() && surroundings != surroundings_) {
      tell("PCIe and power limit", surroundings);
      surroundings_ = std::move(surroundings);
    }

    if (open.sampler().has_hardware_counters() || std::exchange(has_reported_pcie_, true)) return;
    tell("PCIe throughput",
         "not sampled: before Hopper the driver tells it only in calls that wait 20 ms");
  }

 private:
  std::string links_, surroundings_;
  bool has_reported_pcie_ = false;
};

}  // namespace

SamplingThread::SamplingThread(Settings settings)
    : state_(std::make_shared<State>(std::move(settings))) {}

base::Expected<std::unique_ptr<SamplingThread>> SamplingThread::start(Settings settings) {
  std::unique_ptr<SamplingThread> self(new SamplingThread(std::move(settings)));
  auto thread = OwnThread::start("stepscope-nvml", [state = self->state_] { run(state); });
  if (!thread) return base::fail_with(thread);
  self->thread_ = std::move(*thread);
  return self;
}

SamplingThread::~SamplingThread() { stop(std::chrono::milliseconds(0)); }

bool SamplingThread::stop(std::chrono::milliseconds limit) {
  request_stop();
  if (!wait_until_done(limit)) return false;
  thread_->join();  // it is at its last instructions
  return true;
}

void SamplingThread::run(std::shared_ptr<State> const& state) {
  std::string outcome;
  try {
    outcome = sample_until_stopped(*state);
  } catch (std::exception const& error) {
    outcome = fmt::format("sampling stopped: {}", error.what());
  }

  std::lock_guard const lock(state->mutex);
  state->outcome = std::move(outcome);
  state->is_done = true;
  state->wake.notify_all();
}

std::string SamplingThread::sample_until_stopped(State& state) {
  Settings const& settings = state.settings;

  auto const api = settings.load();
  if (!api) return "not sampled: no libnvidia-ml.so.1";
  if (Result const result = api->init(); result != kSuccess)
    return fmt::format("not sampled: NVML error {}", result);

  std::string outcome = "not sampled: the program ended before";
  {
    OpenSampler open(*api,
                     {text_or_null(settings.visible_devices), text_or_null(settings.device_order)});
    DeviceDescriptions facts;
    std::vector<Sample> fresh;

    // After a period: until then CUPTI has told which devices the program uses.
    for (auto next = SteadyClock::now() + settings.period; state.wait_until(next);) {
      // After a pause (a slow driver, a stopped process) goes on from now.
      next = std::max(next + settings.period, SteadyClock::now());
      Orders const orders = state.current_orders();
      if (!orders.is_recording) continue;
      if (open.follow(orders))
        facts.tell(*api, open,
                   [&](auto name, auto text) { state.add_fact(name, std::move(text)); });
      fresh.clear();
      open.sampler().sample(monotonic_ns(), fresh);
      state.add(fresh);
    }

    unsigned count = 0;
    api->device_count(&count);
    if (open.is_open())
      outcome = open.problem().empty()
                    ? fmt::format("{} of the machine's {} GPUs, every {} ms", open.devices().size(),
                                  count, settings.period.count())
                    : "not sampled: " + open.problem();
  }

  if (api->shutdown != nullptr) api->shutdown();
  return outcome;
}

void SamplingThread::set_devices(std::optional<UsedDevices> devices) {
  std::lock_guard const lock(state_->mutex);
  state_->orders.devices = std::move(devices);
  ++state_->orders.device_version;
}

void SamplingThread::set_recording(bool is_recording) {
  std::lock_guard const lock(state_->mutex);
  state_->orders.is_recording = is_recording;
}

void SamplingThread::take(std::vector<Sample>& samples, Facts& facts) {
  samples.clear();
  facts.clear();
  std::lock_guard const lock(state_->mutex);
  std::swap(samples, state_->samples);
  std::swap(facts, state_->facts);
}

void SamplingThread::request_stop() {
  {
    std::lock_guard const lock(state_->mutex);
    state_->is_stopping = true;
  }
  state_->wake.notify_all();
}

bool SamplingThread::wait_until_done(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  return state_->wake.wait_for(lock, limit, [this] { return state_->is_done; });
}

std::string SamplingThread::outcome() const {
  std::lock_guard const lock(state_->mutex);
  return state_->outcome;
}

void SamplingThread::lock_for_fork() { state_->mutex.lock(); }
void SamplingThread::unlock_after_fork() { state_->mutex.unlock(); }

}  // namespace stepscope::tracer::nvml
