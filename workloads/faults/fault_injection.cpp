// The list of pathologies, and those that happen once a step; see fault_injection.h.
#include "workloads/faults/fault_injection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "trace/base/files/output_file.h"
#include "tracer/api/annotate.h"
#include "workloads/options.h"

namespace stepscope::workloads {
namespace {

int64_t whole(double value) { return static_cast<int64_t>(value); }
uint64_t mebibytes(double value) { return static_cast<uint64_t>(value) << 20U; }

void apply_late_rank(TrainOptions& o, double device) {
  constexpr int64_t kLateMs = 30;
  o.step_faults.late_device = whole(device);
  o.step_faults.late_ms = kLateMs;
}

void apply_no_overlap(TrainOptions& o, double times) {
  o.overlap = false;
  o.exchanges = std::max<int64_t>(1, whole(times));
}

void apply_alloc_every_step(TrainOptions& o, double mib) {
  o.step_faults.allocate_bytes = mebibytes(mib);
  o.device_faults.uncached_memory = true;
}

void apply_checkpoint_stall(TrainOptions& o, double ms) {
  constexpr int64_t kCheckpointSteps = 10;
  o.step_faults.checkpoint_stall_ms = whole(ms);
  o.checkpoint_every = kCheckpointSteps;
}

constexpr std::array kKinds = {
    FaultInjectionKind{
        "slow-input", "MS", 100, "every batch comes so late from the store, without read-ahead",
        "input-bound", [](TrainOptions& o, double ms) { o.input_delay_ms = whole(ms); }},
    FaultInjectionKind{
        "sync-every-op", "", 0, "the host waits for every operation before it launches the next",
        "blocking-sync",
        [](TrainOptions& o, double) { o.device_faults.synchronize_every_op = true; }},
    FaultInjectionKind{"tiny-kernels", "ELEMENTS", 1024,
                       "element-wise operations are launched in pieces of so many elements",
                       "launch-latency",
                       [](TrainOptions& o, double elements) {
                         o.device_faults.largest_operation =
                             static_cast<size_t>(std::max<int64_t>(1, whole(elements)));
                       }},
    FaultInjectionKind{"pageable-copies", "", 0,
                       "copies from memory that is not page-locked: the host waits for each",
                       "blocking-sync",
                       [](TrainOptions& o, double) { o.device_faults.pageable_copies = true; }},
    FaultInjectionKind{"small-buckets", "", 0, "an all-reduce for every parameter", "small-buckets",
                       [](TrainOptions& o, double) { o.bucket_mb = 0; }},
    FaultInjectionKind{"no-overlap", "TIMES", 1,
                       "all-reduces begin after the backward pass, and each is made so many times",
                       "exposed-communication", apply_no_overlap},
    FaultInjectionKind{
        "straggler", "DEVICE", -1, "this device takes twice as long to compute", "straggler",
        [](TrainOptions& o, double device) { o.device_faults.slow_device = whole(device); }},
    FaultInjectionKind{"late-rank", "DEVICE", -1,
                       "this device's host comes 30 ms late to every step", "straggler",
                       apply_late_rank},
    FaultInjectionKind{
        "alloc-every-step", "MIB", 64,
        "so much device memory is allocated and freed in every step, without a cache",
        "allocation-in-step", apply_alloc_every_step},
    FaultInjectionKind{"leak", "BYTES", 1 << 20,
                       "so much device memory stays behind after every step", "memory-leak",
                       [](TrainOptions& o, double bytes) {
                         o.step_faults.leak_bytes = static_cast<uint64_t>(bytes);
                       }},
    FaultInjectionKind{
        "fragmentation", "MIB", 16, "so much device memory is churned in sizes that leave holes",
        "memory-fragmentation",
        [](TrainOptions& o, double mib) { o.step_faults.fragment_bytes = mebibytes(mib); }},
    FaultInjectionKind{
        "host-bound", "US", 1000, "the host is busy for so long before every launch",
        "host-bound-launches",
        [](TrainOptions& o, double us) { o.device_faults.launch_delay_us = whole(us); }},
    FaultInjectionKind{"checkpoint-stall", "MS", 500,
                       "the store takes so long for a checkpoint, every tenth step",
                       "step-outliers", apply_checkpoint_stall},
    FaultInjectionKind{"imbalanced-split", "TIMES", 3,
                       "the first stage gets so many times its share of the work", "straggler",
                       nullptr},
};

std::string known_names() {
  std::string names;
  for (FaultInjectionKind const& kind : kKinds)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

}  // namespace

std::span<FaultInjectionKind const> fault_injection_kinds() { return kKinds; }

std::string FaultInjection::text() const {
  return *kind->unit == '\0' ? std::string(kind->name) : fmt::format("{}={:g}", kind->name, value);
}

base::Expected<FaultInjection> parse_fault_injection(std::string_view text) {
  size_t const equals = text.find('=');
  std::string_view const name = text.substr(0, equals);

  for (FaultInjectionKind const& kind : kKinds) {
    if (kind.name != name) continue;
    bool const takes_value = *kind.unit != '\0';

    if (equals == std::string_view::npos) {
      if (kind.default_value < 0)
        return base::fail("pathology {}: needs a value, {}={}", name, name, kind.unit);
      return FaultInjection{&kind, kind.default_value};
    }

    if (!takes_value) return base::fail("pathology {}: takes no value", name);
    std::string_view const digits = text.substr(equals + 1);
    double value = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr double kLargest = 1e12;
    if (error != std::errc() || end != digits.data() + digits.size() ||
        !(value >= 0 && value <= kLargest)) {
      return base::fail("pathology {}: {}: not a number from 0 to {:g}, use {}={}", name, digits,
                        kLargest, name, kind.unit);
    }

    // All but shares are counted: devices, milliseconds, bytes.
    if (kind.apply != nullptr && value != std::floor(value)) {
      return base::fail("pathology {}: {}: not a whole number, use {}={}", name, digits, name,
                        kind.unit);
    }
    return FaultInjection{&kind, value};
  }

  return base::fail("pathology {}: unknown, choose one of: {}", name, known_names());
}

std::string list_pathologies(bool pipeline) {
  std::string list;
  for (FaultInjectionKind const& kind : kKinds) {
    if (kind.pipeline() != pipeline) continue;
    std::string const value = *kind.unit == '\0' ? "" : fmt::format("={}", kind.unit);
    list += fmt::format("\n  {}{}: {}", kind.name, value, kind.what);
    if (kind.default_value > 0) list += fmt::format(" (default {:g})", kind.default_value);
  }
  return list;
}

base::Expected<std::vector<FaultInjection>> parse_pathologies(std::span<std::string const> texts,
                                                              bool pipeline) {
  std::vector<FaultInjection> result;
  for (std::string const& text : texts) {
    auto fault_injection = parse_fault_injection(text);
    if (!fault_injection) return base::fail_with(fault_injection);

    if (fault_injection->kind->pipeline() != pipeline) {
      return base::fail("pathology {}: is of {}", fault_injection->kind->name,
                        pipeline ? "the workloads that train data-parallel" : "the workload split");
    }
    result.push_back(*fault_injection);
  }

  return result;
}

base::Expected<void> StepFaultInjector::begin_step(int64_t step) {
  if (is_late_) {
    api::Work const busy("busy elsewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(faults_.late_ms));
  }

  if (faults_.allocate_bytes > 0) {
    auto made =
        device_.allocate(faults_.allocate_bytes, MemoryPurpose::kWorkspace, "scratch of the step");
    if (!made) return base::fail_with(made);
    in_step_ = std::move(*made);
  }

  if (faults_.leak_bytes > 0) {
    auto made = device_.allocate(faults_.leak_bytes, MemoryPurpose::kOther, "leaked");
    if (!made) return base::fail_with(made);
    kept_.push_back(std::move(*made));
  }

  if (faults_.fragment_bytes > 0) return fragment(step);
  return {};
}

/// Large blocks, freed a step later, each followed by a small one that stays: every hole is a
/// little too small for the blocks of the next step. What is reserved grows, what is allocated
/// hardly does.
base::Expected<void> StepFaultInjector::fragment(int64_t step) {
  constexpr uint64_t kBlocks = 16, kGrowth = 4096, kSmall = 256;
  uint64_t const large = faults_.fragment_bytes / kBlocks + static_cast<uint64_t>(step) * kGrowth;

  std::vector<Buffer> next;
  for (uint64_t i = 0; i < 2 * kBlocks; ++i) {
    bool const stays = i % 2 == 1;
    auto made = device_.allocate(stays ? kSmall : large, MemoryPurpose::kActivations, "churn");
    if (!made) return base::fail_with(made);
    (stays ? kept_ : next).push_back(std::move(*made));
  }

  churned_ = std::move(next);
  return {};
}

void record_pathologies(std::span<FaultInjection const> pathologies) {
  if (pathologies.empty()) return;

  nlohmann::json list = nlohmann::json::array();
  for (FaultInjection const& fault_injection : pathologies) {
    api::Work const mark(("pathology " + fault_injection.text()).c_str());
    list.push_back({{"name", fault_injection.kind->name},
                    {"value", fault_injection.value},
                    {"unit", fault_injection.kind->unit},
                    {"what", fault_injection.kind->what},
                    {"expected_finding", fault_injection.kind->finding}});
  }

  char const* const folder = std::getenv("STEPSCOPE_OUTPUT");
  if (folder == nullptr || *folder == '\0') return;
  // What was asked for is known without it, too; a link that lies there is not followed.
  [[maybe_unused]] auto const written = base::write_file_atomically(
      std::filesystem::path(folder) / "pathology.json",
      nlohmann::json{{"pathologies", list}}.dump(2) + '\n', base::PartialFile::Links::kReplace);
}

}  // namespace stepscope::workloads
