// The processes of a training that a launcher (mpirun, srun) has started together: messages between them, and what happens when
// one is gone. MPI carries the messages; one thread makes all its calls, so that any MPI will do and messages move on whatever
// the others do. A process that ends on this machine is noticed within a second, one elsewhere, or one that hangs, when nothing
// comes from it for the time limit. Then every call returns at once: the training ends as after any other error, with its trace
// closed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/processes/launch.h"
#include "workloads/processes/mpi/module.h"

namespace stepscope::workloads {

class Processes {
 public:
  /// How long a process may wait for another one that sends nothing.
  static constexpr std::chrono::seconds kDefaultTimeout{25};

  /// Meets the other processes; null when this one was started alone. Once a process. `timeout` counts from then on: that all
  /// have started may take as long as the default allows. Errors: MPI is not there or fails.
  static base::Expected<std::shared_ptr<Processes>> join(std::chrono::milliseconds timeout);
  /// The same with an MPI that has started.
  static base::Expected<std::shared_ptr<Processes>> meet(Launch const& launch, std::chrono::milliseconds timeout,
                                                         MpiModule const& mpi);
  ~Processes();  ///< parts from the others when nothing has failed
  Processes(Processes const&) = delete;
  Processes& operator=(Processes const&) = delete;

  [[nodiscard]] uint32_t rank() const { return launch_.rank; }
  [[nodiscard]] uint32_t size() const { return launch_.size; }
  [[nodiscard]] Launch const& launch() const { return launch_; }

  // Messages of a pair with the same tag arrive in order, with the size that they were sent with. From any thread.

  /// Waits for nobody: `data` is copied.
  void send(uint32_t to, int tag, void const* data, size_t bytes);
  /// Blocks until the message is there. False: it will not come, see failure().
  bool receive(uint32_t from, int tag, void* data, size_t bytes);
  /// What each process gave, by rank; empty texts after a failure. All processes must call it, from one thread each.
  std::vector<std::string> all_gather(std::string const& mine);

  /// Good when all are; else this process's error or, of another one, its error with its rank.
  base::Expected<void> agree(base::Expected<void> const& mine);

  /// Why the others cannot be reached any more: who is gone.
  [[nodiscard]] std::optional<std::string> failure() const;

  /// Above those that the collectives use.
  static constexpr int kGatherTag = 30'000, kNoteTag = 30'001;

 private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    bool sent = false;
    uint32_t peer = 0;
    int tag = 0;
    std::vector<std::byte> kept;  ///< of one that is sent
    void* data = nullptr;
    size_t bytes = 0;
    void* request = nullptr;
    Clock::time_point since;
    bool over = false, received = false;
  };
  struct Peer {
    int64_t process_id = 0;  ///< 0 = on another machine
    Clock::time_point heard;
  };

  Processes(Launch const& launch, std::chrono::milliseconds timeout, MpiModule const& mpi);
  void run();
  void meet_peers();
  void set_timeout(std::chrono::milliseconds timeout);
  // With mutex_ held.
  void begin_new();
  bool test_active();
  void look_after_peers();
  void fail(std::string reason);

  Launch launch_;
  std::chrono::milliseconds timeout_;  ///< with mutex_ held
  MpiModule const& mpi_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, changed_;
  std::deque<std::shared_ptr<Message>> submitted_;
  std::list<std::shared_ptr<Message>> active_;
  std::vector<Peer> peers_;  ///< by rank
  bool stopping_ = false;
  std::optional<std::string> failure_;
  Clock::time_point looked_;
  std::optional<Clock::time_point> told_at_;  ///< by SIGTERM
  std::thread thread_;
};

}  // namespace stepscope::workloads
