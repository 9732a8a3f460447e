// An event, a gap or a folded mark in words and numbers: what the tooltip and the details panel
// say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "viewer/scene/scene.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

using Properties = std::vector<std::pair<std::string, std::string>>;

/// The name, then a line a fact; printable.
std::vector<std::string> describe_item(Scene const& scene, Row const& row, Item const& item);
/// Every column and detail of an event, with units; printable. For an event that is not in memory
/// only when and where it is.
Properties event_properties(Scene const& scene, Selection const& selection);
Properties gap_properties(Scene const& scene, uint32_t gap);
/// "rank 1 · device 0".
std::string describe(Scene const& scene, analyzer::DeviceRef ref);
/// Where a panel that needs a device has none: "… No device work was recorded in this run …", and
/// where to look instead. `needs`: a sentence on what the panel shows.
std::string without_device(Scene const& scene, std::string_view needs);
/// The least and the highest value of a curve: "12 – 98", "1.2 – 1.5 GiB". Values that are not in
/// memory: "max 98". Empty without values.
std::string value_range(Curve const& curve, bool is_bytes);
/// "12.3 TFLOP".
std::string format_flops(double flops);
/// A key of the JSON for people: "launch_latency" → "launch latency".
std::string words_of(std::string_view key);

}  // namespace stepscope::viewer
