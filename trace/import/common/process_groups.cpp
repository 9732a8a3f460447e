#include "trace/import/common/process_groups.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

namespace stepscope::import {
namespace {

/// Members of a group as far as a text lists them.
struct ListedRanks {
  std::optional<int32_t> place;          ///< of the rank that is looked for
  int64_t count = 0;                     ///< of the ranks before the ellipsis
  std::optional<int64_t> first, stride;  ///< when all that are listed there are as far apart
  std::optional<int64_t> last;           ///< rank behind the ellipsis
  bool is_cut = false;
};

ListedRanks read_ranks(std::string_view text, int32_t wanted) {
  ListedRanks listed;
  int64_t before = 0;
  bool is_even = true;

  for (;;) {
    size_t const next = text.find_first_of("0123456789.");
    if (next == std::string_view::npos) break;
    text.remove_prefix(next);
    if (text.front() == '.') {
      listed.is_cut = true;
      text.remove_prefix(1);
      continue;
    }

    int32_t rank = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (error != std::errc()) rank = -1;  // no job has so many

    if (listed.is_cut) {
      listed.last = rank;
      continue;
    }

    if (listed.count == 0) listed.first = rank;
    if (listed.count == 1) listed.stride = rank - *listed.first;
    is_even = is_even && (listed.count < 2 || rank - before == listed.stride);
    before = rank;
    if (rank == wanted && !listed.place)
      listed.place = static_cast<int32_t>(std::min<int64_t>(listed.count, INT32_MAX));
    ++listed.count;
  }

  if (!is_even) listed.first = listed.stride = std::nullopt;
  return listed;
}

/// The place of a rank in a group whose ranks are `stride` apart; −1: it is no member.
int32_t place_among(int64_t rank, int64_t first, int64_t stride, uint32_t size) {
  if (stride <= 0 || rank < first || (rank - first) % stride != 0) return -1;
  int64_t const place = (rank - first) / stride;
  return place < int64_t{size} ? static_cast<int32_t>(place) : -1;
}

}  // namespace

model::DataType data_type_of(std::string_view name) {
  using model::DataType;
  struct Name {
    std::string_view name;
    DataType type;
  };
  static constexpr std::array<Name, 14> kNames = {{{"Float", DataType::kFloat32},
                                                   {"Half", DataType::kFloat16},
                                                   {"BFloat16", DataType::kBfloat16},
                                                   {"Double", DataType::kFloat64},
                                                   {"Long", DataType::kInt64},
                                                   {"Int", DataType::kInt32},
                                                   {"Byte", DataType::kUint8},
                                                   {"Char", DataType::kInt8},
                                                   {"Bool", DataType::kUint8},
                                                   {"UInt32", DataType::kUint32},
                                                   {"UInt64", DataType::kUint64},
                                                   {"Float8_e4m3fn", DataType::kFloat8E4m3},
                                                   {"Float8_e5m2", DataType::kFloat8E5m2},
                                                   {"Int8", DataType::kInt8}}};

  auto const found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](Name const& known) { return known.name == name; });
  return found == kNames.end() ? DataType::kUnknown : found->type;
}

uint64_t communicator_of(std::string_view group, std::string_view ranks) {
  if (group.empty() && ranks.empty()) return 0;
  uint64_t const hash = XXH3_64bits(group.data(), group.size());
  return std::max<uint64_t>(1, XXH3_64bits_withSeed(ranks.data(), ranks.size(), hash));
}

std::string ranks_text(std::span<int32_t const> ranks) {
  constexpr size_t kMost = 30;
  bool const is_cut = ranks.size() > kMost;
  return fmt::format("[{}{}]", fmt::join(ranks.first(std::min(ranks.size(), kMost)), ", "),
                     is_cut ? ", ..." : "");
}

int32_t rank_in_group(int32_t rank, uint32_t world_size, GroupMembers const& members) {
  if (rank < 0) return -1;
  ListedRanks const listed = read_ranks(members.ranks, rank);
  if (listed.place) return *listed.place;

  bool const is_whole_list = listed.count > 0 && !listed.is_cut;
  if (is_whole_list || members.size == 0) return -1;

  // PyTorch says these of ranks that are as far apart each, and of no others.
  if (members.first && members.stride && *members.first >= 0 && *members.first <= INT32_MAX)
    return place_among(rank, *members.first, *members.stride, members.size);
  if (listed.last && listed.first && listed.stride &&
      place_among(*listed.last, *listed.first, *listed.stride, members.size) + int64_t{1} ==
          int64_t{members.size})
    return place_among(rank, *listed.first, *listed.stride, members.size);

  // All of the job, which are listed in order.
  bool const begins_with_all =
      listed.count == 0 || (listed.first == 0 && (listed.count == 1 || listed.stride == 1));
  return members.size == world_size && begins_with_all && !listed.last
             ? place_among(rank, 0, 1, world_size)
             : -1;
}

}  // namespace stepscope::import
