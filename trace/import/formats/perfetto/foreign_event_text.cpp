// The text of an event but its phase, place and times: its name, category and arguments as a Chrome
// trace writes them.
#include <iterator>

#include <fmt/format.h>

#include "trace/import/formats/chrome/categories.h"
#include "trace/import/formats/perfetto/foreign_events.h"

namespace stepscope::import::perfetto {
namespace {

using base::ProtobufField;
using base::ProtobufReader;

std::string_view text_at(InternTable<JsonText> const& table, uint64_t iid) {
  JsonText const* const found = table.find(iid);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

/// Categories of work of a device, which has to say its device and stream.
bool is_device_work(std::string_view category) {
  switch (category_of(category)) {
    case KinetoCategory::kKernel:
    case KinetoCategory::kMemcpy:
    case KinetoCategory::kMemset:
    case KinetoCategory::kDeviceSync:
      return true;
    default:
      return false;
  }
}

/// PyTorch's name of a category that ROCm's profiler names otherwise.
std::string_view common_category(std::string_view category) {
  if (category == "kernel_dispatch") return "kernel";
  if (category == "memory_copy") return "gpu_memcpy";
  if (category == "hip_api" || category == "hip_runtime_api") return "hip_runtime";
  return category;
}

}  // namespace

/// Writes arguments under the names that readers of Chrome traces know.
void ForeignEvents::write_arguments(std::string& text, std::string_view category,
                                    Sequence const& sequence, Track const& track) {
  bool has_correlation = false, has_device = false, has_stream = false;
  size_t const begin = text.size();

  for (std::string_view const bytes : event_.annotations) {
    std::string_view name;
    std::string own_name;
    ProtobufReader reader(bytes);
    ProtobufField field;
    while (reader.next(field)) {
      if (field.is_varint(AnnotationNumber::kNameIid))
        name = text_at(sequence.annotations.names, field.value);
      if (field.is_bytes(AnnotationNumber::kName)) name = own_name = escaped(field.bytes);
    }
    if (name.empty()) continue;

    // Arguments of arguments that other formats flatten: "debug.correlation".
    if (name.starts_with("debug.")) name.remove_prefix(6);
    if (name == "corr_id") name = "correlation";
    if (name == "queue" && is_device_work(category)) name = "stream";
    has_correlation = has_correlation || name == "correlation";
    has_device = has_device || name == "device";
    has_stream = has_stream || name == "stream";

    if (text.size() != begin) text += ',';
    fmt::format_to(std::back_inserter(text), "\"{}\":", name);
    write_annotation(text, bytes, sequence.annotations, 0);
  }

  auto const add = [&](char const* name, uint64_t value) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", text.size() == begin ? "" : ",", name,
                   value);
  };

  // A flow from a call to its op is the only thing that joins them where there is no such argument.
  constexpr uint64_t kPositive = UINT64_MAX >> 1U;
  if (!has_correlation && event_.flows.size() == 1 && event_.flows[0] != 0)
    add("correlation", event_.flows[0] & kPositive);

  if (is_device_work(category)) {
    if (track.device && !devices_.contains(*track.device)) devices_[*track.device] = track.group;
    if (!has_device && track.device) add("device", static_cast<uint64_t>(*track.device));
    if (!has_stream && track.stream) add("stream", static_cast<uint64_t>(*track.stream));
  }
}

/// Everything of an event but its phase, its place and its times, from behind the place on.
std::string ForeignEvents::text_of(Sequence const& sequence, Track const& track,
                                   std::optional<uint64_t> name_iid) {
  std::string text = R"(,"name":")";
  if (!event_.name.empty())
    escape(text, event_.name.substr(0, kMostNameBytes * 2));
  else
    text += text_at(sequence.names, event_.name_iid != 0 ? event_.name_iid : name_iid.value_or(0));

  text += R"(","cat":")";
  std::string const own_category =
      event_.category.empty() ? std::string() : escaped(event_.category);
  std::string_view const category = common_category(
      event_.category.empty() ? text_at(sequence.categories, event_.category_iid) : own_category);

  text += category;
  text += R"(","args":{)";
  write_arguments(text, category, sequence, track);

  text += "}";
  return text;
}

}  // namespace stepscope::import::perfetto
