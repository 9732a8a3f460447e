#include "trace/import/formats/nsys/metrics_table.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace stepscope::import::nsys {
namespace {

struct Counter {
  model::EventBatch* rows = nullptr;
  model::StringId name;
};

class MetricsTable {
 public:
  explicit MetricsTable(Processes& processes) : processes_(processes) {
    TableScan names(processes_.database, "TARGET_INFO_GPU_METRICS",
                    {"typeId", "metricId", "metricName"});
    while (names.next())
      names_[{names.integer(0), names.integer(1)}] = names.text(2).substr(0, kMostNameBytes);
    TableScan devices(processes_.database, "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"});
    while (devices.next())
      if (!devices.is_null(2))
        devices_[{devices.integer(0), devices.integer(2)}] =
            static_cast<int32_t>(devices.integer(1) & 0xFFFF);
  }

  uint64_t read() {
    TableScan scan(processes_.database, "GPU_METRICS",
                   {"timestamp", "typeId", "metricId", "value"});
    std::pair<int64_t, int64_t> last{-1, -1};
    Counter counter;
    uint64_t of_unused = 0;

    while (scan.next()) {
      std::pair const key(scan.integer(1), scan.integer(2));
      if (key != last) counter = counter_of(last = key);

      double const value = scan.real(3);
      if (counter.rows == nullptr || !std::isfinite(value)) {
        ++of_unused;
        continue;
      }

      int64_t const time = scan.integer(0);
      if (time == 0 && scan.is_null(0)) {
        ++processes_.untimed;
        continue;
      }

      counter.rows->add(model::EventKind::kSample, processes_.trace_time(time), 0, counter.name, 0,
                        model::SampleDetail{value});
    }

    return of_unused;
  }

 private:
  /// CUDA's number of a GPU in a process, −1 where the process does not see it. Where the export
  /// lists no device of the process it is the GPU's own.
  [[nodiscard]] int32_t device_of(int64_t process, int64_t gpu) const {
    auto const first = devices_.lower_bound({process, INT64_MIN});
    if (first == devices_.end() || first->first.first != process) return static_cast<int32_t>(gpu);
    auto const listed = devices_.find({process, gpu});
    return listed == devices_.end() ? -1 : listed->second;
  }

  Counter counter_of(std::pair<int64_t, int64_t> const& key) {
    auto const [known, is_new] = counters_.try_emplace(key);
    if (!is_new || counters_.size() > kMostTracks) return known->second;

    // The lowest byte of the type is the number of the GPU.
    int64_t const gpu = key.first & 0xFF;
    Process* most = nullptr;
    int32_t device_of_most = -1;
    for (auto& [process_key, process] : processes_.all()) {
      int32_t const device = device_of(system_id(process_key), gpu);
      uint64_t const ops = process.device_ops(device);
      if (device < 0 || ops == 0 || (most != nullptr && ops <= most->device_ops(device_of_most)))
        continue;
      most = &process;
      device_of_most = device;
    }

    if (most == nullptr) return known->second;
    auto const listed = names_.find(key);
    std::string scratch;
    std::string const name(listed != names_.end()
                               ? clean_name(listed->second, scratch, processes_.names.cut)
                               : std::string_view(scratch = fmt::format("metric {}", key.second)));

    known->second = {
        &most->track({TrackKey::Kind::kCounter, key.second, device_of_most, key.first, name}).rows,
        most->builder.intern(name)};
    return known->second;
  }

  Processes& processes_;
  std::map<std::pair<int64_t, int64_t>, std::string> names_;  ///< by type and metric
  std::map<std::pair<int64_t, int64_t>, int32_t> devices_;    ///< CUDA's number by process and GPU
  std::map<std::pair<int64_t, int64_t>, Counter> counters_;
};

}  // namespace

uint64_t read_metrics_table(Processes& processes) { return MetricsTable(processes).read(); }

}  // namespace stepscope::import::nsys
