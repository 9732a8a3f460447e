#include "tracer/interleave/process_tree.h"

#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

namespace stepscope::tracer {
namespace {

/// A program that starts processes without end is not stopped in one go; stop_late_ones() goes on.
constexpr int kMostRounds = 8;

/// The numbers by which a folder of /proc names processes or threads.
std::vector<pid_t> numbers_in(std::string const& folder) {
  std::vector<pid_t> numbers;
  DIR* const list = ::opendir(folder.c_str());
  if (list == nullptr) return numbers;

  while (dirent const* const entry = ::readdir(list)) {
    std::string_view const name = entry->d_name;
    pid_t number = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  ::closedir(list);
  return numbers;
}

/// The system keeps lists of children, unless it was built without.
bool has_lists_of_children() { return ::access("/proc/thread-self/children", R_OK) == 0; }

/// Each thread of the process has a list of its own children.
std::vector<pid_t> children_by_list(pid_t process) {
  std::vector<pid_t> children;
  std::string const threads = fmt::format("/proc/{}/task", process);
  for (pid_t const thread : numbers_in(threads)) {
    std::ifstream file(fmt::format("{}/{}/children", threads, thread));
    children.insert(children.end(), std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

/// The parent of a process, from "PID (NAME) STATE PPID …"; the name may hold anything.
pid_t parent_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string const text(std::istreambuf_iterator<char>(file), {});
  size_t const end = text.rfind(')');
  if (end == std::string::npos || text.size() < end + 5) return 0;

  pid_t parent = 0;
  std::from_chars(text.data() + end + 4, text.data() + text.size(), parent);
  return parent;
}

std::multimap<pid_t, pid_t> all_by_parent() {
  std::multimap<pid_t, pid_t> all;
  for (pid_t const process : numbers_in("/proc")) all.emplace(parent_of(process), process);
  return all;
}

}  // namespace

std::vector<pid_t> processes_below(std::vector<pid_t> const& roots) {
  bool const by_list = has_lists_of_children();
  std::multimap<pid_t, pid_t> const by_parent =
      by_list ? std::multimap<pid_t, pid_t>() : all_by_parent();

  std::vector<pid_t> found;
  std::set<pid_t> known = {::getpid()};  // this process stops nothing of its own
  auto const add = [&](pid_t process) {
    if (process > 1 && known.insert(process).second) found.push_back(process);
  };

  for (pid_t const root : roots) add(root);
  for (size_t next = 0; next < found.size(); ++next) {
    if (by_list) {
      for (pid_t const child : children_by_list(found[next])) add(child);
    } else {
      auto const [first, last] = by_parent.equal_range(found[next]);
      for (auto child = first; child != last; ++child) add(child->second);
    }
  }
  return found;
}

std::vector<pid_t> ProcessTree::processes() const {
  std::vector<pid_t> roots(others_.begin(), others_.end());
  if (leader_ > 0) roots.push_back(leader_);
  return processes_below(roots);
}

bool ProcessTree::stop_new() {
  bool found = false;
  for (pid_t const process : processes()) {
    if (!known_.insert(process).second) continue;
    found = true;
    stopped_.add(process);
    ::kill(process, SIGSTOP);
  }
  return found;
}

void ProcessTree::stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  if (leader_ > 0) stopped_.add(-leader_);
  signal_group(SIGSTOP);
  stop_late_ones();
}

void ProcessTree::stop_late_ones() {
  if (!is_stopped_) return;
  for (int round = 0; round < kMostRounds; ++round)
    if (!stop_new()) return;
}

void ProcessTree::go_on() {
  if (!is_stopped_) return;
  is_stopped_ = false;
  signal_group(SIGCONT);
  for (pid_t const process : known_) ::kill(process, SIGCONT);
  known_.clear();
  stopped_.clear();
}

void ProcessTree::kill() {
  std::vector<pid_t> const all = processes();
  signal_group(SIGKILL);
  for (pid_t const process : all) ::kill(process, SIGKILL);
}

void ProcessTree::signal_group(int number) const {
  if (leader_ > 0) ::kill(-leader_, number);
}

}  // namespace stepscope::tracer
