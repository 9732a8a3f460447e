#include "tune/meanings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "trace/base/format.h"
#include "tune/expression.h"

namespace stepscope::tune {
namespace {

constexpr char const* kNoInputWait = "input=0";
constexpr char const* kNoCommunication = "class:communication=0";

/// to − from; none: one of the two is no number.
std::optional<double> difference_of(std::string_view from, std::string_view to) {
  Value const old_value = value_of(from), new_value = value_of(to);
  auto const* const a = std::get_if<double>(&old_value);
  auto const* const b = std::get_if<double>(&new_value);
  if (a == nullptr || b == nullptr) return std::nullopt;
  return *b - *a;
}

/// More of what fetches data: at best no step waits for it. Fewer threads may help by the cores
/// that they leave, which no replay shows.
MeantChange move_input_workers(std::string_view from, std::string_view to) {
  auto const more = difference_of(from, to);
  return more && *more > 0 ? MeantChange{"", kNoInputWait} : MeantChange{};
}

MeantChange move_input_delay(std::string_view from, std::string_view to) {
  auto const more = difference_of(from, to);
  if (!more || *more >= 0) return {};
  bool const is_gone = value_of(to) == Value(0.0);
  return is_gone ? MeantChange{kNoInputWait, kNoInputWait} : MeantChange{"", kNoInputWait};
}

MeantChange move_overlap(std::string_view from, std::string_view to) {
  if (is_on(from) || !is_on(to)) return {};
  return {"overlap", kNoCommunication};
}

MeantChange move_bucket(std::string_view from, std::string_view to) {
  auto const more = difference_of(from, to);
  if (!more || *more <= 0) return {"", kNoCommunication};
  Value const size = value_of(to);
  return {fmt::format("bucket={}MiB", std::get<double>(size)), kNoCommunication};
}

MeantChange move_communication(std::string_view, std::string_view) {
  return {"", kNoCommunication};
}

MeantChange move_graphs(std::string_view from, std::string_view to) {
  return is_on(to) && !is_on(from) ? MeantChange{"launch=0", ""} : MeantChange{};
}

MeantChange move_pinned_memory(std::string_view from, std::string_view to) {
  return is_on(to) && !is_on(from) ? MeantChange{"", "copies=0"} : MeantChange{};
}

MeantChange move_allocator(std::string_view, std::string_view) { return {"", "alloc=0"}; }

MeantChange move_sync_interval(std::string_view from, std::string_view to) {
  auto const more = difference_of(from, to);
  return more && *more > 0 ? MeantChange{"", "sync=off"} : MeantChange{};
}

/// One recording does not tell.
MeantChange move_batch(std::string_view, std::string_view) { return {}; }

std::string probe_batch(std::string_view from, std::string_view probe, std::string_view to) {
  constexpr double kMostSamples = 1e9;
  std::array<double, 3> sizes{};
  std::array const values = {from, probe, to};
  for (size_t i = 0; i < sizes.size(); ++i) {
    Value const value = value_of(values[i]);
    auto const* const number = std::get_if<double>(&value);
    if (number == nullptr || *number < 1 / kMostSamples || *number > kMostSamples) return {};
    sizes[i] = *number;
  }

  if (sizes[0] == sizes[1]) return {};
  return fmt::format("batch:{},{}={}", sizes[0], sizes[1], sizes[2]);
}

}  // namespace

std::span<Meaning const> meanings() {
  static constexpr std::array kMeanings = {
      Meaning{"loader-workers", "threads or processes that prepare batches", move_input_workers},
      Meaning{"prefetch", "batches that are prepared or copied ahead", move_input_workers},
      Meaning{"input-delay-ms", "how late batches come from the store", move_input_delay},
      Meaning{"overlap", "on: gradients are reduced during the backward pass", move_overlap},
      Meaning{"bucket-mib", "MiB of gradients that are reduced at once", move_bucket},
      Meaning{"communication", "how collectives are carried out, such as NCCL_ALGO",
              move_communication},
      Meaning{"cuda-graphs", "on: kernels are launched as CUDA graphs", move_graphs},
      Meaning{"pinned-memory", "on: batches are copied from page-locked memory",
              move_pinned_memory},
      Meaning{"allocator", "how device memory is allocated, such as PYTORCH_CUDA_ALLOC_CONF",
              move_allocator},
      Meaning{"sync-interval", "steps between reads of the loss, or other waits for the device",
              move_sync_interval},
      Meaning{"batch-size", "samples of a step that each kernel works on at once", move_batch,
              probe_batch},
  };
  return kMeanings;
}

Meaning const* find_meaning(std::string_view name) {
  auto const known = meanings();
  auto const found = std::find_if(known.begin(), known.end(),
                                  [&](Meaning const& meaning) { return meaning.name == name; });
  return found == known.end() ? nullptr : &*found;
}

std::string known_meanings() {
  std::string names;
  for (Meaning const& meaning : meanings())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", meaning.name);
  return names;
}

bool is_on(std::string_view value) {
  std::string lower(value);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower == "on" || lower == "true" || lower == "yes" || lower == "1";
}

}  // namespace stepscope::tune
