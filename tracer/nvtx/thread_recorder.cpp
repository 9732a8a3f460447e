#include "tracer/nvtx/thread_recorder.h"

#include <algorithm>
#include <cstring>

#include "tracer/api/annotate.h"
#include "tracer/api/device_events.h"

namespace stepscope::tracer {
namespace {

uint8_t flags_of(EventArgs const& args, uint64_t range) {
  unsigned flags = 0;
  if (range != 0) flags |= kHasRangeId;
  if (args.category != 0 || args.value_type != ValueType::kNone) flags |= kHasCategory;
  if (args.value_type != ValueType::kNone) flags |= kHasValue;
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

/// The last one to seven bytes as a word, the rest of it zero. Names are short and this is the hot path: no call of memcpy.
uint64_t last_word(std::byte const* bytes, size_t size) {
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

uint64_t* put_bytes(uint64_t* out, void const* bytes, size_t size) {
  auto const* in = static_cast<std::byte const*>(bytes);
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), in += sizeof(uint64_t)) std::memcpy(out++, in, sizeof(uint64_t));
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

bool is_step(EventArgs const& args) {
  return args.domain == kAnnotationDomain && args.category == static_cast<uint32_t>(api::AnnotationCategory::kStep);
}

}  // namespace

ThreadRecorder::ThreadRecorder(CaptureWindow& window, TickSource ticks, uint32_t number, int64_t thread_id, size_t ring_bytes)
    : window_(window),
      tick_source_(ticks),
      filtered_(window.filtered()),
      number_(number),
      thread_id_(thread_id),
      ring_(ring_bytes) {}

bool ThreadRecorder::wants_baseline(EventArgs const& args) const {
  if (args.domain == kAnnotationDomain) return args.category == static_cast<uint32_t>(api::AnnotationCategory::kMemory);
  if (args.domain != kDeviceDomain) return false;
  if (args.payloads.empty()) return true;  // its payload comes at its end: an allocation
  auto const schema = static_cast<api::DeviceSchema>(args.payloads.front().schema);
  return schema == api::DeviceSchema::kDevice || schema == api::DeviceSchema::kStream || schema == api::DeviceSchema::kMemory;
}

bool ThreadRecorder::wants(EventArgs const& args) const {
  if (!filtered_) [[likely]]
    return window_.mode() == CaptureMode::kRecording;
  CaptureMode const mode = window_.mode();
  if (mode == CaptureMode::kStopped) return false;
  if (mode == CaptureMode::kRecording && (!annotating_ || inside_)) return true;
  return wants_baseline(args);
}

void ThreadRecorder::write_plain_pop(uint16_t domain, uint8_t flags) {
  auto const ticks = static_cast<uint64_t>(read_ticks(tick_source_));
  uint64_t* const record = ring_.try_reserve(kPopWords, 0);  // push() kept this room free
  RecordHeader const header = {static_cast<uint8_t>(RecordType::kPop), flags, kPopWords, domain, 0};
  std::memcpy(record, &header, sizeof header);
  record[1] = ticks;
  ring_.commit(kPopWords);
}

bool ThreadRecorder::write(RecordType type, EventArgs const& args, uint64_t range, uint64_t keep_free) {
  // The end of a range is timed before the work of recording it, its begin after: what recording costs is in no range.
  bool const is_end = type == RecordType::kPop || type == RecordType::kEnd;
  int64_t const early = is_end ? read_ticks(tick_source_) : 0;
  uint8_t const flags = flags_of(args, range);
  uint32_t words = 2 + words_for(args.text.size());
  words += static_cast<uint32_t>((flags & kHasRangeId) != 0) + static_cast<uint32_t>((flags & kHasCategory) != 0) +
           static_cast<uint32_t>((flags & kHasValue) != 0) + static_cast<uint32_t>((flags & kHasHandle) != 0);
  if ((flags & kHasPayloads) != 0) words += payload_words(args.payloads);
  uint64_t* const record = ring_.try_reserve(words, keep_free);
  if (record == nullptr) [[unlikely]]
    return false;
  RecordHeader const header = {static_cast<uint8_t>(type), flags, static_cast<uint16_t>(words), args.domain,
                               static_cast<uint16_t>(args.text.size())};
  std::memcpy(record, &header, sizeof header);
  uint64_t* out = record + 2;
  if ((flags & kHasRangeId) != 0) *out++ = range;
  if ((flags & kHasCategory) != 0) *out++ = args.category | static_cast<uint64_t>(args.value_type) << 32;
  if ((flags & kHasValue) != 0) *out++ = args.value;
  if ((flags & kHasHandle) != 0) *out++ = args.handle;
  if ((flags & kHasText) != 0) out = put_bytes(out, args.text.data(), args.text.size());
  if ((flags & kHasPayloads) != 0) put_payloads(out, args.payloads);
  record[1] = static_cast<uint64_t>(is_end ? early : read_ticks(tick_source_));
  ring_.commit(words);
  return true;
}

void ThreadRecorder::note_recorded(Nesting& nesting, int32_t level, bool recorded) {
  if (level < kBitLevels) {
    if (recorded) nesting.recorded |= uint64_t{1} << level;
  } else if (!recorded) {
    nesting.lost_from = std::min(nesting.lost_from, level);
  }
}

bool ThreadRecorder::take_recorded(Nesting& nesting, int32_t level) {
  if (level < kBitLevels) {
    uint64_t const bit = uint64_t{1} << level;
    bool const recorded = (nesting.recorded & bit) != 0;
    nesting.recorded &= ~bit;
    return recorded;
  }
  if (level > nesting.lost_from) return false;
  if (level < nesting.lost_from) return true;
  nesting.lost_from = INT32_MAX;
  return false;
}

int ThreadRecorder::push(EventArgs const& args) {
  Nesting& nesting = nesting_[args.domain];
  int32_t const level = nesting.level++;
  if (filtered_ && is_step(args)) step_begins(args, level);
  bool recorded = false;
  if (wants(args)) {
    // Room for the ends of all open ranges stays free (plus one wrap-around), so that an end never gets lost.
    uint64_t const keep_free = (open_pushes_ + 2) * kPopWords;
    recorded = level < nesting.lost_from && write(RecordType::kPush, args, 0, keep_free);
    if (recorded)
      ++open_pushes_;
    else
      count_drop();
  }
  note_recorded(nesting, level, recorded);
  return level;
}

int ThreadRecorder::pop(uint16_t domain, std::span<PayloadView const> payloads) {
  Nesting& nesting = nesting_[domain];
  if (nesting.level == 0) return -1;
  int32_t const level = --nesting.level;
  if (take_recorded(nesting, level) && window_.mode() != CaptureMode::kStopped) {
    --open_pushes_;
    if (payloads.empty()) {
      write_plain_pop(domain, 0);
    } else {
      EventArgs args;
      args.domain = domain;
      args.payloads = payloads;
      // One more than is open: if the payload has no room, the end alone still has.
      if (!write(RecordType::kPop, args, 0, (open_pushes_ + 2) * kPopWords)) {
        write_plain_pop(domain, kPayloadLost);
        count_drop();
      }
    }
  }
  if (filtered_ && domain == kAnnotationDomain) step_ends(level);
  return level;
}

void ThreadRecorder::mark(EventArgs const& args) {
  if (wants(args) && !write(RecordType::kMark, args, 0, (open_pushes_ + 1) * kPopWords)) count_drop();
}

uint64_t ThreadRecorder::start(EventArgs const& args) {
  constexpr int kNumberShift = 40;  // 2^40 ranges a thread, 2^23 threads
  uint64_t const range = uint64_t{number_ + 1} << kNumberShift | next_range_++;
  if (!wants(args)) return range | kUnrecordedRange;
  if (write(RecordType::kStart, args, range, (open_pushes_ + 1) * kPopWords)) return range;
  count_drop();
  return range | kUnrecordedRange;
}

void ThreadRecorder::end(uint16_t domain, uint64_t range, std::span<PayloadView const> payloads) {
  if (range == 0 || (range & kUnrecordedRange) != 0 || window_.mode() == CaptureMode::kStopped) return;
  EventArgs args;
  args.domain = domain;
  args.payloads = payloads;
  if (!write(RecordType::kEnd, args, range, (open_pushes_ + 1) * kPopWords)) count_drop();
}

void ThreadRecorder::step_begins(EventArgs const& args, int32_t level) {
  if (!annotating_) {
    annotating_ = true;
    window_.thread_begins_annotating();
  }
  step_level_ = level;
  step_index_ = integer_value(args.value_type, args.value);
  inside_ = step_index_ >= window_.steps().first && step_index_ <= window_.steps().last;
  if (inside_) window_.thread_enters_window();
  if (step_index_ > window_.steps().last && !done_) {
    done_ = true;
    window_.thread_leaves_window();
  }
}

void ThreadRecorder::step_ends(int32_t level) {
  if (level != step_level_) return;
  step_level_ = -1;
  if (step_index_ < window_.steps().last || !inside_) return;
  inside_ = false;
  if (done_) return;
  done_ = true;
  window_.thread_leaves_window();
}

void ThreadRecorder::close(std::string const& name) {
  if (annotating_ && !done_) window_.thread_gives_up();
  final_name_ = name;
  closing_ticks_ = read_ticks(tick_source_);
  closed_.store(true, std::memory_order_release);
}

}  // namespace stepscope::tracer
