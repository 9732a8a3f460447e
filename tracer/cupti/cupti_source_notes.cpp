// What the CUDA source says of itself: facts of the trace, what is missing in it and why.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tracer/cupti/cupti_source.h"

namespace stepscope::tracer {

void CuptiSource::note(std::string name, std::string text) {
  std::lock_guard const lock(mutex_);
  notes_.emplace_back(std::move(name), std::move(text));
}

void CuptiSource::give_up(std::string reason) {
  note("cuda tracing", fmt::format("off: {}", reason));
  std::lock_guard const lock(mutex_);
  problem_ = fmt::format("CUDA calls and kernels were not recorded: {}", reason);
}

void CuptiSource::write_notes(TraceStore& store) {
  std::lock_guard const lock(mutex_);
  if (notes_.empty()) return;
  for (auto& fact : std::exchange(notes_, {})) store.info.facts.push_back(std::move(fact));
  store.describe_again();
}

/// What CUPTI dropped is asked of it, and may be wrong with buffers by thread; how often there was
/// no buffer is not.
uint64_t CuptiSource::dropped() const {
  return lost_in_overflow_ > 0 ? lost_in_overflow_.load()
                               : std::max(dropped_by_cupti_.load(), pool_.refused());
}

void CuptiSource::tell_untimed(TraceStore& store) {
  uint64_t const all = decoder_->untimed();
  uint64_t const untimed = all - std::exchange(reported_untimed_, all);
  if (untimed == 0) return;

  std::string const text = fmt::format(
      "{} kernels and copies have no possible times and were left out: they still ran when capture "
      "ended, or CUPTI had no room for their times, or it made a mistake",
      untimed);
  store.log.notes.push_back(text);

  std::lock_guard const lock(mutex_);
  if (problem_.empty()) problem_ = text;
}

void CuptiSource::tell_unreadable(TraceStore& store) {
  uint64_t const all = decoder_->unreadable();
  uint64_t const unreadable = all - std::exchange(reported_unreadable_, all);
  if (unreadable == 0) return;
  store.log.dropped += unreadable;

  std::string const text = fmt::format(
      "about {} records of CUDA calls, kernels and copies are missing: CUPTI left a part of its "
      "buffers unreadable (a newer driver or CUPTI may mend it)",
      unreadable);
  store.log.notes.push_back(text);

  std::lock_guard const lock(mutex_);
  if (problem_.empty()) problem_ = text;
}

std::string CuptiSource::problem() const {
  std::lock_guard const lock(mutex_);
  return problem_;
}

}  // namespace stepscope::tracer
