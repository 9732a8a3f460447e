// A small picture of a place to look at: what the device and the host thread that is to blame did
// there, and a little before and after. Where the device waits for another one, the picture has a
// lane for each device with its arrival. Drawn by styles alone, so that it prints and needs no
// script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/html/page.h"

namespace stepscope::reports {

/// Findings that have pictures, and how many of its places each shows: more make the page large and
/// say nothing new.
inline constexpr size_t kPicturedFindings = 8, kPicturesOfFinding = 3;

/// Draws the places of the first findings, while one process after the other is in memory.
class EvidenceDrawing {
 public:
  /// O(participants of all collectives).
  explicit EvidenceDrawing(Page const& page);
  /// Draws what one process has of the places; needs all of its events. Where a device waits for
  /// the one that the finding names, each process adds the lanes of its devices. Processes come in
  /// their order. O(events of the process) at most.
  void add(size_t process, model::RankTrace const& rank);
  /// The pictures by finding, after the last process.
  std::vector<EvidencePictures> take() &&;

 private:
  /// A device and the stretch that is marked in its lane: from its arrival to the last one's.
  struct WaitingDevice {
    analyzer::DeviceRef ref;
    model::Interval wait;
  };
  struct DrawnPlace {
    analyzer::Finding::Evidence const* place = nullptr;
    std::optional<analyzer::DeviceRef> late;  ///< for which the place's device may wait
    std::vector<WaitingDevice> devices;       ///< by ref; empty: the place's device is shown alone
    size_t participants = 0;                  ///< of the collective, shown or not
    std::string html;                         ///< of `devices` the lanes
  };

  void find_collectives();
  static void take_devices(analyzer::CollectiveStats const& collective, DrawnPlace& drawn);
  [[nodiscard]] std::string lanes_of_waiting(size_t process, model::RankTrace const& rank,
                                             DrawnPlace const& drawn) const;

  Page const& page_;
  std::vector<std::vector<DrawnPlace>> drawn_;  ///< by finding, by place
};

}  // namespace stepscope::reports
