// The job of the GPT workload: learning rate, training, options. The network: gpt.cpp.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <CLI/CLI.hpp>

#include "workloads/networks/gpt.h"

namespace stepscope::workloads {
namespace {

constexpr size_t kGeneratedBytes =
    size_t{1} << 18U;  // learned in less than an epoch, generated in milliseconds

base::Expected<void> check_gpt(GptOptions const& gpt, TokenizedText const& text) {
  GptShape const& s = gpt.shape;
  if (s.width % s.heads != 0) {
    return base::fail(
        "run gpt: --width {} is not divisible by --heads {}: each head takes an equal part",
        s.width, s.heads);
  }

  if (text.test().size() <= static_cast<size_t>(s.context)) {
    return base::fail(
        "run gpt: a text of {} bytes is too short for --context {}, {} bytes are needed",
        text.tokens.size(), s.context, (s.context + 1) * 10);
  }

  return {};
}

}  // namespace

double gpt_learning_rate(TrainOptions const& o, GptOptions const& gpt, int64_t step) {
  constexpr double kLeast = 0.1;  // of the peak
  if (step < gpt.warmup_steps) {
    return o.learning_rate * static_cast<double>(step + 1) / static_cast<double>(gpt.warmup_steps);
  }

  int64_t const end =
      std::max(gpt.decay_steps > 0 ? gpt.decay_steps : o.steps, gpt.warmup_steps + 1);
  double const passed =
      static_cast<double>(step - gpt.warmup_steps) / static_cast<double>(end - gpt.warmup_steps);
  double const cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, passed)));

  return o.learning_rate * (kLeast + (1.0 - kLeast) * cosine);
}

base::Expected<TrainingResult> train_gpt(TrainOptions const& o, GptOptions const& gpt,
                                         TokenizedText const& text, std::FILE* log) {
  if (auto good = check_gpt(gpt, text); !good) return base::fail_with(good);

  GptShape shape = gpt.shape;
  shape.vocabulary = static_cast<int64_t>(text.vocabulary.size());
  TextSamples const train(text.train(), shape.context, o.augment),
      test(text.test(), shape.context, false);

  Network network;
  network.workload = "gpt";
  network.sample = "sequence";
  network.layout = gpt_parameters(shape);
  network.make_replica = [&](ReplicaMemory const& memory) {
    return make_gpt_replica(memory, shape);
  };

  network.optimizer.kind = OptimizerSettings::Kind::kAdamW;
  network.optimizer.beta2 =
      0.99F;  // in a batch of few sequences a rare byte has a gradient once in many steps
  network.learning_rate = [&](int64_t step, int64_t) { return gpt_learning_rate(o, gpt, step); };

  network.train = &train;
  network.test = &test;
  network.answers_per_sample = shape.context;

  return train_data_parallel(o, network, log);
}

TrainOptions gpt_defaults() {
  TrainOptions o;
  o.batch = 8;
  o.steps = 200;
  o.learning_rate = 1e-3;  // higher ones learn the generated text faster, and stay behind on others
  return o;
}

base::Expected<int> run_gpt(std::span<std::string const> arguments) {
  GptOptions gpt;
  bool sharded = false;

  auto const change = [&](CLI::App& app) {
    for (char const* const other : {"--decay-rate", "--decay-epochs"})
      app.remove_option(app.get_option(other));
    app.get_option("--data")->description("text file, taken as bytes (default: a generated text)");
    app.get_option("--batch")->description("sequences per device and step");
    app.get_option("--learning-rate")->description("peak learning rate");
    app.get_option("--no-augment")->description("cut the text at the same places in every epoch");
    app.add_option("--layers", gpt.shape.layers, "transformer blocks")->check(CLI::Range(1, 1024));
    app.add_option("--heads", gpt.shape.heads, "attention heads of a block")
        ->check(CLI::Range(1, 1024));
    app.add_option("--width", gpt.shape.width, "features of a position, a multiple of --heads")
        ->check(CLI::Range(1, 16'384));
    app.add_option("--context", gpt.shape.context, "bytes of a sequence")
        ->check(CLI::Range(1, 16'384));
    app.add_option("--warmup-steps", gpt.warmup_steps,
                   "steps over which the learning rate rises to its peak")
        ->check(CLI::Range(0, 1'000'000'000));
    app.add_option("--decay-steps", gpt.decay_steps,
                   "steps at whose end the learning rate has fallen to its tenth, 0 = --steps; "
                   "give it where a training is resumed with more --steps")
        ->check(CLI::Range(0, 1'000'000'000));
    app.add_flag("--zero1", sharded,
                 "each device holds the optimizer's state of its part of the weights alone: "
                 "gradients are reduce-scattered, updated weights are gathered");
  };

  auto const options =
      parse_train_options("gpt", kGptDescription, arguments, {gpt_defaults(), change});
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  TrainOptions o = **options;
  if (sharded) o.update = UpdateKind::kSharded;

  TokenizedText text;
  if (o.data.empty()) {
    text = tokenize(
        generated_text(std::max(kGeneratedBytes, static_cast<size_t>(gpt.shape.context + 1) * 10)));
  } else {
    auto read = read_text(o.data, gpt.shape.context);
    if (!read) return base::fail_with(read);
    text = std::move(*read);
  }

  auto const result = train_gpt(o, gpt, text, o.json ? stderr : stdout);
  if (!result) return base::fail_with(result);
  return finish_training("gpt", o, *result);
}

}  // namespace stepscope::workloads
