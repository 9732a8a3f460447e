// Which totals of its devices' memory a trace tells. Recorders that do not know one leave it at 0
// in every event: that is no curve to draw.
#pragma once

#include <cstdint>
#include <set>

#include "trace/model/trace.h"

namespace stepscope::exporting {

class MemoryTotals {
 public:
  explicit MemoryTotals(model::Trace const& trace) {
    for (model::MemoryDetail const& detail : trace.details<model::MemoryDetail>()) {
      if (detail.allocated_bytes > 0) allocated_.insert(detail.device);
      if (detail.reserved_bytes > 0) reserved_.insert(detail.device);
    }
  }
  [[nodiscard]] bool has_allocated(int32_t device) const { return allocated_.contains(device); }
  [[nodiscard]] bool has_reserved(int32_t device) const { return reserved_.contains(device); }

 private:
  std::set<int32_t> allocated_, reserved_;  ///< devices
};

}  // namespace stepscope::exporting
