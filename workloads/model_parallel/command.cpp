// The command line of the model-parallel workload: options, the report at the end, --json. The
// training: train.cpp.
#include <algorithm>
#include <cstdio>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "workloads/data/augment.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/model_parallel/train.h"
#include "workloads/options.h"

namespace stepscope::workloads {
namespace {

constexpr char const* kFooter =
    R"(Each device is a stage. Layers are cut where the largest stage costs least. Stages send activations on and gradients back.
  gpipe  all micro-batches forward, then all backward: holds the activations of all of them
  1f1b   one backward after each forward as soon as gradients come back: holds those of as many as there are stages behind
Both give the same weights. With --tensor each device has a part of every pair of fully connected layers, and all of the others.
A pair needs one all-reduce forward and one backward. The bubble is 1 - busy / (stages x span). Busy is the time of the forward and backward passes on all devices.
The span goes from the first pass's begin to the last one's end. The ideal is (p-1)/(m+p-1) for p equal stages and m micro-batches.)";

constexpr int64_t kMostSteps = 1'000'000'000;

void add_cut_options(CLI::App& app, SplitOptions& o) {
  app.add_option("--model", o.model, "mlp, cnn (the network of cifar10)")
      ->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--layers", o.mlp_layers, "hidden layers of the mlp")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000}));
  app.add_option("--schedule", o.schedule, "gpipe, 1f1b");
  app.add_flag("--tensor", o.tensor,
               "cut fully connected layers over the devices, not the network by layers");
  app.add_option("--micro-batches", o.micro_batches, "equal parts of a batch")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
}

void add_checkpoint_options(CLI::App& app, SplitOptions& o) {
  app.add_option("--checkpoint", o.checkpoint,
                 "file to save weights to, at the end and every --checkpoint-every steps");
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "steps between checkpoints, 0 = only at the end")
      ->check(CLI::Range(int64_t{0}, kMostSteps));

  app.add_option("--resume", o.resume,
                 "checkpoint file to go on from, of any number of devices and either kind of cut");
  app.add_flag_callback(
      "--no-evaluate", [&o] { o.evaluate = false; },
      "skip the accuracy on the test set at the end");
}

base::Expected<std::optional<SplitOptions>> parse_options(std::span<std::string const> arguments) {
  SplitOptions o;
  CLI::App app(kSplitDescription, "stepscope run split");
  app.option_defaults()->always_capture_default();
  app.footer(kFooter);

  app.add_option(
      "--device", o.device,
      "host:N, or cuda:I,cuda:J: a stage each, or with --tensor a part of the layers each");
  add_precision(app, o.precision);
  add_placement(app, o.log_placement, o.soft_placement);

  add_cut_options(app, o);
  app.add_option("--batch", o.batch, "images a step, of all devices together")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--steps", o.steps, "training steps of the whole job")
      ->check(CLI::Range(int64_t{1}, kMostSteps));

  add_checkpoint_options(app, o);

  app.add_option("--seed", o.seed, "the weights follow from it");
  app.add_option("--learning-rate", o.learning_rate, "0 = 0.02 for the mlp, 0.1 for the cnn")
      ->check(within(0.0, 1e6));
  app.add_option("--data", o.data,
                 "folder with CIFAR-10's files (default: a generated set, cached)");
  app.add_option("--memory-limit", o.memory_limit_mib, "MiB that a device may hold")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32U));

  app.add_option("--log-every", o.log_every, "steps between progress lines, 0 = none")
      ->check(CLI::Range(int64_t{0}, kMostSteps));
  app.add_flag("--allow-nan", o.allow_nan, "go on when the loss is not a finite number");
  app.add_flag("--json", o.json, "print a machine-readable summary to stdout, progress to stderr");

  std::vector<std::string> pathologies;
  app.add_option("--pathology", pathologies,
                 "make a known fault on purpose, to see what the analysis says of it:" +
                     list_pathologies(true))
      ->type_name("NAME[=X]");

  auto const go_on = parse_arguments(app, "split", arguments);
  if (!go_on) return base::fail_with(go_on);
  if (!*go_on) return std::nullopt;

  auto parsed = parse_pathologies(pathologies, true);
  if (!parsed) return base::fail("run split: --{}", parsed.error().message);
  o.pathologies = std::move(*parsed);
  return o;
}

base::Expected<CifarDataSet> read_data(std::string folder) {
  if (folder.empty()) {
    auto generated = generated_cifar_folder({});
    if (!generated) return base::fail_with(generated);
    folder = *generated;
  }
  return read_cifar_folder(folder);
}

