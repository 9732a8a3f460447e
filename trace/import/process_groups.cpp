#include "trace/import/process_groups.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <xxhash.h>

namespace stepscope::import {

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
  auto const found = std::find_if(kNames.begin(), kNames.end(), [&](Name const& known) { return known.name == name; });
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
  return fmt::format("[{}{}]", fmt::join(ranks.first(std::min(ranks.size(), kMost)), ", "), is_cut ? ", ..." : "");
}

}  // namespace stepscope::import
