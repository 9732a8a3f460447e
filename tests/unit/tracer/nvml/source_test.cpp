// The source with its thread and the service that reads counters for it: from the start of CUDA in
// the program to rows. Both are in this process; a real program has only the source.
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nvml/fake_nvml.h"
#include "tracer/core/sockets/local_socket.h"
#include "tracer/nvml/nvml_source.h"
#include "tracer/nvml/sampling_service.h"
#include "tracer/nvml/sampling_socket.h"

namespace stepscope::tracer::nvml {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class NvmlSourceTest : public ::testing::Test {
 protected:
  NvmlSourceTest() { machine() = {}; }

  /// Starts the service, and returns its address.
  std::string serve(SamplingService::Loader load = [] { return base::Expected<Api>(fake_api()); }) {
    service = SamplingService::open(std::move(load)).value();
    service->run();
    return service->address();
  }

  void drain(NvmlSource& source) {
    source.snapshot();
    clock.add(sample_clocks(TickSource::kMonotonicClock));
    source.drain(store, clock);
  }

  /// Until there are so many tracks or a minute has passed.
  void drain_until_tracks(NvmlSource& source, size_t count) {
    auto const latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (store.tracks().size() < count && std::chrono::steady_clock::now() < latest) {
      drain(source);
      std::this_thread::yield();
    }
  }

  [[nodiscard]] std::string fact(std::string_view wanted) const {
    for (auto const& [name, text] : store.info.facts)
      if (name == wanted) return text;
    return {};
  }
  [[nodiscard]] std::string outcome() const { return fact("GPU counters"); }
  /// The numbers of the devices that have counters.
  [[nodiscard]] std::set<int32_t> sampled() const {
    std::set<int32_t> result;
    for (model::Track const& track : store.tracks()) result.insert(track.device);
    return result;
  }

  CaptureWindow window{std::nullopt};
  DeviceRegistry devices;
  TraceStore store;
  ClockFit clock{sample_clocks(TickSource::kMonotonicClock)};
  std::unique_ptr<SamplingService> service;
};

TEST_F(NvmlSourceTest, samples_become_rows_of_counter_tracks) {
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve());
  source.driver_starts();
  drain_until_tracks(source, 2 * (kCounters - 2));
  source.finish(store, clock.latest_ns());

  ASSERT_THAT(store.tracks(), SizeIs(2 * (kCounters - 2)))
      << "one metric fails in the fake, and the fake reports only one power";
  for (uint32_t t = 0; t < store.tracks().size(); ++t) {
    EXPECT_EQ(store.tracks()[t].kind, model::TrackKind::kCounter);
    auto const events = store.rows(model::TrackId{t}).take().copy();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.kind[0], model::EventKind::kSample);
    EXPECT_TRUE(events.is_sorted());
  }

  EXPECT_THAT(outcome(), HasSubstr("2 of the machine's 2 GPUs"));
  EXPECT_EQ(machine().shutdowns, machine().inits);
}

TEST_F(NvmlSourceTest, does_nothing_in_a_program_that_does_not_use_cuda) {
  std::atomic<bool> loaded = false;
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve([&] {
                      loaded = true;
                      return base::Expected<Api>(base::fail("not asked for"));
                    }));
  drain(source);
  source.finish(store, clock.latest_ns());
  EXPECT_FALSE(loaded);
  EXPECT_EQ(outcome(), "");
}

TEST_F(NvmlSourceTest, says_that_there_is_no_driver_or_that_it_refuses) {
  for (bool const refuses : {false, true}) {
    store.info.facts.clear();
    NvmlSource source(window, devices, std::chrono::milliseconds(1), serve([refuses] {
                        Api api = fake_api();
                        api.init = [] { return Result{9}; };
                        return refuses ? base::Expected<Api>(api)
                                       : base::Expected<Api>(base::fail("no libnvidia-ml.so.1"));
                      }));

    source.driver_starts();
    drain(source);
    source.finish(store, clock.latest_ns());
    EXPECT_THAT(outcome(), HasSubstr(refuses ? "NVML error 9" : "no libnvidia-ml"));
  }
  EXPECT_THAT(store.tracks(), SizeIs(0));
}

