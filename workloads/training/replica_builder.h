// Collects the memory and the layers of a replica and keeps the first thing that could not be had.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

/// A layer's output and the loss's gradient with respect to it.
struct Activation {
  Buffer value, gradient;
};

class ReplicaBuilder {
 public:
  explicit ReplicaBuilder(Device& device) : device_(device) {}

  /// Moves what was made into `to`.
  template <class T>
  void take(Expected<T> made, T& to) {
    if (made) {
      to = std::move(*made);
    } else if (!error_) {
      error_ = made.error();
    }
  }
  void buffer(Buffer& to, int64_t floats, std::string_view owner) {
    if (!error_)
      take(device_.allocate(static_cast<size_t>(floats) * sizeof(float),
                            MemoryPurpose::kActivations, owner),
           to);
  }
  void activation(Activation& to, int64_t floats, std::string const& owner) {
    buffer(to.value, floats, owner);
    buffer(to.gradient, floats, owner + ".gradient");
  }
  /// Errors: of the first call that failed.
  [[nodiscard]] Expected<void> result() const {
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  Device& device_;
  std::optional<base::Error> error_;
};

}  // namespace stepscope::workloads
