#include "tests/cuda_doubles/cupti/buffers.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda_doubles/cupti/records.h"
#include "tests/cuda_doubles/device/knobs.h"

namespace stepscope::cuda_doubles {
namespace {

constexpr char const* kLibrary = "CUPTI";
constexpr char const* kFaults = "DOUBLE_CUPTI_FAULTS";

/// The fault "hole": the record in the middle has no kind, as one that CUPTI never finished.
void make_hole(ActivityBuffer& buffer) {
  std::vector<CUpti_Activity*> records;
  CUpti_Activity* record = nullptr;
  while (next_record(buffer.data, buffer.used, &record) == CUPTI_SUCCESS) records.push_back(record);
  constexpr size_t kFewest = 3;  // one stays readable on each side
  if (records.size() < kFewest) return;
  std::memset(static_cast<void*>(records[records.size() / 2]), 0, sizeof(CUpti_ActivityKind));
}

uint64_t count_records(uint8_t* buffer, size_t bytes) {
  uint64_t count = 0;
  CUpti_Activity* record = nullptr;
  while (next_record(buffer, bytes, &record) == CUPTI_SUCCESS) ++count;
  return count;
}

}  // namespace

CUptiResult next_record(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  return next_record_of(cupti_version(), buffer, valid_bytes, record);
}

void ActivityBuffers::set_callbacks(Request request, Complete complete) {
  request_ = std::move(request);
  complete_ = std::move(complete);
}

/// CUPTI zeroes a buffer unless the tool says that it did (CUPTI_ACTIVITY_ATTR_ZEROED_OUT_
/// ACTIVITY_BUFFER): Stepscope says so, and is held to it. The fault "null": the real one of CUDA
/// 12.0 to 12.8 crashes without a buffer.
std::shared_ptr<ActivityBuffer> ActivityBuffers::request_buffer(size_t bytes) {
  auto made = std::make_shared<ActivityBuffer>();
  size_t most_records = 0;
  request_(&made->data, &made->size, &most_records);

  if (made->data == nullptr || made->size < bytes) {
    if (knob_lists(kFaults, "null")) die(kLibrary, "no buffer for records");
    ++dropped_;
    ledger_.count_dropped();
    return nullptr;
  }
  if (!std::all_of(made->data, made->data + made->size, [](uint8_t one) { return one == 0; }))
    die(kLibrary, "a buffer that is not zeroed");
  largest_ = std::max(largest_, made->size);
  return made;
}

/// The fault "drop": CUPTI finds no room for every tenth record, though the tool gave a buffer.
bool ActivityBuffers::drops_now() {
  constexpr uint64_t kEvery = 10;
  if (!knob_lists(kFaults, "drop") || ++records_asked_ % kEvery != 0) return false;
  ++dropped_;
  ledger_.count_dropped();
  return true;
}

RecordPlace ActivityBuffers::reserve(size_t bytes) {
  if (drops_now()) return {};
  auto& buffer = current_[static_cast<uint32_t>(::syscall(SYS_gettid))];
  if (buffer != nullptr && buffer->size - buffer->used < bytes) {
    if (buffer->under_way > 0)
      full_.push_back(buffer);
    else
      deliver(*buffer);
    buffer = nullptr;
  }

  if (buffer == nullptr) buffer = request_buffer(bytes);
  if (buffer == nullptr) return {};
  return {buffer, std::exchange(buffer->used, buffer->used + bytes)};
}

void ActivityBuffers::deliver(ActivityBuffer& buffer) {
  buffer.is_delivered = true;
  uint64_t const whole = count_records(buffer.data, buffer.used);
  if (knob_lists(kFaults, "hole")) make_hole(buffer);

  bool const is_small = buffer.size < largest_;
  uint64_t readable = 0;
  CUpti_Activity* record = nullptr;
  while (next_record(buffer.data, buffer.used, &record) == CUPTI_SUCCESS) {
    if (!is_small) ledger_.count(*record);
    ++readable;
  }
  ledger_.count_unreadable(whole - readable);
  if (is_small) ledger_.count_in_small_buffers(readable);
  ledger_.write();
  if (complete_ != nullptr) complete_(nullptr, 0, buffer.data, buffer.size, buffer.used);
}

void ActivityBuffers::flush(bool is_forced) {
  auto const may_go = [&](ActivityBuffer const& buffer) {
    return buffer.used > 0 && (is_forced || buffer.under_way == 0);
  };

  // The fullest first: that is the order in which they filled.
  std::erase_if(full_, [&](auto const& buffer) {
    if (!may_go(*buffer)) return false;
    deliver(*buffer);
    return true;
  });
  for (auto& [thread, buffer] : current_) {
    if (buffer == nullptr || !may_go(*buffer)) continue;
    deliver(*buffer);
    buffer = nullptr;
  }
  ledger_.write();  // records dropped since the last buffer was handed over
}

size_t ActivityBuffers::take_dropped() { return std::exchange(dropped_, 0); }

}  // namespace stepscope::cuda_doubles
