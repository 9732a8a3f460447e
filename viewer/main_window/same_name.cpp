// The next event of the selected one's name in a run that is not in memory: asked for, shown once
// it is found, and what is said until then.
#include <string>

#include "viewer/event_store/event_store.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

void update_same_name(Scene const& scene, ViewState& state, Memo& memo) {
  auto& seek = state.panels.seek;
  // Whoever selects something else does not wait for it any more.
  if (seek && (!scene.store->reads_files() || state.selection != seek->from)) seek.reset();
  if (!seek || seek->is_over) return memo.same_name.give_up();
  auto const work = [&scene](SameNameKey const& key, std::stop_token const& stop) {
    return scene.store->next_of_name(scene, key, stop);
  };
  SameNameFound const* const found =
      memo.same_name.ask({seek->from, seek->direction, seek->name}, work);
  if (found == nullptr) return;
  if (!found->event) {
    seek->is_over = true;
    return;
  }
  Selection const next = *found->event;
  seek.reset();
  show_same_name(state, scene, next);
}

void same_name_words(ViewState const& state) {
  if (!state.panels.seek) return;
  ImGui::SameLine(0, 16 * ui_scale());
  ImGui::AlignTextToFramePadding();
  std::string const which = state.panels.seek->direction > 0 ? "next" : "previous";
  text_coloured(state.panels.seek->is_over ? "no " + which + " of this name"
                                           : "searching the " + which + " of this name… (Esc)",
                surface(state.theme).text_dim);
}

}  // namespace stepscope::viewer
