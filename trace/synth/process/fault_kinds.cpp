#include "trace/synth/process/fault_kinds.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace stepscope::synth {
namespace {

using enum FaultType;

// Usual amounts cost a tenth to a third of a step: visible, and no more than real ones do.
constexpr std::array kFaults = {
    FaultKind{kNone, "none", "", 0, 0, 0, false, "", 1, "", false, "a healthy job"},
    FaultKind{kInput, "input", "MS", 4, 0.1, 10'000, false, "", 1, "input-bound", true,
              "every batch comes so late"},
    FaultKind{kHostBound, "host-bound", "US", 120, 1, 100'000, false, "", 1, "host-bound-launches",
              true, "the host is busy for so long before every launch of a layer"},
    FaultKind{kSync, "sync", "US", 100, 0, 100'000, false, "", 1, "blocking-sync", true,
              "the host waits for its device after every layer, and needs so long to come back"},
    FaultKind{kAllocation, "allocation", "MS", 8, 0.1, 10'000, false, "", 1, "allocation-in-step",
              true, "cudaMalloc and cudaFree within the step take so long"},
    FaultKind{kLateRank, "late-rank", "MS", 4, 0.1, 10'000, false, "", 2, "straggler", true,
              "one rank's host comes so late to every step"},
    FaultKind{kStraggler, "straggler", "TIMES", 1.3, 1, 100, false, "", 2, "straggler", true,
              "one rank's kernels take so many times as long"},
    FaultKind{kImbalance, "imbalance", "TIMES", 1.4, 1, 100, false, "dp moe", 2, "load-imbalance",
              true, "in every step another rank has so many times the work"},
    FaultKind{kSmallBuckets, "small-buckets", "COUNT", 24, 1, 1'000, true, "dp", 2, "small-buckets",
              true, "so many all-reduces a layer, one for every parameter"},
    FaultKind{kNoOverlap, "no-overlap", "TIMES", 1, 0.1, 100, false, "dp", 2,
              "exposed-communication", true,
              "all-reduces begin after the backward pass, of so many times the usual gradients"},
    FaultKind{kSlowLink, "slow-link", "PERCENT", 20, 1, 100, false, "dp moe", 2,
              "exposed-communication", true, "all links have so much of their bandwidth"},
    FaultKind{kSlowPair, "slow-pair", "PERCENT", 10, 1, 100, false, "pipeline", 3, "slow-link",
              true, "the link between two of the ranks has so much of its bandwidth"},
    FaultKind{kSlowGroup, "slow-group", "PERCENT", 30, 1, 100, false, "moe", 8, "slow-link", true,
              "the links of one of the groups of four that exchange tokens have so much of their "
              "bandwidth"},
    FaultKind{kPageableCopies, "pageable-copies", "MIB", 24, 0.1, 10'000, false, "dp moe", 1,
              "pageable-copies", true,
              "a batch of so much is copied from pageable memory before the step goes on"},
    FaultKind{kSerializedCopies, "serialized-copies", "MIB", 80, 0.1, 10'000, false, "dp moe", 1,
              "serialized-copies", true,
              "a batch of so much is copied on the stream that computes"},
    FaultKind{kTinyKernels, "tiny-kernels", "US", 2.5, 1, 1'000, false, "", 1, "launch-latency",
              true, "the layers' kernels are split in pieces of so long"},
    FaultKind{kTensorCores, "tensor-cores", "TIMES", 2, 1, 100, false, "", 1, "tensor-cores-unused",
              true,
              "matrix products run in fp32 without tensor cores and take so many times as long"},
    FaultKind{kSmallGrids, "small-grids", "BLOCKS", 40, 1, 131, true, "", 1, "small-grids", true,
              "a kernel of every layer has so few blocks"},
    FaultKind{kSerializedStreams, "serialized-streams", "", 0, 0, 0, false, "dp", 1,
              "serialized-streams", true,
              "work of two streams that could run at once waits for each other"},
    FaultKind{kOutliers, "outliers", "MS", 60, 0.1, 10'000, false, "", 1, "step-outliers", true,
              "every tenth step a checkpoint is saved for so long"},
    FaultKind{kWarmup, "warmup", "STEPS", 5, 2, 1'000, true, "", 1, "warmup-in-measurement", true,
              "so many first steps are slow"},
    FaultKind{kLeak, "leak", "MIB", 64, 0.1, 1'000, false, "", 1, "memory-leak", false,
              "so much memory stays behind after a step"},
    FaultKind{kPressure, "pressure", "PERCENT", 95, 1, 100, false, "", 1, "memory-pressure", false,
              "so much of the device's memory is in use at the peak"},
    FaultKind{kFragmentation, "fragmentation", "MIB", 256, 1, 1'000, false, "", 1,
              "memory-fragmentation", false,
              "so much memory is churned in every step, in sizes that leave holes"},
    FaultKind{kThrottling, "throttling", "TIMES", 1.3, 1, 100, false, "", 1, "throttling", true,
              "clocks fall for some steps: all kernels take so many times as long"},
    FaultKind{kLostRecords, "lost-records", "PERCENT", 40, 1, 90, false, "", 1, "trace-quality",
              false, "so much of the launches was not recorded"},
    FaultKind{kUnfusedAttention, "unfused-attention", "TIMES", 4, 0.5, 100, false, "moe", 1,
              "unfused-attention", false,
              "attention is two matrix products and a softmax that takes so many times as long as "
              "the fused kernel"},
    FaultKind{kMisalignedMatrices, "misaligned-matrices", "TIMES", 2, 1, 100, false, "moe pipeline",
              1, "misaligned-matrices", false,
              "matrix products have odd sizes and take so many times as long"},
    FaultKind{kElementwise, "elementwise", "TIMES", 2, 0.1, 100, false, "dp pipeline", 1,
              "elementwise-dominated", false,
              "every kernel is followed by an element-wise one that takes so many times as long"},
    FaultKind{kUnsizedBuckets, "unsized-buckets", "COUNT", 24, 1, 1'000, true, "dp", 2,
              "unbucketed-gradients", false,
              "so many all-reduces a layer, in a recording that does not tell their sizes"},
    FaultKind{kMissingRanks, "missing-ranks", "PERCENT", 15, 1, 100, false, "dp", 2,
              "apparent-bandwidth", false,
              "all links have so much of their bandwidth, and only rank 0 was recorded"},
    FaultKind{kPythonFrames, "python-frames", "COUNT", 200, 1, 10'000, true, "dp moe", 1,
              "profiler-overhead", false,
              "the profiler records so many Python calls before every launch of a layer"},
};

std::string known_names() {
  std::string names;
  for (FaultKind const& kind : kFaults)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

}  // namespace

std::span<FaultKind const> fault_kinds() { return kFaults; }

std::string_view finding_of(FaultKind const& kind, std::string_view pattern, int32_t ranks) {
  // Eight micro-batches are enough for two stages (docs/reference/FINDINGS.md).
  bool const has_bubble = pattern == "pipeline" && ranks > 2;
  return kind.type == kNone && has_bubble ? "pipeline-bubble" : kind.finding;
}

std::string usage_of(FaultKind const& kind) {
  return kind.unit.empty() ? std::string(kind.name) : fmt::format("{}={}", kind.name, kind.unit);
}

base::Expected<Fault> parse_fault(std::string_view text) {
  size_t const equals = text.find('=');
  std::string_view const name = text.substr(0, equals);
  for (FaultKind const& kind : kFaults) {
    if (kind.name != name) continue;
    if (equals == std::string_view::npos) return Fault{&kind, kind.usual};
    if (kind.unit.empty()) return base::fail("fault {}: takes no amount", name);
    std::string_view const digits = text.substr(equals + 1);
    double amount = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
    bool const is_number = error == std::errc() && end == digits.data() + digits.size();
    if (!is_number || !(amount >= kind.least && amount <= kind.most) ||
        (kind.is_whole && amount != std::floor(amount)))
      return base::fail("fault {}: {}: not a {}number from {} to {}, use {}", name, digits,
                        kind.is_whole ? "whole " : "", kind.least, kind.most, usage_of(kind));
    return Fault{&kind, amount};
  }
  return base::fail("fault {}: unknown, choose one of: {}", name, known_names());
}

}  // namespace stepscope::synth
