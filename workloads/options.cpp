// Command line of the training workloads; see options.h.
#include "workloads/options.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "trace/base/names/near_names.h"

namespace stepscope::workloads {
namespace {

constexpr int64_t kMaxCount = 1'000'000'000;  // no option means more than this many of anything

void add_data_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--data", o.data,
                 "folder with the data set's files (default: a generated set, cached)");

  app.add_option("--loader-threads", o.loader_threads, "threads that prepare batches")
      ->check(CLI::Range(1, 256));
  app.add_option("--prefetch", o.prefetch, "batches staged to the device ahead, 0 = none")
      ->check(CLI::Range(0, 64));

  app.add_option("--input-delay-ms", o.input_delay_ms,
                 "pretend a slow store: each batch comes this late, without read-ahead")
      ->check(CLI::Range(0, 60'000));
  app.add_flag_callback(
      "--no-augment", [&o] { o.augment = false; }, "no random distortion of the training images");
}

void add_learning_rate_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--learning-rate", o.learning_rate, "initial learning rate")
      ->check(within(0.0, 1e6));
  app.add_option("--decay-rate", o.decay_rate, "factor on the learning rate at each decay")
      ->check(within(0.0, 1.0));
  app.add_option("--decay-epochs", o.decay_epochs,
                 "epochs between decays (default: the workload's own)")
      ->check(CLI::Range(int64_t{1}, kMaxCount));
}

void add_exchange_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--accumulate", o.accumulate,
                 "batches per device and step whose mean gradient is all-reduced")
      ->check(CLI::Range(1, 1024));
  app.add_option("--bucket-mb", o.bucket_mb, "MiB of gradients per all-reduce")
      ->check(within(0.0, 1e6));
  app.add_flag_callback(
      "--no-overlap", [&o] { o.overlap = false; },
      "all-reduce after the backward pass instead of during it");
}

void add_memory_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--memory-limit", o.memory_limit_mib, "MiB that a device may hold")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32U));
  app.add_flag("--memory-growth,!--no-memory-growth", o.memory_growth,
               "take device memory in chunks as it is needed; --no-memory-growth takes all that "
               "the limit allows at once");

  add_placement(app, o.log_placement, o.soft_placement);
  app.add_flag("--cuda-graphs", o.graphs,
               "launch forward and backward passes as CUDA graphs (cuda devices only)");
}

void add_progress_options(CLI::App& app, TrainOptions& o) {
  CLI::Range const count_or_zero(int64_t{0}, kMaxCount);

  app.add_option("--log-every", o.log_every, "steps between progress lines, 0 = none")
      ->check(count_or_zero);
  app.add_option("--checkpoint", o.checkpoint,
                 "file to save weights to, at the end and every --checkpoint-every steps");
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "steps between checkpoints, 0 = only at the end")
      ->check(count_or_zero);

  app.add_option("--check-replicas", o.check_replicas,
                 "steps between comparisons of the devices' weights, 0 = never")
      ->check(count_or_zero);
}

void add_training_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--device", o.device, "host, host:N, cuda, cuda:I, cuda:I,cuda:J, cuda:all");
  add_precision(app, o.precision);
  app.add_option("--batch", o.batch, "samples per device and step")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--steps", o.steps, "training steps of the whole job")
      ->check(CLI::Range(int64_t{1}, kMaxCount));
  app.add_option("--seed", o.seed, "weights, sample order and augmentation follow from it");

  add_learning_rate_options(app, o);
  add_exchange_options(app, o);
  add_memory_options(app, o);
  add_progress_options(app, o);

  app.add_option("--resume", o.resume, "checkpoint file to go on from");
  app.add_flag_callback(
      "--no-evaluate", [&o] { o.evaluate = false; },
      "skip the accuracy on the test set at the end");
  app.add_option(
         "--collective-timeout", o.collective_timeout_s,
         "seconds without a word from another process (mpirun, srun) after which it counts as gone")
      ->check(CLI::Range(1, 86'400));

  app.add_flag("--allow-nan", o.allow_nan, "go on when a loss is not a finite number");
  app.add_flag("--json", o.json, "print a machine-readable summary to stdout, progress to stderr");
}

}  // namespace

