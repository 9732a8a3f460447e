#include "trace/import/formats/xplane/plane_tables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope::import {
namespace {

using base::ProtobufField;
using base::ProtobufReader;

/// An entry of event_metadata or stat_metadata: its value, under the key that the entry has, else
/// under its own id.
struct MetadataEntry {
  int64_t key = 0;
  std::string_view value;
};

MetadataEntry read_entry(std::string_view message) {
  MetadataEntry entry;
  bool has_key = false;
  ProtobufReader reader(message);
  ProtobufField field;

  while (reader.next(field)) {
    if (field.is_varint(1)) {
      entry.key = field.signed_value();
      has_key = true;
    } else if (field.is_bytes(2)) {
      entry.value = field.bytes;
    }
  }
  if (has_key) return entry;

  ProtobufReader value(entry.value);
  while (value.next(field))
    if (field.is_varint(1)) entry.key = field.signed_value();
  return entry;
}

/// Calls add(entry) for the entries of one of a plane's maps.
template <class Add>
void for_each_entry(std::string_view plane, uint32_t map, Add&& add) {
  ProtobufReader reader(plane);
  ProtobufField field;
  while (reader.next(field))
    if (field.is_bytes(map)) add(field.bytes);
}

KnownStat known_stat_of(std::string_view name) {
  using enum KnownStat;

  static constexpr std::array<std::pair<std::string_view, KnownStat>, 22> kNames = {{
      {"correlation_id", kCorrelation},
      {"kernel_details", kKernelDetails},
      {"memcpy_details", kMemcpyDetails},
      {"Memset_details", kMemsetDetails},
      {"memset_details", kMemsetDetails},
      {"memalloc_details", kNoWorkDetails},
      {"MemFree_details", kNoWorkDetails},
      {"MemoryResidency_details", kNoWorkDetails},
      {"device_id", kDevice},
      {"step_num", kStepNumber},
      {"group_id", kGroup},
      {"cuda_graph_id", kGraph},
      {"cuda_graph_exec_id", kWholeGraph},
      {"cuda_graph_node_id", kGraphNode},
      {"hlo_op", kHloOp},
      {"hlo_category", kHloCategory},
      {"flops", kFlops},
      {"bytes_accessed", kBytesAccessed},
      {"allocator_name", kAllocator},
      {"bytes_allocated", kBytesAllocated},
      {"allocation_bytes", kAllocationBytes},
      {"addr", kAddress},
  }};

  auto const found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](auto const& known) { return known.first == name; });
  return found == kNames.end() ? kOther : found->second;
}

/// "cuLaunchKernel", "cudaMalloc", "hipMemcpyAsync"; not "cudnn…" and "cublas…", which call those.
bool looks_like_call(std::string_view name) {
  for (std::string_view const prefix : {"cuda", "cu", "hip"}) {
    if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
    char const next = name[prefix.size()];
    if (next >= 'A' && next <= 'Z') return name.find_first_of(" :.(") == std::string_view::npos;
  }
  return false;
}

/// "cuGraphLaunch (CudaGraph:5)" → "cuGraphLaunch": which graph it launches, its stats say too.
std::string_view without_graph(std::string_view name) {
  return name.substr(0, name.find(" (CudaGraph:"));
}

/// TensorFlow's op that takes the next batch; Python's iterators over a data set, as the Python
/// tracer names functions.
bool takes_input(std::string_view name) {
  if (name == "IteratorGetNextOp::DoCompute" || name == "IteratorGetNextAsOptionalOp::DoCompute")
    return true;
  if (!name.ends_with("__next__")) return false;
  static constexpr std::array<std::string_view, 4> kFiles = {
      "$iterator_ops.py:", "$dataloader.py:", "$data_loader.py:", "$dataset_iterator.py:"};
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](std::string_view file) { return name.starts_with(file); });
}

void add_host_metadata(EventMetadata& metadata) {
  constexpr std::string_view kNvtx = "NVTX:";
  if (metadata.name.starts_with(kNvtx)) metadata.name.remove_prefix(kNvtx.size());

  if (metadata.name == "MemoryAllocation") {
    metadata.host = HostMeaning::kAllocation;
  } else if (metadata.name == "MemoryDeallocation") {
    metadata.host = HostMeaning::kFree;
  } else if (takes_input(metadata.name)) {
    metadata.host = HostMeaning::kInputWait;
  } else if (std::string_view const call = without_graph(metadata.name); looks_like_call(call)) {
    metadata.host = HostMeaning::kCall;
    metadata.name = call;

    std::string_view const function = model::plain_name(metadata.name);
    metadata.api = model::classify(function);
    metadata.sync = model::sync_kind_of(function);
  }
}

}  // namespace

void IdIndex::build(std::span<int64_t const> ids) {
  // Larger ids are few where ids are given out in order; any may be there where not.
  constexpr size_t kMostGaps = 8, kFewest = 1024;
  int64_t const dense_limit = static_cast<int64_t>(kMostGaps * ids.size() + kFewest);

  int64_t largest = -1;
  for (int64_t const id : ids)
    if (id < dense_limit) largest = std::max(largest, id);

  dense_.assign(static_cast<size_t>(largest + 1), kNone);
  for (uint32_t at = 0; at < ids.size(); ++at) {
    bool const is_dense = static_cast<uint64_t>(ids[at]) < dense_.size();
    uint32_t& place = is_dense ? dense_[static_cast<size_t>(ids[at])]
                               : sparse_.try_emplace(ids[at], kNone).first->second;
    doubled_ += place == kNone ? 0 : 1;
    place = at;
  }
}

