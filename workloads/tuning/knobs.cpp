#include "workloads/tuning/knobs.h"

#include <array>

namespace stepscope::workloads {
namespace {

constexpr std::array kOnOff = {"on", "off"};
constexpr std::array kNoDelay = {"0"};
constexpr std::array kThreads = {"1", "2", "4", "8"};
constexpr std::array kPrefetched = {"0", "1", "2", "4"};
constexpr std::array kBuckets = {"0.25", "1", "4", "25"};
constexpr std::array kPrecisions = {"fp32", "tf32", "bf16"};
constexpr std::array kNoEvaluation = {"--no-evaluate"};

// The defaults are those of TrainOptions; a test compares them.
constexpr std::array kTrainingKnobs = {
    TuningKnob{"input-delay-ms", "--input-delay-ms", "", "", kNoDelay, "0", "input-delay-ms"},
    TuningKnob{"overlap", nullptr, "", "--no-overlap", kOnOff, "on", "overlap"},
    TuningKnob{"loader-threads", "--loader-threads", "", "", kThreads, "1", "loader-workers"},
    TuningKnob{"prefetch", "--prefetch", "", "", kPrefetched, "1", "prefetch"},
    TuningKnob{"bucket-mb", "--bucket-mb", "", "", kBuckets, "0.25", "bucket-mib"},
    TuningKnob{"cuda-graphs", nullptr, "--cuda-graphs", "", kOnOff, "off", "cuda-graphs", false,
               true},
    TuningKnob{"precision", "--precision", "", "", kPrecisions, "fp32", "", true, true},
};

bool is_training(std::string_view workload) {
  return workload == "cifar10" || workload == "mnist" || workload == "gan" || workload == "gpt";
}

}  // namespace

std::span<TuningKnob const> tuning_knobs(std::string_view workload) {
  if (!is_training(workload)) return {};
  return kTrainingKnobs;
}

std::span<char const* const> tuning_arguments(std::string_view workload) {
  if (!is_training(workload) || workload == "gan") return {};
  return kNoEvaluation;
}

}  // namespace stepscope::workloads
