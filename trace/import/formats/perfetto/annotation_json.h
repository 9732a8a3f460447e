// Values of Perfetto's track events as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/import/formats/perfetto/intern_table.h"

namespace stepscope::import::perfetto {

/// A text as it stands between the quotes of JSON.
struct JsonText {
  bool is_known = false;
  std::string text;
};
/// What annotations of a sequence refer to.
struct AnnotationNames {
  InternTable<JsonText> names, texts;
};

void escape(std::string& out, std::string_view text);
std::string escaped(std::string_view text);
/// ns as µs with three decimals, which are exact.
void write_us(std::string& out, int64_t ns);
/// null where it is no finite number.
void write_real(std::string& out, double value);
/// The value of a DebugAnnotation; null where it has none. `depth`: of annotations around it.
void write_annotation(std::string& out, std::string_view annotation, AnnotationNames const& names,
                      int depth);

}  // namespace stepscope::import::perfetto
