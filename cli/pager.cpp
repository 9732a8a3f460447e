#include "cli/pager.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/launch.h"

namespace stepscope::cli {
namespace {

/// While the pager runs, the standard output is a pipe to it.
struct RunningPager {
  pid_t process = -1;
  int terminal = STDOUT_FILENO;  ///< where the output went before
  /// What signals did before.
  void (*on_interrupt)(int) = SIG_DFL;
  void (*on_quit)(int) = SIG_DFL;
};

RunningPager& pager() {
  static RunningPager running;
  return running;
}

bool is_program(std::string const& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0;
  char const* const folders = std::getenv("PATH");
  // Without PATH the shell looks in these folders.
  std::string_view rest = folders == nullptr ? "/usr/local/bin:/usr/bin:/bin" : folders;

  while (!rest.empty()) {
    std::string_view const folder = rest.substr(0, rest.find(':'));
    std::string const path = std::string(folder) + "/" + name;
    std::error_code ignored;
    bool const is_file = !folder.empty() && std::filesystem::is_regular_file(path, ignored);
    if (is_file && ::access(path.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return false;
}

/// A command for the shell; nothing where the user wants none or it does not exist.
std::optional<std::string> pager_command() {
  std::string command = "less";
  for (char const* const variable : {"STEPSCOPE_PAGER", "PAGER"})
    if (char const* const wanted = std::getenv(variable)) {
      command = wanted;
      break;
    }

  std::string const program = command.substr(0, command.find(' '));
  if (command.empty() || command == "cat" || !is_program(program)) return std::nullopt;
  return command;
}

/// With what less needs, as git has it: it ends where all fits the screen, shows colours, and
/// leaves the text there. Texts are UTF-8, whatever the locale.
std::vector<std::string> pager_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);

  for (std::string const wanted : {"LESS=FRX", "LESSCHARSET=utf-8"})
    if (std::getenv(wanted.substr(0, wanted.find('=')).c_str()) == nullptr)
      variables.push_back(wanted);
  return variables;
}

std::optional<pid_t> start(std::string command, int input) {
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);

  std::string shell = "sh", option = "-c";
  std::array<char*, 4> arguments = {shell.data(), option.data(), command.data(), nullptr};
  std::vector<std::string> variables = pager_environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);

  pid_t process = -1;
  int const error =
      ::posix_spawn(&process, "/bin/sh", &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? std::optional(process) : std::nullopt;
}

}  // namespace

bool is_output_terminal() {
  return ::isatty(pager().terminal) == 1 && !mpi::has_passed_on_output();
}

int terminal_descriptor() { return pager().terminal; }

bool& is_pager_forbidden() {
  static bool forbidden = false;
  return forbidden;
}

void begin_paging() {
  char const* const kind = std::getenv("TERM");
  bool const is_dumb = kind == nullptr || std::string_view(kind) == "dumb";
  if (is_pager_forbidden() || is_dumb || !is_output_terminal()) return;
  auto const command = pager_command();
  if (!command) return;

  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return;
  auto const process = start(*command, pipe[0]);
  ::close(pipe[0]);
  int const terminal = process ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
  if (terminal >= 0) {
    std::fflush(stdout);
    ::dup2(pipe[1], STDOUT_FILENO);
    // Ctrl-C is for the pager: it stops a search there. Who leaves the pager ends the output.
    pager() = {*process, terminal, std::signal(SIGINT, SIG_IGN), std::signal(SIGQUIT, SIG_IGN)};
  }
  ::close(pipe[1]);
}

void finish_paging() {
  if (pager().process < 0) return;
  std::fflush(stdout);
  ::dup2(pager().terminal, STDOUT_FILENO);  // the pager sees the end of its input
  int status = 0;
  while (::waitpid(pager().process, &status, 0) < 0 && errno == EINTR) continue;
  ::close(pager().terminal);
  std::signal(SIGINT, pager().on_interrupt);
  std::signal(SIGQUIT, pager().on_quit);
  pager() = {};
}

}  // namespace stepscope::cli
