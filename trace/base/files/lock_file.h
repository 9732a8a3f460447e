// One command at a time for an output: a hidden file, locked as long as the command lives. The
// system unlocks it when the command ends in any way, SIGKILL included.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "trace/base/expected.h"
#include "trace/base/files/unfinished.h"

namespace stepscope::base {

class LockFile {
 public:
  enum class Share : uint8_t {
    kAlone,
    kTogether,  ///< with others that say so, too: the ranks of a job
  };
  static constexpr char kNameInFolder[] = ".stepscope.lock";
  /// Ranks of a job come while others of them end, which takes the lock for a moment.
  static constexpr std::chrono::milliseconds kPatience{200};

  /// `path`: of the lock file. `output`: what it guards, for the message. Errors: another command
  /// has it (the message says which process on which host) and keeps it for longer than `patience`,
  /// or the file cannot be made. Links are not followed.
  static Expected<LockFile> take(std::string const& path, std::string const& output,
                                 Share share = Share::kAlone,
                                 std::chrono::milliseconds patience = kPatience);
  /// Of one output file or a folder that is not there yet: ".NAME.lock" beside it.
  static std::string path_beside(std::string const& output);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  LockFile(LockFile const&) = delete;
  LockFile& operator=(LockFile const&) = delete;
  ~LockFile();

 private:
  LockFile() = default;

  std::string path_;
  int fd_ = -1;
  Unfinished name_;
};

}  // namespace stepscope::base
