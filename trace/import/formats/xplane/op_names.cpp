#include "trace/import/formats/xplane/op_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::CollectiveOp;
using model::CopyDirection;

CopyDirection direction_of(std::string_view name) {
  struct Part {
    std::string_view text;
    CopyDirection direction;
  };
  static constexpr std::array<Part, 13> kParts = {{{"H2D", CopyDirection::kHostToDevice},
                                                   {"HtoD", CopyDirection::kHostToDevice},
                                                   {"HTOD", CopyDirection::kHostToDevice},
                                                   {"D2H", CopyDirection::kDeviceToHost},
                                                   {"DtoH", CopyDirection::kDeviceToHost},
                                                   {"DTOH", CopyDirection::kDeviceToHost},
                                                   {"D2D", CopyDirection::kDeviceToDevice},
                                                   {"DtoD", CopyDirection::kDeviceToDevice},
                                                   {"DTOD", CopyDirection::kDeviceToDevice},
                                                   {"P2P", CopyDirection::kPeerToPeer},
                                                   {"Peer", CopyDirection::kPeerToPeer},
                                                   {"H2H", CopyDirection::kHostToHost},
                                                   {"HtoH", CopyDirection::kHostToHost}}};

  auto const found = std::find_if(kParts.begin(), kParts.end(), [&](Part const& part) {
    return name.find(part.text) != std::string_view::npos;
  });
  return found == kParts.end() ? CopyDirection::kUnknown : found->direction;
}

/// Takes a word off the end; whether it was there.
bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// The name of an instruction alone: "%fusion.7 = f32[8] fusion(...)" → "fusion.7".
std::string_view instruction_of(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  return name.substr(0, name.find_first_of(" =("));
}

bool is_decimal(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Without ".3" and ".clone" behind the opcode.
std::string_view opcode_with_phase(std::string_view name) {
  name = instruction_of(name);
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
    std::string_view const last = name.substr(dot + 1);
    if (!is_decimal(last) && last != "clone" && last != "remat") break;
    name = name.substr(0, dot);
  }
  return name;
}

OpPhase take_phase(std::string_view& opcode) {
  if (take_suffix(opcode, "-start")) return OpPhase::kStart;
  return take_suffix(opcode, "-done") ? OpPhase::kDone : OpPhase::kWhole;
}

/// Into how many operations a profile splits one.
enum class OpPieces : uint8_t {
  kOneOrTwo,
  kTwo,           ///< in one it is the core's own work
  kTwoPlainBegin  ///< the begin is not called "-start": HLO has "send" and "send-done"
};

struct KnownOp {
  std::string_view opcode;
  OpRole role;
  CollectiveOp collective = CollectiveOp::kUnknown;
  CopyDirection direction = CopyDirection::kUnknown;
  OpPieces pieces = OpPieces::kOneOrTwo;
};

constexpr std::array<KnownOp, 28> kKnownOps = {{
    {"all-reduce", OpRole::kCollective, CollectiveOp::kAllReduce},
    {"all-reduce fusion", OpRole::kCollective, CollectiveOp::kAllReduce},
    {"all-reduce-scatter", OpRole::kCollective, CollectiveOp::kReduceScatter},
    {"all-reduce-scatter fusion", OpRole::kCollective, CollectiveOp::kReduceScatter},
    {"reduce-scatter", OpRole::kCollective, CollectiveOp::kReduceScatter},
    {"all-gather", OpRole::kCollective, CollectiveOp::kAllGather},
    {"all-gather fusion", OpRole::kCollective, CollectiveOp::kAllGather},
    {"all-to-all", OpRole::kCollective, CollectiveOp::kAllToAll},
    {"ragged-all-to-all", OpRole::kCollective, CollectiveOp::kAllToAll},
    {"collective-broadcast", OpRole::kCollective, CollectiveOp::kBroadcast},
    {"collective-permute", OpRole::kCollective, CollectiveOp::kSend},
    {"async-collective", OpRole::kCollective},
    {"send", OpRole::kCollective, CollectiveOp::kSend, CopyDirection::kUnknown,
     OpPieces::kTwoPlainBegin},
    {"recv", OpRole::kCollective, CollectiveOp::kReceive, CopyDirection::kUnknown,
     OpPieces::kTwoPlainBegin},
    {"host send", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kDeviceToHost,
     OpPieces::kTwoPlainBegin},
    {"host recv", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kHostToDevice,
     OpPieces::kTwoPlainBegin},
    {"infeed", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kHostToDevice},
    {"outfeed", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kDeviceToHost},
    {"copy", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kDeviceToDevice,
     OpPieces::kTwo},
    {"slice", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kDeviceToDevice,
     OpPieces::kTwo},
    {"dynamic-slice", OpRole::kMemcpy, CollectiveOp::kUnknown, CopyDirection::kDeviceToDevice,
     OpPieces::kTwo},
    {"dynamic-update-slice", OpRole::kMemcpy, CollectiveOp::kUnknown,
     CopyDirection::kDeviceToDevice, OpPieces::kTwo},
    {"async", OpRole::kAsync, CollectiveOp::kUnknown, CopyDirection::kUnknown, OpPieces::kTwo},
    {"while", OpRole::kControlFlow},
    {"conditional", OpRole::kControlFlow},
    {"call", OpRole::kControlFlow},
    {"megacore fusion", OpRole::kControlFlow},
    {"async-call", OpRole::kAsync, CollectiveOp::kUnknown, CopyDirection::kUnknown, OpPieces::kTwo},
}};

