// A synthetic run of data-parallel training on N devices, with the shape of a real one. It has
// input wait, copy in, layers forward and backward, bucketed all-reduce on its own stream,
// optimizer and allocations. Options add faults of known cost. Deterministic.
#pragma once

#include <cstdint>

#include "trace/model/run.h"

namespace stepscope::support {

/// How the host marks its steps.
enum class StepMarks : uint8_t { kAnnotation, kRangeName, kColouredRange, kProfilerStep, kNone };

struct SyntheticOptions {
  int32_t devices = 2;
  int64_t steps = 8;
  int32_t layers = 6;
  bool process_per_device =
      false;  ///< one trace a device instead of one trace with a thread a device
  StepMarks marks = StepMarks::kAnnotation;
  uint32_t seed = 1;

  // The healthy run: a step of about 20 ms that is busy computing.
  int64_t forward_ns = 1'000'000;   ///< of one layer
  int64_t backward_ns = 2'000'000;  ///< of one layer
  int64_t copy_ns = 300'000;        ///< of the batch to the device
  double jitter = 0.01;             ///< kernel durations vary by this share, evenly
  uint64_t bucket_bytes = 4U << 20;
  int32_t layers_per_bucket = 2;
  double link_alpha_ns = 20'000;  ///< a collective takes alpha + bytes / bytes_per_ns
  double link_bytes_per_ns = 10;
  bool sync_each_step =
      true;  ///< the host waits for the device at the end of every step; false = it runs ahead
  uint64_t capacity_bytes = 1U << 30;

  // Faults.
  int64_t input_delay_ns = 0;        ///< every step waits so much longer for its batch
  int64_t host_delay_ns = 0;         ///< host work (range "python overhead") before every launch
  bool sync_every_op = false;        ///< a blocking sync after every kernel
  bool allocate_in_step = false;     ///< every layer allocates (200 µs each) in every step
  uint64_t leak_bytes_per_step = 0;  ///< allocated in every step and never freed
  int32_t straggler_device = -1;     ///< its kernels take straggler_factor as long
  double straggler_factor = 1.5;     ///< see straggler_device
  bool messages = false;   ///< sends and receives between two devices instead of all-reduces
  bool overlap = true;     ///< false: all-reduces start after the whole backward pass
  int64_t slow_step = -1;  ///< the host pauses slow_step_ns (phase "checkpoint") inside this step
  int64_t slow_step_ns = 50'000'000;  ///< see slow_step
  uint32_t cores = 0;                 ///< fact "cores" of the trace; 0 = not there
  uint32_t device_threads = 1;

  // Things that must not change any result.
  int64_t origin_ns = 1'000'000;     ///< instant at which the run begins, in trace time
  bool reverse_tracks = false;       ///< tracks are added in the opposite order
  int64_t rank_clock_offset_ns = 0;  ///< with process_per_device: rank r's clock is r × this
                                     ///< behind, RankTrace::offset_ns says so
};

/// Events of one step of one device, as counted by hand from the options; for tests of
/// completeness.
int64_t synthetic_ops_per_step(SyntheticOptions const& options);

model::Run make_synthetic_run(SyntheticOptions const& options = {});

}  // namespace stepscope::support
