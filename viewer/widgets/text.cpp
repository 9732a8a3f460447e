#include "viewer/widgets/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::viewer {

std::string printable_name(std::string_view raw, size_t max_bytes) {
  if (raw.size() <= max_bytes) return base::printable(raw);
  size_t cut = max_bytes;
  while (cut > 0 && (static_cast<unsigned char>(raw[cut]) & 0xC0U) == 0x80) --cut;
  return base::printable(raw.substr(0, cut)) + "…";
}

std::string_view short_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  size_t const arguments = std::min(name.find_first_of("<( "), name.size());
  size_t const scope = name.substr(0, arguments).rfind("::");
  if (scope != std::string_view::npos && scope + 2 < name.size()) name.remove_prefix(scope + 2);
  return name;
}

double time_unit(double ns) {
  for (double const unit : {1e9, 1e6, 1e3})
    if (ns >= unit) return unit;
  return 1;
}

std::string format_time_range(double begin_ns, double end_ns) {
  double const resolution = std::max((end_ns - begin_ns) / 1000, 1.0);
  double const size = std::max(std::abs(begin_ns), std::abs(end_ns));
  double const unit = time_unit(size);
  return format_time_in(begin_ns, resolution, unit) + " – " +
         format_time_in(end_ns, resolution, unit);
}

std::string format_time(double view_ns, double resolution_ns) {
  double const size = std::max(std::abs(view_ns), resolution_ns);
  return format_time_in(view_ns, resolution_ns, time_unit(size));
}

char const* time_unit_name(double unit_ns) {
  if (unit_ns >= 1e9) return "s";
  if (unit_ns >= 1e6) return "ms";
  return unit_ns >= 1e3 ? "µs" : "ns";
}

std::string format_time_in(double view_ns, double resolution_ns, double unit_ns) {
  char const* const name = time_unit_name(unit_ns);
  // 1e-9: what log10 of an exact power of ten may be off.
  double const digits = std::ceil(std::log10(unit_ns / std::max(resolution_ns, 1e-3)) - 1e-9);
  return fmt::format("{:.{}f} {}", view_ns / unit_ns,
                     static_cast<int>(std::clamp(digits, 0.0, 9.0)), name);
}

}  // namespace stepscope::viewer
