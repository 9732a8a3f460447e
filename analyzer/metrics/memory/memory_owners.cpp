#include "analyzer/metrics/memory/memory_owners.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "analyzer/metrics/memory/memory_calls.h"
#include "trace/base/hash_number.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::StringId;

/// A range that says what the program was at. Not the step: all of it is in there.
bool names_an_owner(EventKind kind) {
  return model::is_range(kind) || kind == EventKind::kPhase || kind == EventKind::kInputWait;
}

/// PyTorch's operators that allocate and do nothing else: who called them is the owner.
bool only_allocates(std::string_view name) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"aten::empty", "aten::new_empty",
                                                         "aten::resize_"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

class OwnerNames {
 public:
  explicit OwnerNames(model::Trace const& trace)
      : trace_(trace), kinds_(trace.strings().size(), Kind::kNotAsked) {}

  /// Rows must come in ascending order.
  StringId of(uint32_t row) {
    StringId const own = trace_.columns().name[row];
    uint32_t const first = trace_.rows_of(trace_.columns().track[row]).first;
    if (first >= next_) next_ = first, open_.clear();
    // Readers that need a process only for its numbers leave Trace::Columns::depth out: nesting is
    // found here.
    for (; next_ <= row; ++next_) {
      while (!open_.empty() && trace_.end(open_.back()) <= trace_.start(next_)) open_.pop_back();
      open_.push_back(next_);
    }

    if (kind(own) != Kind::kAllocator) return own;
    StringId allocating = own;
    // No program nests deeper; a damaged trace must not make this quadratic.
    constexpr size_t kDeepest = UINT16_MAX;
    size_t const outermost = open_.size() - std::min(open_.size(), kDeepest);
    for (size_t depth = open_.size() - 1; depth-- > outermost;) {
      uint32_t const around = open_[depth];
      StringId const name = trace_.columns().name[around];
      if (!names_an_owner(trace_.kind(around))) continue;
      if (kind(name) != Kind::kAllocates) return name;
      if (allocating == own) allocating = name;
    }
    return allocating;
  }

 private:
  enum class Kind : uint8_t { kNotAsked, kOwner, kAllocator, kAllocates };
  Kind kind(StringId name) {
    Kind& known = kinds_[name.value];
    if (known == Kind::kNotAsked) {
      std::string_view const text = trace_.text(name);
      if (is_allocator_name(text))
        known = Kind::kAllocator;
      else
        known = only_allocates(text) ? Kind::kAllocates : Kind::kOwner;
    }
    return known;
  }

  model::Trace const& trace_;
  std::vector<Kind> kinds_;  ///< by name
  uint32_t next_ = 0;
  std::vector<uint32_t>
      open_;  ///< of the thread, when the last row that was looked at begins; itself the last
};

}  // namespace

std::optional<MemoryOwners> owners_of(model::Trace const& trace, std::vector<LiveBlock> blocks,
                                      uint64_t allocated_bytes) {
  std::sort(blocks.begin(), blocks.end(),
            [](LiveBlock const& a, LiveBlock const& b) { return a.row < b.row; });
  OwnerNames names(trace);
  std::unordered_map<uint32_t, uint64_t, base::HashNumber> by_name;
  uint64_t left = allocated_bytes;
  for (LiveBlock const& block : blocks) {
    if (block.bytes > left) return std::nullopt;
    left -= block.bytes;
    by_name[names.of(block.row).value] += block.bytes;
  }

  MemoryOwners result;
  result.before_recording_bytes = left;

  std::vector<std::pair<uint64_t, std::string_view>> owners;
  for (auto const& [name, bytes] : by_name)
    if (bytes > 0) owners.emplace_back(bytes, trace.text(StringId{name}));
  std::sort(owners.begin(), owners.end(), [](auto const& a, auto const& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });

  for (size_t i = 0; i < owners.size(); ++i) {
    if (i < kMostOwners)
      result.owners.push_back({std::string(owners[i].second), owners[i].first});
    else
      result.other_bytes += owners[i].first;
  }
  return result;
}

}  // namespace stepscope::analyzer
