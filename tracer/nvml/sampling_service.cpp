#include "tracer/nvml/sampling_service.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <signal.h>

#include "tracer/core/clock.h"
#include "tracer/core/sockets/local_socket.h"
#include "tracer/nvml/sampling_socket.h"

namespace stepscope::tracer::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Arrival = SamplingSocket::Arrival;
using Delivery = SamplingSocket::Delivery;

/// How long a program that has connected may take to say what it wants.
constexpr milliseconds kHelloLimit{10'000};
/// How long a program may leave what is sent once unread.
constexpr milliseconds kReadLimit{500};
/// How long the end of the service waits for its threads.
constexpr milliseconds kEndLimit{1'000};
/// One a process that uses CUDA; more are no job of one machine.
constexpr size_t kMostPrograms = 1'024;

char const* text_or_null(std::optional<std::string> const& text) {
  return text ? text->c_str() : nullptr;
}

/// The devices that are sampled, opened anew when they change.
class OpenSampler {
 public:
  OpenSampler(Api const& api, DeviceVariables const& variables)
      : api_(api), variables_(variables) {}

  /// After orders have changed.
  void open(SamplingOrders const& orders) {
    VisibleDevices visible;
    if (orders.devices)
      visible.devices = open_devices(api_, *orders.devices);
    else
      visible = visible_devices(api_, variables_);

    devices_ = std::move(visible.devices);
    problem_ = std::move(visible.problem);
    sampler_.emplace(api_, devices_);
  }
  [[nodiscard]] Sampler& sampler() { return *sampler_; }
  [[nodiscard]] bool is_open() const { return sampler_.has_value(); }
  [[nodiscard]] std::vector<OpenDevice> const& devices() const { return devices_; }
  [[nodiscard]] std::string const& problem() const { return problem_; }

 private:
  Api const& api_;
  DeviceVariables const variables_;
  std::vector<OpenDevice> devices_;
  std::string problem_;
  std::optional<Sampler> sampler_;
};

/// Why NVML does not begin, and what to do.
std::string describe_refusal(Result result) {
  if (result == kNoPermission)
    return fmt::format(
        "the driver gives this user no access (NVML error {}): see who may open /dev/nvidiactl",
        result);
  if (result == kDriverNotLoaded)
    return fmt::format("the driver is not loaded (NVML error {}): see what nvidia-smi says",
                       result);
  return fmt::format("NVML error {}: see what nvidia-smi says", result);
}

std::string describe_sampled(OpenSampler& open, unsigned gpus, milliseconds period) {
  std::string const gaps = open.sampler().describe_gaps();
  return fmt::format("{} of the machine's {} GPUs, every {} ms{}{}", open.devices().size(), gpus,
                     period.count(), gaps.empty() ? "" : "; ", gaps);
}

std::string describe_lost_rounds(uint64_t count) {
  if (count == 0) return {};
  return fmt::format("; lost rounds, which the program did not take in time: {}", count);
}

/// Facts of the devices that the program does not know yet.
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

/// One program's, on a thread of its own.
class ProgramSampling {
 public:
  ProgramSampling(SamplingSocket const& socket, SamplingService::Loader const& load)
      : socket_(socket), load_(load) {}

  void run() {
    auto const hello = wait_for_hello();
    if (!hello) return;
    [[maybe_unused]] auto const delivery =
        socket_.send(SamplingOutcome{sample(*hello)}, kReadLimit);
  }

 private:
  std::optional<SamplingHello> wait_for_hello() {
    if (socket_.wait(kHelloLimit) != Arrival::kPacket) return {};
    auto message = socket_.receive();
    auto* const hello = message ? std::get_if<SamplingHello>(&*message) : nullptr;
    return hello != nullptr ? std::optional(std::move(*hello)) : std::nullopt;
  }

  /// What became of it.
  std::string sample(SamplingHello const& hello) {
    auto const api = load_();
    if (!api) return "not sampled: " + api.error().message;
    if (Result const result = api->init(); result != kSuccess)
      return "not sampled: " + describe_refusal(result);

    std::string outcome = "not sampled: the program ended before";
    {
      OpenSampler open(*api,
                       {text_or_null(hello.visible_devices), text_or_null(hello.device_order)});
      milliseconds const period{std::clamp<int64_t>(hello.period_ms, 1, 3'600'000)};
      sample_until_the_end(*api, open, period);

      unsigned count = 0;
      api->device_count(&count);
      if (open.is_open())
        outcome = open.problem().empty()
                      ? describe_sampled(open, count, period) + describe_lost_rounds(lost_rounds_)
                      : "not sampled: " + open.problem();
    }

    if (api->shutdown != nullptr) api->shutdown();
    return outcome;
  }

  void sample_until_the_end(Api const& api, OpenSampler& open, milliseconds period) {
    DeviceDescriptions facts;
    std::vector<Sample> fresh;
    bool is_there = true;
    auto const tell = [&](char const* name, std::string text) {
      is_there = is_there &&
                 socket_.send(SamplingFact{name, std::move(text)}, kReadLimit) != Delivery::kClosed;
    };

    // After a period: until then CUPTI has told which devices the program uses.
    for (auto next = SteadyClock::now() + period; is_there && follow_orders_until(next);) {
      // After a pause (a slow driver, a stopped process) goes on from now.
      next = std::max(next + period, SteadyClock::now());
      if (!orders_.is_recording) continue;

      if (std::exchange(has_new_orders_, false) || !open.is_open()) {
        open.open(orders_);
        facts.tell(api, open, tell);
      }
      fresh.clear();
      open.sampler().sample(monotonic_ns(), fresh);
      Delivery const delivery = socket_.send(fresh);
      if (delivery == Delivery::kFull) ++lost_rounds_;
      is_there = is_there && delivery != Delivery::kClosed;
    }
  }

  /// Follows what has arrived also when `time` is past: a driver that needs longer than a period
  /// for a round leaves no time between two of them. False when the program wants no more, or is
  /// gone.
  bool follow_orders_until(SteadyClock::time_point time) {
    for (;;) {
      auto const left = std::chrono::ceil<milliseconds>(time - SteadyClock::now());
      Arrival const arrival = socket_.wait(std::max(left, milliseconds(0)));
      if (arrival == Arrival::kClosed) return false;
      if (arrival == Arrival::kNothing) {
        if (SteadyClock::now() >= time) return true;
        continue;
      }

      auto message = socket_.receive();
      if (!message || std::holds_alternative<SamplingEnd>(*message)) return false;
      if (auto* const orders = std::get_if<SamplingOrders>(&*message)) {
        has_new_orders_ = has_new_orders_ || orders->devices.has_value() || orders_.devices;
        orders_ = std::move(*orders);
      }
    }
  }

  SamplingSocket const& socket_;
  SamplingService::Loader const& load_;
  SamplingOrders orders_;
  bool has_new_orders_ = false;
  uint64_t lost_rounds_ = 0;
};

/// A thread that handles no signal: the command's main thread waits for them. False when the
/// system gives none.
template <class Run>
bool start_thread(Run&& run) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);

  bool is_started = true;
  try {
    std::thread(std::forward<Run>(run)).detach();
  } catch (std::system_error const&) {
    is_started = false;
  }

  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_started;
}

}  // namespace

