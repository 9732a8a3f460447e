// A disk without room, as the limit of this process for sizes of files plays it.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace stepscope::support {

/// While it lives no file may grow beyond so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(FullDisk const&) = delete;
  FullDisk& operator=(FullDisk const&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

}  // namespace stepscope::support
