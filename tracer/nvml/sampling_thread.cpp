#include "tracer/nvml/sampling_thread.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tracer/core/threads/private_descriptors.h"
#include "tracer/nvml/sampling_socket.h"

namespace stepscope::tracer::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Arrival = SamplingSocket::Arrival;

/// How often the thread looks whether it is to end, or has new orders to pass on.
constexpr milliseconds kLookPeriod{50};
/// How long the end of sampling waits for its outcome.
constexpr milliseconds kOutcomeLimit{800};
/// How many packets the thread takes before it looks again whether it is to end.
constexpr int kPacketsAtOnce = 64;

}  // namespace

/// Lives as long as the thread or the source, whichever ends later.
struct SamplingThread::State {
  explicit State(Settings of_thread) : settings(std::move(of_thread)) {}
  Settings const settings;

  std::mutex mutex;  ///< all below
  std::condition_variable wake;
  bool is_stopping = false, is_done = false;
  SamplingOrders orders;
  uint64_t orders_version = 0;
  std::vector<Sample> samples;
  Facts facts;
  std::string outcome;

  /// False when the thread shall end.
  bool wait(milliseconds time) {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, time, [this] { return is_stopping; });
  }
  /// Takes what has arrived, kPacketsAtOnce at most: a service that sends faster than this reads
  /// must not keep the thread from its end. Something when it was the last: what became of the
  /// sampling.
  std::optional<std::string> take_packets(SamplingSocket const& socket) {
    for (int i = 0; i < kPacketsAtOnce; ++i) {
      Arrival const arrival = socket.wait(milliseconds(0));
      if (arrival == Arrival::kNothing) break;
      if (auto last = take_packet(socket, arrival)) return last;
    }
    return {};
  }
  /// Takes what comes until the last packet, for `limit` at most.
  std::optional<std::string> take_outcome(SamplingSocket const& socket, milliseconds limit) {
    for (auto const until = SteadyClock::now() + limit;;) {
      auto const left = std::chrono::ceil<milliseconds>(until - SteadyClock::now());
      if (left.count() <= 0) return {};
      Arrival const arrival = socket.wait(left);
      if (arrival == Arrival::kNothing) continue;
      if (auto last = take_packet(socket, arrival)) return last;
    }
  }
  /// Passes on the newest orders where the service has only those of `version`.
  void tell_orders(SamplingSocket const& socket, uint64_t& version) {
    std::unique_lock lock(mutex);
    if (version == orders_version) return;
    SamplingOrders const newest = orders;
    uint64_t const newest_version = orders_version;
    lock.unlock();

    // The next look tries again.
    if (socket.send(newest) != SamplingSocket::Delivery::kFull) version = newest_version;
  }

 private:
  std::optional<std::string> take_packet(SamplingSocket const& socket, Arrival arrival) {
    if (arrival == Arrival::kClosed) return "end early: `stepscope record` was gone";

    auto message = socket.receive();
    if (!message) return "end early: `stepscope record` is of another version";
    if (auto* const last = std::get_if<SamplingOutcome>(&*message)) return last->text;
    if (auto const* const fresh = std::get_if<std::vector<Sample>>(&*message)) add(*fresh);
    if (auto* const fact = std::get_if<SamplingFact>(&*message))
      add_fact(std::move(fact->name), std::move(fact->text));
    return {};
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
  if (settings.address.empty())
    return "not sampled: `stepscope record` reads them, and did not start this program";
  if (auto const own = take_private_descriptors(); !own)
    return fmt::format("not sampled: {}", own.error().message);

  auto const socket = SamplingSocket::connect(settings.address);
  if (!socket)
    return fmt::format(
        "not sampled: `stepscope record` reads them, and cannot be reached from here ({}): it runs "
        "on another machine or outside of this container, start it where the program runs",
        socket.error().message);

  // Where the service is gone, so is what it would answer: taking packets tells.
  [[maybe_unused]] auto delivery = socket->send(
      SamplingHello{settings.period.count(), settings.visible_devices, settings.device_order});
  std::optional<std::string> outcome;
  for (uint64_t version = 0; !outcome && state.wait(std::min(settings.period, kLookPeriod));) {
    state.tell_orders(*socket, version);
    outcome = state.take_packets(*socket);
  }
  if (outcome) return *outcome;

  delivery = socket->send(SamplingEnd{}, kOutcomeLimit / 4);
  outcome = state.take_outcome(*socket, kOutcomeLimit);
  return outcome.value_or("end early: the GPU driver no longer answers");
}

void SamplingThread::set_devices(std::optional<UsedDevices> devices) {
  std::lock_guard const lock(state_->mutex);
  state_->orders.devices = std::move(devices);
  ++state_->orders_version;
}

void SamplingThread::set_recording(bool is_recording) {
  std::lock_guard const lock(state_->mutex);
  if (std::exchange(state_->orders.is_recording, is_recording) != is_recording)
    ++state_->orders_version;
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
