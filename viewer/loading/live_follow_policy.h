// Following a run that is still being written: when to look at its files, when to read it again,
// and what to report. Callers pass the time, RunFiles reads the files: nothing here waits.
#pragma once

#include <chrono>
#include <string>

#include "viewer/loading/run_files.h"

namespace stepscope::viewer {

enum class Recording : uint8_t {
  kWhole,    ///< the run was whole when it was opened, or its format does not tell
  kGoesOn,   ///< its end is not there, and something was written not long ago
  kSilent,   ///< its end is not there, and nothing comes: the program was killed, or does nothing
  kFinished  ///< its end came while it was shown
};

class LiveFollowPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// A run is shown. `files`: as before it was read. `has_end`: nothing more is to come.
  void begin(RunFiles files, bool has_end, Time now);
  /// No run is shown.
  void end();

  /// Looks at the files, at most once a second. True: the report has changed, or the run should be
  /// read again.
  bool look(Time now);
  /// Whether it should be read again now.
  [[nodiscard]] bool wants_reading(Time now) const;
  /// It is being read again; what came of that. `files` and `has_end` as for begin().
  void reading_begins(Time now);
  void reading_ends(RunFiles files, bool has_end, Time now);
  void reading_fails(std::string const& why, Time now);
  /// The caller drops what was read: a file was cut or replaced meanwhile, or two runs are being
  /// compared. More is still there.
  void drop_reading() {
    is_reading_ = false;
    has_more_ = true;
  }

  [[nodiscard]] bool is_watching() const { return is_watching_; }
  [[nodiscard]] bool follows() const { return follows_; }
  void set_follows(bool follows) { follows_ = follows; }
  [[nodiscard]] Recording recording() const { return recording_; }
  /// What is there now is not what was read: only who asks for it gets it.
  [[nodiscard]] bool is_lost() const { return is_lost_; }
  /// More is there than what is shown.
  [[nodiscard]] bool has_more() const { return has_more_; }
  /// What a person has to know: a file is not what it was; hostile text. Empty: nothing.
  [[nodiscard]] std::string const& notice() const { return notice_; }
  void clear_notice() { notice_.clear(); }

 private:
  RunFiles files_;
  bool is_watching_ = false, follows_ = true;
  bool has_more_ = false, is_lost_ = false, is_reading_ = false;
  Recording recording_ = Recording::kWhole;
  Time last_look_, last_written_, began_reading_, rests_until_;
  std::string notice_;
};

/// How far the recording is, for the line at the top; empty: there is nothing to report.
char const* words_of(Recording recording, bool follows);

}  // namespace stepscope::viewer
