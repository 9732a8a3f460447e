// Text of the trace on its way to the screen: it is hostile, so it is bounded, made printable and
// never used as a format string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::viewer {

inline constexpr size_t kMaxName =
    512;  ///< bytes of a name that are ever looked at: longer ones end in "…"

/// Bounded and printable; cut at a character, with "…" when something was left out. A character
/// that no font draws (glyphs.h) stands as its number: "U+1F680".
std::string printable_name(std::string_view raw, size_t max_bytes = kMaxName);
/// The part of a name that helps in a narrow bar: without return type, without the namespaces
/// before its template arguments.
std::string_view short_name(std::string_view name);
/// A time of view with as many decimals as `resolution_ns` needs: "12.3451 s".
std::string format_time(double view_ns, double resolution_ns);
/// "12.3 ms – 14.5 ms": both in the larger one's unit.
std::string format_time_range(double begin_ns, double end_ns);
/// The unit in which a time of this size is shown: 1, 1e3, 1e6 or 1e9 ns.
double time_unit(double ns);
/// "ms" for 1e6.
char const* time_unit_name(double unit_ns);
/// A time in such a unit.
std::string format_time_in(double view_ns, double resolution_ns, double unit_ns);

}  // namespace stepscope::viewer
