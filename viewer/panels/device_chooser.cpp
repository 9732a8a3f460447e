#include <imgui.h>

#include "viewer/panels/panels.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

void device_chooser(Scene const& scene, ViewState& state) {
  auto const& devices = scene.analysis.devices;
  if (devices.size() < 2 || state.device >= devices.size()) return;
  ImGui::SetNextItemWidth(180 * ui_scale());
  if (!ImGui::BeginCombo("##device", describe(scene, devices[state.device].ref).c_str())) return;
  for (uint32_t i = 0; i < devices.size(); ++i)
    if (ImGui::Selectable(describe(scene, devices[i].ref).c_str(), i == state.device))
      state.device = i;
  ImGui::EndCombo();
}

}  // namespace stepscope::viewer
