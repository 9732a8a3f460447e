// Programs that close descriptors that are not theirs, and use the numbers for files of their own.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

void close_from_to(int first, int end) {
  for (int fd = first; fd < end; ++fd) ::close(fd);
}

int close_all(Arguments const& /*unused*/) {
  work(10);
  close_from_to(0, 1024);
  work(1000);
  sleep_ms(600);  // the tracer refreshes its file every 500 ms
  work(10);
  return 3;
}

int close_all_before_first_event(Arguments const& /*unused*/) {
  close_from_to(3, 1024);
  work(1000);
  std::puts("ok");
  return 3;
}

/// Closes everything, opens files, and finds them as it wrote them. NUMBERs: microseconds before
/// the descriptors are closed and before the files are looked at, then 1 = another thread makes
/// events all the time.
int close_all_and_reuse(Arguments const& arguments) {
  auto const before = static_cast<useconds_t>(arguments.number(0, 30'000));
  auto const after = static_cast<useconds_t>(arguments.number(1, 600'000));
  work(10);
  if (arguments.number(2, 0) != 0) new BusyThreads(1);  // until the process ends
  ::usleep(before);
  close_from_to(3, 64);
  std::array<int, 8> files{};
  for (size_t i = 0; i < files.size(); ++i)
    files[i] = ::open(("mine-" + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);

  work(20'000);
  ::usleep(after);
  work(20'000);
  sleep_ms(20);
  long foreign_bytes = 0;
  for (int const file : files) {
    struct stat status {};
    ::fstat(file, &status);
    foreign_bytes += status.st_size;
    if (::write(file, "mine", 4) != 4) std::perror("write");
  }
  std::printf("foreign bytes in my files: %ld\n", foreign_bytes);
  return foreign_bytes != 0 ? 1 : 0;
}

/// Closes all by one system call, as newer programs do.
int close_range_and_reuse(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(20);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  int const file = ::open("mine", O_RDWR | O_CREAT | O_TRUNC, 0644);
  work(1000);
  sleep_ms(600);
  work(1000);
  std::printf("fd %d, at %ld\n", file, static_cast<long>(::lseek(file, 0, SEEK_END)));
  return 0;
}

/// Puts a file of its own over every descriptor that another part of the process could have.
int duplicate_over_all(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(20);

  int const file = ::open("mine", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int fd = 3; fd < 1000; ++fd)
    if (fd != file) ::dup2(file, fd);

  work(1000);
  sleep_ms(600);
  work(1000);

  std::printf("at %ld\n", static_cast<long>(::lseek(file, 0, SEEK_END)));
  return 0;
}

/// The file that a descriptor is open on, without what differs from run to run.
std::string target_of(int fd) {
  std::array<char, 4096> text{};
  ssize_t const length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), text.data(), text.size());
  std::string target(text.data(), length < 0 ? 0 : static_cast<size_t>(length));
  return target.substr(0, target.find(":["));
}

void print_descriptors(char const* where) {
  DIR* const folder = ::opendir("/proc/self/fd");
  std::vector<int> open;
  while (dirent const* const entry = ::readdir(folder)) {
    int const fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder)) open.push_back(fd);
  }
  ::closedir(folder);
  std::sort(open.begin(), open.end());

  for (int const fd : open)
    std::printf("%s: %d -> %s flags %x\n", where, fd, target_of(fd).c_str(), ::fcntl(fd, F_GETFD));
  int const next = ::open("/dev/null", O_RDONLY);
  std::printf("%s: next %d\n", where, next);
  ::close(next);
  std::fflush(stdout);
}

/// The descriptors that a program sees: with events, in a fork that makes events, too, and after
/// exec.
int list_descriptors(Arguments const& arguments) {
  if (arguments.number(0, 0) == 1) {
    work(10);
    sleep_ms(20);
    print_descriptors("executed");
    return 0;
  }

  print_descriptors("start");
  work(10);
  sleep_ms(20);
  print_descriptors("events");

  pid_t const child = ::fork();
  if (child == 0) {
    print_descriptors("fork");
    work(10);
    sleep_ms(20);
    print_descriptors("fork with events");
    ::_exit(execute_again(arguments, "fds", 1));
  }

  std::printf("child %d\n", exit_of(child));
  return 0;
}

int remove_output_folder(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(100);

  char const* const folder = std::getenv("STEPSCOPE_OUTPUT");
  std::string const command =
      std::string("rm -rf '") + (folder != nullptr ? folder : "/nonexistent") + "'";
  ::unsetenv("LD_PRELOAD");
  if (std::system(command.c_str()) != 0) return 5;

  work(100'000);
  sleep_ms(600);
  work(10);

  std::puts("ok");
  return 3;
}

int change_folder(Arguments const& /*unused*/) {
  for (char const* const folder : {"/", "/tmp"}) {
    if (::chdir(folder) != 0) std::perror("chdir");
    work(10);
  }
  std::puts("ok");
  return 0;
}

int change_umask(Arguments const& /*unused*/) {
  ::umask(0);
  work(10);
  sleep_ms(10);
  int const file = ::open("for-all", O_WRONLY | O_CREAT, 0666);
  std::printf("umask %o\n", ::umask(0));
  ::close(file);
  return 0;
}

constexpr Case kCases[] = {{"closeall", close_all},
                           {"closeall_before", close_all_before_first_event},
                           {"closefrom_reuse", close_all_and_reuse},
                           {"close_range", close_range_and_reuse},
                           {"dup2_over", duplicate_over_all},
                           {"fds", list_descriptors},
                           {"removed_folder", remove_output_folder},
                           {"chdir", change_folder},
                           {"umask", change_umask}};

}  // namespace

Theme descriptor_cases() { return {"descriptors", kCases}; }

}  // namespace stepscope::attacks