TEST_F(NvmlSourceTest, samples_only_while_the_program_is_recorded) {
  CaptureWindow filtered{StepRange{5, 6}};
  NvmlSource source(filtered, devices, std::chrono::milliseconds(1), serve());

  source.driver_starts();
  drain(source);
  for (int i = 0; i < 5; ++i) drain(source);
  EXPECT_THAT(store.tracks(), SizeIs(0));

  filtered.thread_begins_annotating();
  filtered.thread_enters_window();
  drain_until_tracks(source, 1);
  EXPECT_GT(store.tracks().size(), 0U);
  source.finish(store, clock.latest_ns());
}

TEST_F(NvmlSourceTest, a_program_that_ends_at_once_is_not_held_up) {
  NvmlSource source(window, devices, std::chrono::hours(1), serve());
  source.driver_starts();
  drain(source);
  source.program_exits();
  source.finish(store, clock.latest_ns());  // a test that hangs here fails by its time limit
  source.release();
}

DeviceRegistry::Uuid const kSecondGpu = {0xab};
constexpr char const* kSecondUuid = "GPU-ab000000-0000-0000-0000-000000000000";

TEST_F(NvmlSourceTest, samples_only_devices_that_the_program_uses) {
  machine().uuids[1] = kSecondUuid;
  devices.expect();
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve());
  source.driver_starts();
  drain(source);

  devices.add_device(5, kSecondGpu);
  devices.add_context(5);
  drain_until_tracks(source, kCounters - 2);
  source.finish(store, clock.latest_ns());

  EXPECT_THAT(sampled(), ::testing::ElementsAre(5));
  EXPECT_EQ(machine().gpus[0].calls, 0) << "not so much as asked";
  EXPECT_THAT(outcome(), HasSubstr("1 of the machine's 2 GPUs"));
}

TEST_F(NvmlSourceTest, follows_a_program_that_begins_to_use_another_device) {
  machine().uuids = {"GPU-cd000000-0000-0000-0000-000000000000", kSecondUuid};
  devices.expect();
  devices.add_device(0, {0xcd});
  devices.add_context(0);
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve());
  source.driver_starts();
  drain_until_tracks(source, 1);

  devices.add_device(1, kSecondGpu);
  devices.add_context(1);
  drain_until_tracks(source, kCounters);  // more than one device has
  source.finish(store, clock.latest_ns());

  EXPECT_THAT(sampled(), ::testing::ElementsAre(0, 1));
  EXPECT_EQ(machine().open_gpm_samples, 0);
}

TEST_F(NvmlSourceTest, tells_what_is_not_sampled_and_the_links) {
  machine().gpus[1].has_gpm = false;
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve());
  source.driver_starts();
  drain_until_tracks(source, 1);
  drain(source);
  source.finish(store, clock.latest_ns());

  EXPECT_THAT(fact("PCIe throughput"), HasSubstr("not sampled"));
  EXPECT_THAT(fact("NVLink"), HasSubstr("cuda:0 reaches cuda:1"));
  EXPECT_THAT(fact("PCIe and power limit"), HasSubstr("8 of 16 lanes"));
}

/// A driver with a call that returns only when the test releases it.
struct HangingDriver {
  std::atomic<bool> is_inside{false}, is_released{false}, is_left{false};
};
HangingDriver hanging;

