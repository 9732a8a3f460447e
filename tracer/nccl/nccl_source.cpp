#include "tracer/nccl/nccl_source.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace stepscope::tracer::nccl {
namespace {

/// Each thread on which NCCL calls us gets this share of the buffers; such threads are few. It is 1
/// MB by default: 9,000 calls between two drains or a hundred times what NCCL enqueues.
constexpr size_t kShareOfBuffers = 256;
constexpr size_t kMaxRingBytes = 16 << 20;
constexpr char const* kInterfaceFact = "nccl profiler";

}  // namespace

NcclSource::NcclSource(CaptureWindow& window, TickSource ticks, Communicators const& communicators,
                       int64_t process_id, size_t buffer_bytes)
    : window_(window),
      ticks_(ticks),
      communicators_(communicators),
      process_id_(process_id),
      ring_bytes_(std::bit_floor(
          std::clamp(buffer_bytes / kShareOfBuffers, Ring::kMinBytes, kMaxRingBytes))),
      idle_(window, ticks, RecorderIds{UINT32_MAX, 0, process_id}, 0),
      decoder_(communicators) {}

Recorder* NcclSource::attach(int64_t thread_id) {
  std::lock_guard const lock(mutex_);
  if (window_.mode() == CaptureMode::kStopped) return &idle_;
  recorders_.push_back(std::make_unique<Recorder>(
      window_, ticks_, RecorderIds{next_number_++, thread_id, process_id_}, ring_bytes_));
  return recorders_.back().get();
}

void NcclSource::snapshot() {
  std::lock_guard const lock(mutex_);
  for (size_t i = drained_.size(); i < recorders_.size(); ++i)
    drained_.push_back({recorders_[i].get(), 0, false});
  for (Drained& drained : drained_) {
    drained.closing =
        drained.recorder->closed();  // before the head: a closed recorder writes no more
    drained.until = drained.recorder->ring().head();
  }
}

void NcclSource::drain_ring(Drained const& drained, ClockFit const& clock) {
  Ring& ring = drained.recorder->ring();
  uint64_t position = ring.tail();
  while (position < drained.until) {
    size_t const words = std::min(drained.until - position, ring.words_to_end(position));
    position += decoder_.decode(drained.recorder->ids().number, drained.recorder->ids().thread,
                                {ring.at(position), words}, clock);
    ring.release(position);
  }
}

void NcclSource::drain(TraceStore& store, ClockFit const& clock) {
  for (Drained const& drained : drained_) drain_ring(drained, clock);
  decoder_.end_round(clock.latest_ns(), store);
  forget_closed();
}

void NcclSource::forget_closed() {
  auto const is_closing = [](Drained const& drained) { return drained.closing; };
  if (std::none_of(drained_.begin(), drained_.end(), is_closing)) return;

  std::lock_guard const lock(mutex_);
  for (Drained const& drained : drained_) {
    if (!drained.closing) continue;

    decoder_.forget_thread(drained.recorder->ids().number);
    dropped_by_exited_ += drained.recorder->dropped();
    std::erase_if(recorders_,
                  [&](auto const& recorder) { return recorder.get() == drained.recorder; });
  }

  std::erase_if(drained_, is_closing);
}

void NcclSource::end_window(TraceStore& store, int64_t /*end_ns*/) {
  decoder_.finish(store);
  describe(store);
}

void NcclSource::finish(TraceStore& store, int64_t end_ns) { end_window(store, end_ns); }

void NcclSource::describe(TraceStore& store) {
  std::string const text = describe_interface();
  auto const known = std::find_if(store.info.facts.begin(), store.info.facts.end(),
                                  [](auto const& fact) { return fact.first == kInterfaceFact; });
  if (known != store.info.facts.end())
    known->second = text;
  else if (!text.empty())
    store.info.facts.emplace_back(kInterfaceFact, text);
  store.describe_again();

  problem_ = communicators_.other_plugin_problem();
  if (!problem_.empty()) store.log.notes.push_back(problem_);
  uint64_t const malformed = decoder_.malformed_records();
  store.log.unknown_events += malformed - std::exchange(reported_malformed_, malformed);
}

std::string NcclSource::describe_interface() const {
  size_t const count = communicators_.size();
  if (count == 0) return {};

  constexpr int kTellsLaunches = 5;
  int const version = communicators_.get(static_cast<uint32_t>(count - 1)).version;
  std::string const other = communicators_.other_plugin();
  return fmt::format("interface {}, {} communicators{}{}", version, count,
                     other.empty() ? "" : ", " + other,
                     version >= kTellsLaunches
                         ? ""
                         : "; below interface 5 collectives of a communicator that CUDA graphs use "
                           "may have no size and no partners: NCCL 2.28 tells them");
}

uint64_t NcclSource::dropped() const {
  uint64_t sum = dropped_by_exited_;
  for (Drained const& drained : drained_) sum += drained.recorder->dropped();
  return sum;
}

void NcclSource::release() {
  std::lock_guard const lock(mutex_);
  for (auto const& recorder : recorders_) recorder->ring().discard_memory();
}

}  // namespace stepscope::tracer::nccl
