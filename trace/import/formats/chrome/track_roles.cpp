#include "trace/import/formats/chrome/track_roles.h"

#include <algorithm>
#include <array>

#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/import/formats/xplane/op_names.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::EventKind;

/// Words that name a device before its number.
constexpr std::array<std::string_view, 40> kDeviceWords = {
    "gpu",         "npu",           "hpu",
    "tpu",         "xpu",           "mtia",
    "mlu",         "musa",          "gcu",
    "dcu",         "ipu",           "vpu",
    "gaudi",       "gaudi2",        "gaudi3",
    "ascend",      "neuroncore",    "neuron",
    "nc",          "device id",     "cuda",
    "cuda device", "device",        "hip",
    "hip device",  "deviceid",      "sycl device",
    "sycl gpu",    "accelerator",   "rocm",
    "rocm gpu",    "rocm device",   "level zero gpu",
    "ze gpu",      "opencl device", "davinci",
    "xla_gpu",     "xla_tpu",       "gpu device",
    "gpu card"};
/// Words of makers and of series before a model, as "NVIDIA A100-SXM4-40GB (1)", "AMD Instinct #2":
/// devices where the name has the number of a model or of the device.
constexpr std::array<std::string_view, 12> kMakers = {"nvidia ",
                                                      "amd instinct",
                                                      "amd radeon",
                                                      "tesla ",
                                                      "geforce ",
                                                      "quadro ",
                                                      "intel(r) data center gpu",
                                                      "intel data center gpu",
                                                      "radeon ",
                                                      "habana ",
                                                      "biren ",
                                                      "moore threads "};
/// Nsight Systems' row of all that one device did; ROCm calls processors of all kinds agents.
constexpr std::string_view kCudaHardware = "cuda hw (";
constexpr std::array<std::string_view, 2> kAgents = {"agent", "hsa agent"};
/// Whole names of processes that hold the work of one device.
constexpr std::array<std::string_view, 8> kUnnumberedDevices = {
    "ascend hardware", "gpu", "npu", "hpu", "tpu", "mtia", "neuroncore", "ai core op"};
/// A thread or process with one of these behind the number works for a device on the host.
constexpr std::array<std::string_view, 22> kHostWords = {
    "worker", "thread",  "host",     "api",     "cpu",    "python", "load",     "monitor",
    "manage", "schedul", "dispatch", "launch",  "poll",   "feed",   "callback", "tensors",
    "driver", "daemon",  "service",  "runtime", "nsight", "server"};
/// Lanes that tools make from the ops of a device.
constexpr std::array<std::string_view, 17> kDerivedLanes = {"xla modules",
                                                            "xla traceme",
                                                            "framework name scope",
                                                            "framework ops",
                                                            "source code",
                                                            "source",
                                                            "modules",
                                                            "launch stats",
                                                            "tensorflow ops",
                                                            "tensorflow name scope",
                                                            "sparse core steps",
                                                            "sparse core modules",
                                                            "computing",
                                                            "communication",
                                                            "communication(not overlapped)",
                                                            "free",
                                                            "overlap analysis"};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}