TEST_F(NvmlSourceTest, a_driver_that_hangs_holds_nothing_up_for_long) {
  using SteadyClock = std::chrono::steady_clock;
  hanging.is_inside = hanging.is_released = hanging.is_left = false;
  {
    NvmlSource source(window, devices, std::chrono::milliseconds(1), serve([] {
                        Api api = fake_api();
                        api.utilization = [](Device, Utilization*) {
                          hanging.is_inside = true;
                          hanging.is_inside.notify_all();
                          hanging.is_released.wait(false);
                          return Result{999};
                        };
                        api.shutdown = [] {
                          hanging.is_left = true;
                          hanging.is_left.notify_all();
                          return kSuccess;
                        };
                        return base::Expected<Api>(api);
                      }));

    source.driver_starts();
    drain(source);
    hanging.is_inside.wait(false);

    auto const exit_begins = SteadyClock::now();
    source.program_exits();
    EXPECT_LT(SteadyClock::now() - exit_begins, NvmlSource::kStopLimit)
        << "not for as long as the driver hangs";

    auto const end_begins = SteadyClock::now();
    source.finish(store, clock.latest_ns());
    source.release();
    EXPECT_LT(SteadyClock::now() - end_begins, 5 * NvmlSource::kStopLimit)
        << "once, not again and again";
  }

  EXPECT_THAT(outcome(), HasSubstr("no longer answers"));
  hanging.is_released = true;
  hanging.is_released.notify_all();
  hanging.is_left.wait(false);
}

/// The fake machine, whose rounds need longer than the period of 1 ms that the tests ask for.
Api slow_api() {
  Api api = fake_api();
  api.utilization = [](Device device, Utilization* rates) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    *rates = gpu_of(device).utilization;
    return call(device);
  };
  return api;
}

