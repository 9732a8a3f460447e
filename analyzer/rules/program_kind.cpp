#include "analyzer/rules/program_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/metrics/steps/step_names.h"

namespace stepscope::analyzer {
namespace {

/// Names of steps stand among the first of a trace: later ones are not looked at.
constexpr uint32_t kMostNames = 64 * 1024;

template <size_t N>
bool has_one(std::string_view name, std::array<std::string_view, N> const& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

bool is_of_training(std::string_view name) {
  constexpr std::array<std::string_view, 13> kWords = {
      "ackward",   "autograd", "bwd",  "dgrad", "wgrad", "ptimizer",  "multi_tensor",
      "zero_grad", "adam",     "Adam", "sgd",   "SGD",   "train_step"};
  return has_one(name, kWords);
}

bool is_of_server(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {
      "vllm::",          "sglang::",       "flashinfer::",     "tensorrt_llm::",
      "paged_attention", "PagedAttention", "reshape_and_cache"};
  return has_one(name, kWords);
}

bool has_training(Analysis const& facts) {
  auto const tells = [](auto const& row) { return is_of_training(row.name); };
  return std::any_of(facts.kernels.begin(), facts.kernels.end(), tells) ||
         std::any_of(facts.ops.begin(), facts.ops.end(), tells) ||
         std::any_of(facts.phases.begin(), facts.phases.end(), tells);
}

bool has_inference_steps(model::Run const& run, Analysis const& facts) {
  if (facts.steps.empty()) return false;
  auto const rank = static_cast<size_t>(facts.steps.front().ref.rank_index);
  if (rank >= run.ranks.size()) return false;
  model::StringTable const& strings = run.ranks[rank].trace.strings();
  for (uint32_t id = 0; id < std::min(strings.size(), kMostNames); ++id)
    if (is_inference_step(strings.text(model::StringId{id}))) return true;
  return false;
}

}  // namespace

bool is_inference(model::Run const& run, Analysis const& facts) {
  bool const serves =
      std::any_of(facts.kernels.begin(), facts.kernels.end(),
                  [](KernelStats const& kernel) { return is_of_server(kernel.name); });
  return (serves || has_inference_steps(run, facts)) && !has_training(facts);
}

}  // namespace stepscope::analyzer
