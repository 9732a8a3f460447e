#include "tracer/nvtx/decoder.h"

#include <array>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"

namespace stepscope::tracer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(Decoder, nests_ranges_and_returns_their_levels) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);

  EXPECT_EQ(thread.push(named("outer")), 0);
  EXPECT_EQ(thread.push(named("inner")), 1);
  EXPECT_EQ(thread.pop(kDefaultDomain), 1);
  EXPECT_EQ(thread.pop(kDefaultDomain), 0);
  EXPECT_EQ(thread.pop(kDefaultDomain), -1);

  pipeline.finish();
  auto const rows = pipeline.rows();
  ASSERT_THAT(pipeline.names(), ElementsAre("outer", "inner"));
  EXPECT_LE(rows[0].start, rows[1].start);
  EXPECT_GE(rows[0].start + rows[0].dur, rows[1].start + rows[1].dur);
  EXPECT_EQ(rows[0].kind, model::EventKind::kRange);
}

TEST(Decoder, nests_each_domain_and_thread_for_itself) {
  Pipeline pipeline;
  uint16_t const library = pipeline.registry.domain("library");
  ThreadRecorder& a = *pipeline.source.attach(1);
  ThreadRecorder& b = *pipeline.source.attach(2);

  a.push(named("a"));
  EXPECT_EQ(a.push(named("call", library)), 0);
  EXPECT_EQ(b.push(named("b")), 0);
  a.pop(kDefaultDomain);  // before the other domain's range that began later
  b.pop(kDefaultDomain);
  a.pop(library);

  pipeline.finish();
  EXPECT_THAT(pipeline.names(), ElementsAre("a", "library: call", "b"));
}

TEST(Decoder, pairs_ranges_that_end_on_another_thread) {
  Pipeline pipeline;
  ThreadRecorder& begins = *pipeline.source.attach(1);
  ThreadRecorder& ends = *pipeline.source.attach(2);

  uint64_t const first = begins.start(named("first"));
  uint64_t const second = begins.start(named("second"));
  ends.end(kDefaultDomain, first);
  begins.end(kDefaultDomain, second);
  ends.end(kDefaultDomain, 12345);  // no range has this number

  pipeline.finish();
  EXPECT_THAT(pipeline.names(), UnorderedElementsAre("first", "second"));
  EXPECT_EQ(pipeline.store.tracks().size(), 1U);
}

TEST(Decoder, waits_for_the_begin_that_another_ring_still_holds) {
  // The end is decoded before the begin: its thread attached first, so its ring is drained first.
  Registry registry;
  Decoder decoder(registry, false);
  TraceStore store;
  ClockFit const clock({0, 0});
  CaptureWindow window{std::nullopt};
  ThreadRecorder begins(window, TickSource::kMonotonicClock, 0, 1, Ring::kMinBytes);
  ThreadRecorder ends(window, TickSource::kMonotonicClock, 1, 2, Ring::kMinBytes);

  uint64_t const range = begins.start(named("range"));
  ends.end(kDefaultDomain, range);
  auto const words_of = [](ThreadRecorder& thread) {
    return std::span(thread.ring().at(0), static_cast<size_t>(thread.ring().head()));
  };

  decoder.decode(1, words_of(ends), clock, store);
  decoder.end_round(store);
  decoder.decode(0, words_of(begins), clock, store);
  decoder.end_round(store);

  ASSERT_EQ(store.tracks().size(), 1U);
  EXPECT_EQ(store.rows(model::TrackId{0}).ended(), 1U);
}

TEST(Decoder, gives_annotations_their_kinds) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);
  auto const annotate = [&](char const* name, uint32_t category) {
    EventArgs args = named(name, kAnnotationDomain);
    args.category = category;
    thread.push(args);
    thread.pop(kAnnotationDomain);
  };

  thread.push(step_args(41));
  thread.pop(kAnnotationDomain);
  annotate("forward", 2);
  annotate("wait for batch", 3);
  annotate("decode", 0);

  pipeline.finish();
  auto const rows = pipeline.rows();
  ASSERT_THAT(pipeline.names(), ElementsAre("step", "forward", "wait for batch", "decode"));
  EXPECT_EQ(rows[0].kind, model::EventKind::kStep);
  EXPECT_EQ(pipeline.details<model::StepDetail>(0).at(0).index, 41);
  EXPECT_EQ(rows[1].kind, model::EventKind::kPhase);
  EXPECT_EQ(rows[2].kind, model::EventKind::kInputWait);
  EXPECT_EQ(rows[3].kind, model::EventKind::kRange);
}