TEST_F(NvmlSourceTest, a_driver_slower_than_the_period_still_follows_orders) {
  machine().uuids = {"GPU-cd000000-0000-0000-0000-000000000000", kSecondUuid};
  devices.expect();
  devices.add_device(0, {0xcd});
  devices.add_context(0);
  NvmlSource source(window, devices, std::chrono::milliseconds(1),
                    serve([] { return base::Expected<Api>(slow_api()); }));
  source.driver_starts();
  drain_until_tracks(source, 1);

  devices.add_device(1, kSecondGpu);
  devices.add_context(1);
  drain_until_tracks(source, kCounters);
  source.finish(store, clock.latest_ns());

  EXPECT_THAT(sampled(), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(outcome(), HasSubstr("2 of the machine's 2 GPUs")) << "the end is an order, too";
}

TEST_F(NvmlSourceTest, says_that_nothing_reads_counters_for_it) {
  for (std::string const& address : {std::string(), std::string("stepscope-sampling-of-nobody")}) {
    store.info.facts.clear();
    NvmlSource source(window, devices, std::chrono::milliseconds(1), address);
    source.driver_starts();
    drain(source);
    source.finish(store, clock.latest_ns());
    EXPECT_THAT(outcome(), HasSubstr("`stepscope record` reads them")) << address;
  }
}

TEST_F(NvmlSourceTest, outlives_a_command_that_is_killed) {
  NvmlSource source(window, devices, std::chrono::milliseconds(1), serve());
  source.driver_starts();
  drain_until_tracks(source, 1);

  service.reset();
  drain(source);
  source.finish(store, clock.latest_ns());
  EXPECT_THAT(outcome(), ::testing::AnyOf(HasSubstr("was gone"), HasSubstr("GPUs")));
}

TEST_F(NvmlSourceTest, a_stranger_on_the_socket_ends_nothing) {
  std::string const address = serve();
  auto const stranger = SamplingSocket::connect(address).value();
  EXPECT_EQ(stranger.send(SamplingOutcome{"not what a program says"}),
            SamplingSocket::Delivery::kDone);

  NvmlSource source(window, devices, std::chrono::milliseconds(1), address);
  source.driver_starts();
  drain_until_tracks(source, 1);
  source.finish(store, clock.latest_ns());
  EXPECT_THAT(outcome(), HasSubstr("2 of the machine's 2 GPUs"));
}

/// Waits for a program, and sends it samples without a pause until it says that it ends: from
/// several threads, which together are faster than the one that reads.
void flood(SamplingSocket const& listener) {
  SamplingSocket const program = listener.accept();
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> senders;
  for (int t = 0; t < 4; ++t)
    senders.emplace_back([&] {
      std::vector<Sample> const samples(10, Sample{.device = 0, .at_ns = 1});
      while (!is_over) EXPECT_NE(program.send(samples), SamplingSocket::Delivery::kClosed);
    });

  for (bool goes_on = true; goes_on;) {
    if (program.wait(std::chrono::seconds(1)) != SamplingSocket::Arrival::kPacket) continue;
    auto const message = program.receive();
    goes_on = message && !std::holds_alternative<SamplingEnd>(*message);
  }
  is_over = true;
  senders.clear();
  EXPECT_EQ(program.send(SamplingOutcome{"flooded"}, std::chrono::minutes(1)),
            SamplingSocket::Delivery::kDone);
}

TEST_F(NvmlSourceTest, ends_although_samples_come_faster_than_they_are_read) {
  // Again and again: the reader is the slower one only in part of the rounds.
  for (int round = 0; round < 10; ++round) {
    store = TraceStore();
    std::string const address = new_local_address("flood");
    SamplingSocket const listener = SamplingSocket::listen(address).value();
    std::thread flooding([&] { flood(listener); });

    NvmlSource source(window, devices, std::chrono::milliseconds(1), address);
    source.driver_starts();
    drain_until_tracks(source, 1);
    source.finish(store, clock.latest_ns());
    flooding.join();
    EXPECT_EQ(outcome(), "flooded");
  }
}

/// One GPU that any thread may ask, as NVML allows it. The fake machine notes each call, and is one
/// thread's.
Api shared_api() {
  Api api;
  api.init = [] { return kSuccess; };
  api.device_count = [](unsigned* count) {
    *count = 1;
    return kSuccess;
  };
  api.device_by_index = [](unsigned, Device* device) {
    static int gpu = 0;
    *device = &gpu;
    return kSuccess;
  };

  api.utilization = [](Device, Utilization* utilization) {
    *utilization = {};
    return kSuccess;
  };
  return api;
}

/// Rounds of shared_api() over so many devices that few rounds fill a socket.
std::atomic<int> many_rounds;

TEST_F(NvmlSourceTest, counts_rounds_that_the_program_does_not_take) {
  static constexpr unsigned kDevices = 1'000;
  many_rounds = 0;
  std::string const address = serve([] {
    Api api = shared_api();
    api.device_count = [](unsigned* count) { return *count = kDevices, kSuccess; };
    api.utilization = [](Device, Utilization* utilization) {
      ++many_rounds;
      return *utilization = {}, kSuccess;
    };
    return base::Expected<Api>(api);
  });

  // A program that takes nothing until it ends.
  SamplingSocket const program = SamplingSocket::connect(address).value();
  ASSERT_EQ(program.send(SamplingHello{1, {}, "PCI_BUS_ID"}), SamplingSocket::Delivery::kDone);
  ASSERT_EQ(program.send(SamplingOrders{.is_recording = true}), SamplingSocket::Delivery::kDone);
  auto const latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (many_rounds < 100 * static_cast<int>(kDevices) &&
         std::chrono::steady_clock::now() < latest)
    std::this_thread::yield();
  ASSERT_EQ(program.send(SamplingEnd{}), SamplingSocket::Delivery::kDone);

  std::string outcome;
  while (outcome.empty()) {
    ASSERT_NE(program.wait(std::chrono::minutes(1)), SamplingSocket::Arrival::kClosed);
    auto const message = program.receive();
    ASSERT_TRUE(message);
    if (auto* const last = std::get_if<SamplingOutcome>(&*message)) outcome = last->text;
  }
  EXPECT_THAT(outcome, HasSubstr("; lost rounds, which the program did not take in time: "));
}

TEST_F(NvmlSourceTest, serves_several_programs_at_once) {
  std::string const address = serve([] { return base::Expected<Api>(shared_api()); });
  NvmlSource first(window, devices, std::chrono::milliseconds(1), address);
  NvmlSource second(window, devices, std::chrono::milliseconds(1), address);
  first.driver_starts();
  second.driver_starts();

  drain_until_tracks(first, 1);
  TraceStore own = std::exchange(store, TraceStore());
  drain_until_tracks(second, 1);
  second.finish(store, clock.latest_ns());
  first.finish(own, clock.latest_ns());
  EXPECT_THAT(own.tracks(), ::testing::Not(SizeIs(0)));
  EXPECT_THAT(store.tracks(), ::testing::Not(SizeIs(0)));
}

}  // namespace
}  // namespace stepscope::tracer::nvml
