#include "trace/model/derive/packed_trace.h"

#include <vector>

#include "trace/base/pack.h"
#include "trace/model/derive/skeleton_builder.h"

namespace stepscope::model {

std::string packed_trace(Trace const& trace) {
  std::vector<std::string> texts;
  for (uint32_t id = 0; id < trace.strings().size(); ++id)
    texts.emplace_back(trace.text(StringId{id}));

  base::Packer at;
  constexpr size_t kBytesOfRow = 96;  // about, with its details
  at.reserve(trace.event_count() * kBytesOfRow);
  at(texts);
  // Naming the fields changes none of them.
  SkeletonBuilder::pack_fields(at, const_cast<Trace&>(trace));
  return std::move(at).take();
}

std::optional<Trace> unpacked_trace(std::string_view bytes) {
  Trace trace;
  base::Unpacker at(bytes);
  std::vector<std::string> texts;
  at(texts);
  for (std::string const& text : texts) SkeletonBuilder::texts(trace).intern(text);

  SkeletonBuilder::pack_fields(at, trace);
  bool const is_sound = at.is_whole() && trace.strings().size() == texts.size();
  return is_sound ? std::optional(std::move(trace)) : std::nullopt;
}

}  // namespace stepscope::model
