#include "tracer/nvtx/nvtx_source.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace stepscope::tracer {
namespace {

/// A thread may have half of all memory in a burst, and half of what is left at a time. With the
/// default of 128 MB that is half a second of 10 M ranges/s.
constexpr size_t kMaxRingShare = 2;
/// Only addresses: a process has 128 TB of them, and thousands of threads.
constexpr size_t kMaxRingBytes = size_t{1} << 30;
/// Where every address counts: as much as the writer's period of 5 ms takes at 10 M ranges/s.
constexpr size_t kMaxCountedRingBytes = 2 << 20;
/// A new thread gets at most this share of the memory that is left: 256 KB with the default. So
/// thousands of threads that come and go while the writer does not run get some, too. A thread that
/// needs more takes more while it records.
constexpr size_t kShareOfRest = 1024;

/// Bytes of a new ring that the thread's first event touches: they last until the writer thread
/// comes by.
constexpr size_t kFirstPages = 64 * 1024;
/// Ahead of a thread that records: more than 10 M events/s need in one of the writer's periods.
constexpr size_t kPagesAhead = 2 << 20;

size_t max_ring_bytes(size_t buffer_bytes) {
  size_t const most = Ring::addresses_cost_nothing() ? kMaxRingBytes : kMaxCountedRingBytes;
  return std::bit_floor(std::clamp(buffer_bytes / kMaxRingShare, Ring::kMinBytes, most));
}

void set_fact(TraceStore& store, std::string const& fact, std::string const& value) {
  auto& facts = store.info.facts;
  auto const earlier =
      std::find_if(facts.begin(), facts.end(), [&](auto const& one) { return one.first == fact; });
  if (earlier != facts.end())
    earlier->second = value;
  else
    facts.emplace_back(fact, value);
  store.describe_again();
}

}  // namespace

NvtxSource::NvtxSource(CaptureWindow& window, TickSource ticks, Registry& registry,
                       size_t buffer_bytes)
    : window_(window),
      ticks_(ticks),
      registry_(registry),
      max_ring_bytes_(max_ring_bytes(buffer_bytes)),
      budget_(buffer_bytes),
      trigger_(window.options().range, registry),
      decoder_(registry, window.ends_early()) {}

size_t NvtxSource::take_ring_bytes() {
  size_t const bytes =
      std::bit_floor(std::clamp(budget_.left() / kShareOfRest, Ring::kMinBytes, max_ring_bytes_));
  return budget_.take(bytes, 1) ? bytes : 0;
}

NvtxSource::~NvtxSource() { take_attached(); }

ThreadRecorder* NvtxSource::attach(int64_t thread_id, ThreadName const& name) {
  if (is_over()) return nullptr;
  size_t const bytes = take_ring_bytes();
  uint32_t const number = next_number_.fetch_add(1, std::memory_order_relaxed);
  ThreadRecorder* const recorder =
      ThreadRecorder::make(window_, ticks_, number, thread_id, bytes, max_ring_bytes_, &budget_,
                           trigger_.is_on() ? &trigger_ : nullptr, turns_ ? &*turns_ : nullptr);
  if (recorder == nullptr || !recorder->ring().valid()) budget_.give_back(bytes);
  if (recorder == nullptr) {
    count_unattached(1);
    return nullptr;
  }
  recorder->ring().prefault(kFirstPages);
  recorder->first_name = name;

  recorder->attached_before = attached_.load(std::memory_order_relaxed);
  while (!attached_.compare_exchange_weak(recorder->attached_before, recorder,
                                          std::memory_order_release, std::memory_order_relaxed)) {
  }
  return recorder;
}

/// Hands the new recorders over to the writer thread, the oldest first.
void NvtxSource::take_attached() {
  size_t const known = drained_.size();
  ThreadRecorder* recorder = attached_.exchange(nullptr, std::memory_order_acquire);
  size_t count = 0;
  for (ThreadRecorder const* one = recorder; one != nullptr; one = one->attached_before) ++count;
  drained_.reserve(known + count);

  for (; recorder != nullptr; recorder = recorder->attached_before) {
    drained_.emplace_back();
    drained_.back().recorder.reset(recorder);
    drained_.back().comm_name = recorder->first_name.data();
    decoder_.describe_thread(recorder->number(), recorder->thread_id());
  }

  std::reverse(drained_.begin() + static_cast<ptrdiff_t>(known), drained_.end());
}

void NvtxSource::snapshot() {
  take_attached();
  for (Drained& drained : drained_) {
    drained.closing =
        drained.recorder->closed();  // before the head: a closed recorder writes no more
    drained.unmatched_range_ends = drained.recorder->unmatched_range_ends().mark();
  }
  // After the marks: the begins of the ranges whose ends were lost are then in what is drained.
  for (Drained& drained : drained_) drained.until = drained.recorder->ring().head();
}

void NvtxSource::drain_ring(Drained& drained, TraceStore& store, ClockFit const& clock) {
  Ring& ring = drained.recorder->ring();
  uint64_t position = ring.tail();
  if (position == drained.until) return;

  while (position < drained.until) {
    size_t const words = std::min(drained.until - position, ring.words_to_end(position));
    position +=
        decoder_.decode(drained.recorder->number(), {ring.at(position), words}, clock, store);
    ring.release(position);
  }
  // Only threads that go on recording get more memory.
  if (!is_over()) ring.prefault(kPagesAhead);
}

