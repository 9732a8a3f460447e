// stepscope view RUN: runs the viewer program, which is in the same folder as this one.
#include <cerrno>
#include <cstring>
#include <memory>

#include <unistd.h>

#include "cli/commands.h"

namespace stepscope::cli {
namespace {

int view_run(std::vector<std::string> arguments) {
  std::string program = program_folder() + "/stepscope-viewer";
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return report_error(
      {fmt::format("{}: cannot start the viewer ({}), build it with Dear ImGui and GLFW installed, "
                   "or use stepscope report",
                   program, std::strerror(errno))});
}

}  // namespace

Action add_view(CLI::App& app) {
  app.prefix_command();
  app.set_help_flag();
  app.footer("RUN [--vs NEW] [--screenshot PNG] [--size WxH] and more: stepscope view --help");
  return [&app] { return view_run(app.remaining()); };
}

}  // namespace stepscope::cli
