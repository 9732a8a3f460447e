// Activity buffers as CUPTI keeps them ("CUPTI Activity API", "Buffer Management"). Each thread has
// one at a time, which is asked for when a record has no room. It is handed over when it is full
// and nothing in it is under way, or by a flush. A record of an operation gets its room at the
// launch and its times when the operation ends.
#pragma once

#include <cupti.h>

#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "tests/cuda_doubles/cupti/ledger.h"

namespace stepscope::cuda_doubles {

struct ActivityBuffer {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0;
  size_t under_way = 0;  ///< records without times yet
  bool is_delivered = false;
};

/// Room of a record.
struct RecordPlace {
  std::shared_ptr<ActivityBuffer> buffer;
  size_t offset = 0;

  [[nodiscard]] uint8_t* data() const { return buffer->data + offset; }
};

/// One thread at a time.
class ActivityBuffers {
 public:
  explicit ActivityBuffers(Ledger& ledger) : ledger_(ledger) {}

  /// Classic ones, and those of a subscriber behind the same signature.
  using Request = std::function<std::remove_pointer_t<CUpti_BuffersCallbackRequestFunc>>;
  using Complete = std::function<std::remove_pointer_t<CUpti_BuffersCallbackCompleteFunc>>;
  void set_callbacks(Request request, Complete complete);
  [[nodiscard]] bool has_callbacks() const { return request_ != nullptr; }

  /// In the calling thread's buffer; no buffer where the tool gives none: the record is dropped.
  RecordPlace reserve(size_t bytes);
  /// The operation of a record has ended.
  static void end_operation(RecordPlace const& place) { --place.buffer->under_way; }
  /// `is_forced`: buffers with operations under way, too ("cuptiActivityFlushAll").
  void flush(bool is_forced);
  /// Since it was asked last.
  size_t take_dropped();

 private:
  std::shared_ptr<ActivityBuffer> request_buffer(size_t bytes);
  void deliver(ActivityBuffer& buffer);
  [[nodiscard]] bool drops_now();

  Ledger& ledger_;
  Request request_;
  Complete complete_;
  std::map<uint32_t, std::shared_ptr<ActivityBuffer>> current_;  ///< by system thread
  std::vector<std::shared_ptr<ActivityBuffer>> full_;            ///< with operations under way
  size_t dropped_ = 0;
  size_t largest_ = 0;  ///< bytes of a buffer
  uint64_t records_asked_ = 0;
};

/// next_record_of() the version that this CUPTI pretends to be.
CUptiResult next_record(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);

}  // namespace stepscope::cuda_doubles
