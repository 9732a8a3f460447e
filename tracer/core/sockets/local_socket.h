// Sockets between traced programs and the command that records them. They carry packets, and
// connect processes of one user only. Their names are Linux's abstract names, which leave no file
// behind and are never too long. A process that has closed what it inherited, as ranks of mpirun
// have, still reaches the command.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "trace/base/expected.h"
#include "tracer/core/sockets/file_descriptor.h"

namespace stepscope::tracer {

/// A name that no other socket has.
std::string new_local_address(std::string_view purpose);

/// `address` is the name that connect_local() takes. Errors: the system refuses.
base::Expected<FileDescriptor> listen_local(std::string const& address);
/// Errors: the system gives no socket, no command listens there, or one of another user does.
base::Expected<FileDescriptor> connect_local(std::string const& address);
/// The next process of this user. None once the listener was shut down, when the system gives no
/// descriptor, or when the listener does not wait and no process has come.
FileDescriptor accept_local(int listener);

/// The process that has connected, as this one sees it; 0 = it does not.
pid_t peer_process(int socket);

}  // namespace stepscope::tracer
