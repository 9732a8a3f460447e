#include "tracer/core/threads/thread_names.h"

#include <algorithm>
#include <utility>

#include "tracer/core/process/process_info.h"

namespace stepscope::tracer {

std::string ThreadNames::ask(int64_t thread_id, std::string_view known) {
  std::lock_guard const lock(mutex_);
  Thread& thread = threads_[thread_id];
  if (thread.name.empty()) thread.name = known;
  if (thread.reads < kMaxReads) {
    ++thread.reads;
    asked_.push_back(thread_id);
  }
  return thread.name;
}

bool ThreadNames::lacks_a_name() const {
  std::lock_guard const lock(mutex_);
  return std::any_of(asked_.begin(), asked_.end(),
                     [this](int64_t thread) { return threads_.at(thread).name.empty(); });
}

bool ThreadNames::has_asked() const {
  std::lock_guard const lock(mutex_);
  return !asked_.empty();
}

void ThreadNames::read_asked() {
  std::vector<int64_t> asked;
  {
    std::lock_guard const lock(mutex_);
    asked = std::exchange(asked_, {});
  }

  for (int64_t const thread : asked) {
    std::string name = thread_name(thread);
    std::lock_guard const lock(mutex_);
    if (!name.empty()) threads_[thread].name = std::move(name);
  }
}

}  // namespace stepscope::tracer
