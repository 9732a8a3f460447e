// Compares the decoder and the store with a naive twin. Random records of several threads are
// decoded in pieces, written in many flushes and read back; the twin lists when each event began
// and ended.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/unit/tracer/pipeline.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"
#include "tracer/core/file_thread.h"
#include "tracer/nvtx/decoder.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using model::EventKind;

/// An event as the list has it, and as it is read back: (track, start, duration, name, kind, a
/// number of its details).
using Event = std::tuple<std::string, int64_t, int64_t, std::string, EventKind, uint64_t>;

constexpr uint32_t kTwinThreads = 3;

/// Makes records and keeps the list.
class Twin {
 public:
  Twin() {
    register_device_schemas(registry);
    library_ = registry.domain("library");
    handle_ = registry.text("registered");
  }

  /// One more record on a random thread.
  void step() {
    time_ += 1 + static_cast<int64_t>(random_() % 50);
    auto const thread = static_cast<uint32_t>(random_() % kTwinThreads);
    size_t const depth = threads_[thread].open.size();
    switch (random_() % (depth > 8 ? 16 : 10)) {
      case 0:
      case 1:
      case 2:
        return push_text(thread);
      case 3:
        return push_general(thread);
      case 4:
        return start(thread);
      case 5:
        return end(thread);
      case 6:
        return mark(thread);
      default:
        return pop(thread);
    }
  }
  std::vector<uint64_t> take_words(uint32_t thread) {
    return std::exchange(threads_[thread].words, {});
  }
  [[nodiscard]] int64_t now() const { return time_; }
  /// Ends the open ranges now and returns the list.
  std::vector<Event> finish() {
    for (Thread& thread : threads_) {
      for (Open const& one : thread.open) list(one.event, one.kind, one.detail);
    }
    for (auto const& [id, one] : started_) list(one.event, one.kind, one.detail);
    std::sort(list_.begin(), list_.end());
    return list_;
  }

  Registry registry;

 private:
  struct Begun {
    std::string track, name;
    int64_t start = 0;
  };
  struct Open {
    Begun event;
    uint16_t domain = 0;
    EventKind kind = EventKind::kRange;
    uint64_t detail = 0;
  };
  struct Thread {
    std::vector<uint64_t> words;
    std::vector<Open> open;
  };

  void list(Begun const& event, EventKind kind, uint64_t detail) {
    list_.emplace_back(event.track, event.start, time_ - event.start, event.name, kind, detail);
  }
  static std::string track(uint32_t thread) { return "thread " + std::to_string(thread); }

  void push_text(uint32_t thread) {
    static constexpr std::array<char const*, 6> kTexts = {
        "", "a", "seven77", "eight888", "somewhat longer", "layer.11.attention.output"};
    std::string const text = kTexts[random_() % kTexts.size()];
    uint16_t const domain = random_() % 4 == 0 ? library_ : kDefaultDomain;
    bool const by_handle = random_() % 5 == 0;

    auto& words = threads_[thread].words;
    words.push_back(
        compact_word(time_, unsigned{kCompact} | (by_handle ? kCompactHandle : 0U) | domain));
    if (by_handle) {
      words.push_back(handle_);
    } else {
      std::string padded = text;
      padded.resize((text.size() / 8 + 1) * 8);
      for (size_t i = 0; i < padded.size(); i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, padded.data() + i, 8);
        words.push_back(word);
      }
    }

