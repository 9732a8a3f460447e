// The NVTX range that opens and closes the capture window (--range): found by name in whatever way
// a program gives names.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/nvtx/payload/record_layout.h"
#include "tracer/nvtx/registry.h"

namespace stepscope::tracer {

class RangeTrigger {
 public:
  /// `range` is "NAME" in any domain or "NAME@DOMAIN"; empty = no range opens the window.
  RangeTrigger(std::string const& range, Registry& registry) {
    if (range.empty()) return;
    size_t const at = range.rfind('@');
    bool const has_domain = at != std::string::npos && at > 0 && at + 1 < range.size();
    name_ = has_domain ? range.substr(0, at) : range;
    if (has_domain) domain_ = registry.domain(std::string_view(range).substr(at + 1));
    // Programs that register the name get the same handle for it.
    handle_ = registry.text(name_);
  }

  [[nodiscard]] bool is_on() const { return !name_.empty(); }
  [[nodiscard]] bool matches(EventArgs const& args) const {
    if (domain_ && *domain_ != args.domain) return false;
    return args.handle != 0 ? args.handle == handle_ : args.text == name_;
  }

  /// The start/end range that opened the window: its end, on whatever thread, closes it. 0 = no
  /// such range did.
  std::atomic<uint64_t> started_range{0};

 private:
  std::string name_;
  std::optional<uint16_t> domain_;
  uint32_t handle_ = 0;
};

}  // namespace stepscope::tracer
