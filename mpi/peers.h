// What a backend needs of the other processes of a training. It agrees with them on how their
// devices connect, and learns that one is gone while its own threads wait in a library that never
// will. Pure, so that a module that is loaded at run time can call the program's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::mpi {

class Peers {
 public:
  virtual ~Peers() = default;

  [[nodiscard]] virtual uint32_t rank() const = 0;
  [[nodiscard]] virtual uint32_t size() const = 0;
  /// Among the processes of this machine, as the launcher says; 0 where it does not say.
  [[nodiscard]] virtual uint32_t local_rank() const = 0;
  /// How long a process may wait for another one that does not answer.
  [[nodiscard]] virtual std::chrono::milliseconds timeout() const = 0;

  /// What each process gave, by rank; empty texts after a failure. All processes must call it, from
  /// one thread each.
  virtual std::vector<std::string> all_gather(std::string const& mine) = 0;
  /// Good when all are; else this process's error or, of another one, its error with its rank. All
  /// must call it.
  virtual base::Expected<void> agree(base::Expected<void> const& mine) = 0;

  /// From now on the processes tell each other that they live, and at once when one gives up: for
  /// threads that wait where no message wakes them. All must call it.
  virtual void watch() = 0;
  /// This process cannot go on: it fails with `why`, and so do the others that watch. Does not
  /// wait.
  virtual void give_up(std::string const& why) = 0;
  /// Why the others cannot be reached any more, or are of no use: who is gone.
  [[nodiscard]] virtual std::optional<std::string> failure() const = 0;
};

}  // namespace stepscope::mpi
