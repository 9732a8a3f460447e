// Whether the tracer itself is whole, and what in the environment would take its place or change
// what is measured.
#include <array>

#include "doctor/library.h"
#include "doctor/machine.h"
#include "tracer/core/options.h"

namespace stepscope::doctor {
namespace {

constexpr std::string_view kTracer = "libstepscope-tracer.so";

struct OtherTool {
  char const* variable;
  char const* consequence;
  char const* fix;
};

constexpr std::array kInjections = {
    OtherTool{"CUDA_INJECTION64_PATH",
              "names another tool's library: stepscope record replaces it for what it starts",
              "unset it, or do not record with both"},
    OtherTool{"NVTX_INJECTION64_PATH",
              "names another tool's library: stepscope record replaces it for what it starts",
              "unset it, or do not record with both"},
};

constexpr char const* kNcclPlugin = "NCCL_PROFILER_PLUGIN";

constexpr std::array kSettings = {
    OtherTool{"KINETO_USE_DAEMON",
              "lets PyTorch take CUPTI when it starts: whichever comes second gets nothing",
              "unset it to record"},
    OtherTool{"CUDA_LAUNCH_BLOCKING",
              "makes every launch wait for its kernel: not the program that you want to measure",
              "unset it to record"},
    OtherTool{"NSYS_PROFILING_SESSION_ID",
              "says that Nsight Systems profiles this shell: it holds CUPTI",
              "record outside of nsys"},
};

/// NCCL's plugins can be chained, the other libraries cannot.
std::vector<Check> check_nccl_plugin(Places const& places) {
  auto const value = variable(places, kNcclPlugin);
  if (!value || value->empty() || value->ends_with(kTracer)) return {};
  if (tracer::means_no_nccl_plugin(*value))
    return {
        {"other tools", Verdict::kWarning,
         fmt::format("{}=none: NCCL loads no plugin, and nothing is recorded of NCCL", kNcclPlugin),
         "unset it to record collectives"}};

  return {{"other tools", Verdict::kGood,
           fmt::format("{}={}: stepscope record passes NCCL's calls on to that plugin", kNcclPlugin,
                       *value),
           ""}};
}

}  // namespace

std::vector<Check> check_tracer(Places const& places) {
  std::string const path = places.tracer_folder + "/" + std::string(kTracer);
  auto const tracer = Library::open({}, path);
  void (*entry)() = nullptr;
  if (!tracer || !tracer->find("InitializeInjectionNvtx2", entry))
    return {{"tracer", Verdict::kFailure,
             tracer ? path + ": is not the tracer" : tracer.error().message,
             "install Stepscope again, or build the target stepscope-tracer"}};

  std::string const exit_library = places.tracer_folder + "/libstepscope-exit.so";
  if (auto const preload = Library::open({}, exit_library); !preload)
    return {
        {"tracer", Verdict::kWarning, preload.error().message,
         "install Stepscope again: without it a program that ends by _exit loses its last second"}};

  if (places.tracer_folder.find_first_of(" :") != std::string::npos)
    return {{"tracer", Verdict::kWarning,
             places.tracer_folder + ": the loader cannot preload from a path with a space or colon",
             "move Stepscope: without that a program that ends by _exit loses its last second"}};

  return {{"tracer", Verdict::kGood, path, ""}};
}

std::vector<Check> check_other_tools(Places const& places) {
  std::vector<Check> checks;
  for (OtherTool const& tool : kInjections) {
    auto const value = variable(places, tool.variable);
    if (value && !value->ends_with(kTracer))
      checks.push_back({"other tools", Verdict::kWarning,
                        fmt::format("{}={} {}", tool.variable, *value, tool.consequence),
                        tool.fix});
  }

  for (Check const& check : check_nccl_plugin(places)) checks.push_back(check);

  for (OtherTool const& tool : kSettings) {
    auto const value = variable(places, tool.variable);
    if (value && *value != "0")
      checks.push_back({"other tools", Verdict::kWarning,
                        fmt::format("{}={} {}", tool.variable, *value, tool.consequence),
                        tool.fix});
  }

  return checks;
}

}  // namespace stepscope::doctor
