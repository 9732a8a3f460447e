// The command's part in turns: answers the processes of two programs that ask for turns, and stops
// the program that has none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "tracer/core/sockets/file_descriptor.h"
#include "tracer/interleave/process_tree.h"
#include "tracer/interleave/read_signals.h"
#include "tracer/interleave/turn_order.h"

namespace stepscope::tracer {

/// One of the two programs.
struct InterleaveSide {
  explicit InterleaveSide(StoppedProcesses::List& stopped) : processes(stopped) {}

  std::string program;  ///< as messages name it
  pid_t child = -1;     ///< its first process, which leads a group; −1 = not started
  ProcessTree processes;
  FileDescriptor listener;    ///< its processes connect there (local_socket.h); never waits
  FileDescriptor end;         ///< readable when the child has ended; none on old systems
  std::optional<int> status;  ///< it has ended, as waitpid() tells
};

class InterleaveKeeper {
 public:
  InterleaveKeeper(std::array<InterleaveSide, 2>& sides, ReadSignals& signals)
      : sides_(sides), signals_(signals) {}

  /// Until both have ended.
  void run();
  [[nodiscard]] int64_t turns_of_both() const { return order_.given() / 2; }
  /// Why turns ended before one of the two did; empty = they did not.
  [[nodiscard]] std::string const& reason() const { return reason_; }

 private:
  /// A process that has connected.
  struct Peer {
    int64_t number = 0;
    size_t side = 0;
    pid_t process = 0;
    FileDescriptor socket;
  };

  void wait();
  void forward(int number);
  void reap(InterleaveSide& side);
  void accept_peers(size_t side);
  void receive(Peer& peer);
  void take_turns();
  void end_when_stuck();
  void end_turns(std::string reason);

  std::array<InterleaveSide, 2>& sides_;
  ReadSignals& signals_;
  TurnOrder order_;
  std::vector<Peer> peers_;
  int64_t next_number_ = 1;
  bool over_ = false;
  std::string reason_;
};

}  // namespace stepscope::tracer