template <class T>
double median(std::vector<T> values) {
  if (values.empty()) return 0;
  auto const middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

/// Steps after the first, which also touches memory for the first time.
template <class T>
std::vector<T> without_first(std::vector<T> const& values) {
  return {values.begin() + (values.size() < 2 ? 0 : 1), values.end()};
}

void report_tensor(std::FILE* log, SplitResult const& r) {
  std::string by_outputs, by_inputs, whole;

  for (size_t i = 0; i < r.layers.size(); ++i) {
    LayerDescription::Cut const cut = r.layer_cuts[i];
    bool const is_cut =
        cut == LayerDescription::Cut::kOutputs || cut == LayerDescription::Cut::kInputs;
    std::string& part = cut == LayerDescription::Cut::kOutputs ? by_outputs : by_inputs;
    std::string& list = is_cut ? part : whole;
    list += (list.empty() ? "" : ", ") + r.layers[i];
  }

  fmt::print(log, "cut by outputs: {}; by inputs: {}; whole on each device: {}\n",
             by_outputs.empty() ? "none" : by_outputs, by_inputs.empty() ? "none" : by_inputs,
             whole.empty() ? "none" : whole);
  fmt::print(log, "step {:.1f} ms (median), {:.1f} MiB of weights a device\n",
             median(without_first(r.step_ns)) / 1e6,
             static_cast<double>(r.weight_bytes.front()) / (1 << 20));
}

void report_pipeline(std::FILE* log, SplitResult const& r) {
  for (size_t stage = 0; stage + 1 < r.cut.size(); ++stage) {
    fmt::print(
        log,
        "stage {}: {} to {}, busy {:.1f} ms a step (median), holds {:.1f} MiB of activations\n",
        stage, r.layers[r.cut[stage]], r.layers[r.cut[stage + 1] - 1],
        median(without_first(r.busy_ns[stage])) / 1e6,
        static_cast<double>(r.activation_bytes[stage]) / (1 << 20));
  }

  fmt::print(log, "step {:.1f} ms (median), bubble {:.1f} % (median), ideal {:.1f} %\n",
             median(without_first(r.step_ns)) / 1e6, median(without_first(r.bubble)) * 100,
             r.ideal_bubble * 100);

  if (r.cores_short)
    fmt::print(log,
               "there are more stages than cores: they wait for cores, and the bubble does not "
               "count that\n");
}

void report(std::FILE* log, SplitResult const& r) {
  r.tensor ? report_tensor(log, r) : report_pipeline(log, r);
  if (r.test_accuracy) fmt::print(log, "test accuracy {:.1f} %\n", *r.test_accuracy * 100);
}

std::string summarize(SplitOptions const& o, SplitResult const& r) {
  nlohmann::json json = {{"workload", "split"},
                         {"device", o.device},
                         {"model", o.model},
                         {"schedule", o.schedule},
                         {"batch", o.batch},
                         {"micro_batches", o.micro_batches},
                         {"tensor", r.tensor},
                         {"first_step", r.first_step},
                         {"steps", r.loss.size()},
                         {"layers", r.layers},
                         {"cut", r.cut},
                         {"loss", r.loss},
                         {"step_ns", r.step_ns},
                         {"bubble", r.bubble},
                         {"ideal_bubble", r.ideal_bubble},
                         {"busy_ns", r.busy_ns},
                         {"weight_bytes", r.weight_bytes},
                         {"activation_bytes", r.activation_bytes},
                         {"cores_short", r.cores_short},
                         {"interrupted", r.interrupted}};

  json["test_accuracy"] = r.test_accuracy ? nlohmann::json(*r.test_accuracy) : nlohmann::json();
  json["failure"] = r.failure ? nlohmann::json(*r.failure) : nlohmann::json();
  return json.dump();
}

}  // namespace

base::Expected<int> run_split(std::span<std::string const> arguments) {
  auto const options = parse_options(arguments);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  SplitOptions const& o = **options;

  auto const data = read_data(o.data);
  if (!data) return base::fail_with(data);
  constexpr auto kSide = static_cast<int64_t>(kCropSide);
  LayeredNetwork const network =
      o.model == "cnn" ? describe_cnn(kSide, 3, kCifarClasses, {})
                       : describe_mlp(MlpShape().width, kCifarClasses, {o.mlp_layers});

  std::FILE* const log = o.json ? stderr : stdout;
  auto const result = train_split(o, network, *data, log);
  if (!result) return base::fail_with(result);
  report(log, *result);
  if (o.json) fmt::print("{}\n", summarize(o, *result));

  if (result->failure) {
    fmt::print(stderr, "stepscope: {}\n", *result->failure);
    return 1;
  }

  constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it
  return result->interrupted ? kInterrupted : 0;
}

}  // namespace stepscope::workloads
