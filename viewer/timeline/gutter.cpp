// How wide the names of rows are.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <imgui.h>

#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

constexpr float kShareOfWindow = 0.25F;

float width_of_frame = kLeastGutter;

/// Threads, streams and communicators may have any name; one long name would take the room of the
/// events.
bool has_room_of_its_own(Node const& node) {
  return node.kind != NodeKind::kThread && node.kind != NodeKind::kStream &&
         node.kind != NodeKind::kCommunicator;
}

/// What row_words() needs to cut nothing, at scale 1.
float wanted_by(Node const& node) {
  bool const is_bold = node.kind == NodeKind::kRank;
  if (is_bold) push_bold();
  float const label = ImGui::CalcTextSize(node.label.c_str()).x;
  if (is_bold) pop_bold();

  std::string const note = node.note.empty() ? value_range(node.curve, node.bytes) : node.note;
  float const words = label + ImGui::CalcTextSize(note.c_str()).x;
  return label_indent(node, false) + kBeforeLabel + words / ui_scale() + kBeforeNote;
}

float wanted_by(Scene const& scene) {
  float widest = 0;
  for (Node const& node : scene.nodes)
    if (has_room_of_its_own(node)) widest = std::max(widest, wanted_by(node));
  return widest;
}

/// The names are measured once, not in each frame: a job may have a thousand ranks.
float measured(Scene const& scene) {
  if (scene.tree == 0) return wanted_by(scene);
  struct Measured {
    float font_size, width;
  };
  static std::unordered_map<uint64_t, Measured> known;

  float const font_size = ImGui::GetFontSize();
  auto const found = known.find(scene.tree);
  if (found != known.end() && found->second.font_size == font_size) return found->second.width;
  constexpr size_t kMostKnown = 64;
  if (known.size() >= kMostKnown) known.clear();
  return (known[scene.tree] = {font_size, wanted_by(scene)}).width;
}

}  // namespace

float gutter() { return width_of_frame; }

void fit_gutter(std::span<Scene const* const> scenes, float width) {
  float wanted = kLeastGutter;
  for (Scene const* const scene : scenes) wanted = std::max(wanted, measured(*scene));

  float const room = std::min(kMostGutter, kShareOfWindow * width / ui_scale());
  width_of_frame = std::ceil(std::min(wanted, std::max(room, kLeastGutter)));
}

}  // namespace stepscope::viewer