/// Lives as long as the service or its last thread.
struct SamplingService::Shared {
  std::string address;
  SamplingSocket listener;
  Loader load;

  std::mutex mutex;  ///< all below
  std::condition_variable changed;
  size_t threads = 0;
  bool is_over = false;
  std::vector<std::shared_ptr<SamplingSocket>> programs;

  /// False when it is not to be answered.
  bool enter(std::shared_ptr<SamplingSocket> const& program) {
    std::lock_guard const lock(mutex);
    if (is_over || programs.size() >= kMostPrograms) return false;
    programs.push_back(program);
    ++threads;
    return true;
  }
  void leave(std::shared_ptr<SamplingSocket> const& program) {
    std::lock_guard const lock(mutex);
    std::erase(programs, program);
    --threads;
    changed.notify_all();
  }
};

base::Expected<std::unique_ptr<SamplingService>> SamplingService::open(Loader load) {
  auto shared = std::make_shared<Shared>();
  shared->address = new_local_address("sampling");
  shared->load = std::move(load);
  auto listener = SamplingSocket::listen(shared->address);
  if (!listener) return base::fail_with(listener);
  shared->listener = std::move(*listener);

  std::unique_ptr<SamplingService> service(new SamplingService);
  service->shared_ = std::move(shared);
  return service;
}

std::string const& SamplingService::address() const { return shared_->address; }

void SamplingService::run() {
  {
    std::lock_guard const lock(shared_->mutex);
    ++shared_->threads;
  }

  bool const is_started = start_thread([shared = shared_] {
    answer(shared);
    shared->leave(nullptr);
  });
  if (!is_started) shared_->leave(nullptr);
}

void SamplingService::answer(std::shared_ptr<Shared> const& shared) {
  for (;;) {
    auto program = std::make_shared<SamplingSocket>(shared->listener.accept());
    if (program->number() < 0) return;
    if (!shared->enter(program)) continue;

    bool const is_started = start_thread([shared, program] {
      try {
        ProgramSampling(*program, shared->load).run();
      } catch (std::exception const& error) {
        [[maybe_unused]] auto const delivery = program->send(
            SamplingOutcome{fmt::format("sampling stopped: {}", error.what())}, kReadLimit);
      }
      shared->leave(program);
    });
    if (!is_started) shared->leave(program);
  }
}

SamplingService::~SamplingService() {
  if (shared_ == nullptr) return;
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->listener.shut_down();
  for (auto const& program : shared_->programs) program->shut_down();
  shared_->changed.wait_for(lock, kEndLimit, [this] { return shared_->threads == 0; });
}

}  // namespace stepscope::tracer::nvml
