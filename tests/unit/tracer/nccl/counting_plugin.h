// What counting_plugin.cpp writes, so that the tests and the plugin agree on it.
#pragma once

namespace stepscope::tracer::nccl {

/// The file that the plugin appends a line to for each call.
inline constexpr char const* kCountingLog = "COUNTING_PLUGIN_LOG";
/// What its init() asks for; not set = everything.
inline constexpr char const* kCountingMask = "COUNTING_PLUGIN_MASK";
/// The event, counted from 1, from which on it asks for nothing; not set = never.
inline constexpr char const* kCountingStops = "COUNTING_PLUGIN_STOPS";
/// What init() returns.
inline constexpr char const* kCountingResult = "COUNTING_PLUGIN_RESULT";
/// Whether init() makes a context; 0 = it makes none, as NCCL's inspector where it is off.
inline constexpr char const* kCountingContext = "COUNTING_PLUGIN_CONTEXT";

}  // namespace stepscope::tracer::nccl
