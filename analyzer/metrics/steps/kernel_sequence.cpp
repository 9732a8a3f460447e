#include "analyzer/metrics/steps/kernel_sequence.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

constexpr uint64_t kHashBase = 0x9E3779B97F4A7C15;  // odd: no power of it becomes 0

uint64_t hash_of_text(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  // Sums of hashes must not cancel: all bits depend on all.
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
  return hash ^ (hash >> 31);
}

uint64_t power_of_base(size_t exponent) {
  uint64_t result = 1;
  for (uint64_t factor = kHashBase; exponent > 0; exponent >>= 1, factor *= factor)
    if ((exponent & 1) != 0) result *= factor;
  return result;
}

/// The stream whose kernels take longest in sum; invalid without kernels.
model::TrackId main_stream(DeviceOps const& device) {
  model::Trace const& trace = device.trace();
  model::TrackId best;
  int64_t most = -1;
  for (model::TrackId const stream : device.streams) {
    int64_t total = 0;
    bool found = false;

    model::Trace::Rows const rows = trace.rows_of(stream);
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (trace.kind(row) != EventKind::kKernel) continue;
      found = true;
      add_saturated(total, trace.columns().dur[row]);
    }

    if (!found || total <= most) continue;
    most = total;
    best = stream;
  }
  return best;
}

bool is_batch_copy_or_fill(model::Trace const& trace, uint32_t row) {
  EventKind const kind = trace.kind(row);
  return kind == EventKind::kMemset ||
         (kind == EventKind::kMemcpy &&
          trace.detail<model::CopyDetail>(row).direction == model::CopyDirection::kHostToDevice);
}

}  // namespace

bool is_update_name(std::string_view name) {
  // Not "lamb", which is in every lambda, nor "update", which batch norms and caches do too.
  constexpr std::array<std::string_view, 8> kWords = {
      "adam", "sgd", "momentum", "optimizer", "adagrad", "rmsprop", "multi_tensor", "adafactor"};
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

KernelSequence kernel_sequence(DeviceOps const& device) {
  KernelSequence sequence;
  model::TrackId const stream = main_stream(device);
  if (!stream.valid()) return sequence;

  model::Trace const& trace = device.trace();
  constexpr uint32_t kNotSeen = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> numbers(trace.strings().size(), kNotSeen);
  model::Trace::Rows const rows = trace.rows_of(stream);

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (trace.kind(row) != EventKind::kKernel) continue;
    uint32_t& number = numbers[trace.columns().name[row].value];
    if (number == kNotSeen) {
      number = static_cast<uint32_t>(sequence.name_hashes.size());
      sequence.name_hashes.push_back(hash_of_text(trace.name(row)));
      sequence.is_update.push_back(is_update_name(trace.name(row)));
    }

    sequence.rows.push_back(row);
    sequence.names.push_back(number);
  }

  return sequence;
}

std::vector<int64_t> idle_before(DeviceOps const& device, KernelSequence const& sequence,
                                 size_t first, size_t last) {
  std::vector<int64_t> result;
  result.reserve(last - first);
  int64_t busy_until = std::numeric_limits<int64_t>::max();
  size_t place = 0;

  for (uint32_t const row : device.ops) {
    if (place == last) break;
    int64_t const start = device.start(row);
    if (row == sequence.rows[place]) {
      if (place >= first) result.push_back(start > busy_until ? start - busy_until : 0);
      ++place;
    }
    busy_until = busy_until == std::numeric_limits<int64_t>::max()
                     ? device.end(row)
                     : std::max(busy_until, device.end(row));
  }

  return result;
}

std::vector<int64_t> work_begins(DeviceOps const& device, KernelSequence const& sequence,
                                 std::vector<size_t> const& places) {
  std::vector<int64_t> result;
  model::Trace const& trace = device.trace();

  size_t place = 0, next = 0;
  // End of the kernel before. What is copied before the first one are weights.
  int64_t before = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> led;

  for (uint32_t const row : device.ops) {
    // The last place may be the end of the sequence, behind its last kernel.
    if (next == places.size() || place == sequence.size()) break;
    if (row != sequence.rows[place]) {
      if (!led && is_batch_copy_or_fill(trace, row) && device.start(row) >= before)
        led = device.start(row);
      continue;
    }

    if (place == places[next]) {
      result.push_back(led.value_or(device.start(row)));
      ++next;
    }

    before = place == 0 ? device.end(row) : std::max(before, device.end(row));
    led.reset();
    ++place;
  }

  return result;
}

SequenceHashes::SequenceHashes(std::span<uint32_t const> names,
                               std::vector<uint64_t> const& name_hashes)
    : sums_(1, 0), polynomials_(1, 0) {
  sums_.reserve(names.size() + 1);
  polynomials_.reserve(names.size() + 1);
  for (uint32_t const name : names) {
    sums_.push_back(sums_.back() + name_hashes[name]);
    polynomials_.push_back(polynomials_.back() * kHashBase + name_hashes[name]);
  }
}

uint64_t SequenceHashes::ordered(size_t first, size_t last) const {
  return polynomials_[last] - polynomials_[first] * power_of_base(last - first);
}

}  // namespace stepscope::analyzer