    std::string shown = text.empty() ? "unnamed" : text;
    if (by_handle) shown = "registered";
    threads_[thread].open.push_back(
        {{track(thread), (domain == library_ ? "library: " : "") + shown, time_}, domain});
  }
  void put(uint32_t thread, RecordType type, uint16_t domain, uint8_t flags,
           std::vector<uint64_t> const& rest) {
    RecordHeader const header = {static_cast<uint8_t>(type), flags,
                                 static_cast<uint16_t>(2 + rest.size()), domain, 1};
    uint64_t first = 0;
    std::memcpy(&first, &header, sizeof header);
    auto& words = threads_[thread].words;
    words.push_back(first);
    words.push_back(static_cast<uint64_t>(time_));
    words.insert(words.end(), rest.begin(), rest.end());
  }
  template <class Payload>
  static std::vector<uint64_t> payload_words(api::DeviceSchema schema, Payload const& payload) {
    std::vector<uint64_t> words(2 + words_for(sizeof payload));
    words[0] = static_cast<uint64_t>(schema);
    words[1] = sizeof payload | uint64_t{sizeof payload} << 32;
    std::memcpy(&words[2], &payload, sizeof payload);
    return words;
  }
  void push_general(uint32_t thread) {
    auto const number = random_() % 1000;
    if (number % 3 == 0)
      push_step(thread, number);
    else if (number % 3 == 1)
      push_kernel(thread, number);
    else
      push_allocation(thread);
  }
  void push_step(uint32_t thread, uint64_t number) {
    put(thread, RecordType::kPush, kAnnotationDomain, kHasCategory | kHasValue | kHasText,
        {1 | uint64_t{2} << 32, number, 's'});
    threads_[thread].open.push_back(
        {{track(thread), "s", time_}, kAnnotationDomain, EventKind::kStep, number});
  }
  /// The kernel goes to the stream that its payload names.
  void push_kernel(uint32_t thread, uint64_t number) {
    std::vector<uint64_t> rest = {'k'};
    auto const payload =
        payload_words(api::DeviceSchema::kKernel, api::KernelPayload{0, 0, thread, number, 0});
    rest.insert(rest.end(), payload.begin(), payload.end());

    put(thread, RecordType::kPush, kDeviceDomain, kHasText | kHasPayloads, rest);
    threads_[thread].open.push_back({{"stream " + std::to_string(thread), "k", time_},
                                     kDeviceDomain,
                                     EventKind::kKernel,
                                     number});
  }
  /// The payload of its pop says what the range was.
  void push_allocation(uint32_t thread) {
    put(thread, RecordType::kPush, kDeviceDomain, kHasText, {'m'});
    threads_[thread].open.push_back({{track(thread), "m", time_}, kDeviceDomain});
  }
  void pop(uint32_t thread) {
    auto& open = threads_[thread].open;
    if (open.empty()) return;

    // Domains nest each for itself: any range that is the innermost of its domain may end.
    uint16_t const domain = open[random_() % open.size()].domain;
    auto const last = std::find_if(open.rbegin(), open.rend(),
                                   [&](Open const& one) { return one.domain == domain; });
    Open const ended = *last;
    open.erase(std::next(last).base());

    bool const tells =
        domain == kDeviceDomain && ended.kind == EventKind::kRange && random_() % 4 != 0;
    if (!tells) {
      threads_[thread].words.push_back(
          compact_word(time_, unsigned{kCompact} | kCompactPop | domain));
      return list(ended.event, ended.kind, ended.detail);
    }

    bool const is_op = random_() % 3 == 0;
    uint64_t const number = random_() % 1000;
    put(thread, RecordType::kPop, domain, kHasPayloads,
        is_op ? payload_words(api::DeviceSchema::kKernel,
                              api::KernelPayload{0, 0, kTwinThreads, number, 0})
              : payload_words(api::DeviceSchema::kMemory,
                              api::MemoryPayload{1, number, 0, 0, 0, api::MemoryOp::kFree, {}}));
    Begun moved = ended.event;
    if (is_op) moved.track = "stream " + std::to_string(kTwinThreads);
    list(moved, is_op ? EventKind::kKernel : EventKind::kMemory, number);
  }
  void start(uint32_t thread) {
    uint64_t const id = ++next_range_;
    put(thread, RecordType::kStart, kDefaultDomain, kHasRangeId | kHasText, {id, 'r'});
    started_[id] = {{track(thread), "r", time_}, 0};
  }
  void end(uint32_t thread) {
    if (started_.empty()) return;
    auto const one =
        std::next(started_.begin(), static_cast<ptrdiff_t>(random_() % started_.size()));
    put(thread, RecordType::kEnd, kDefaultDomain, kHasRangeId, {one->first});
    list(one->second.event, one->second.kind, 0);
    started_.erase(one);
  }
  void mark(uint32_t thread) {
    uint64_t const payload = random_() % 3;
    if (payload == 0) {
      put(thread, RecordType::kMark, kDefaultDomain, kHasText, {'!'});
      return list({track(thread), "!", time_}, EventKind::kMark, 0);
    }
    put(thread, RecordType::kMark, kDefaultDomain, kHasCategory | kHasValue | kHasColor | kHasText,
        {5 | uint64_t{1} << 32, payload, 0xFF123456, '!'});
    list({track(thread), "!", time_}, EventKind::kAnnotatedMark, payload);
  }

  std::mt19937_64 random_{17};
  std::array<Thread, kTwinThreads> threads_;
  std::map<uint64_t, Open> started_;
  std::vector<Event> list_;
  uint64_t next_range_ = 0;
  int64_t time_ = 0;
  uint16_t library_ = 0;
  uint32_t handle_ = 0;
};

