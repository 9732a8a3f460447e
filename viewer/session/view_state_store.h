// Where a run's view and notes are kept: in the user's state folder, or in a file next to the run
// if a person wants them to travel with it. The file is read when the run is opened, and
// written as a whole when a person has changed something.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "viewer/session/saved_view.h"

namespace stepscope::viewer {

/// RUN/.stepscope-view.json of a folder, FILE.view.json of a file.
std::string sidecar_beside(std::string const& run);
/// STATE_FOLDER/views/NAME-HASH.json, by the run's whole path; empty without a folder.
std::string sidecar_in_state(std::string const& run, std::string const& state_folder);

/// Keeps the view of the run that is shown.
class ViewStateStore {
 public:
  ViewStateStore() = default;
  /// `state_folder`: of the user, $XDG_STATE_HOME/stepscope; empty: none. `travels`: views are kept
  /// beside runs.
  explicit ViewStateStore(std::string state_folder, bool travels = false)
      : state_folder_(std::move(state_folder)), travels_(travels) {}

  /// A run is opened: what was kept of it, the later of both files. None: nothing was. A file that
  /// cannot be read is left as it is until a person changes something; notice() says so.
  std::optional<SavedView> open(std::string const& run);
  /// No run is shown any more, or one that has no single place.
  void close();
  /// A frame has passed: whatever has changed by now is written once it has rested for a second.
  void look_at(Scene const& scene, ViewState const& state);
  /// The run was read again: changes of the view by that are not a person's, and are not written.
  void adopt(ViewState const& state);
  /// Writes at once what has changed.
  void flush(Scene const& scene, ViewState const& state);

  /// Whether something is to be written: another look is due.
  [[nodiscard]] bool is_waiting() const { return changed_.has_value(); }
  /// The file in which it is kept; empty: in none.
  [[nodiscard]] std::string const& file() const { return file_; }
  /// What a person has to know, empty: nothing.
  [[nodiscard]] std::string const& notice() const { return notice_; }
  void clear_notice() { notice_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Whether the file could be written.
  bool write_to(std::string const& file, std::string const& text);
  void write(Scene const& scene, ViewState const& state);

  std::string state_folder_, run_, file_, notice_;
  bool travels_ = false;
  bool is_beside_ = false;                    ///< the run that is open has a file beside it already
  int frames_ = 0;                            ///< since it was opened
  ViewState last_;                            ///< as it was looked at last
  std::optional<Clock::time_point> changed_;  ///< since the file was written
  bool said_where_ = false;
};

}  // namespace stepscope::viewer
