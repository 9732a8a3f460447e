#include "viewer/widgets/writing_box.h"

#include <vector>

#include <imgui.h>

#include "trace/base/format.h"

namespace stepscope::viewer {

bool writing_box(char const* id, char const* hint, std::string& text, float width,
                 size_t most_bytes) {
  ImGui::SetNextItemWidth(width);
  std::vector<char> buffer(most_bytes + 1);
  text.copy(buffer.data(), most_bytes);
  if (!ImGui::InputTextWithHint(id, hint, buffer.data(), buffer.size())) return false;
  text = base::valid_utf8(buffer.data(), most_bytes);
  return true;
}

}  // namespace stepscope::viewer
