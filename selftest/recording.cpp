#include "selftest/recording.h"

#include <sstream>

#include "trace/import/open/open_run.h"

namespace stepscope::selftest {

std::vector<nlohmann::json> json_lines(std::string const& output) {
  std::vector<nlohmann::json> objects;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('{')) continue;
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_object()) objects.push_back(std::move(object));
  }
  return objects;
}

base::Expected<Recording> run_alone(std::vector<std::string> const& command) {
  constexpr std::chrono::seconds kLimit{300};
  auto const result = doctor::run_program(command, kLimit);
  if (!result) return base::fail_with(result);
  Recording recording;
  recording.output = json_lines(result->output);
  recording.exit_code = result->signal != 0 ? 128 + result->signal : result->exit_code;
  if (result->timed_out || recording.output.empty())
    return base::fail("{} {}: {}", command.front(), doctor::how_it_ended(*result), result->output);
  return recording;
}

base::Expected<Recording> record(Setup const& setup, std::string const& name,
                                 std::vector<std::string> const& command,
                                 std::vector<std::string> const& options) {
  std::string const folder = setup.folder + "/" + name;
  std::vector<std::string> recorded = {setup.program, "record", "--force", "-o", folder};
  recorded.insert(recorded.end(), options.begin(), options.end());
  recorded.emplace_back("--");
  recorded.insert(recorded.end(), command.begin(), command.end());

  auto recording = run_alone(recorded);
  if (!recording) return recording;

  auto run = import::open_run(folder);
  if (!run) return base::fail_with(run);

  recording->run = std::move(*run);
  return recording;
}

}  // namespace stepscope::selftest
