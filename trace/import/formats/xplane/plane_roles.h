// Finds out by their names what the planes and lines of an XSpace are: threads, streams of a
// device, or events that other lines have already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/formats/xplane/line_events.h"
#include "trace/import/formats/xplane/space_index.h"

namespace stepscope::import {

enum class PlaneRole : uint8_t {
  kHostThreads,   ///< threads of the process: several planes tell of the same ones, by thread id
  kOtherThreads,  ///< lines that no other plane has
  kDevice,
  kEnvironment,  ///< when and how was recorded
  kLeftOut       ///< programs and tables, no events
};

struct PlanePlan {
  PlaneRole role = PlaneRole::kOtherThreads;
  Vocabulary vocabulary = Vocabulary::kHost;
  int32_t device = -1;
  std::string part;   ///< of a device: "SparseCore 0", or empty
  std::string label;  ///< "GPU 0", "TPU 0 SparseCore 1"; of other threads the plane's name
  std::vector<LineRole> lines;
};

/// Numbers of devices: those of their names, where two kinds of device have the same one another
/// that is free.
class DeviceNumbers {
 public:
  /// `name`: "/device:GPU:0", without what may follow the number.
  int32_t of(std::string const& name, int32_t wanted);

 private:
  std::map<std::string, int32_t> numbers_;
  std::set<int32_t> taken_;
  int32_t next_free_ = 0;
};

PlanePlan plan_plane(PlaneIndex const& plane, DeviceNumbers& numbers);

/// "Stream #13(Kernel)" → 13.
std::optional<int64_t> stream_number(std::string_view line_name);

}  // namespace stepscope::import
