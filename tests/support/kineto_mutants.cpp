#include "tests/support/kineto_mutants.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stepscope::support {
namespace {

using nlohmann::json;

constexpr double kStepUs = 1000;

/// Writes the events of one process.
class JobWriter {
 public:
  JobWriter(KinetoJob const& job, int process, json& events)
      : job_(job), process_(process), events_(events) {}

  void write() {
    for (int step = 0; step < job_.steps; ++step) write_step(step);
  }

 private:
  [[nodiscard]] int pid() const { return 100 + process_; }

  json& add(std::string const& category, std::string const& name, json const& pid, json const& tid,
            double ts, double dur) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", pid},
                       {"tid", tid},
                       {"ts", ts},
                       {"dur", dur}});
    return events_.back();
  }

  void write_step(int step) {
    double const begin = 1e6 + step * kStepUs + process_ * 7;
    add("user_annotation", fmt::format("ProfilerStep#{}", step), pid(), 1, begin, kStepUs - 20);
    add("cpu_op", "aten::copy_", pid(), 1, begin + 5, 30);
    launch("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, begin + 10, 60);

    for (int kernel = 0; kernel < job_.kernels_per_step; ++kernel)
      launch("cudaLaunchKernel", "kernel", fmt::format("gemm_{}", kernel % 3), 7,
             begin + 60 + kernel * 40, 90 + kernel);

    json& reduce = launch("cudaLaunchKernel", "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                          20, begin + 400, 150);
    reduce["args"].update({{"Collective name", "allreduce"},
                           {"In msg nelems", 1 << 18},
                           {"Out msg nelems", 1 << 18},
                           {"dtype", "Float"},
                           {"Group size", job_.ranks},
                           {"Process Group Name", "0"},
                           {"Process Group Ranks", "[0, 1]"}});

    launch("cudaLaunchKernel", "kernel", "adam", 7, begin + 450, 70);
    json& sync = add("cuda_runtime", "cudaStreamSynchronize", pid(), 1, begin + 600, 320);
    sync["args"] = {{"correlation", ++correlation_}};
  }

  /// Returns the device op.
  json& launch(std::string const& call, std::string const& category, std::string const& name,
               int stream, double at, double dur) {
    int const device = std::max(job_.rank, 0) + process_;
    add("cuda_runtime", call, pid(), 1, at, 8)["args"] = {{"correlation", ++correlation_}};

    json& op = add(category, name, device, stream, std::max(at + 12, stream_end_), dur);
    op["args"] = {{"correlation", correlation_},
                  {"device", device},
                  {"stream", stream},
                  {"grid", {80, 1, 1}}};
    if (stream == 7) stream_end_ = op["ts"].get<double>() + dur + 1;
    return op;
  }

  KinetoJob const& job_;
  int process_;
  json& events_;
  int correlation_ = 0;
  double stream_end_ = 0;
};

template <class Container>
auto const& any_of(Container const& values, Random& random) {
  return values[random() % values.size()];
}

json any_number(Random& random) {
  static std::array<json, 10> const kNumbers = {
      0, -1, 1, 1e300, INT64_MAX, 1e18, -1e18, 4294967296.0, nullptr, "x"};
  return any_of(kNumbers, random);
}

std::string any_category(Random& random) {
  static std::array<char const*, 9> const kCategories = {
      "kernel",     "cuda_runtime",    "cpu_op",
      "gpu_memcpy", "user_annotation", "gpu_user_annotation",
      "cuda_sync",  "overhead",        "unheard_of"};
  return any_of(kCategories, random);
}

std::string any_name(Random& random) {
  static std::array<char const*, 8> const kNames = {"ProfilerStep#2",
                                                    "step 3",
                                                    "cudaLaunchKernel",
                                                    "cudaStreamWaitEvent",
                                                    "cudaDeviceSynchronize",
                                                    "gemm_0",
                                                    "ncclDevKernel_AllGather_RING_LL",
                                                    "\xC3\xA9"};
  return any_of(kNames, random);
}

/// A change of one event's times.
void move_in_time(json& event, Random& random) {
  auto const number = [&](char const* key) {
    return event.contains(key) && event[key].is_number() ? event[key].get<double>() : 0;
  };
  static std::array<double, 6> const kFactors = {0, 0.5, 2, 10, 1000, -1};

  switch (random() % 3) {
    case 0:
      event["ts"] = number("ts") + (static_cast<double>(random() % 2001) - 1000);
      break;
    case 1:
      event["dur"] = number("dur") * any_of(kFactors, random);
      break;
    default:
      event[random() % 2 == 0 ? "ts" : "dur"] = any_number(random);
  }
}

/// Gives an event what another one has.
void take_from(json& event, json const& other, Random& random) {
  static std::array<char const*, 6> const kKeys = {"ts", "tid", "pid", "cat", "name", "args"};
  char const* const key = any_of(kKeys, random);
  if (other.contains(key)) event[key] = other[key];
}

void damage_event(json& events, Random& random) {
  size_t const at = random() % events.size();
  json& event = events[at];

  switch (random() % 10) {
    case 0:
      events.erase(at);
      break;
    case 1:
      events.push_back(json(event));
      break;
    case 2:
      std::swap(event, events[random() % events.size()]);
      break;
    case 3:
      event["cat"] = any_category(random);
      break;
    case 4:
      event["name"] = any_name(random);
      break;
    case 5:
      if (event.contains("args") && event["args"].is_object())
        event["args"]["correlation"] = random() % 40;
      break;
    case 6:
      event["ph"] = any_of(std::string_view("XBEiMCsf"), random) == 'X'
                        ? "X"
                        : std::string(1, any_of(std::string_view("BEiMC"), random));
      break;
    case 7:
      take_from(event, json(any_of(events, random)), random);
      break;
    default:
      move_in_time(event, random);
  }
}

}  // namespace

json kineto_job(KinetoJob const& job) {
  json file = {{"schemaVersion", 1},
               {"baseTimeNanoseconds", int64_t{1'700'000'000'000'000'000}},
               {"deviceProperties", json::array()},
               {"traceEvents", json::array()}};
  if (job.rank >= 0)
    file["distributedInfo"] = {{"backend", "nccl"}, {"rank", job.rank}, {"world_size", job.ranks}};

  for (int process = 0; process < job.processes; ++process) {
    file["deviceProperties"].push_back(
        {{"id", std::max(job.rank, 0) + process}, {"name", "GPU"}, {"numSms", 108}});
    JobWriter(job, process, file["traceEvents"]).write();
  }
  return file;
}

void damage_events(json& file, Random& random) {
  static std::array<size_t, 4> const kChanges = {1, 3, 10, 40};
  json& events = file["traceEvents"];
  for (size_t left = any_of(kChanges, random); left > 0 && !events.empty(); --left)
    damage_event(events, random);
  if (random() % 8 == 0) file.erase("distributedInfo");
}

void damage_bytes(std::string& bytes, Random& random) {
  for (size_t left = 1 + random() % 4; left > 0 && !bytes.empty(); --left) {
    size_t const at = random() % bytes.size();

    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.erase(at, 1 + random() % 40);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at / 2, 1 + random() % 40));
        break;
      default:
        if (random() % 3 == 0) bytes.resize(at);
    }
  }
}

}  // namespace stepscope::support