/// The meaning of an opcode or a category.
std::optional<OpMeaning> known_meaning(std::string_view opcode) {
  OpMeaning meaning;
  meaning.phase = take_phase(opcode);
  auto const found = std::find_if(kKnownOps.begin(), kKnownOps.end(),
                                  [&](KnownOp const& known) { return known.opcode == opcode; });
  if (found == kKnownOps.end()) return std::nullopt;

  bool const is_whole = meaning.phase == OpPhase::kWhole;
  if (is_whole && found->pieces == OpPieces::kTwo) return std::nullopt;

  if (is_whole && found->pieces == OpPieces::kTwoPlainBegin) meaning.phase = OpPhase::kStart;
  meaning.role = found->role;
  meaning.collective = found->collective;
  meaning.direction = found->direction;
  return meaning;
}

/// "12.5" → 12.5; 0 when it is no number.
double parse_number(std::string_view text) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && std::isfinite(value) ? value : 0;
}

template <class Number>
Number parse_count(std::string_view text) {
  Number value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : 0;
}

/// Calls handle(key, value) for each "key:value".
template <class Handle>
void for_each_detail(std::string_view text, Handle&& handle) {
  constexpr std::string_view kSpaces = " \n\t";
  while (!text.empty()) {
    std::string_view const word = text.substr(0, text.find_first_of(kSpaces));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    size_t const colon = word.find(':');
    if (colon != std::string_view::npos) handle(word.substr(0, colon), word.substr(colon + 1));
  }
}

void parse_shape(std::string_view text, uint32_t& x, uint32_t& y, uint32_t& z) {
  for (uint32_t* const number : {&x, &y, &z}) {
    std::string_view const part = text.substr(0, text.find(','));
    *number = parse_count<uint32_t>(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
}

uint32_t sum_that_fits(uint32_t a, uint32_t b) {
  return a > std::numeric_limits<uint32_t>::max() - b ? std::numeric_limits<uint32_t>::max()
                                                      : a + b;
}

}  // namespace

OpMeaning meaning_of_stream_op(std::string_view name) {
  OpMeaning meaning;
  // ROCm's runtime copies and fills by kernels of its own, one for each hipMemcpy or hipMemset.
  if (name.starts_with("Memcpy") || name.starts_with("__amd_rocclr_copy") ||
      name.starts_with("UM_BYTES_TRANSFER")) {
    meaning.role = OpRole::kMemcpy;
    meaning.direction = direction_of(name);
  } else if (name.starts_with("Memset") || name.starts_with("__amd_rocclr_fill")) {
    meaning.role = OpRole::kMemset;
  } else if (name.starts_with("UM_") || name == "MemoryResidency" || name == "MemoryAlloc" ||
             name == "MemoryFree") {
    meaning.role = OpRole::kNoWork;
  } else if (model::is_communication_kernel(name)) {
    model::CollectiveDetail const detail = model::collective_of_kernel(name);
    meaning.role = OpRole::kCollective;
    meaning.collective = detail.op;
    meaning.algorithm = detail.algorithm;
    meaning.protocol = detail.protocol;
  } else {
    meaning.direction = direction_of(name);  // should a detail say that it copies
  }

  return meaning;
}

OpMeaning meaning_of_xla_op(std::string_view name, std::string_view category) {
  std::string_view const opcode = opcode_with_phase(name);

  // The category of an instruction that the name does not tell: "fusion.3" may be an "all-reduce
  // fusion". "async-start" says less than a name.
  auto const by_name = known_meaning(opcode);
  auto const by_category = known_meaning(category);
  bool const is_host_transfer = by_category && by_category->role == OpRole::kMemcpy;
  if (by_name && !is_host_transfer) return *by_name;

  if (!by_category) return {};
  OpMeaning meaning = *by_category;
  std::string_view rest = opcode;
  if (OpPhase const named = take_phase(rest); named != OpPhase::kWhole) meaning.phase = named;
  return meaning;
}

std::string_view xla_opcode(std::string_view name) {
  name = opcode_with_phase(name);
  take_phase(name);
  return name;
}

std::optional<uint64_t> xla_op_number(std::string_view name) {
  name = instruction_of(name);
  size_t const dot = name.rfind('.');
  if (dot == std::string_view::npos || !is_decimal(name.substr(dot + 1))) return std::nullopt;
  return parse_count<uint64_t>(name.substr(dot + 1));
}

model::KernelDetail parse_kernel_details(std::string_view text) {
  model::KernelDetail detail;
  for_each_detail(text, [&](std::string_view key, std::string_view value) {
    if (key == "regs") detail.registers_per_thread = parse_count<uint32_t>(value);
    if (key == "static_shared" || key == "dynamic_shared" || key == "group_mem")
      detail.shared_memory_bytes =
          sum_that_fits(detail.shared_memory_bytes, parse_count<uint32_t>(value));
    if (key == "grid") parse_shape(value, detail.grid_x, detail.grid_y, detail.grid_z);
    if (key == "block") parse_shape(value, detail.block_x, detail.block_y, detail.block_z);
    constexpr double kWhole = 100;
    if (key == "occ_pct")
      detail.occupancy_percent =
          static_cast<uint8_t>(std::lround(std::clamp(parse_number(value), 0.0, kWhole)));
  });

  return detail;
}

model::CopyDetail parse_copy_details(std::string_view text) {
  model::CopyDetail detail;
  for_each_detail(text, [&](std::string_view key, std::string_view value) {
    if (key == "size" || key == "num_bytes") detail.bytes = parse_count<uint64_t>(value);
    if (key == "dest") detail.peer_device = parse_count<int32_t>(value);
    if (key.starts_with("kind") && value == "pinned") detail.pinned = 1;
  });
  return detail;
}

}  // namespace stepscope::import