CLI::Validator within(double least, double most) {
  return {[=](std::string& text) {
            double value = 0;
            bool const good =
                CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return good ? std::string()
                        : fmt::format("{} is not a number from {:g} to {:g}", text, least, most);
          },
          fmt::format("FLOAT in [{:g} - {:g}]", least, most)};
}

void add_placement(CLI::App& app, bool& log, bool& soft) {
  app.add_flag("--log-placement", log,
               "say on stderr which device each operation runs on, when it is first met");
  app.add_flag("--soft-placement", soft,
               "compute on the host what a device has no implementation for");
}

void add_precision(CLI::App& app, Precision& precision) {
  auto const set = [&precision](std::string const& name) {
    for (Precision const known : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
      if (name == precision_name(known)) precision = known;
    }
  };

  app.add_option_function<std::string>(
         "--precision", set, "precision of products and convolutions (host devices: fp32 only)")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16"}))
      ->default_str(std::string(precision_name(precision)))
      ->type_name("NAME");
}

void apply_pathologies(TrainOptions& o) {
  for (FaultInjection const& fault_injection : o.pathologies) {
    if (!fault_injection.kind->pipeline()) fault_injection.kind->apply(o, fault_injection.value);
  }
}

base::Expected<void> check_pathologies(TrainOptions const& o, int64_t devices) {
  for (int64_t const device : {o.device_faults.slow_device, o.step_faults.late_device}) {
    if (device >= devices)
      return base::fail("--pathology: there is no device {}, they are 0 to {}", device,
                        devices - 1);
  }
  return {};
}

double decayed_learning_rate(TrainOptions const& o, int64_t epoch) {
  return o.decay_epochs == 0 ? o.learning_rate
                             : o.learning_rate * std::pow(o.decay_rate, epoch / o.decay_epochs);
}

/// Names the option that does not exist, and those that are near.
std::string unexpected(CLI::App const& app, std::string const& message) {
  std::string_view const option = base::option_in(message);
  if (option.empty()) return message;

  std::vector<std::string> names;
  for (CLI::Option const* const known : app.get_options())
    for (std::string const& name : known->get_lnames()) names.push_back("--" + name);
  return fmt::format("{}: no such option{}", option, base::did_you_mean(option, names));
}

base::Expected<bool> parse_arguments(CLI::App& app, std::string const& workload,
                                     std::span<std::string const> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them

  try {
    app.parse(reversed);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (CLI::ExtrasError const& error) {
    return base::fail("run {}: {}, see stepscope run {} --help", workload,
                      unexpected(app, error.what()), workload);
  } catch (CLI::ParseError const& error) {
    return base::fail("run {}: {}, see stepscope run {} --help", workload, error.what(), workload);
  }

  return true;
}

base::Expected<std::optional<TrainOptions>> parse_train_options(
    std::string const& workload, std::string const& description,
    std::span<std::string const> arguments, OwnOptions const& own) {
  TrainOptions options = own.defaults;

  CLI::App app(description, "stepscope run " + workload);
  app.option_defaults()->always_capture_default();
  add_training_options(app, options);
  add_data_options(app, options);

  std::vector<std::string> pathologies;
  app.add_option("--pathology", pathologies,
                 "make a known fault on purpose, to see what the analysis says of it:" +
                     list_pathologies(false))
      ->type_name("NAME[=X]");
  if (own.change) own.change(app);

  auto const go_on = parse_arguments(app, workload, arguments);
  if (!go_on) return base::fail_with(go_on);
  if (!*go_on) return std::nullopt;

  auto parsed = parse_pathologies(pathologies, false);
  if (!parsed) return base::fail("run {}: --{}", workload, parsed.error().message);
  options.pathologies = std::move(*parsed);

  if (options.checkpoint_every > 0 && options.checkpoint.empty()) {
    return base::fail("run {}: --checkpoint-every needs --checkpoint FILE", workload);
  }
  apply_pathologies(options);
  return options;
}

}  // namespace stepscope::workloads
