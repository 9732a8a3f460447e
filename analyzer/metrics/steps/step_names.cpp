#include "analyzer/metrics/steps/step_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace stepscope::analyzer {
namespace {

/// Words before "step" that leave it a step of the job. Longer ones first.
constexpr std::array<std::string_view, 11> kPrefixes = {
    "profiler",  "profile", "training", "train",     "global", "decode",
    "denoising", "denoise", "sampling", "inference", "run"};
constexpr std::array<std::string_view, 3> kStepWords = {"iteration", "step", "iter"};
/// Steps only where they fill their thread's time: loaders name their ranges so, too.
constexpr std::array<std::string_view, 4> kBatches = {"mini_batch", "mini-batch", "minibatch",
                                                      "batch"};
constexpr std::string_view kSeparators = " _#:=-/.";

/// What frameworks call one step, without a number that counts it.
struct FrameworkName {
  std::string_view begin, part, other_part;
};
constexpr std::array kFrameworkNames = {
    FrameworkName{"execute_", "context_",
                  "_generation_"},  // vLLM: execute_context_1(512)_generation_32(32)
    FrameworkName{"execute_new_", "_cached_", ""},  // vLLM before that: execute_new_1_cached_32
    FrameworkName{"step[", "bs=", "]"},             // SGLang: step[EXTEND bs=1 toks=107]
    FrameworkName{"[pl][profile]run_training_batch", "", ""},  // Lightning
    FrameworkName{"run_training_batch", "", ""},
    FrameworkName{"PipelineEngine.train_batch", "", ""},  // DeepSpeed
    FrameworkName{"DeepSpeedEngine.train_batch", "", ""},
};
/// TensorRT-LLM: "[Executor] _forward_step 12: 0 ctx reqs, 3 gen reqs".
constexpr std::string_view kExecutorStep = "[Executor] _forward_step ";

bool take(std::string_view& text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != word[i]) return false;
  text.remove_prefix(word.size());
  return true;
}

template <size_t N>
bool take_one(std::string_view& text, std::array<std::string_view, N> const& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return take(text, word); });
}

void skip_separators(std::string_view& text) {
  size_t const end = text.find_first_not_of(kSeparators);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
}

std::optional<int64_t> leading_number(std::string_view& text) {
  int64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// "epoch 3, step 7", "[epoch 3] step 7": numbers begin again in each epoch.
void skip_epoch(std::string_view& name) {
  std::string_view rest = name;
  if (rest.starts_with('[') || rest.starts_with('(')) rest.remove_prefix(1);
  if (!take(rest, "epoch")) return;
  skip_separators(rest);
  if (!leading_number(rest)) return;
  size_t const next = rest.find_first_not_of(" _#:=-,/|.])");
  if (next == 0 || next == std::string_view::npos) return;
  name = rest.substr(next);
}

/// Text that may follow a step's number: how many there are ("/100", " of 100"), how long it took
/// (Paddle: "[2.868 ms]"), the end of a range of numbers ("[0,4)").
bool is_harmless(std::string_view rest) {
  if (rest.empty()) return true;

  constexpr std::string_view kOf = " of ";
  bool const is_count = rest.starts_with(kOf);
  if (is_count || rest.front() == '/' || rest.front() == ',') {
    rest.remove_prefix(is_count ? kOf.size() : 1);
    if (!leading_number(rest)) return false;
    return rest.empty() || rest == "]" || rest == ")";
  }

  if (rest == "]" || rest == ")") return true;
  return rest.front() == '[' &&
         (rest.ends_with("ms]") || rest.ends_with("us]") || rest.ends_with(" s]"));
}

bool is_framework_name(std::string_view name) {
  auto const fits = [&](FrameworkName const& known) {
    if (!name.starts_with(known.begin)) return false;
    if (known.part.empty()) return name.size() == known.begin.size();
    return name.find(known.part) != std::string_view::npos &&
           name.find(known.other_part) != std::string_view::npos;
  };
  return std::any_of(kFrameworkNames.begin(), kFrameworkNames.end(), fits);
}

std::optional<StepName> by_framework(std::string_view name) {
  if (name == "ProfilerStep*") return StepName{};  // PyTorch's, with its number taken out
  if (is_framework_name(name)) return StepName{};
  if (!name.starts_with(kExecutorStep)) return std::nullopt;
  name.remove_prefix(kExecutorStep.size());
  auto const number = leading_number(name);
  return number && name.starts_with(':') ? std::optional(StepName{true, number}) : std::nullopt;
}

}  // namespace

std::optional<StepName> step_name(std::string_view name) {
  if (auto const known = by_framework(name)) return known;
  skip_epoch(name);

  size_t const before = name.size();
  if (take_one(name, kPrefixes)) skip_separators(name);
  if (take(name, "one")) skip_separators(name);  // "train_one_step"
  bool const has_prefix = name.size() < before;
  skip_separators(name);
  bool const is_step = take_one(name, kStepWords);
  if (!is_step && !take_one(name, kBatches)) return std::nullopt;

  if (name.empty())
    return is_step || has_prefix ? std::optional(StepName{false, std::nullopt}) : std::nullopt;
  skip_separators(name);
  if (name.starts_with('[') || name.starts_with('(')) name.remove_prefix(1);
  auto const number = leading_number(name);
  if (!number || !is_harmless(name)) return std::nullopt;
  return StepName{is_step, number};
}

bool is_inference_step(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOfSampling = {"decode", "denoising", "denoise",
                                                           "sampling", "inference"};
  if (name.starts_with("execute_") || name.starts_with("step[")) return is_framework_name(name);
  if (name.starts_with(kExecutorStep)) return by_framework(name).has_value();
  std::string_view rest = name;
  return take_one(rest, kOfSampling) && step_name(name).has_value();
}

std::optional<int64_t> step_number(std::string_view name) {
  auto const step = step_name(name);
  return step && step->is_certain ? std::optional(step->number.value_or(0)) : std::nullopt;
}

}  // namespace stepscope::analyzer
