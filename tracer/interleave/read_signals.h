// Signals for the command that are read from a descriptor instead of being acted upon.
#pragma once

#include <optional>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tracer/core/sockets/file_descriptor.h"

namespace stepscope::tracer {

/// SIGTERM, SIGHUP, SIGINT and SIGQUIT, as long as it lives.
class ReadSignals {
 public:
  ReadSignals() {
    sigset_t mask;
    sigemptyset(&mask);
    for (int const signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) sigaddset(&mask, signal);
    ::pthread_sigmask(SIG_BLOCK, &mask, &before_);
    descriptor_ = FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~ReadSignals() { restore(); }
  ReadSignals(ReadSignals const&) = delete;
  ReadSignals& operator=(ReadSignals const&) = delete;

  /// As it was before: in a child that becomes another program.
  void restore() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  std::optional<int> next() {
    signalfd_siginfo info;
    if (::read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
      return {};
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
};

}  // namespace stepscope::tracer