TEST(Decoder, reads_a_steps_index_whatever_its_type) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);
  uint64_t const garbage = 0xDEAD'0000'0000;  // the union's other half
  std::array<std::pair<ValueType, uint64_t>, 6> const values = {
      {{ValueType::kInt64, 7},
       {ValueType::kUint64, 7},
       {ValueType::kInt32, garbage << 16 | 7},
       {ValueType::kUint32, garbage << 16 | 7},
       {ValueType::kDouble, std::bit_cast<uint64_t>(7.0)},
       {ValueType::kFloat, std::bit_cast<uint32_t>(7.0F)}}};

  for (auto const& [type, value] : values) {
    EventArgs args = step_args(0);
    args.value_type = type;
    args.value = value;
    thread.push(args);
    thread.pop(kAnnotationDomain);
  }

  pipeline.finish();
  auto const steps = pipeline.details<model::StepDetail>(0);
  ASSERT_EQ(steps.size(), values.size());
  for (auto const& step : steps) EXPECT_EQ(step.index, 7);
}

TEST(Decoder, puts_device_ops_on_their_streams_and_launches_on_their_thread) {
  Pipeline pipeline;
  register_device_schemas(pipeline.registry);
  ThreadRecorder& host = *pipeline.source.attach(1);
  ThreadRecorder& executor = *pipeline.source.attach(2);

  api::DevicePayload const device = {3, 2, 1 << 20, 5e9};
  host.mark(device_args("host device", payload(api::DeviceSchema::kDevice, device)));
  api::StreamPayload const stream = {3, 7, api::StreamKind::kCommunication};
  host.mark(device_args("reducer", payload(api::DeviceSchema::kStream, stream)));

  api::LaunchPayload const launch = {99, 3, 7};
  host.push(device_args("gemm", payload(api::DeviceSchema::kLaunch, launch)));
  host.pop(kDeviceDomain);
  api::KernelPayload const kernel = {99, 3, 7, 1024, 2.5e6};
  executor.push(device_args("gemm", payload(api::DeviceSchema::kKernel, kernel)));
  executor.pop(kDeviceDomain);

  pipeline.finish();
  ASSERT_EQ(pipeline.store.tracks().size(), 2U);
  model::Track const& track = pipeline.store.tracks()[0];
  EXPECT_EQ(track.name, "reducer");
  EXPECT_EQ(track.device, 3);
  EXPECT_EQ(track.id, 7);
  EXPECT_EQ(track.stream_kind, model::StreamKind::kCommunication);

  ASSERT_EQ(pipeline.store.devices().size(), 1U);
  EXPECT_EQ(pipeline.store.devices()[0].name, "host device");
  EXPECT_EQ(pipeline.store.devices()[0].capacity_bytes, 1U << 20);

  auto const kernels = pipeline.details<model::KernelDetail>(0);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].bytes, 1024U);
  EXPECT_EQ(kernels[0].flops, 2.5e6);

  auto const rows = pipeline.rows();
  EXPECT_EQ(rows[0].kind, model::EventKind::kKernel);
  EXPECT_EQ(rows[0].correlation, 99U);
  EXPECT_EQ(rows[1].kind, model::EventKind::kLaunch);
  EXPECT_EQ(rows[1].correlation, 99U);
}

