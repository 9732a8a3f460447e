#include "tracer/nvtx/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {
namespace {

/// Rounds for which the end of a start/end range waits for its begin. Rings are drained one after
/// the other, so the begin may be decoded one round later; after two it was dropped.
constexpr int kWaitRounds = 2;
/// Open ranges kept of the deep levels of a thread and domain: more are a program that forgets to
/// pop. The outermost of them are then left out.
constexpr size_t kMaxDeepRanges = 65'536;
/// Open start/end ranges kept: more are a program that forgets to end them. Later ones are left
/// out.
constexpr size_t kMaxStartedRanges = 1 << 20;
/// Words decoded before the ring gets their room back: about 10 µs of work.
constexpr size_t kSliceWords = 4096;
/// About 20 records.
constexpr size_t kPrefetchWords = 64;

}  // namespace

Decoder::Thread& Decoder::thread(uint32_t number) {
  if (last_thread_ == nullptr || last_number_ != number) {
    last_thread_ = &threads_[number];
    last_number_ = number;
  }
  return *last_thread_;
}

void Decoder::pop(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.range != 0) return pop_deep(thread, record, now, store);

  drop_deep_of(thread, record.domain);
  auto& open = open_ranges(thread, record.domain);
  if (open.empty()) {  // recorders record both ends of a range or none
    if (!pop_of_earlier_window(thread, record.domain)) ++store.log.unknown_events;
    return;
  }

  OpenRange const range = open.back();
  open.pop_back();
  end_popped(thread, record, range, now, store);
}

bool Decoder::pop_of_earlier_window(Thread& thread, uint16_t domain) {
  auto const place = thread.of_earlier_window.find(domain);
  if (place == thread.of_earlier_window.end()) return false;
  std::vector<bool>& ranges = place->second;
  if (ranges.back()) thread.memory_purpose.pop_back();
  ranges.pop_back();
  if (ranges.empty()) thread.of_earlier_window.erase(place);
  return true;
}

void Decoder::end_popped(Thread& thread, Record const& record, OpenRange const& range, int64_t now,
                         TraceStore& store) {
  if (range.is_memory_category) thread.memory_purpose.pop_back();
  if ((record.flags & kPayloadLost) != 0) {  // counted by the recorder
    range.rows->drop(range.row);
    return;
  }
  end_range(record.payloads.empty() ? range : apply_end_payload(&thread, record, range, store),
            now);
}

void Decoder::push(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.range != 0) return push_deep(thread, record, now, store);
  OpenRange const range = begin(thread, record, now, store);
  open_ranges(thread, record.domain).push_back(range);
}

void Decoder::push_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  DeepRanges& deep = thread.deep[record.domain];
  drop_deep(thread, deep, std::min(deep_level(record.range), deep_lost_from(record.range)));
  if (deep.size() == kMaxDeepRanges) forget_outermost(thread, record.domain, deep);
  deep.push_back({deep_level(record.range), begin(thread, record, now, store)});
}

void Decoder::pop_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  auto const place = thread.deep.find(record.domain);

  if (place == thread.deep.end()) return;  // its push was dropped
  DeepRanges& deep = place->second;
  int32_t const level = deep_level(record.range);
  drop_deep(thread, deep, std::min(level + 1, deep_lost_from(record.range)));

  if (!deep.empty() && deep.back().level == level) {
    OpenRange const range = deep.back().range;
    deep.pop_back();
    end_popped(thread, record, range, now, store);
  }

  if (deep.empty()) thread.deep.erase(place);
}

/// Drops the ranges from this level on: their pops were lost.
void Decoder::drop_deep(Thread& thread, DeepRanges& deep, int32_t from_level) {
  for (; !deep.empty() && deep.back().level >= from_level; deep.pop_back(), ++dropped_) {
    OpenRange const& range = deep.back().range;
    if (range.is_memory_category) thread.memory_purpose.pop_back();
    range.rows->drop(range.row);
  }
}

/// An outer level of the domain was pushed or popped: nothing is open on deep ones.
void Decoder::drop_deep_of(Thread& thread, uint16_t domain) {
  auto const place = thread.deep.find(domain);
  if (place == thread.deep.end()) return;
  drop_deep(thread, place->second, 0);
  thread.deep.erase(place);
}

void Decoder::lose_deep_pops(uint32_t number) {
  Thread& own = thread(number);
  for (auto& [domain, deep] : own.deep) drop_deep(own, deep, 0);
  own.deep.clear();
}

