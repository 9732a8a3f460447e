// The memory of one device over time. A large run has millions of points. Most differ from the one
// before in time, in the allocated bytes, and in one purpose by as many. So they are kept as
// differences, in about 12 bytes each where a point takes 80.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

namespace stepscope::analyzer {

struct MemoryPoint {
  int64_t time_ns;
  uint64_t allocated_bytes, reserved_bytes;
  std::array<uint64_t, 7> by_purpose;  ///< index: model::MemoryPurpose
  friend bool operator==(MemoryPoint const&, MemoryPoint const&) = default;
};

/// Points in the order in which they were added; every value comes back as it was. Read like a
/// vector that gives them by value.
class MemoryTimeline {
 public:
  MemoryTimeline() = default;
  MemoryTimeline(std::initializer_list<MemoryPoint> points);
  explicit MemoryTimeline(std::span<MemoryPoint const> points);
  void push_back(MemoryPoint const& point);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  /// Takes some dozens of ns: iterate to read one after the other.
  [[nodiscard]] MemoryPoint operator[](size_t place) const;
  [[nodiscard]] MemoryPoint front() const { return (*this)[0]; }
  [[nodiscard]] MemoryPoint back() const { return (*this)[size_ - 1]; }
  /// All points, for repeated reading.
  [[nodiscard]] std::vector<MemoryPoint> points() const;
  /// How many points is_passed(time_ns) holds for; it must hold for the first ones only. O(log
  /// points).
  template <class IsPassed>
  [[nodiscard]] size_t count_passed(IsPassed const& is_passed) const;

  /// Gives points by value.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = MemoryPoint;
    using difference_type = ptrdiff_t;
    using pointer = MemoryPoint const*;
    using reference = MemoryPoint;
    Iterator() = default;
    /// `place`: the first of a block, or the end.
    Iterator(MemoryTimeline const* timeline, size_t place);
    MemoryPoint operator*() const { return point_; }
    MemoryPoint const* operator->() const { return &point_; }
    Iterator& operator++() {
      if (++place_ < timeline_->size_) timeline_->read(place_, offset_, point_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator const before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(Iterator const& a, Iterator const& b) { return a.place_ == b.place_; }

   private:
    MemoryTimeline const* timeline_ = nullptr;
    size_t place_ = 0, offset_ = 0;
    MemoryPoint point_{};
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }
  /// For trace/base/pack.h.
  template <class Archive>
  void pack_fields(Archive& at) {
    at(blocks_, bytes_, size_, last_);
  }

 private:
  /// Points in a block, which stores its first point whole. Larger blocks are smaller, and slower
  /// to reach into.
  static constexpr size_t kBlock = 16;
  struct Block {
    int64_t time_ns;  ///< of its first point
    size_t offset;    ///< into bytes_
  };
  void put(uint64_t number);
  [[nodiscard]] uint64_t get(size_t& offset) const;
  /// The point at `place`, which is stored at `offset`; `point` is the one before. `offset` moves
  /// on.
  void read(size_t place, size_t& offset, MemoryPoint& point) const;

  std::vector<Block> blocks_;
  std::vector<uint8_t> bytes_;
  size_t size_ = 0;
  MemoryPoint last_{};
};

template <class IsPassed>
size_t MemoryTimeline::count_passed(IsPassed const& is_passed) const {
  size_t first = 0, last = blocks_.size();  // of the blocks that begin with a point that is passed,
                                            // there are `first`
  while (first < last) {
    size_t const middle = first + (last - first) / 2;
    if (is_passed(blocks_[middle].time_ns))
      first = middle + 1;
    else
      last = middle;
  }
  if (first == 0) return 0;

  size_t place = (first - 1) * kBlock;
  for (Iterator at(this, place); place < size_ && is_passed(at->time_ns); ++at) ++place;
  return place;
}

}  // namespace stepscope::analyzer