TEST(Decoder, takes_an_allocation_from_the_payload_of_its_end_and_its_category_from_around) {
  Pipeline pipeline;
  register_device_schemas(pipeline.registry);
  ThreadRecorder& thread = *pipeline.source.attach(1);

  EventArgs category = named("gradients", kAnnotationDomain);
  category.category = 4;
  thread.push(category);
  thread.push(named("allocate", kDeviceDomain));
  api::MemoryPayload const memory = {
      0xABC0, 64, 128, 256, 1, api::MemoryOp::kAllocate, api::MemoryPurpose::kOther};
  PayloadView const view = payload(api::DeviceSchema::kMemory, memory);
  thread.pop(kDeviceDomain, {&view, 1});
  thread.pop(kAnnotationDomain);

  pipeline.finish();
  EXPECT_THAT(pipeline.names(), ElementsAre("memory: gradients", "allocate"));
  auto const rows = pipeline.details<model::MemoryDetail>(0);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].address, 0xABC0U);
  EXPECT_EQ(rows[0].allocated_bytes, 128U);
  EXPECT_EQ(rows[0].op, model::MemoryOp::kAllocate);
  EXPECT_EQ(rows[0].purpose, model::MemoryPurpose::kGradients);
}

TEST(Decoder, counts_payloads_of_unknown_layout_and_keeps_the_range) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);
  api::LaunchPayload const launch = {1, 0, 0};
  thread.push(device_args(
      "mystery", payload(api::DeviceSchema::kLaunch, launch)));  // its schema was never registered
  thread.pop(kDeviceDomain);
  pipeline.finish();
  EXPECT_EQ(pipeline.store.log.unknown_events, 1U);
  EXPECT_EQ(pipeline.rows().at(0).kind, model::EventKind::kRange);
}

TEST(Decoder, ends_open_ranges_with_the_capture_and_says_so) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);
  thread.push(named("never popped"));
  thread.start(named("never ended"));
  pipeline.finish();
  EXPECT_THAT(pipeline.names(), UnorderedElementsAre("never popped", "never ended"));
  ASSERT_EQ(pipeline.store.log.notes.size(), 1U);
  EXPECT_THAT(pipeline.store.log.notes[0], HasSubstr("2 ranges"));
}

TEST(Decoder, keeps_the_events_of_threads_that_exit_and_frees_their_rings) {
  Pipeline pipeline({}, 1 << 20);

  for (int64_t i = 0; i < 100; ++i) {
    ThreadRecorder& thread = *pipeline.source.attach(100 + i);
    ASSERT_TRUE(thread.ring().valid())
        << "thread " << i << " got no ring: those of exited threads were not freed";
    thread.push(named("work"));
    thread.close({"worker"});
    pipeline.drain();
  }
  pipeline.finish();

  auto const rows = pipeline.rows();
  ASSERT_EQ(rows.size(), 100U);
  EXPECT_EQ(rows[0].track, "worker");
}

TEST(Decoder, uses_given_thread_names) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(4711);
  pipeline.registry.name_thread(4711, "loader");
  thread.mark(named("here"));
  pipeline.finish();
  EXPECT_EQ(pipeline.rows().at(0).track, "loader");
  EXPECT_EQ(pipeline.rows().at(0).kind, model::EventKind::kMark);
  EXPECT_EQ(pipeline.store.tracks()[0].id, 4711);
}

TEST(Decoder, cuts_long_names_at_whole_characters) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);
  std::string text(kMaxTextBytes - 1, 'x');
  text += "\xC3\xA4";  // ä: its second byte is past the bound
  thread.mark(named(std::string_view(text).substr(0, kMaxTextBytes)));
  pipeline.finish();
  EXPECT_EQ(pipeline.rows().at(0).name, std::string(kMaxTextBytes - 1, 'x'));
}

TEST(Decoder, survives_records_that_contradict_themselves) {
  std::mt19937_64 random(5);
  Registry registry;
  register_device_schemas(registry);
  Decoder decoder(registry, true);
  TraceStore store;
  ClockFit const clock({0, 0});

  for (int i = 0; i < 50'000; ++i) {
    std::array<uint64_t, 24> words{};
    for (auto& word : words) word = random() % 3 == 0 ? random() : random() % 64;
    auto const type = static_cast<uint8_t>(random() % 2 == 0 ? random() % 7 : random());
    RecordHeader const header = {
        type, static_cast<uint8_t>(random()), static_cast<uint16_t>(random() % 16),
        static_cast<uint16_t>(random() % 4), static_cast<uint16_t>(random() % 100)};
    std::memcpy(words.data(), &header, sizeof header);
    words[4] = random() % 2 == 0 ? 0x53530000 + random() % 12 : words[4];

    size_t const count = random() % (words.size() + 1);
    EXPECT_LE(decoder.decode(static_cast<uint32_t>(random() % 3), std::span(words).first(count),
                             clock, store),
              count);
    if (random() % 100 == 0) decoder.end_round(store);
  }
  decoder.finish(1000, store);
}