StatTable::StatTable(std::string_view plane) {
  constexpr uint32_t kStatMetadata = 5;
  std::vector<int64_t> ids;
  for_each_entry(plane, kStatMetadata, [&](std::string_view entry) { add(entry, ids); });
  index_.build(ids);

  constexpr int64_t kSmallIds = 4096;
  int64_t const largest = ids.empty() ? -1 : *std::max_element(ids.begin(), ids.end());
  for (int64_t id = 0; id <= std::min(largest, kSmallIds); ++id) {
    Entry const* const entry = find(id);
    known_.push_back(entry == nullptr ? KnownStat::kOther : entry->known);
  }
}

void StatTable::add(std::string_view entry, std::vector<int64_t>& ids) {
  auto const [key, value] = read_entry(entry);
  Entry& stat = entries_.emplace_back();
  ids.push_back(key);

  ProtobufReader reader(value);
  ProtobufField field;
  while (reader.next(field))
    if (field.is_bytes(2) && !field.is_cut) stat.name = field.bytes;

  stat.known = known_stat_of(stat.name);
  has_step_numbers_ = has_step_numbers_ || stat.known == KnownStat::kStepNumber;

  // Longer ones are no such text.
  constexpr size_t kMostBytes = 512;
  if (stat.name.size() > kMostBytes) return;
  stat.xla_op = meaning_of_xla_op(stat.name, {});

  if (stat.name.find("grid:") != std::string_view::npos) {
    kernels_.push_back(parse_kernel_details(stat.name));
    stat.kernel = static_cast<uint32_t>(kernels_.size());
  } else if (stat.name.find("size:") != std::string_view::npos ||
             stat.name.find("num_bytes:") != std::string_view::npos) {
    copies_.push_back(parse_copy_details(stat.name));
    stat.copy = static_cast<uint32_t>(copies_.size());
  }
}

std::string_view StatTable::text(RawStat const& stat) const {
  if (stat.type == RawStat::Type::kText) return stat.value.bytes;
  if (stat.type != RawStat::Type::kReference) return {};
  Entry const* const entry = find(stat.value.signed_value());
  return entry == nullptr ? std::string_view() : entry->name;
}

model::KernelDetail StatTable::kernel(RawStat const& stat) const {
  if (stat.type != RawStat::Type::kReference) return parse_kernel_details(text(stat));
  Entry const* const entry = find(stat.value.signed_value());
  return entry == nullptr || entry->kernel == 0 ? model::KernelDetail()
                                                : kernels_[entry->kernel - 1];
}

model::CopyDetail StatTable::copy(RawStat const& stat) const {
  if (stat.type != RawStat::Type::kReference) return parse_copy_details(text(stat));
  Entry const* const entry = find(stat.value.signed_value());
  return entry == nullptr || entry->copy == 0 ? model::CopyDetail() : copies_[entry->copy - 1];
}

OpMeaning StatTable::xla_op(RawStat const& stat) const {
  if (stat.type != RawStat::Type::kReference) return meaning_of_xla_op(text(stat), {});
  Entry const* const entry = find(stat.value.signed_value());
  return entry == nullptr ? OpMeaning() : entry->xla_op;
}

EventTable::EventTable(std::string_view plane, Vocabulary vocabulary, StatTable const& stats) {
  constexpr uint32_t kEventMetadata = 4;
  std::vector<int64_t> ids;
  for_each_entry(plane, kEventMetadata,
                 [&](std::string_view entry) { add(entry, vocabulary, stats, ids); });
  index_.build(ids);
  metadata_.emplace_back().name = "unnamed";
}

void EventTable::add(std::string_view entry, Vocabulary vocabulary, StatTable const& stats,
                     std::vector<int64_t>& ids) {
  auto const [key, value] = read_entry(entry);
  EventMetadata& metadata = metadata_.emplace_back();
  ids.push_back(key);
  std::string_view name, display_name, category;

  ProtobufReader reader(value);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.is_cut) continue;
    if (field.is_bytes(2)) name = field.bytes;
    if (field.is_bytes(4)) display_name = field.bytes;
    if (!field.is_bytes(5)) continue;
    RawStat const stat = read_stat(field.bytes);
    KnownStat const known = stats.known(stat.metadata_id);
    if (known == KnownStat::kHloCategory) category = stats.text(stat);
    if (known == KnownStat::kFlops) metadata.flops = std::max(0.0, stat.real().value_or(0));
    if (known == KnownStat::kBytesAccessed)
      metadata.bytes = static_cast<uint64_t>(std::max<int64_t>(0, stat.integer().value_or(0)));
  }

  // The name of an instruction is its whole text; what people call it is the other one.
  bool const is_instruction = vocabulary == Vocabulary::kXlaOps;
  metadata.name = name.empty() || (is_instruction && !display_name.empty()) ? display_name : name;

  if (is_instruction) {
    metadata.op = meaning_of_xla_op(metadata.name, category);
    if (metadata.name.starts_with('%'))
      metadata.name = metadata.name.substr(1, metadata.name.find(" = ") - 1);
  } else if (vocabulary == Vocabulary::kStreamOps) {
    metadata.op = meaning_of_stream_op(metadata.name);
  } else {
    add_host_metadata(metadata);
  }
}

}  // namespace stepscope::import
