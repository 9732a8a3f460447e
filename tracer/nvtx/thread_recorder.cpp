#include "tracer/nvtx/thread_recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <signal.h>
#include <sys/mman.h>

#include "tracer/api/annotate.h"
#include "tracer/api/device_events.h"

namespace stepscope::tracer {
namespace {

uint8_t flags_of(EventArgs const& args, uint64_t range) {
  unsigned flags = 0;
  if (range != 0) flags |= kHasRangeId;
  if (args.category != 0 || args.value_type != ValueType::kNone) flags |= kHasCategory;
  if (args.value_type != ValueType::kNone) flags |= kHasValue;
  if (args.color != 0) flags |= kHasColor;
  if (args.handle != 0) flags |= kHasHandle;
  if (!args.text.empty()) flags |= kHasText;
  if (!args.payloads.empty()) flags |= kHasPayloads;
  return static_cast<uint8_t>(flags);
}

/// Bytes of each payload that fit the bound on all of them together.
size_t copied_bytes(PayloadView const& payload, size_t& budget) {
  size_t const bytes = std::min<size_t>(payload.size, budget);
  budget -= bytes;
  return bytes;
}

uint32_t payload_words(std::span<PayloadView const> payloads) {
  uint32_t words = 0;
  size_t budget = kMaxPayloadBytes;
  for (PayloadView const& payload : payloads) words += 2 + words_for(copied_bytes(payload, budget));
  return words;
}

/// The last one to seven bytes as a word, the rest of it zero. Names are short and this is the hot
/// path: no call of memcpy.
uint64_t last_word(std::byte const* bytes, size_t size) {
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

uint64_t* put_bytes(uint64_t* out, void const* bytes, size_t size) {
  auto const* in = static_cast<std::byte const*>(bytes);
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), in += sizeof(uint64_t))
    std::memcpy(out++, in, sizeof(uint64_t));
  if (size != 0) *out++ = last_word(in, size);
  return out;
}

uint64_t* put_payloads(uint64_t* out, std::span<PayloadView const> payloads) {
  size_t budget = kMaxPayloadBytes;
  for (PayloadView const& payload : payloads) {
    size_t const bytes = copied_bytes(payload, budget);
    *out++ = payload.schema;
    *out++ = bytes | uint64_t{payload.original_bytes} << 32;
    out = put_bytes(out, payload.data, bytes);
  }
  return out;
}

/// Bytes that are read at once never pass a page's end, so that reading past a text's 0, as every
/// strlen does, cannot fault.
bool is_word_in_page(char const* text) {
  constexpr uintptr_t kLeastPage = 4096;  // the smallest there is
  return (reinterpret_cast<uintptr_t>(text) & (kLeastPage - 1)) <= kLeastPage - sizeof(uint64_t);
}

/// Copies a text with its final 0, the rest of the last word zero; the number of words. 0 when it
/// is too long, or when it is too near to a page's end to be read by words. Sanitizers must not
/// look: it reads past the 0.
__attribute__((no_sanitize("address", "thread"))) inline uint32_t put_compact_text(
    uint64_t* out, char const* text) {
  using UnalignedWord __attribute__((may_alias, aligned(1))) = uint64_t;

  for (uint32_t i = 0; i < kMaxCompactTextWords && is_word_in_page(text);
       ++i, text += sizeof(uint64_t)) {
    uint64_t const word = *reinterpret_cast<UnalignedWord const*>(text);
    uint64_t const end = lowest_zero_byte(word);
    if (end == 0) {
      out[i] = word;
      continue;
    }
    out[i] = word & ((end >> 7) - 1);
    return i + 1;
  }
  return 0;
}

bool is_step(EventArgs const& args) {
  return args.domain == kAnnotationDomain &&
         args.category == static_cast<uint32_t>(api::AnnotationCategory::kStep);
}

}  // namespace

