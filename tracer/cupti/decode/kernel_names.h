// Names of kernels as people write them: demangled once, then found by the pointer that CUPTI gives
// for each kernel.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "trace/model/details.h"
#include "tracer/core/trace_store.h"
#include "tracer/cupti/decode/occupancy.h"

namespace stepscope::tracer {

/// Demangled when it is a mangled C++ name, else as it is.
std::string demangle(char const* name);

/// What is known of a kernel, and of its last launch: nearly all launches of a kernel are alike.
struct KernelInfo {
  model::StringId name;
  BlockNeeds block;
  uint32_t device = UINT32_MAX;
  uint8_t occupancy_percent = 0;
  /// What its name says of its communication; null of a kernel that computes.
  model::CollectiveDetail const* communication = nullptr;
};

/// The writer thread's.
class KernelNames {
 public:
  /// `name` may be null.
  KernelInfo& find(char const* name, TraceStore& store) {
    Recent& recent = recent_[std::hash<void const*>{}(name) / kAlignment % recent_.size()];
    if (recent.kernel != nullptr && recent.name == name) [[likely]]
      return *recent.kernel;
    KernelInfo& kernel = look_up(name, store);
    recent = {name, &kernel};
    return kernel;
  }
  /// Pointers are not trusted for longer than a round of buffers: a module that was unloaded may
  /// have left its place to another.
  void forget_pointers() {
    by_pointer_.clear();
    recent_.fill({});
  }

  void forget() {
    forget_pointers();
    names_.clear();
  }

 private:
  /// Beyond this a program makes up kernels as it goes: what was learned is dropped, so that memory
  /// stays bounded.
  static constexpr size_t kMaxNames = 1 << 16;
  /// Alignment of texts that are allocated one by one.
  static constexpr size_t kAlignment = 16;
  /// More than the kernels of a training step.
  static constexpr size_t kRecent = 512;
  struct Recent {
    char const* name = nullptr;
    KernelInfo* kernel = nullptr;
  };
  /// What a name alone says.
  struct Name {
    model::StringId id;
    std::unique_ptr<model::CollectiveDetail const> communication;  ///< as KernelInfo's
  };
  KernelInfo& look_up(char const* name, TraceStore& store);

  std::unordered_map<std::string, Name> names_;             ///< by the mangled one
  std::unordered_map<char const*, KernelInfo> by_pointer_;  ///< whose elements never move
  std::array<Recent, kRecent> recent_{};
};

}  // namespace stepscope::tracer
