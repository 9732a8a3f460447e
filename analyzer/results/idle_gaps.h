// The idle gaps of a run's devices, each with its cause. A large run has tens of millions of them,
// a third of its analysis. So they are kept in columns, in 8 to 10 bytes each (8 more with the rows
// of events) where an IdleGap takes 56.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/results/device_stats.h"
#include "analyzer/results/narrow_column.h"
#include "trace/model/ids.h"

namespace stepscope::analyzer {

/// Why nothing explains idle time (cause kUnexplained).
enum class NotExplained : uint8_t {
  kOther,
  kFirst,  ///< it lasts until the first recorded op of the device: what was before is not in the
           ///< trace
  kQueued  ///< the next op had been launched, and no record says what it waits for
};

/// A gap of the device, or a part of one, with its cause (metrics/host/idle_causes.h) and the host
/// op to blame (if one was running).
struct IdleGap {
  DeviceRef ref;
  Interval when;
  IdleCause cause = IdleCause::kUnexplained;
  bool host_is_apart =
      false;  ///< the host event is a range that lies within the gap and takes half of it or more
  model::EventId host_row;       ///< the host event that explains it; invalid = none was running
  model::EventId next_op_row;    ///< the device op that ends the gap; invalid = none does
  model::StringId host_name;     ///< of the host event; valid if that is there
  model::StringId next_op_name;  ///< of the device op that ends the gap; valid if that is there
  model::TrackId host_track;     ///< its thread
  model::StringId caller;        ///< the program's function around it; invalid = not recorded
  /// The host is late because syncs blocked it before (metrics/host/sync_lead.h).
  bool is_way_from_sync = false;
  /// The host copies the pageable memory of the copy that ends the gap (metrics/work/copies.h).
  bool is_staging = false;
  NotExplained why_not = NotExplained::kOther;
};

/// The gaps of one device, by time, disjoint.
class DeviceGaps {
 public:
  DeviceGaps() = default;
  /// Gaps of this device. Without rows host_row and next_op_row are lost: those of a trace that
  /// does not stay in memory say nothing. Their names stay.
  DeviceGaps(DeviceRef ref, std::span<IdleGap const> gaps, bool with_rows = true);

  [[nodiscard]] DeviceRef ref() const { return ref_; }
  [[nodiscard]] size_t size() const { return begins_.size(); }
  [[nodiscard]] IdleGap operator[](size_t place) const;
  [[nodiscard]] IdleCause cause(size_t place) const { return reason(place).cause; }
  [[nodiscard]] bool is_way_from_sync(size_t place) const { return reason(place).is_way_from_sync; }
  [[nodiscard]] bool is_staging(size_t place) const { return reason(place).is_staging; }
  [[nodiscard]] NotExplained why_not(size_t place) const { return reason(place).why_not; }
  [[nodiscard]] Interval when(size_t place) const {
    int64_t const begin = begin_of(place);
    return {begin, begin + length_of(place)};
  }
  /// How long the gaps from `first` up to `behind` are, by cause.
  [[nodiscard]] IdleSplit idle_of(size_t first, size_t behind) const;
  /// The first gap that ends after the instant; size() if none does. O(log gaps); O(1) where it is
  /// within some hundred gaps behind `near`, the answer to an earlier question.
  [[nodiscard]] size_t exponential_search(int64_t instant, size_t near = 0) const;
  /// For trace/base/pack.h.
  template <class Archive>
  void pack_fields(Archive& at) {
    at(ref_, block_begins_, begins_, lengths_, short_lengths_, reasons_, reason_of_, host_rows_,
       next_op_rows_);
  }

 private:
  /// Gaps in a block, which stores its first begin whole.
  static constexpr size_t kBlock = 64;
  /// What explains a gap: few differ, as a program does the same again and again.
  struct Reason {
    IdleCause cause = IdleCause::kUnexplained;
    bool host_is_apart = false;
    model::StringId host_name, next_op_name;
    model::TrackId host_track;
    model::StringId caller;
    bool is_way_from_sync = false;
    bool is_staging = false;
    NotExplained why_not = NotExplained::kOther;
    friend bool operator==(Reason const&, Reason const&) = default;
  };
  class ReasonNumbers;
  void keep_lengths(std::span<IdleGap const> gaps);
  /// The first block that begins after the instant.
  [[nodiscard]] size_t block_after(int64_t instant, size_t near) const;
  [[nodiscard]] int64_t begin_of(size_t place) const {
    return block_begins_[place / kBlock] + begins_[place];
  }
  [[nodiscard]] int64_t length_of(size_t place) const {
    return short_lengths_.size() > 0 ? short_lengths_[place] : lengths_[place];
  }
  [[nodiscard]] Reason const& reason(size_t place) const {
    return reasons_[static_cast<size_t>(reason_of_[place])];
  }

  DeviceRef ref_;
  std::vector<int64_t> block_begins_;
  NarrowColumn<uint32_t> begins_;  ///< from the block's begin on
  // One of both is empty: the short ones, unless too many gaps are longer than they can say.
  NarrowColumn<uint32_t> lengths_;
  NarrowColumn<uint16_t> short_lengths_;
  std::vector<Reason> reasons_;                           ///< each once
  NarrowColumn<uint16_t> reason_of_;                      ///< index into reasons_
  std::vector<model::EventId> host_rows_, next_op_rows_;  ///< empty without rows
};

/// The gaps of all devices, by (ref, time). Read like a vector of IdleGap; references to a device's
/// gaps stay valid when it is moved.
class IdleGaps {
 public:
  IdleGaps() = default;
  /// `gaps`: by (ref, time).
  explicit IdleGaps(std::span<IdleGap const> gaps);
  /// The gaps of a device that comes after all others; nothing happens when it has none.
  void append(DeviceGaps gaps);
  /// The gaps of later devices.
  void append(IdleGaps&& gaps);

  [[nodiscard]] bool empty() const { return devices_.empty(); }
  [[nodiscard]] size_t size() const {
    return firsts_.empty() ? 0 : firsts_.back() + devices_.back().size();
  }
  /// O(log devices).
  [[nodiscard]] IdleGap operator[](size_t place) const;
  /// Null for a device without gaps.
  [[nodiscard]] DeviceGaps const* of(DeviceRef ref) const;
  /// The place of a device's first gap, which has one.
  [[nodiscard]] size_t first_of(DeviceRef ref) const;
  [[nodiscard]] std::vector<DeviceGaps> const& devices() const { return devices_; }

  /// Gives gaps by value.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = IdleGap;
    using difference_type = ptrdiff_t;
    using pointer = IdleGap const*;
    using reference = IdleGap;
    Iterator() = default;
    Iterator(std::vector<DeviceGaps> const* devices, size_t device)
        : devices_(devices), device_(device) {}
    IdleGap operator*() const { return (*devices_)[device_][place_]; }
    Iterator& operator++() {
      if (++place_ == (*devices_)[device_].size()) ++device_, place_ = 0;
      return *this;
    }
    Iterator operator++(int) {
      Iterator const before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(Iterator const&, Iterator const&) = default;

   private:
    std::vector<DeviceGaps> const* devices_ = nullptr;
    size_t device_ = 0, place_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {&devices_, 0}; }
  [[nodiscard]] Iterator end() const { return {&devices_, devices_.size()}; }
  /// For trace/base/pack.h.
  template <class Archive>
  void pack_fields(Archive& at) {
    at(devices_, firsts_);
  }

 private:
  std::vector<DeviceGaps> devices_;  ///< by ref; none is empty
  std::vector<size_t> firsts_;       ///< beside devices_: the place of its first gap
};

}  // namespace stepscope::analyzer