ThreadRecorder::ThreadRecorder(CaptureWindow& window, TickSource ticks, uint32_t number,
                               int64_t thread_id, size_t ring_bytes, size_t max_ring_bytes,
                               RingBudget* budget, RangeTrigger* trigger, Turns* turns)
    : window_(window),
      tick_source_(ticks),
      filtered_(window.filtered()),
      number_(number),
      thread_id_(thread_id),
      ring_(ring_bytes, max_ring_bytes, budget),
      trigger_(trigger),
      turns_(turns) {}

void* ThreadRecorder::take_pages() {
  void* const memory = ::mmap(nullptr, sizeof(ThreadRecorder), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

void ThreadRecorder::Destroy::operator()(ThreadRecorder* recorder) const {
  recorder->~ThreadRecorder();
  ::munmap(recorder, sizeof *recorder);
}

/// Whether the call with the frame `user` was left by a jump out of a signal handler. A call that
/// the thread is still inside of has its frame below, unless it runs on a stack that the program
/// made for signals.
__attribute__((noinline)) bool ThreadRecorder::was_left(uintptr_t user, uintptr_t frame) {
  if (frame < user) return false;
  stack_t stack{};
  return ::sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) == 0;
}

bool ThreadRecorder::wants_baseline(EventArgs const& args) const {
  if (args.domain == kAnnotationDomain)
    return args.category == static_cast<uint32_t>(api::AnnotationCategory::kMemory);
  if (args.domain != kDeviceDomain) return false;
  if (args.payloads.empty()) return true;  // its payload comes at its end: an allocation
  auto const schema = static_cast<api::DeviceSchema>(args.payloads.front().schema);
  return schema == api::DeviceSchema::kDevice || schema == api::DeviceSchema::kStream ||
         schema == api::DeviceSchema::kMemory;
}

/// Behind the window: what devices still do of what was launched inside (the decoder leaves out the
/// rest).
bool ThreadRecorder::wants_ending(EventArgs const& args) const {
  if (wants_baseline(args)) return true;
  if (args.domain != kDeviceDomain) return false;
  auto const schema = static_cast<api::DeviceSchema>(args.payloads.front().schema);
  return schema != api::DeviceSchema::kLaunch && schema != api::DeviceSchema::kSync;
}

bool ThreadRecorder::wants(EventArgs const& args) const {
  if (wants_all()) [[likely]]
    return true;
  CaptureMode const mode = window_.mode();
  if (mode == CaptureMode::kEnding) return wants_ending(args);
  return filtered_ && mode != CaptureMode::kStopped && wants_baseline(args);
}

void ThreadRecorder::write_plain_pop(uint16_t domain, uint8_t flags) {
  int64_t const ticks = read_ticks(tick_source_);
  uint64_t* const record = ring_.try_reserve(kPopWords, 0);  // push() kept this room free
  RecordHeader const header = {static_cast<uint8_t>(RecordType::kPop), flags, kPopWords, domain, 0};
  std::memcpy(record, &header, sizeof header);
  record[1] = static_cast<uint64_t>(ticks);
  ring_.commit(kPopWords);
}

bool ThreadRecorder::write(RecordType type, EventArgs const& args, uint64_t range,
                           uint64_t keep_free) {
  // The end of a range is timed before the work of recording it, its begin after: what recording
  // costs is in no range.
  bool const is_end = type == RecordType::kPop || type == RecordType::kEnd;
  int64_t const early = is_end ? read_ticks(tick_source_) : 0;

  uint8_t const flags = flags_of(args, range);
  uint32_t words = 2 + words_for(args.text.size());
  words += static_cast<uint32_t>((flags & kHasRangeId) != 0) +
           static_cast<uint32_t>((flags & kHasCategory) != 0) +
           static_cast<uint32_t>((flags & kHasValue) != 0) +
           static_cast<uint32_t>((flags & kHasColor) != 0) +
           static_cast<uint32_t>((flags & kHasHandle) != 0);
  if ((flags & kHasPayloads) != 0) words += payload_words(args.payloads);

  uint64_t* const record = ring_.try_reserve(words, keep_free);
  if (record == nullptr) [[unlikely]]
    return false;

  RecordHeader const header = {static_cast<uint8_t>(type), flags, static_cast<uint16_t>(words),
                               args.domain, static_cast<uint16_t>(args.text.size())};
  std::memcpy(record, &header, sizeof header);
  uint64_t* out = record + 2;
  if ((flags & kHasRangeId) != 0) *out++ = range;
  if ((flags & kHasCategory) != 0)
    *out++ = args.category | static_cast<uint64_t>(args.value_type) << 32;
  if ((flags & kHasValue) != 0) *out++ = args.value;
  if ((flags & kHasColor) != 0) *out++ = args.color;
  if ((flags & kHasHandle) != 0) *out++ = args.handle;
  if ((flags & kHasText) != 0) out = put_bytes(out, args.text.data(), args.text.size());
  if ((flags & kHasPayloads) != 0) put_payloads(out, args.payloads);

  record[1] = static_cast<uint64_t>(is_end ? early : read_ticks(tick_source_));
  ring_.commit(words);
  return true;
}

/// Room for a compact push; null when it has to be a general record or there is no room: push()
/// then finds out which.
inline uint64_t* ThreadRecorder::compact_room(uint16_t domain, uint32_t max_words) {
  if (domain >= kCompactDomains || nesting_[domain].level >= kBitLevels || !wants_all())
      [[unlikely]]
    return nullptr;
  return ring_.try_reserve(max_words, end_room_);
}

inline int ThreadRecorder::end_compact_push(uint16_t domain, uint64_t* record, unsigned tag,
                                            uint32_t words) {
  Nesting& nesting = nesting_[domain];
  int32_t const level = nesting.level++;
  nesting.recorded |= uint64_t{1} << level;
  end_room_ += kPopWords;
  *record = compact_word(read_ticks(tick_source_), kCompact | tag | domain);
  ring_.commit(words);
  return level;
}

int ThreadRecorder::push(EventArgs const& args) {
  return alone(kNoNesting, [&] { return record_push(args); });
}
int ThreadRecorder::push_text(uint16_t domain, char const* text) {
  return alone(kNoNesting, [&] { return record_push_text(domain, text); });
}
int ThreadRecorder::push_handle(uint16_t domain, uint32_t handle) {
  return alone(kNoNesting, [&] { return record_push_handle(domain, handle); });
}
int ThreadRecorder::pop(uint16_t domain, std::span<PayloadView const> payloads) {
  return alone(kNoNesting, [&] { return record_pop(domain, payloads); });
}
int ThreadRecorder::pop(uint16_t domain) {
  return alone(kNoNesting, [&] { return record_pop(domain); });
}
void ThreadRecorder::mark(EventArgs const& args) {
  alone(0, [&] {
    if (wants(args) && !write(RecordType::kMark, args, 0, end_room_)) count_drop();
    return 0;
  });
}
uint64_t ThreadRecorder::start(EventArgs const& args) {
  return alone(kUnrecordedRange, [&] { return record_start(args); });
}
void ThreadRecorder::end(uint16_t domain, uint64_t range, std::span<PayloadView const> payloads) {
  if (range == 0 || (range & kUnrecordedRange) != 0) return;
  alone(0, [&] {
    record_end(domain, range, payloads);
    return 0;
  });
}

inline int ThreadRecorder::record_push_text(uint16_t domain, char const* text) {
  uint64_t* const record = compact_room(domain, 1 + kMaxCompactTextWords);
  uint32_t const words =
      record != nullptr && text != nullptr ? put_compact_text(record + 1, text) : 0;
  if (words == 0) [[unlikely]]
    return push_general(domain, text, 0);
  return end_compact_push(domain, record, 0, 1 + words);
}

inline int ThreadRecorder::record_push_handle(uint16_t domain, uint32_t handle) {
  uint64_t* const record = compact_room(domain, 2);
  if (record == nullptr) [[unlikely]]
    return push_general(domain, nullptr, handle);
  record[1] = handle;
  return end_compact_push(domain, record, kCompactHandle, 2);
}

__attribute__((noinline)) int ThreadRecorder::push_general(uint16_t domain, char const* text,
                                                           uint32_t handle) {
  EventArgs args;
  args.domain = domain;
  args.handle = handle;
  if (text != nullptr) args.text = {text, ::strnlen(text, kMaxTextBytes)};
  return record_push(args);
}

inline int ThreadRecorder::record_pop(uint16_t domain) {
  Nesting& nesting = nesting_[domain];
  int32_t const level = nesting.level - 1;
  uint64_t const bit = uint64_t{1} << (level & (kBitLevels - 1));
  bool const is_compact =
      domain < kCompactDomains && level >= 0 && level < kBitLevels && (nesting.recorded & bit) != 0;
  if (!is_compact || filtered_ || window_.mode() == CaptureMode::kStopped) [[unlikely]]
    return record_pop(domain, {});

  int64_t const ticks = read_ticks(tick_source_);
  nesting.level = level;
  nesting.recorded &= ~bit;
  end_room_ -= kPopWords;

  *ring_.try_reserve(1, 0) =
      compact_word(ticks, unsigned{kCompact} | kCompactPop | domain);  // push kept this room free
  ring_.commit(1);
  return level;
}

int ThreadRecorder::record_push(EventArgs const& args) {
  if (turns_ != nullptr && is_step(args) && !turns_->may_begin(member_)) wait_for_turn();

  Nesting& nesting = nesting_[args.domain];
  int32_t const level = nesting.level++;
  if (filtered_) range_begins(args, level);
  if (!wants(args)) return level;

  if (level >= kBitLevels) {
    if (!write_deep(RecordType::kPush, args, nesting, level)) count_drop();
  } else if (write(RecordType::kPush, args, 0, end_room_)) {
    nesting.recorded |= uint64_t{1} << level;
    end_room_ += kPopWords;
  } else {
    count_drop();
  }

  return level;
}

int ThreadRecorder::record_pop(uint16_t domain, std::span<PayloadView const> payloads) {
  Nesting& nesting = nesting_[domain];
  if (nesting.level == 0) return -1;
  int32_t const level = --nesting.level;
  bool const is_stopped = window_.mode() == CaptureMode::kStopped;

  EventArgs args;
  args.domain = domain;
  args.payloads = payloads;

  if (level >= kBitLevels) {
    if (!is_stopped) pop_deep(args, nesting, level);
  } else if (uint64_t const bit = uint64_t{1} << level; (nesting.recorded & bit) != 0) {
    nesting.recorded &= ~bit;
    if (!is_stopped) pop_recorded(args);
  }

  if (filtered_) range_ends(domain, level);
  return level;
}

/// Pops a range of one of the outer levels.
void ThreadRecorder::pop_recorded(EventArgs const& args) {
  end_room_ -= kPopWords;
  if (args.payloads.empty()) return write_plain_pop(args.domain, 0);
  // One more than is open: if the payload has no room, the end alone still has.
  if (write(RecordType::kPop, args, 0, end_room_)) return;
  write_plain_pop(args.domain, kPayloadLost);
  count_drop();
}

bool ThreadRecorder::write_deep(RecordType type, EventArgs const& args, Nesting& nesting,
                                int32_t level) {
  if (!write(type, args, deep_id(level, nesting.lost_from), end_room_)) return false;
  if (std::exchange(nesting.lost_from, kNoLevel) != kNoLevel)
    untold_domains_.store(untold_domains_.load(std::memory_order_relaxed) - 1,
                          std::memory_order_relaxed);
  return true;
}

/// Whether the push was recorded is not known here: the decoder passes over the pop when it was
/// not.
void ThreadRecorder::pop_deep(EventArgs const& args, Nesting& nesting, int32_t level) {
  if (write_deep(RecordType::kPop, args, nesting, level)) return;
  if (nesting.lost_from == kNoLevel)
    untold_domains_.store(untold_domains_.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  nesting.lost_from = std::min(nesting.lost_from, level);
}

uint64_t ThreadRecorder::record_start(EventArgs const& args) {
  uint64_t const range = uint64_t{number_ + 1} << kRangeNumberShift | next_range_++;

  if (filtered_ && triggers(args) && window_.open()) trigger_->started_range = range;
  if (!wants(args)) return range | kUnrecordedRange;

  if (!write(RecordType::kStart, args, range, end_room_ + kEndWords)) {
    count_drop();
    return range | kUnrecordedRange;
  }

  // Bounded: ranges that end on another thread, or never, must not use up the ring.
  if (started_room_ < ring_.capacity_words() / kEndsShare) {
    started_room_ += kEndWords;
    end_room_ += kEndWords;
  }

  return range;
}

void ThreadRecorder::record_end(uint16_t domain, uint64_t range,
                                std::span<PayloadView const> payloads) {
  if (window_.mode() == CaptureMode::kStopped) return;

  if (is_own(range) && started_room_ > 0) {
    started_room_ -= kEndWords;
    end_room_ -= kEndWords;
  }

  EventArgs args;
  args.domain = domain;
  args.payloads = payloads;
  if (!write(RecordType::kEnd, args, range, end_room_)) {
    unmatched_range_ends_.add(range, read_ticks(tick_source_));
    count_drop();
  }

  if (trigger_ != nullptr && trigger_->started_range == range) window_.close();
}

bool ThreadRecorder::triggers(EventArgs const& args) const {
  return trigger_ != nullptr && window_.mode() == CaptureMode::kBaseline && trigger_->matches(args);
}

/// The range marks the wait: time between two steps is in neither, and no step measures the first
/// one of a turn.
void ThreadRecorder::wait_for_turn() {
  record_push_text(kAnnotationDomain, kHeldRange);
  bool const has_turn = turns_->wait(member_);
  record_pop(kAnnotationDomain);
  if (has_turn) return;
  record_push_text(kAnnotationDomain, kTurnsOverRange);
  record_pop(kAnnotationDomain);
}

/// What opens the window is recorded itself.
void ThreadRecorder::range_begins(EventArgs const& args, int32_t level) {
  if (window_.by_steps() && is_step(args)) step_begins(args, level);
  if (triggers(args) && window_.open()) opened_by_ = {args.domain, level};
}

void ThreadRecorder::range_ends(uint16_t domain, int32_t level) {
  if (window_.by_steps() && domain == kAnnotationDomain) step_ends(level);
  if (opened_by_ != std::pair{domain, level}) return;
  opened_by_.second = kNoLevel;
  window_.close();
}

void ThreadRecorder::step_begins(EventArgs const& args, int32_t level) {
  if (!annotating_) {
    annotating_ = true;
    window_.thread_begins_annotating();
  }

  uint16_t const number = window_.number();
  if (std::exchange(window_number_, number) != number) done_ = false;

  step_level_ = level;
  step_index_ = integer_value(args.value_type, args.value);
  StepRange const steps = window_.steps();
  last_step_ = steps.last;
  inside_ = step_index_ >= steps.first && step_index_ <= steps.last;
  window_.thread_begins_step(step_index_);
  if (inside_) window_.thread_enters_window(window_number_);

  if (step_index_ > steps.last && !done_) {
    done_ = true;
    window_.thread_leaves_window(window_number_);
  }
}

void ThreadRecorder::step_ends(int32_t level) {
  if (level != step_level_) return;
  step_level_ = -1;
  if (step_index_ < last_step_ || !inside_) return;
  inside_ = false;
  if (done_) return;
  done_ = true;
  window_.thread_leaves_window(window_number_);
}

void ThreadRecorder::close(ThreadName const& name) {
  if (annotating_) window_.thread_exits(window_number_, done_);
  if (opened_by_.second != kNoLevel) window_.close();
  if (turns_ != nullptr) turns_->leave(member_);
  final_name_ = name;
  closing_ticks_ = read_ticks(tick_source_);
  closed_.store(true, std::memory_order_release);
}

}  // namespace stepscope::tracer
