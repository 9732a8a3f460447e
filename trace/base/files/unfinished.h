// Names in the file system that must not outlive their command: temporary files and folders. A
// destructor takes them back where the command fails, and a signal handler where it is killed.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::base {

/// From now on SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU and SIGXFSZ remove what
/// is unfinished; then they end the process as they would have. Signals that the process ignores
/// (nohup) or handles stay as they are. For programs, not for libraries in somebody else's.
void remove_unfinished_on_signals();

struct UnfinishedSlot;

/// One name. Its destructor removes what stands there, unless keep() was called. Only the process
/// that made it does so: a fork does not.
class Unfinished {
 public:
  enum class Kind : uint8_t {
    kFile,
    kFolder,       ///< with all that is in it; links are removed, not followed
    kEmptyFolder,  ///< only while nothing is in it
  };

  Unfinished() = default;
  /// Call it before the name is made: then no signal finds it made and unknown.
  Unfinished(std::string const& path, Kind kind);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  Unfinished(Unfinished const&) = delete;
  Unfinished& operator=(Unfinished const&) = delete;
  ~Unfinished() { remove(); }

  void remove();
  void keep();

 private:
  UnfinishedSlot* slot_ = nullptr;
};

/// While one lives, the signals above wait: for several renames that belong together. Keep it
/// short.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(HeldSignals const&) = delete;
  HeldSignals& operator=(HeldSignals const&) = delete;
  ~HeldSignals();
};

/// Removes `path` and, of a folder, all that is in it. Never follows a link. Safe in a signal
/// handler.
void remove_tree(char const* path);

}  // namespace stepscope::base
