#include "tracer/nvtx/payload/schema.h"

namespace stepscope::tracer {

SchemaField const* FieldReader::find(std::string_view name) {
  size_t const count = schema_.fields.size();
  for (size_t tried = 0; tried < count; ++tried) {
    size_t const i = (next_ + tried) % count;
    if (schema_.fields[i].name != name) continue;
    next_ = i + 1;
    return &schema_.fields[i];
  }
  return nullptr;
}

}  // namespace stepscope::tracer
