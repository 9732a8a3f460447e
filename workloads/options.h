// The options that all training workloads share, parsed from a command line with CLI11.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/processes.h"
#include "trace/base/expected.h"
#include "workloads/faults/fault_injection.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Validator;
}  // namespace CLI

namespace stepscope::workloads {

/// How gradients become new weights; see update_scheme.h.
enum class UpdateKind : uint8_t { kReplicated, kSharded, kShared };

struct TrainOptions {
  std::string device = "host";
  int64_t batch = 128;  ///< a device
  int64_t steps = 100;  ///< of the whole job: a resumed one goes on to this step
  uint64_t seed = 1;
  int64_t accumulate = 1;   ///< batches a step and device, whose mean gradient is reduced
  double bucket_mb = 0.25;  ///< MiB of gradients that make a bucket full
  bool overlap = true;      ///< all-reduce during the backward pass
  UpdateKind update = UpdateKind::kReplicated;
  int64_t prefetch = 1;  ///< batches staged to the device ahead
  int64_t loader_threads = 1;
  Precision precision = Precision::kFp32;
  uint64_t memory_limit_mib = 0;  ///< a device; 0 = the backend's default
  bool memory_growth = true;      ///< take memory as it is needed, not all at once
  bool log_placement = false;     ///< say which device each operation runs on
  bool soft_placement = false;    ///< what a device lacks is computed on the host
  bool graphs = false;            ///< forward and backward passes are launched as CUDA graphs
  std::string data;               ///< folder; empty = the generated set
  int64_t log_every = 10;         ///< steps; 0 = never
  std::string checkpoint;         ///< file; empty = none
  int64_t checkpoint_every = 0;   ///< steps; 0 = at the end only
  int64_t check_replicas =
      100;             ///< steps from one comparison of the devices' weights to the next; 0 = never
  std::string resume;  ///< checkpoint file; empty = start anew
  int64_t collective_timeout_s = mpi::Processes::kDefaultTimeout.count();
  bool allow_nan = false;  ///< a loss that is not a finite number does not end the training
  bool json = false;
  int64_t input_delay_ms = 0;
  std::vector<FaultInjection>
      pathologies;  ///< as asked for; apply_pathologies() puts them into the other options
  DeviceFaults device_faults;
  StepFaults step_faults;
  int64_t exchanges = 1;  ///< how often gradients are all-reduced; more than once is a fault
  bool augment = true;
  bool evaluate = true;
  double learning_rate = 0.1;
  double decay_rate = 0.1;   ///< the learning rate is multiplied by this …
  int64_t decay_epochs = 0;  ///< … after each so many epochs; 0 = as the workload has it
};

/// The learning rate in an epoch, counted from 0; decay_epochs 0: it stays.
double decayed_learning_rate(TrainOptions const& options, int64_t epoch);

/// What a workload changes in the shared command line.
struct OwnOptions {
  TrainOptions defaults;
  std::function<void(CLI::App&)>
      change;  ///< adds options, rewords or removes shared ones; may be empty
};

/// A number in [least, most]; CLI::Range takes "nan" for one.
CLI::Validator within(double least, double most);

/// Adds --log-placement and --soft-placement.
void add_placement(CLI::App& app, bool& log, bool& soft);

/// Adds --precision.
void add_precision(CLI::App& app, Precision& precision);

/// Parses into the variables that `app` refers to. False: --help was asked for and is printed.
/// Error: wrong use; the message names --help.
base::Expected<bool> parse_arguments(CLI::App& app, std::string const& workload,
                                     std::span<std::string const> arguments);

/// Nothing when --help was asked for (it is printed to stdout then). Errors: unknown option, value
/// out of range.
base::Expected<std::optional<TrainOptions>> parse_train_options(
    std::string const& workload, std::string const& description,
    std::span<std::string const> arguments, OwnOptions const& own = {});

/// Puts the pathologies into the options that make them. parse_train_options() has done it.
void apply_pathologies(TrainOptions& options);

/// Error: a pathology names a device that is not among the `devices`.
base::Expected<void> check_pathologies(TrainOptions const& options, int64_t devices);

}  // namespace stepscope::workloads