uint64_t detail_number(model::Trace const& trace, uint32_t row) {
  switch (trace.kind(row)) {
    case EventKind::kStep:
      return static_cast<uint64_t>(trace.detail<model::StepDetail>(row).index);
    case EventKind::kKernel:
      return trace.detail<model::KernelDetail>(row).bytes;
    case EventKind::kMemory:
      return trace.detail<model::MemoryDetail>(row).bytes;
    case EventKind::kAnnotatedMark:
      return trace.detail<model::RangeDetail>(row).payload;
    default:
      return 0;
  }
}

std::vector<Event> events_of(model::Trace const& trace) {
  std::vector<Event> events;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    events.emplace_back(trace.track(row).name, trace.start(row), trace.columns().dur[row],
                        trace.name(row), trace.kind(row), detail_number(trace, row));
  std::sort(events.begin(), events.end());
  return events;
}

TEST(DecoderTwin, what_is_read_back_after_many_flushes_is_what_was_recorded) {
  fs::path const path = fs::path(::testing::TempDir()) /
                        ("decoder_twin_" + std::to_string(::getpid()) + ".stepscope");
  fs::remove(path);
  auto const started = FileThread::start([&] { return file::TraceWriter::create(path); });
  ASSERT_TRUE(started) << started.error().message;
  FileThread& output = **started;

  Twin twin;
  Decoder decoder(twin.registry, false);
  TraceStore store;
  store.set_output(&output);
  ClockFit const clock({0, 0});
  for (uint32_t t = 0; t < kTwinThreads; ++t) decoder.describe_thread(t, t);

  std::mt19937 random(3);
  int64_t flush_time = 0;
  // More rows on a track than a block holds, and a flush of whatever there is every few thousand
  // records.
  int const rounds = support::kSanitized ? 150 : 400;
  for (int round = 0; round < rounds; ++round) {
    for (auto records = random() % 3000; records > 0; --records) twin.step();
    for (uint32_t t = 0; t < kTwinThreads; ++t) {
      auto const words = twin.take_words(t);
      for (size_t done = 0; done < words.size();)
        done += decoder.decode(t, std::span(words).subspan(done), clock, store);
    }
    decoder.end_round(store);
    if (round < rounds / 2) store.flush(flush_time += TraceStore::kMaxAgeNs, false);
  }

  EXPECT_EQ(store.log.unknown_events, 0U);
  decoder.finish(twin.now(), store);
  store.describe_again();
  store.flush(flush_time, true);
  auto const result = output.finish();
  EXPECT_EQ(result.failure, "");

  auto const trace = file::read_trace_file(path);
  ASSERT_TRUE(trace) << trace.error().message;
  auto const expected = twin.finish();
  EXPECT_GT(expected.size(), (support::kSanitized ? 1 : 3) * file::kMaxBlockRows);
  EXPECT_EQ(result.written_rows, expected.size());

  auto const events = events_of(*trace);
  ASSERT_EQ(events.size(), expected.size());
  auto const [seen, wanted] = std::mismatch(events.begin(), events.end(), expected.begin());
  EXPECT_EQ(seen, events.end()) << "got " << ::testing::PrintToString(*seen) << ", not "
                                << ::testing::PrintToString(*wanted);
  fs::remove(path);
}

}  // namespace
}  // namespace stepscope::tracer