void Decoder::forget_outermost(Thread& thread, uint16_t domain, DeepRanges& deep) {
  OpenRange const range = deep.front().range;
  deep.pop_front();

  if (range.is_memory_category) {
    auto const& outer = open_ranges(thread, domain);
    thread.memory_purpose.erase(thread.memory_purpose.begin() +
                                std::count_if(outer.begin(), outer.end(), [](OpenRange const& one) {
                                  return one.is_memory_category;
                                }));
  }

  range.rows->drop(range.row);
  ++never_popped_;
}

bool Decoder::end(Record const& record, int64_t now, TraceStore& store) {
  auto const found = started_.find(record.range);
  if (found == started_.end()) return false;
  OpenRange const range = found->second;
  started_.erase(found);
  end_range(record.payloads.empty() ? range : apply_end_payload(nullptr, record, range, store),
            now);
  return true;
}

void Decoder::mark(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.domain == kDeviceDomain && describe_device(record, store)) return;
  end_range(begin(thread, record, now, store), now);
  if (record.domain == kAnnotationDomain) add_note_sample(thread, record, now, store);
}

size_t Decoder::decode(uint32_t number, std::span<uint64_t const> words, ClockFit const& clock,
                       TraceStore& store) {
  Thread& own = thread(number);
  size_t position = 0;
  while (position < words.size() && position < kSliceWords) {
    // The words come from another core's cache: asked for early, they are here when they are
    // needed.
    __builtin_prefetch(words.data() + position + kPrefetchWords);

    auto const rest = words.subspan(position);
    size_t const used = is_compact(rest[0]) ? decode_compact(own, rest, clock, store)
                                            : decode_general(own, rest, clock, store);

    if (used == 0) [[unlikely]] {
      ++store.log.unknown_events;
      return words.size();
    }
    position += used;
  }
  return position;
}

size_t Decoder::decode_compact(Thread& thread, std::span<uint64_t const> words,
                               ClockFit const& clock, TraceStore& store) {
  int64_t const now = clock.to_trace_ns(compact_ticks(words[0], clock.latest_ticks()));

  uint16_t const domain = compact_domain(words[0]);
  if ((words[0] & kCompactPop) != 0) {
    if (!thread.deep.empty()) [[unlikely]]
      drop_deep_of(thread, domain);
    auto& open = open_ranges(thread, domain);
    if (open.empty()) return 0;
    if (open.back().is_memory_category) [[unlikely]]
      thread.memory_purpose.pop_back();
    end_range(open.back(), now);
    open.pop_back();
    return 1;
  }

  if ((words[0] & kCompactHandle) != 0) {
    if (words.size() < 2) return 0;
    push_plain(thread, domain, handle_name(domain, static_cast<uint32_t>(words[1]), store), now,
               store);
    return 2;
  }

  size_t const limit = std::min<size_t>(words.size(), 1 + kMaxCompactTextWords);
  size_t end = 1;
  while (end < limit && lowest_zero_byte(words[end]) == 0) ++end;
  if (end == limit) return 0;
  push_plain(thread, domain, text_name(domain, words.subspan(1, end), store), now, store);
  return end + 1;
}

size_t Decoder::decode_general(Thread& thread, std::span<uint64_t const> words,
                               ClockFit const& clock, TraceStore& store) {
  RecordHeader header{};
  std::memcpy(&header, words.data(), sizeof header);

  if (header.words == 0 || header.words > words.size()) return 0;
  if (header.type == kPaddingRecord) return header.words;
  auto const own = words.first(header.words);
  if (!read_record(own, record_)) return 0;

  int64_t const now = clock.to_trace_ns(record_.ticks);
  switch (record_.type) {
    case RecordType::kPush:
      push(thread, record_, now, store);
      break;
    case RecordType::kPop:
      pop(thread, record_, now, store);
      break;
    case RecordType::kMark:
      mark(thread, record_, now, store);
      break;
    case RecordType::kStart:
      start(thread, record_, now, store);
      break;
    case RecordType::kEnd:
      if (!end(record_, now, store)) waiting_ends_.push_back({{own.begin(), own.end()}, now, 0});
      break;
    default:
      ++store.log.unknown_events;
      break;
  }
  return header.words;
}

void Decoder::start(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (started_.size() >= kMaxStartedRanges) {
    ++too_many_started_;
    return;
  }
  OpenRange const range = begin(thread, record, now, store);
  auto const [place, is_new] = started_.try_emplace(record.range, range);
  if (is_new) return;
  // Recorders give every range another number: a damaged record.
  ++store.log.unknown_events;
  range.rows->drop(range.row);
}

