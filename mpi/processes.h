// The processes of a training that a launcher (mpirun, srun) has started together: messages between
// them, and what happens when one is gone. MPI carries the messages; one thread makes all its
// calls, so that any MPI will do and messages move on whatever the others do. A process that ends
// on this machine is noticed within a second, one elsewhere, or one that hangs, when nothing comes
// from it for the time limit. Then every call returns at once: the training ends as after any other
// error, with its trace closed. Where no thread waits for a message (devices that exchange their
// data themselves), watch() makes the processes tell each other every second that they live.
#pragma once

#include <array>
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

#include "mpi/launch.h"
#include "mpi/module/module.h"
#include "mpi/peers.h"
#include "trace/base/expected.h"

namespace stepscope::mpi {

/// How long a process waits for another one, and what it says when that one is gone.
struct Patience {
  std::chrono::milliseconds timeout;  ///< without any message
  /// An answer may take any time as long as its process says that it lives (watch()).
  bool has_slow_answers = false;
  /// SIGTERM ends the program a second after it has failed the messages. Else the program ends
  /// itself.
  bool ends_when_terminated = false;
  char const* if_gone = "checkpoints and traces written so far can be read";
  char const* if_silent = "if it only works longer, raise --collective-timeout";
};

class Processes final : public Peers {
 public:
  /// How long a process may wait for another one that sends nothing.
  static constexpr std::chrono::seconds kDefaultTimeout{25};

  /// Whether this program has what join() needs of MPI. Error: why not.
  static base::Expected<void> find_module();
  /// Meets the other processes of `launch`. Once a process. The timeout counts from then on: that
  /// all have started may take as long as the default allows. Errors: MPI is not there or fails.
  static base::Expected<std::shared_ptr<Processes>> join(Launch launch, Patience const& patience);
  /// The same of the launch that the environment tells; null when this one was started alone.
  static base::Expected<std::shared_ptr<Processes>> join(std::chrono::milliseconds timeout);
  /// The same with an MPI that has started.
  static base::Expected<std::shared_ptr<Processes>> meet(Launch const& launch,
                                                         Patience const& patience,
                                                         MpiModule const& mpi);
  ~Processes() override;  ///< parts from the others when nothing has failed
  Processes(Processes const&) = delete;
  Processes& operator=(Processes const&) = delete;

  [[nodiscard]] uint32_t rank() const override { return launch_.rank; }
  [[nodiscard]] uint32_t size() const override { return launch_.size; }
  [[nodiscard]] uint32_t local_rank() const override { return launch_.local_rank; }
  [[nodiscard]] Launch const& launch() const { return launch_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const override;

  // Messages of a pair with the same tag arrive in order, with the size that they were sent with.
  // From any thread.

  /// Does not wait: `data` is copied.
  void send(uint32_t to, int tag, void const* data, size_t bytes);
  /// Blocks until the message is there. False: it will not come, see failure().
  bool receive(uint32_t from, int tag, void* data, size_t bytes);
  /// What each process gave, by rank; empty texts after a failure. All processes must call it, from
  /// one thread each.
  std::vector<std::string> all_gather(std::string const& mine) override;

  /// Good when all are; else this process's error or, of another one, its error with its rank.
  base::Expected<void> agree(base::Expected<void> const& mine) override;

  void watch() override;
  void give_up(std::string const& why) override;

  /// Why the others cannot be reached any more: who is gone.
  [[nodiscard]] std::optional<std::string> failure() const override;

  /// Above those that the collectives use.
  static constexpr int kGatherTag = 30'000, kNoteTag = 30'001, kBeatTag = 30'002;

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
  /// What processes that watch each other say, every second and when they leave or give up.
  struct Beat {
    enum class Says : int64_t { kLives, kLeaves, kGivesUp };
    Says says = Says::kLives;
    std::array<char, 1016> why = {};  ///< with a 0 at the end
  };
  struct Peer {
    int64_t process_id = 0;  ///< 0 = on another machine
    Clock::time_point heard;
    Beat beat;                ///< the one that comes next
    Clock::time_point lived;  ///< when the last one came
    bool left = false;        ///< it has said that it leaves or gives up
    bool is_gone = false;
  };

  Processes(Launch const& launch, Patience const& patience, MpiModule const& mpi);
  void run();
  void meet_peers();
  void set_timeout(std::chrono::milliseconds timeout);
  // With mutex_ held.
  void begin_new();
  bool test_active();
  /// A message of this process, or from another one, is over.
  void take(Message& message);
  void look_after_peers();
  void notice_gone(uint32_t peer);
  void look_for_silence(Clock::time_point now);
  void beat();
  void tell_all(Beat const& beat);
  void expect_beat(uint32_t peer);
  void fail(std::string reason);
  void end_when_terminated(std::unique_lock<std::mutex>& lock);

  Launch launch_;
  Patience patience_;
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
  Clock::time_point moved_at_;                       ///< when a message was last begun, or over
  std::optional<Clock::time_point> termination_at_;  ///< by SIGTERM
  bool watching_ = false, leaving_ = false;
  Clock::time_point beat_at_;                    ///< when the last one was sent
  std::optional<std::string> giving_up_;         ///< why
  std::optional<Clock::time_point> gave_up_at_;  ///< when the others got the message
  std::thread thread_;
};

}  // namespace stepscope::mpi
