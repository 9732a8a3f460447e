// The part of CUPTI's records that belongs to the window once that has ended: what the host began
// before its end, and device work that was launched then. Calls, and work without a call, are
// judged by their times. Other records are judged by the number of their call, which CUPTI counts
// upwards.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace stepscope::tracer {

/// Before the end is known everything belongs to it. The writer thread's.
class CaptureCutoff {
 public:
  enum class Side : uint8_t { kInside, kBehind, kUnknown };

  /// The first one counts.
  void set(int64_t trace_ns) {
    if (is_known()) return;
    end_ns_ = trace_ns;
  }
  [[nodiscard]] bool is_known() const { return end_ns_ != kNever; }
  /// What the host began then.
  [[nodiscard]] bool is_inside(int64_t start_ns) const { return start_ns <= end_ns_; }
  /// Learns the number of a call. Whether it is inside.
  bool add_call(int64_t start_ns, uint32_t correlation) {
    bool const inside = is_inside(start_ns);
    if (inside) {
      if (!last_inside_ || is_later(correlation, *last_inside_)) last_inside_ = correlation;
    } else if (!first_behind_ || is_later(*first_behind_, correlation)) {
      first_behind_ = correlation;
    }
    return inside;
  }
  /// kUnknown: of a call whose record has not come.
  [[nodiscard]] Side side_of(uint32_t correlation) const {
    if (!is_known() || (last_inside_ && !is_later(correlation, *last_inside_))) [[likely]]
      return Side::kInside;
    return first_behind_ && !is_later(*first_behind_, correlation) ? Side::kBehind : Side::kUnknown;
  }
  /// As for graphs that a device launches: work that no call of the host began has the number 0.
  [[nodiscard]] Side side_without_call(int64_t start_ns) const {
    return is_inside(start_ns) ? Side::kInside : Side::kBehind;
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  /// Numbers begin anew after four billion calls.
  static bool is_later(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

  int64_t end_ns_ = kNever;
  std::optional<uint32_t> last_inside_, first_behind_;
};

}  // namespace stepscope::tracer