void Decoder::lose_end(uint64_t range) {
  auto const found = started_.find(range);
  if (found == started_.end()) return;
  found->second.rows->drop(found->second.row);
  started_.erase(found);
}

void Decoder::lose_ends_before(int64_t last_ns, uint64_t counted) {
  size_t const lost = std::erase_if(started_, [&](auto const& one) {
    OpenRange const& range = one.second;
    if (range.rows->start(range.row) > last_ns) return false;
    range.rows->drop(range.row);
    return true;
  });
  dropped_ += lost - std::min<uint64_t>(lost, counted);
}

void Decoder::end_if_launched(OpenRange const& range, int64_t end_ns) {
  if (!is_stream_event(range.rows->kind(range.row))) return range.rows->end(range.row, end_ns);
  EndedOp const op = {range, range.rows->correlation(range.row), end_ns};
  if (op.correlation != 0 && !launched_.contains(op.correlation))
    waiting_ops_.push_back(op);
  else
    end_op(op);
}

void Decoder::end_op(EndedOp const& op) {
  outstanding_.erase(op.correlation);
  op.range.rows->end(op.range.row, op.end_ns);
}

void Decoder::end_round(TraceStore& store) {
  std::vector<WaitingEnd> still_waiting;
  for (WaitingEnd& waiting : waiting_ends_) {
    if (!read_record(waiting.words, record_) || end(record_, waiting.end_ns, store)) continue;
    if (++waiting.rounds < kWaitRounds) still_waiting.push_back(std::move(waiting));
  }
  waiting_ends_ = std::move(still_waiting);

  // An op that came before its launch did has seen one whole round since: its launch was outside
  // the window.
  for (EndedOp const& op : waiting_ops_before_) {
    if (launched_.contains(op.correlation))
      end_op(op);
    else
      op.range.rows->drop(op.range.row);
  }

  waiting_ops_before_ = std::exchange(waiting_ops_, {});
}

void Decoder::close_thread(uint32_t number, int64_t end_ns) {
  auto const found = threads_.find(number);
  if (found == threads_.end()) return;

  Thread& own = found->second;
  for (auto& open : own.open) {
    open_at_end_ += open.size();
    for (OpenRange const& range : open) end_range(range, end_ns);
    open.clear();
  }

  for (auto const& [domain, deep] : own.deep) {
    open_at_end_ += deep.size();
    for (DeepRange const& one : deep) end_range(one.range, end_ns);
  }
  own.deep.clear();
}

void Decoder::end_window(int64_t end_ns, TraceStore& store) {
  for (auto& [number, thread] : threads_)
    for (size_t domain = 0; domain < thread.open.size(); ++domain)
      for (OpenRange const& range : thread.open[domain])
        thread.of_earlier_window[static_cast<uint16_t>(domain)].push_back(range.is_memory_category);

  finish(end_ns, store);
  open_at_end_ = never_popped_ = too_many_started_ = 0;
  launched_.clear();
  outstanding_.clear();
}

void Decoder::finish(int64_t end_ns, TraceStore& store) {
  for (auto const& [number, thread] : threads_) close_thread(number, end_ns);
  open_at_end_ += started_.size();
  for (auto const& [id, range] : started_) end_range(range, end_ns);
  started_.clear();

  end_round(store);
  end_round(store);

  auto const note = [&](uint64_t count, char const* what) {
    if (count != 0) store.log.notes.push_back(fmt::format("{} ranges {}", count, what));
  };
  note(open_at_end_, "were still open when their thread or the capture ended, and end there");
  note(never_popped_,
       "were pushed and not popped while 65,536 others were opened inside them, and are left out: "
       "add nvtxRangePop");
  note(too_many_started_,
       "were started while 1,048,576 others were open, and are left out: add nvtxRangeEnd");
}

void Decoder::add_track(Thread& thread, TraceStore& store) {
  thread.track = store.thread_track(thread.thread_id);
  thread.rows = &store.rows(thread.track);
}

model::TrackId Decoder::thread_track(uint32_t number, TraceStore& store) {
  Thread& known = thread(number);
  need_track(known, store);
  return known.track;
}

void Decoder::forget_thread(uint32_t number) {
  threads_.erase(number);
  last_thread_ = nullptr;
}

bool Decoder::has_track(uint32_t thread) const {
  auto const found = threads_.find(thread);
  return found != threads_.end() && found->second.track.valid();
}

}  // namespace stepscope::tracer