template <size_t Size>
bool is_listed(std::string_view text, std::array<std::string_view, Size> const& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}
template <size_t Size>
bool holds_any(std::string_view text, std::array<std::string_view, Size> const& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// The number that stands here, behind a space or a sign; nothing: none does.
std::optional<int64_t> take_number(std::string_view& text) {
  size_t const first = text.find_first_not_of(" :#/_-[");
  if (first == std::string_view::npos) return std::nullopt;
  size_t last = first;
  while (last < text.size() && text[last] >= '0' && text[last] <= '9') ++last;
  constexpr size_t kMostDigits = 6;
  if (last == first || last - first > kMostDigits) return std::nullopt;
  auto const number = parse_integer(text.substr(first, last - first));
  text.remove_prefix(last);
  return number;
}

struct NumberedDevice {
  std::string_view word, rest;
  int32_t number = 0;
};
/// "gpu 0 (process 123)", "gpu/0", "deviceid: 0": in lower case.
std::optional<NumberedDevice> numbered_device(std::string_view name) {
  NumberedDevice device;
  for (std::string_view const word : kDeviceWords) {
    if (!name.starts_with(word)) continue;

    std::string_view rest = name.substr(word.size());
    auto const number = take_number(rest);
    bool const is_end =
        rest.empty() || std::string_view(" ,:;/([]|-").find(rest[0]) != std::string_view::npos;

    if (!number || !is_end || holds_any(rest, kHostWords)) continue;
    device = {word, rest, static_cast<int32_t>(*number)};
    return device;
  }

  return std::nullopt;
}

/// Where a name that begins with a maker or as an agent says its number: "… (1)", "… [1]", "… #1",
/// "… gpu 1", at its end.
std::optional<int32_t> device_number_at_end(std::string_view name) {
  if (!name.empty() && (name.back() == ')' || name.back() == ']')) name.remove_suffix(1);
  size_t const first = name.find_last_not_of("0123456789") + 1;
  std::string_view const before = name.substr(0, first);
  bool const is_number = before.ends_with('(') || before.ends_with('[') || before.ends_with('#') ||
                         before.ends_with("gpu ") || before.ends_with("device ");
  if (!is_number) return std::nullopt;
  std::string_view rest = name.substr(first);
  auto const number = take_number(rest);
  return number ? std::optional(static_cast<int32_t>(*number)) : std::nullopt;
}

/// "nvidia a100-sxm4-40gb (1)", "[0] nvidia geforce rtx 4090", "cuda hw (0000:41:00.0 - nvidia
/// a100)": in lower case.
std::optional<ProcessMeaning> named_by_maker(std::string_view name) {
  if (holds_any(name, kHostWords)) return std::nullopt;
  if (name.starts_with(kCudaHardware))
    return ProcessMeaning{ProcessRole::kDevice, std::string(name), std::nullopt, std::nullopt};

  std::string_view rest = name;
  std::optional<int32_t> number;
  if (rest.starts_with('[')) {
    if (auto const in_front = take_number(rest); in_front && rest.starts_with("] "))
      number = static_cast<int32_t>(*in_front);
    if (!number) return std::nullopt;
    rest.remove_prefix(2);
  }
  bool const has_maker = std::any_of(kMakers.begin(), kMakers.end(), [&](std::string_view maker) {
    return rest.starts_with(maker);
  });
  bool const has_digit = rest.find_first_of("0123456789") != std::string_view::npos;
  if (!has_maker || !has_digit) return std::nullopt;
  if (!number) number = device_number_at_end(rest);
  return ProcessMeaning{ProcessRole::kDevice, std::string(name), number, std::nullopt};
}

/// "agent 2 (gfx942)": the one in brackets says that it is a GPU.
std::optional<ProcessMeaning> gpu_agent(std::string_view name) {
  for (std::string_view const word : kAgents) {
    if (!name.starts_with(word)) continue;
    std::string_view rest = name.substr(word.size());

    auto const number = take_number(rest);
    if (number &&
        (rest.find("gfx") != std::string_view::npos || rest.find("gpu") != std::string_view::npos))
      return ProcessMeaning{ProcessRole::kDevice, std::string(name), static_cast<int32_t>(*number),
                            std::nullopt};
  }
  return std::nullopt;
}

/// TensorFlow and XLA: "/job:worker/replica:0/task:1/device:GPU:0/stream:13 Compute",
/// "/gpu:0/stream:13 Compute".
ProcessMeaning meaning_of_path(std::string const& name) {
  ProcessMeaning meaning;
  size_t at = name.rfind("/device:");
  size_t word = at == std::string::npos ? 0 : at + std::string_view("/device:").size();
  if (at == std::string::npos) {
    at = name.rfind("/gpu:");
    if (at == std::string::npos) return meaning;
    word = at + 1;
  }

  auto const device = numbered_device(std::string_view(name).substr(word));
  if (!device) return meaning;
  std::string_view const rest = device->rest;
  meaning.device = name.substr(0, name.size() - rest.size());
  meaning.number = device->number;

  constexpr std::string_view kStream = "/stream:";
  if (rest.starts_with(kStream)) {
    std::string_view number = rest.substr(kStream.size());
    meaning.stream = take_number(number);
    meaning.role = meaning.stream ? ProcessRole::kDevice : ProcessRole::kAllStreams;
  } else if (rest.starts_with("/memcpy")) {
    meaning.role = ProcessRole::kAllStreams;
    meaning.stream = 1;
  } else if (rest.find("compute") == std::string_view::npos) {
    // With "Compute" it is when the host handed the ops out.
    meaning.role = ProcessRole::kDevice;
  }

  return meaning;
}

}  // namespace

