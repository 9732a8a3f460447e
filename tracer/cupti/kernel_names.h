// Names of kernels as people write them: demangled once, then found by the pointer that CUPTI gives for each kernel.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "tracer/core/trace_store.h"
#include "tracer/cupti/occupancy.h"

namespace stepscope::tracer {

/// Demangled when it is a mangled C++ name, else as it is.
std::string demangle(char const* name);

/// What is known of a kernel, and of its last launch: nearly all launches of a kernel are alike.
struct KernelInfo {
  model::StringId name;
  BlockNeeds block;
  uint32_t device = UINT32_MAX;
  uint8_t occupancy_percent = 0;
};

/// The writer thread's.
class KernelNames {
 public:
  /// `name` may be null.
  KernelInfo& find(char const* name, TraceStore& store) {
    if (name != last_name_) [[unlikely]] {
      last_ = &look_up(name, store);
      last_name_ = name;
    }
    return *last_;
  }
  /// Pointers are not trusted for longer than a round of buffers: a module that was unloaded may have left its place to another.
  void forget_pointers() {
    by_pointer_.clear();
    last_name_ = kNoName;
  }

 private:
  /// Beyond this a program makes up kernels as it goes: what was learned is dropped, so that memory stays bounded.
  static constexpr size_t kMaxNames = 1 << 16;
  static constexpr char const* kNoName = "";  // no pointer of CUPTI
  KernelInfo& look_up(char const* name, TraceStore& store);

  std::unordered_map<std::string, model::StringId> names_;  ///< by the mangled one
  std::unordered_map<char const*, KernelInfo> by_pointer_;  ///< whose elements never move
  char const* last_name_ = kNoName;
  KernelInfo* last_ = nullptr;
};

}  // namespace stepscope::tracer