void NvtxSource::lose_ends(Drained& drained, ClockFit const& clock) {
  UnmatchedRangeEnds::Mark const& lost = drained.unmatched_range_ends;
  drained.recorder->unmatched_range_ends().take(
      lost, [this](uint64_t range) { decoder_.lose_end(range); });
  uint64_t const forgotten = lost.forgotten - std::exchange(drained.forgotten_ends, lost.forgotten);
  if (forgotten != 0)
    decoder_.lose_ends_before(clock.to_trace_ns(lost.last_forgotten_ticks), forgotten);
}

void NvtxSource::drain(TraceStore& store, ClockFit const& clock) {
  for (Drained& drained : drained_) drain_ring(drained, store, clock);
  for (Drained& drained : drained_) lose_ends(drained, clock);
  decoder_.end_round(store);
  // All threads that ended at once: programs that start a thread a task end thousands between two
  // rounds.
  for (Drained& drained : drained_) {
    if (drained.closing) close(drained, store, clock);
  }
  std::erase_if(drained_, [](Drained const& drained) { return drained.closing; });
}

void NvtxSource::close(Drained& drained, TraceStore& store, ClockFit const& clock) {
  ThreadRecorder& recorder = *drained.recorder;
  if (recorder.has_lost_pops()) decoder_.lose_deep_pops(recorder.number());
  decoder_.close_thread(recorder.number(), clock.to_trace_ns(recorder.closing_ticks()));
  describe(drained, store);
  decoder_.forget_thread(recorder.number());
  dropped_by_exited_ += recorder.dropped();
  interrupting_of_exited_ += recorder.interrupting();
  if (recorder.ring().valid()) budget_.give_back(recorder.ring().capacity_bytes());
}

void NvtxSource::describe(Drained& drained, TraceStore& store) {
  ThreadRecorder const& recorder = *drained.recorder;
  uint64_t const dropped = recorder.dropped();
  if (dropped == 0 && !decoder_.has_track(recorder.number())) return;

  model::TrackId const id = decoder_.thread_track(recorder.number(), store);
  model::Track track = store.track(id);

  std::string const comm = drained.closing
                               ? recorder.final_name()
                               : store.system_name(recorder.thread_id(), drained.comm_name);
  if (!comm.empty()) drained.comm_name = comm;
  auto const given = registry_.thread_name(recorder.thread_id());
  std::string const& name = given ? *given : drained.comm_name;
  if ((name.empty() || name == track.name) && dropped == drained.described_dropped) return;

  if (!name.empty()) track.name = name;
  // The system gives numbers of threads again: the track may have been that of an earlier one, too.
  uint64_t const fresh = dropped - std::exchange(drained.described_dropped, dropped);
  track.dropped += fresh;
  dropped_on_tracks_ += fresh;

  store.set_track(id, std::move(track));
}

void NvtxSource::name_categories(TraceStore& store) {
  for (auto const& [category, name] : registry_.category_names()) {
    if (std::string& known = named_categories_[category]; std::exchange(known, name) == name)
      continue;
    auto const [domain, number] = category;
    std::string const of =
        domain == kDefaultDomain ? std::string() : " of " + registry_.domain_name(domain);
    set_fact(store, fmt::format("category {}{}", number, of), name);
  }
}

/// As the analyzer reads it (analyzer/metrics/steps/interleave.h).
void NvtxSource::count_turns(TraceStore& store) {
  int64_t const turns = turns_ ? turns_->count() : 0;
  if (std::exchange(reported_turns_, turns) != turns)
    set_fact(store, "turns", fmt::format("{} of {} steps", turns, turns_->steps()));
}

void NvtxSource::refresh(TraceStore& store) {
  name_categories(store);
  count_turns(store);
  for (auto const& [device, name] : registry_.device_names()) store.name_device(device, name);
  for (Drained& drained : drained_) describe(drained, store);
}

void NvtxSource::end_window(TraceStore& store, int64_t end_ns) {
  decoder_.end_window(end_ns, store);
}

void NvtxSource::finish(TraceStore& store, int64_t end_ns) {
  for (Drained const& drained : drained_) {
    if (drained.recorder->has_lost_pops()) decoder_.lose_deep_pops(drained.recorder->number());
  }
  decoder_.finish(end_ns, store);
  refresh(store);
}

uint64_t NvtxSource::dropped() const {
  uint64_t sum =
      dropped_by_exited_ + decoder_.dropped() + unattached_.load(std::memory_order_relaxed);
  for (Drained const& drained : drained_) sum += drained.recorder->dropped();
  return sum;
}

/// Events without a recorder are of such handlers, or of threads for which there was no memory at
/// all.
uint64_t NvtxSource::dropped_in_signal_handlers() const {
  uint64_t sum = interrupting_of_exited_ + unattached_.load(std::memory_order_relaxed);
  for (Drained const& drained : drained_) sum += drained.recorder->interrupting();
  return sum;
}

void NvtxSource::release() {
  take_attached();
  for (Drained const& drained : drained_) drained.recorder->ring().discard_memory();
}

}  // namespace stepscope::tracer