TEST(Registry, gives_domains_beyond_the_bound_one_number) {
  Registry registry;
  std::set<uint16_t> numbers;
  for (int i = 0; i < 2 * kMaxDomains; ++i)
    numbers.insert(registry.domain("domain " + std::to_string(i)));
  EXPECT_EQ(numbers.size(), size_t{kMaxDomains - kFirstOtherDomain});
  EXPECT_LT(*numbers.rbegin(), kMaxDomains);
  EXPECT_EQ(registry.domain("domain 5"), registry.domain("domain 5"));
  EXPECT_EQ(registry.domain("stepscope"), kAnnotationDomain);
}

class Steps : public ::testing::Test {
 protected:
  Steps() { register_device_schemas(pipeline.registry); }

  void launch(uint64_t correlation) {
    api::LaunchPayload const launch = {correlation, 0, 0};
    host.push(device_args("op", payload(api::DeviceSchema::kLaunch, launch)));
    host.pop(kDeviceDomain);
  }
  void execute(uint64_t correlation) {
    api::KernelPayload const kernel = {correlation, 0, 0, 0, 0};
    executor.push(device_args("op", payload(api::DeviceSchema::kKernel, kernel)));
    executor.pop(kDeviceDomain);
  }
  void allocate() {
    host.push(named("allocate", kDeviceDomain));
    api::MemoryPayload const memory = {
        1, 2, 3, 4, 0, api::MemoryOp::kAllocate, api::MemoryPurpose::kWeights};
    PayloadView const view = payload(api::DeviceSchema::kMemory, memory);
    host.pop(kDeviceDomain, {&view, 1});
  }

  Pipeline pipeline{WindowOptions{.steps = StepRange{2, 3}}};
  ThreadRecorder& executor = *pipeline.source.attach(2);  // drained before the host's ring
  ThreadRecorder& host = *pipeline.source.attach(1);
};

TEST_F(Steps,
       only_the_chosen_ones_are_recorded_with_the_ops_launched_in_them_and_all_allocations_before) {
  allocate();
  for (int64_t i = 0; i < 6; ++i) {
    host.push(step_args(i));
    host.push(named("forward"));
    launch(static_cast<uint64_t>(10 + i));
    if (i > 0) execute(static_cast<uint64_t>(10 + i - 1));  // the device lags one step behind
    allocate();
    host.pop(kDefaultDomain);
    host.pop(kAnnotationDomain);
    pipeline.drain();
  }
  execute(15);
  pipeline.finish();

  std::map<model::EventKind, std::vector<uint64_t>> seen;
  for (Row const& row : pipeline.rows()) seen[row.kind].push_back(row.correlation);
  EXPECT_EQ(seen[model::EventKind::kStep].size(), 2U);
  EXPECT_EQ(seen[model::EventKind::kRange].size(), 2U);
  EXPECT_THAT(seen[model::EventKind::kLaunch], ElementsAre(12, 13));
  EXPECT_THAT(seen[model::EventKind::kKernel], ElementsAre(12, 13));
  EXPECT_GE(seen[model::EventKind::kMemory].size(),
            5U);  // before, in steps 0 and 1, and in both recorded ones
}

TEST_F(Steps, capture_is_over_when_every_annotating_thread_and_the_device_are_done) {
  ThreadRecorder& other = *pipeline.source.attach(3);
  host.push(step_args(2));
  other.push(step_args(2));
  host.pop(kAnnotationDomain);
  other.pop(kAnnotationDomain);

  host.push(step_args(3));
  launch(1);
  host.pop(kAnnotationDomain);
  EXPECT_FALSE(pipeline.window.is_over());

  other.close({"done early"});
  EXPECT_TRUE(pipeline.window.is_over());

  pipeline.drain();
  EXPECT_FALSE(pipeline.source.idle());
  execute(1);
  pipeline.drain();
  EXPECT_TRUE(pipeline.source.idle());
}

}  // namespace
}  // namespace stepscope::tracer
