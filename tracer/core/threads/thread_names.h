// Names of the program's threads, as the system knows them. To read one takes a descriptor, which
// only the file thread may open (private_descriptors.h): the session's thread asks, and finds the
// answer a little later.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::tracer {

class ThreadNames {
 public:
  /// A name is read so many times, about half a second apart: a thread names itself when it begins.
  /// Later the tracer opens nothing any more, so that a sandbox that the program puts up then finds
  /// nothing to object to.
  static constexpr int kMaxReads = 4;

  /// The session's thread: the name as it was read last, else `known`; it is to be read again.
  std::string ask(int64_t thread_id, std::string_view known);
  // The session's thread: read_asked() has something to do; of a thread of which no name is known.
  [[nodiscard]] bool has_asked() const;
  [[nodiscard]] bool lacks_a_name() const;
  /// The file thread: reads what was asked for.
  void read_asked();

 private:
  struct Thread {
    std::string name;
    int reads = 0;
  };

  mutable std::mutex mutex_;  ///< all below
  std::map<int64_t, Thread> threads_;
  std::vector<int64_t> asked_;
};

}  // namespace stepscope::tracer
