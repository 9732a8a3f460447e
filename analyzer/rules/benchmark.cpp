#include "analyzer/rules/benchmark.h"

#include <algorithm>
#include <array>
#include <vector>

namespace stepscope::analyzer {
namespace {

/// The first words of a command line, without their folders. No program's name comes after so many
/// words.
std::vector<std::string_view> first_words(std::string_view command) {
  constexpr size_t kMostWords = 64;
  std::vector<std::string_view> words;
  while (words.size() < kMostWords) {
    size_t const begin = command.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    command.remove_prefix(begin);

    std::string_view word = command.substr(0, command.find(' '));
    command.remove_prefix(word.size());
    words.push_back(word.substr(word.rfind('/') + 1));
  }

  return words;
}

bool is_benchmark_command(std::string_view command) {
  std::vector<std::string_view> const words = first_words(command);
  for (size_t i = 0; i < words.size(); ++i) {
    bool const is_bundled =
        i >= 2 && words[i - 2].starts_with("stepscope") && words[i - 1] == "run";
    if (is_bundled && (words[i] == "allreduce" || words[i] == "matpow")) return true;

    static constexpr std::array<std::string_view, 10> kTests = {
        "all_reduce_perf", "all_gather_perf",    "alltoall_perf", "broadcast_perf",
        "gather_perf",     "hypercube_perf",     "reduce_perf",   "scatter_perf",
        "sendrecv_perf",   "reduce_scatter_perf"};
    if (std::find(kTests.begin(), kTests.end(), words[i]) != kTests.end()) return true;
  }
  return false;
}

}  // namespace

bool is_benchmark(model::Run const& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](model::RankTrace const& rank) {
    return is_benchmark_command(rank.trace.info().command);
  });
}

bool speaks_of_benchmarks(std::string_view rule) {
  static constexpr std::array<std::string_view, 10> kRules = {
      "device-error",        "hung-collective",  "slow-link",     "throttling",
      "memory-leak",         "memory-pressure",  "trace-quality", "memory-fragmentation",
      "oversubscribed-host", "profiler-overhead"};
  return std::find(kRules.begin(), kRules.end(), rule) != kRules.end();
}

}  // namespace stepscope::analyzer
