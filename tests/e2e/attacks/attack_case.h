// A case is a program that does one hostile or merely unusual thing while it makes NVTX events.
// attacks_test.py runs each alone and under `stepscope record` and compares the two. What a case
// prints may therefore depend on nothing but the case.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <sys/resource.h>
#include <sys/types.h>

namespace stepscope::attacks {

/// The words of the command line after the case's name.
struct Arguments {
  char const* program;
  std::string_view name;  ///< of the case
  std::span<char* const> words;

  [[nodiscard]] long number(size_t index, long otherwise) const;
};

enum class Needs : uint8_t { kNothing, kRoot };

struct Case {
  char const* name;
  int (*run)(Arguments const&);  ///< returns the exit code
  Needs needs = Needs::kNothing;
};

struct Theme {
  char const* name;
  std::span<Case const> cases;
};

Theme descriptor_cases();
Theme ending_cases();
Theme fault_cases();
Theme limit_cases();
Theme memory_cases();
Theme name_cases();
Theme process_cases();
Theme sandbox_cases();
Theme sharing_cases();
Theme signal_cases();
Theme thread_cases();
Theme time_cases();

// Several themes need these.

/// Makes as many ranges.
void work(int ranges);
void sleep_ms(int ms);
double now_s();
void set_limit(int resource, rlim_t value);
/// Switches to an unprivileged user and group, as root can.
void become_nobody();
/// Executes this program again; returns 1 when that fails.
int execute_again(Arguments const& arguments, char const* name, long number);
/// The exit code of a child, or 1000 + the signal that ended it.
int exit_of(pid_t child);

/// Threads that make ranges until stop() or the end of the process.
class BusyThreads {
 public:
  explicit BusyThreads(int count);
  void stop();

 private:
  static constexpr int kMost = 8;
  pthread_t threads_[kMost]{};
  int count_;
};

}  // namespace stepscope::attacks