ProcessMeaning meaning_of_process(std::string_view text) {
  std::string const name = in_small_letters(text);
  if (name.starts_with('/')) return meaning_of_path(name);

  if (auto const device = numbered_device(name)) {
    ProcessMeaning meaning{ProcessRole::kDevice, {}, device->number, std::nullopt};
    meaning.device = std::string(device->word) + " " + std::to_string(device->number);
    return meaning;
  }

  if (auto const device = named_by_maker(name)) return *device;
  if (auto const device = gpu_agent(name)) return *device;

  if (is_listed(name, kUnnumberedDevices))
    return {ProcessRole::kDevice, name, std::nullopt, std::nullopt};
  if (name == "communication" || name == "hccl")
    return {ProcessRole::kCommunication, "ascend hardware", std::nullopt, std::nullopt};
  if (name == "overlap analysis") return {ProcessRole::kDerived, {}, std::nullopt, std::nullopt};

  return {};
}

std::optional<int64_t> stream_of_lane(std::string_view thread_name) {
  std::string const name = in_small_letters(thread_name);
  for (std::string_view const word : {"stream", "queue"}) {
    size_t const at = name.find(word);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(name).substr(at + word.size());
    if (auto const number = take_number(rest)) return number;
  }
  return std::nullopt;
}

LaneRole role_of_lane(std::string_view thread_name) {
  std::string const name = in_small_letters(thread_name);
  if (name == "steps") return LaneRole::kSteps;
  if (name == "xla ops" || name == "async xla ops" || name == "sparse core ops")
    return LaneRole::kPrograms;
  if (is_listed(name, kDerivedLanes) || name.starts_with("plane ")) return LaneRole::kDerived;
  return LaneRole::kStream;
}

std::optional<ProcessMeaning> meaning_of_host_lane(std::string_view thread_name) {
  std::string const name = in_small_letters(thread_name);

  bool const is_xla_stream = name.starts_with("stream #") && name.ends_with(')');
  if (is_xla_stream)
    return ProcessMeaning{ProcessRole::kDevice, "device of threads", std::nullopt,
                          stream_of_lane(name)};

  ProcessMeaning meaning = meaning_of_process(name);
  bool const is_stream = meaning.role == ProcessRole::kDevice && meaning.number;
  if (!is_stream) return std::nullopt;

  if (!meaning.stream) meaning.stream = stream_of_lane(name);
  return meaning;
}

EventKind kind_of_device_work(std::string_view text) {
  std::string const name = in_small_letters(text.substr(0, text.find('(')));
  auto const has = [&](std::string_view part) { return name.find(part) != std::string::npos; };

  if (has("memcpy") || has("memory copy") || has("memorycopy") || name.starts_with("copyhost") ||
      name.starts_with("copydevice") || name.starts_with("__amd_rocclr_copy"))
    return EventKind::kMemcpy;
  if (has("memset") || has("memoryfill") || name.starts_with("fillbuffer") ||
      name.starts_with("__amd_rocclr_fill"))
    return EventKind::kMemset;

  bool const is_event = has("notify") || (has("event") && (has("wait") || has("record")));
  if (is_event && !has("kernel")) return EventKind::kStreamWait;
  if (model::is_communication_kernel(text) || name.starts_with("hcom_") || name.starts_with("hccl"))
    return EventKind::kCollective;
  return meaning_of_xla_op(text, {}).role == OpRole::kCollective ? EventKind::kCollective
                                                                 : EventKind::kKernel;
}

}  // namespace stepscope::import
