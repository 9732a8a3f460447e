// A scaling series made ready to be drawn: the analysis' numbers with the reports' words, and its
// lost time as bars from the ideal step to the measured one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/scaling/series.h"
#include "viewer/comparison/shared_sample.h"
#include "viewer/scene/view_state.h"
#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

struct ScalingView {
  analyzer::ScalingSeries series;
  std::string refusal;  ///< why this is no series: then only `is_kind_unclear` is set besides;
                        ///< printable, as all words here
  bool is_kind_unclear = false;  ///< a person can say whether it is strong or weak scaling
  std::string
      verdict;  ///< what the most devices give; which factor broke first, where, and by what
  std::vector<std::string> notes;  ///< how strong or weak is known, up to where more devices pay
                                   ///< off, what to know of the numbers

  struct Bar {
    analyzer::LostPart part = analyzer::LostPart::kKernels;
    std::string label, meaning;
    std::string reason;                ///< who or what makes it; may be empty
    int64_t begin_ns = 0, end_ns = 0;  ///< of the step: each begins where the one before ends
    int64_t lost_ns = 0;               ///< between both
  };
  struct Waterfall {
    std::string pair;  ///< "1 → 8 devices"
    int64_t ideal_ns = 0, step_ns = 0;
    std::vector<Bar> bars;  ///< those of parts that change anything: from the ideal step to the
                            ///< measured one, to the ns
    int64_t least_ns = 0, most_ns = 0;  ///< that any bar reaches
  };
  std::vector<Waterfall> waterfalls;  ///< beside series.losses

  /// The one from the fewest to the most devices.
  [[nodiscard]] uint32_t whole() const { return static_cast<uint32_t>(series.points.size() - 2); }
  /// The one from the fewest devices to those of a point; none for the first.
  [[nodiscard]] std::optional<uint32_t> to_point(size_t point) const;
};

/// The view of a series. `samples`: the runs that could be read.
ScalingView scaling_view(
    std::vector<std::shared_ptr<analyzer::RunMeasurements const>> const& samples,
    analyzer::ScalingOptions const& options, SayScaling say);

/// The colours of the page's charts.
Paint paint_of(analyzer::LostPart part);
Paint paint_of(analyzer::ScalingFactor factor);

}  // namespace stepscope::viewer
