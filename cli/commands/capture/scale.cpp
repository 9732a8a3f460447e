// The scaling series; see scale.h. Each run is a process of its own, recorded as `stepscope record`
// does it.
#include "cli/commands/scale.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cli/commands.h"
#include "cli/commands/recording.h"
#include "mpi/launch.h"
#include "trace/base/format.h"
#include "tracer/record.h"

namespace stepscope::cli {
namespace {

constexpr int kMostDevices = 1024;

base::Expected<std::vector<int>> parse_devices(std::string_view text) {
  std::vector<int> devices;
  for (bool more = true; more;) {
    size_t const comma = text.find(',');
    std::string_view const one = text.substr(0, comma);
    int count = 0;
    auto const [end, error] = std::from_chars(one.data(), one.data() + one.size(), count);

    if (error != std::errc() || end != one.data() + one.size() || count < 1 || count > kMostDevices)
      return base::fail("--scale: {}: not a number of devices, write --scale 1,2,4", one);
    if (std::find(devices.begin(), devices.end(), count) != devices.end())
      return base::fail("--scale: {} is there twice, each number of devices is one run", count);

    devices.push_back(count);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }

  return devices;
}

/// "host:4", or "cuda:0,cuda:1": backends of real devices want them named.
std::string device_list(std::string const& backend, int count) {
  if (backend == "host") return fmt::format("host:{}", count);
  std::string list;
  for (int d = 0; d < count; ++d) list += fmt::format("{}{}:{}", d == 0 ? "" : ",", backend, d);
  return list;
}

}  // namespace

base::Expected<ScaleSeries> parse_scale(std::vector<std::string> const& arguments) {
  ScaleSeries series;
  std::optional<std::string> scale, device;
  bool forced = false;

  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string const name = arguments[i].substr(0, arguments[i].find('='));
    std::optional<std::string>* target = nullptr;
    if (name == "--scale") target = &scale;
    if (name == "--device") target = &device;
    bool const is_output = name == "-o" || name == "--output";

    if (name == "--force") {
      forced = true;
      continue;
    }

    if (target == nullptr && !is_output) {
      series.arguments.push_back(arguments[i]);
      continue;
    }

    bool const joined = name.size() < arguments[i].size();
    if (!joined && i + 1 == arguments.size()) return base::fail("{}: needs a value", name);
    std::string const value = joined ? arguments[i].substr(name.size() + 1) : arguments[++i];

    if (target != nullptr) {
      *target = value;
    } else {
      series.output = value;
    }
  }

  if (!scale) return ScaleSeries{};
  series.force = forced;

  auto const devices = parse_devices(*scale);
  if (!devices) return base::fail_with(devices);
  series.devices = *devices;

  if (device && device->find_first_of(":,") != std::string::npos)
    return base::fail(
        "--device {}: --scale says how many devices there are, give the backend alone: --device {}",
        *device, device->substr(0, device->find(':')));
  if (device) series.backend = *device;

  if (mpi::launch_from_environment())
    return base::fail("--scale: a series is started once, not by mpirun or srun");
  if (char const* const folder = std::getenv("STEPSCOPE_OUTPUT");
      folder != nullptr && *folder != '\0')
    return base::fail(
        "--scale: each run of the series is recorded on its own, start it with stepscope run");

  return series;
}

base::Expected<int> run_scale(std::string const& workload, ScaleSeries const& series) {
  std::string const folder = series.output.empty() ? workload + "-scale" : series.output;

  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return base::fail("{}: cannot make the folder ({}), choose another with -o", folder,
                      error.message());
  auto const folder_of = [&](int count) { return fmt::format("{}/{}", folder, count); };

  // All of them first: the last must not be refused after hours of the others. Nothing is removed
  // before its run begins.
  for (int const count : series.devices) {
    if (!series.force && std::filesystem::exists(folder_of(count), error) &&
        !std::filesystem::is_empty(folder_of(count), error))
      return base::fail(
          "{}: exists and is not empty, choose another folder with -o or replace the runs with "
          "--force",
          folder_of(count));
  }
  for (int const count : series.devices) {
    std::vector<std::string> command = {program_folder() + "/stepscope", "run", workload};
    command.insert(command.end(), series.arguments.begin(), series.arguments.end());
    command.insert(command.end(), {"--device", device_list(series.backend, count)});

    tracer::RecordOptions record;
    record.output = folder_of(count);
    record.force = series.force;

    tell(fmt::format("{} on {} device{}", base::printable(workload), count, count == 1 ? "" : "s"));
    auto const code = record_alone(record, command);
    if (!code) return base::fail_with(code);
    if (*code != kGood) return *code;
  }

  if (series.devices.size() > 1)
    tell(fmt::format("how it scales: stepscope report {}", base::printable(folder)));
  return kGood;
}

}  // namespace stepscope::cli
