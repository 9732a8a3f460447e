// Names of threads; see thread_name.h.
#include "workloads/thread_name.h"

#include <pthread.h>

#include "tracer/api/annotate.h"

namespace stepscope::workloads {

void name_this_thread(std::string const& name) {
  constexpr size_t kLinuxLimit = 15;
  pthread_setname_np(pthread_self(), name.substr(0, kLinuxLimit).c_str());
  api::name_this_thread(name.c_str());
}

}  // namespace stepscope::workloads
