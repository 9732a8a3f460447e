// Brings the times of packets, whatever clock they were read from, to the trace's own clock.
// ClockSnapshots say what several clocks showed at one instant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace stepscope::import::perfetto {

class Clocks {
 public:
  /// Takes all snapshots before the first to_trace(). set_own_clocks() takes the snapshots of a
  /// sequence's own clocks again where they stand among its packets.
  void add_snapshot(std::string_view snapshot, uint64_t sequence);
  void set_own_clocks(std::string_view snapshot, uint64_t sequence);
  /// On the trace's clock, in ns. Nothing: no snapshot tells of the sequence's clock. Clocks that
  /// count from packet to packet move on with each call.
  std::optional<int64_t> to_trace(uint64_t time, uint64_t clock, uint64_t sequence);
  /// ns since the Unix epoch at time 0 of the trace's clock; 0 = not known.
  [[nodiscard]] int64_t epoch_ns() const;
  /// Where on the trace's clock the first snapshot with the time of day lies.
  [[nodiscard]] std::optional<int64_t> first_snapshot() const;
  /// Times of clocks that no snapshot has were taken as they are.
  [[nodiscard]] bool has_unknown_clocks() const { return has_unknown_; }

 private:
  struct Reading {
    uint64_t clock = 0;
    int64_t time = 0;
    bool is_incremental = false;
    int64_t unit_ns = 1;
  };
  struct Own {
    int64_t shift = 0, last = 0;  ///< trace time = its time + shift
    bool is_incremental = false;
    int64_t unit_ns = 1;
  };
  /// (its time, trace time), by the first
  using Points = std::vector<std::pair<int64_t, int64_t>>;
  static std::vector<Reading> read(std::string_view snapshot);
  void add_point(uint64_t clock, int64_t time, int64_t trace_time);
  [[nodiscard]] std::optional<int64_t> at_global(int64_t time, uint64_t clock);
  [[nodiscard]] std::optional<int64_t> trace_time_of(std::vector<Reading> const& readings);

  uint64_t primary_ = 0;  ///< 0 = not known yet
  std::map<uint64_t, Points> points_;
  std::map<std::pair<uint64_t, uint64_t>, Own> own_;  ///< by sequence and clock
  std::pair<uint64_t, uint64_t> last_key_ = {};
  Own* last_own_ = nullptr;
  std::vector<std::vector<Reading>> unresolved_;  ///< snapshots without the trace's clock
  bool has_unknown_ = false;
};

}  // namespace stepscope::import::perfetto
