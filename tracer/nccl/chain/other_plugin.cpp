#include "tracer/nccl/chain/other_plugin.h"

#include <strings.h>

#include <algorithm>
#include <string_view>

#include <dlfcn.h>
#include <link.h>

#include <fmt/format.h>

namespace stepscope::tracer::nccl {
namespace {

constexpr char const* kDefaultName = "libnccl-profiler.so";
constexpr char const* kInTheProgram = "STATIC_PLUGIN";
/// Every copy of Stepscope's tracer exports it, and no other library does.
constexpr char const* kSymbolOfOurs = "stepscope_start_capture";

/// A plain word may be the middle of a library's name.
bool is_plain_word(std::string_view chosen) {
  return chosen.find('/') == std::string_view::npos &&
         !(chosen.starts_with("lib") && chosen.ends_with(".so"));
}

/// Null, with the loader's reasons, when no such library can be loaded.
void* open(std::string const& chosen, std::string& reasons) {
  auto const attempt = [&](char const* name) {
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    char const* const reason = library == nullptr ? ::dlerror() : nullptr;
    if (reason != nullptr) reasons += (reasons.empty() ? "" : "; ") + std::string(reason);
    return library;
  };

  if (::strcasecmp(chosen.c_str(), kInTheProgram) == 0) return attempt(nullptr);
  void* const library = attempt(chosen.c_str());
  if (library != nullptr || !is_plain_word(chosen)) return library;
  return attempt(("libnccl-profiler-" + chosen + ".so").c_str());
}

std::string path_of(void* library, std::string const& chosen) {
  link_map* map = nullptr;
  bool const is_known = ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
                        map != nullptr && map->l_name != nullptr && *map->l_name != '\0';
  return is_known ? map->l_name : chosen;
}

}  // namespace

OtherPlugin::Use OtherPlugin::use_of(int version) const {
  auto const first = std::find_if(tables.begin(), tables.end(),
                                  [](void const* table) { return table != nullptr; });
  auto const oldest = static_cast<int>(first - tables.begin());
  if (first == tables.end() || version < oldest) return Use::kAlone;
  return tables[static_cast<size_t>(version)] != nullptr ? Use::kTogether : Use::kNotThis;
}

std::string OtherPlugin::versions() const {
  std::string text;
  for (size_t version = 1; version < tables.size(); ++version)
    if (tables[version] != nullptr) text += fmt::format("{}{}", text.empty() ? "" : ", ", version);
  return text.empty() ? "none" : text;
}

OtherPlugin load_other_plugin(char const* chosen) {
  OtherPlugin result;
  bool const is_chosen = chosen != nullptr && *chosen != '\0';
  std::string const name = is_chosen ? chosen : kDefaultName;

  std::string reasons;
  void* const library = open(name, reasons);
  if (library == nullptr) {
    if (is_chosen)
      result.problem =
          fmt::format("the NCCL profiler plugin {} cannot be loaded ({})", name, reasons);
    return result;
  }
  if (::dlsym(library, kSymbolOfOurs) != nullptr) return result;

  result.path = path_of(library, name);
  bool has_one = false;
  for (int version = 1; version <= kNewestInterface; ++version) {
    void const* const table = ::dlsym(library, fmt::format("ncclProfiler_v{}", version).c_str());
    result.tables[static_cast<size_t>(version)] = table;
    has_one = has_one || table != nullptr;
  }

  if (!has_one && is_chosen)
    result.problem = fmt::format(
        "the NCCL profiler plugin {} has none of the versions 1 to {} of the interface, and gets "
        "nothing; record without it, or with an older version of it",
        result.path, kNewestInterface);
  return result;
}

}  // namespace stepscope::tracer::nccl
