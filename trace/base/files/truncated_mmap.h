// Mapped files that somebody cuts while they are read: what is gone reads as zeros, and it is
// remembered, where the system would end the program (SIGBUS).
#pragma once

#include <cstddef>

namespace stepscope::base {

/// From now on. For programs, not for libraries in somebody else's: it answers a signal of the
/// whole process; faults of other memory go to who answered them before. May be called again.
void survive_cut_files();

struct GuardedPlace;

/// A mapping of a file while this lives: to be let go before it is unmapped.
class GuardedMapping {
 public:
  GuardedMapping() = default;
  GuardedMapping(void const* begin, size_t size);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  GuardedMapping(GuardedMapping const&) = delete;
  GuardedMapping& operator=(GuardedMapping const&) = delete;
  ~GuardedMapping();

  /// Whether something was read that is not in the file any more. From any thread.
  [[nodiscard]] bool was_cut() const;

 private:
  GuardedPlace* place_ = nullptr;
};

}  // namespace stepscope::base
