// The profiler plugin that NCCL would have loaded without Stepscope: the one that the user chose,
// or the one of the name that NCCL tries by itself.
#pragma once

#include <array>
#include <string>

namespace stepscope::tracer::nccl {

inline constexpr int kNewestInterface = 6;

struct OtherPlugin {
  std::string path;  ///< of the library; empty = there is no other plugin
  /// Its struct of functions by version of the interface; null = it does not have that version.
  std::array<void const*, kNewestInterface + 1> tables{};
  std::string problem;  ///< why it is left out, for people; empty = it is not

  /// What this version of the interface can have.
  enum class Use {
    kTogether,  ///< both plugins
    kNotThis,   ///< none of them: both have an older version
    kAlone      ///< Stepscope's alone: the other has only newer versions, or none at all
  };
  [[nodiscard]] Use use_of(int version) const;
  /// "1, 2"; "none".
  [[nodiscard]] std::string versions() const;
};

/// Loads it as NCCL does, after src/plugin/plugin_open.cc of NCCL 2.28: by the name `chosen`, by
/// libnccl-profiler-`chosen`.so, or out of the program itself for "STATIC_PLUGIN". Without a name
/// libnccl-profiler.so, if there is one. The library stays loaded. Stepscope's own tracer is no
/// other plugin.
OtherPlugin load_other_plugin(char const* chosen);

}  // namespace stepscope::tracer::nccl
