#include "viewer/event_store/search.h"

#include <cctype>

#include "viewer/widgets/text.h"

namespace stepscope::viewer {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool Query::matches_name(std::string_view raw) const {
  if (whole) return printable_name(raw) == name;
  return name.empty() || lower_case(raw).find(name) != std::string::npos;
}

bool Query::matches_kind(model::EventKind of) const {
  return !kind || lower_case(model::kind_info(of).name).find(*kind) != std::string::npos;
}

}  // namespace stepscope::viewer
