// Which launches of the recorded window still run: those whose device op has not been recorded, and
// graphs whose nodes still come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace stepscope::tracer {

/// Records of launches and ops come in any order, those of a launch up to twice (the runtime's and
/// the driver's). Remembers what the last rounds brought and what still runs, however long the
/// window is. The writer thread's.
class PendingLaunches {
 public:
  void add_launch(uint32_t correlation) { launches_[correlation].is_launched = true; }
  /// `of_graph`: a node of one, whose launch has more.
  void add_op(uint32_t correlation, bool of_graph) {
    Launch& launch = launches_[correlation];
    launch.has_op = true;
    launch.is_graph = of_graph;
    launch.quiet_rounds = 0;
  }
  void end_round() {
    under_way_ = 0;
    for (auto entry = launches_.begin(); entry != launches_.end();) {
      Launch& launch = entry->second;
      if (launch.quiet_rounds++ >= (launch.has_op ? kQuietRounds : kLostRounds)) {
        entry = launches_.erase(entry);
        continue;
      }
      under_way_ += static_cast<size_t>(launch.is_launched && (!launch.has_op || launch.is_graph));
      ++entry;
    }
  }

  /// As of the last round.
  [[nodiscard]] size_t count() const { return under_way_; }
  /// What is remembered, launches of no interest among it.
  [[nodiscard]] size_t size() const { return launches_.size(); }

 private:
  /// Rounds without another node after which a graph counts as done: a buffer is handed over one
  /// round after its last op ended.
  static constexpr uint16_t kQuietRounds = 2;
  /// Launches without any op: of a capture into a graph, of no bytes. Forgotten after a minute, so
  /// that they do not pile up.
  static constexpr uint16_t kLostRounds = 600;
  struct Launch {
    bool is_launched = false;  ///< in the window
    bool has_op = false;
    bool is_graph = false;
    uint16_t quiet_rounds = 0;  ///< since the last op
  };
  std::unordered_map<uint32_t, Launch> launches_;  ///< by correlation
  size_t under_way_ = 0;
};

}  // namespace stepscope::tracer
