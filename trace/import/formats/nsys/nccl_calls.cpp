#include "trace/import/formats/nsys/nccl_calls.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "trace/base/hash_number.h"
#include "trace/model/build/collective_merge.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import::nsys {
namespace {

using Json = nlohmann::json;
using model::CollectiveDetail;
using model::CollectiveOp;

/// Bytes of a scalar of NVTX's payload entries, by its number; 0 = no integer.
unsigned bytes_of_entry(int64_t type) {
  if (type == 1 || type == 2 || type == 11 || type == 12) return 1;
  if (type == 3 || type == 4 || type == 13 || type == 14) return 2;
  if (type == 5 || type == 6 || type == 15 || type == 16) return 4;
  if ((type >= 7 && type <= 10) || type == 17 || type == 18 || type == 22 || type == 23) return 8;
  return 0;
}

/// Takes a field by the name that NCCL gives it.
void set_field(NcclPayload& payload, std::string_view field, uint64_t value) {
  auto const small = static_cast<int32_t>(std::min<uint64_t>(value, INT32_MAX));
  if (field.starts_with("NCCL communicator")) payload.communicator = value;
  if (field.starts_with("Message size")) payload.bytes = value;
  if (field.starts_with("No. of ranks")) payload.ranks = small;
  if (field == "Rank") payload.rank = small;
  if (field == "CUDA device") payload.device = small;
  if (field == "Root" || field.starts_with("Peer")) payload.peer = small;
}

/// Numbers come as such or as text, with commas between thousands.
std::optional<uint64_t> number_of(Json const& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return static_cast<uint64_t>(value.get<int64_t>());
  if (!value.is_string()) return std::nullopt;
  std::string digits = value.get_ref<std::string const&>();
  std::erase(digits, ',');
  uint64_t number = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

uint64_t load(base::ByteSpan bytes, uint64_t offset, unsigned size) {
  uint64_t value = 0;
  if (offset <= bytes.size() && size <= bytes.size() - offset)
    std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

/// What all calls agree in; bytes too, only where every call has the same.
CollectiveDetail agreed(std::span<CollectiveDetail const> calls) {
  CollectiveDetail detail = model::combine(calls);
  bool const same = std::all_of(calls.begin(), calls.end(), [&](CollectiveDetail const& call) {
    return call.bytes == calls.front().bytes;
  });
  detail.bytes = same ? calls.front().bytes : 0;
  return detail;
}

CollectiveDetail& detail_of(CommunicationKernel const& kernel) {
  return std::get<model::DetailColumn<CollectiveDetail>>(kernel.track->rows.details)[kernel.detail];
}

}  // namespace

void NcclPayloads::read(Database& database) {
  enum Column : int { kDomain, kLayout, kType, kName, kOffset };
  TableScan scan(database, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                 {"domainId", "schemaId", "type", "name", "offset"});

  while (scan.next()) {
    unsigned const bytes = bytes_of_entry(scan.integer(kType));
    std::string_view const name = scan.text(kName);

    NcclPayload known;
    set_field(known, name, 1);
    bool const is_wanted = known.communicator + known.bytes != 0 || known.ranks || known.rank ||
                           known.device || known.peer;
    if (bytes == 0 || !is_wanted) continue;

    auto& fields = layouts_[{static_cast<uint64_t>(scan.integer(kDomain)),
                             static_cast<uint64_t>(scan.integer(kLayout))}];
    bool const is_known = std::any_of(fields.begin(), fields.end(),
                                      [&](Field const& field) { return field.name == name; });

    // Each process has the same ones.
    if (!is_known)
      fields.push_back({std::string(name), static_cast<uint64_t>(scan.integer(kOffset)), bytes});
  }
}

NcclPayload NcclPayloads::decode(base::ByteSpan binary) const {
  constexpr size_t kHeaderBytes = 32, kLayoutAt = 8, kSizeAt = 16;
  NcclPayload payload;
  if (binary.size() < kHeaderBytes) return payload;

  auto const layout = layouts_.find({load(binary, 0, 8), load(binary, kLayoutAt, 8)});
  if (layout == layouts_.end()) return payload;

  base::ByteSpan bytes = binary.subspan(kHeaderBytes);
  bytes = bytes.first(std::min<uint64_t>(bytes.size(), load(binary, kSizeAt, 8)));
  for (Field const& field : layout->second) {
    bool const is_inside =
        field.offset <= bytes.size() && field.bytes <= bytes.size() - field.offset;
    if (is_inside) set_field(payload, field.name, load(bytes, field.offset, field.bytes));
  }

  return payload;
}

NcclPayload NcclPayloads::decode(std::string_view json) {
  constexpr size_t kMostBytes = 4096;
  constexpr int kMostDepth = 4;
  NcclPayload payload;
  if (json.size() > kMostBytes) return payload;

  Json const object = Json::parse(
      json, [](int depth, Json::parse_event_t, Json&) { return depth < kMostDepth; }, false);
  if (!object.is_object()) return payload;

  for (auto const& [field, value] : object.items())
    if (auto const number = number_of(value)) set_field(payload, field, *number);
  return payload;
}

NcclRole nccl_role(std::string_view name) {
  constexpr std::string_view kPrefix = "nccl";
  if (!name.starts_with(kPrefix)) return NcclRole::kNone;

  char const next = name.size() > kPrefix.size() ? name[kPrefix.size()] : ' ';
  if (next < 'A' || next > 'Z') return NcclRole::kFramework;

  if (name == "ncclGroupStart") return NcclRole::kGroupStart;
  if (name == "ncclGroupEnd") return NcclRole::kGroupEnd;
  for (std::string_view const other :
       {"ncclGroup", "ncclComm", "ncclGet", "ncclMem", "ncclRedOp", "ncclBootstrap"})
    if (name.starts_with(other)) return NcclRole::kNone;
  return NcclRole::kCall;
}

void NcclCalls::add(Process& process, TrackRows& thread, std::string_view name, int64_t start,
                    int64_t end, NcclPayload const& payload) {
  NcclRole const role = nccl_role(name);
  bool const is_communicator = payload.ranks && payload.communicator != 0;
  if (role == NcclRole::kNone && !is_communicator) return;

  OfProcess& of_process = processes_[&process];
  if (is_communicator) {
    Communicator& communicator = of_process.communicators[payload.communicator];
    communicator.ranks = *payload.ranks;
    if (payload.rank) communicator.ranks_of_devices[payload.device.value_or(-1)] = *payload.rank;
  }
  if (role == NcclRole::kNone) return;

  Range range{start, end, role, {}};
  range.detail.op = name == "ncclBcast" ? CollectiveOp::kBroadcast : model::collective_op_of(name);
  range.detail.communicator = payload.communicator;
  range.detail.bytes = payload.bytes;
  range.detail.peer = payload.peer.value_or(-1);
  of_process.threads[&thread].push_back(range);
}

/// What a framework calls a collective says something only where NCCL's own range, with its
/// payload, is not inside. Ranges in the order of time.
void NcclCalls::drop_known_frameworks(std::vector<Range>& ranges) {
  std::vector<int64_t> calls;  // where NCCL's own begin
  for (Range const& range : ranges)
    if (range.role == NcclRole::kCall) calls.push_back(range.start);
  std::erase_if(ranges, [&](Range const& range) {
    if (range.role != NcclRole::kFramework) return false;
    auto const inside = std::lower_bound(calls.begin(), calls.end(), range.start);
    return inside != calls.end() && *inside <= range.end;
  });
}

/// Calls of a thread, in the order of time: one call, or the calls of a group with the range that
/// ends it.
std::vector<NcclCalls::Plan> NcclCalls::plans_of(std::vector<Range>& ranges) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](Range const& a, Range const& b) { return a.start < b.start; });
  drop_known_frameworks(ranges);

  std::vector<Plan> plans;
  std::vector<CollectiveDetail> group;
  int depth = 0;

  for (Range const& range : ranges) {
    switch (range.role) {
      case NcclRole::kGroupStart:
        if (depth++ == 0) group.clear();
        break;
      case NcclRole::kGroupEnd:
        depth = std::max(0, depth - 1);
        if (depth == 0 && !group.empty())
          plans.push_back({range.start, range.end, std::exchange(group, {}), {}});
        break;
      case NcclRole::kCall:
      case NcclRole::kFramework:
        if (depth > 0)
          group.push_back(range.detail);
        else if (plans.empty() ||
                 range.start >
                     plans.back().end)  // else one inside another, which it does the work of
          plans.push_back({range.start, range.end, {range.detail}, {}});
        break;
      case NcclRole::kNone:
        break;
    }
  }

  return plans;
}

/// The plan in whose range the time is; null = none.
NcclCalls::Plan* NcclCalls::plan_at(std::vector<Plan>& plans, int64_t time) {
  auto const after = std::partition_point(plans.begin(), plans.end(),
                                          [&](Plan const& plan) { return plan.start <= time; });
  return after == plans.begin() || std::prev(after)->end < time ? nullptr : &*std::prev(after);
}

/// Bytes as DEFINITIONS says: the whole array where each rank has a share.
void NcclCalls::complete(CollectiveDetail& call, int32_t device, OfProcess const& process) {
  if (auto const known = process.communicators.find(call.communicator);
      known != process.communicators.end()) {
    call.participants = static_cast<uint32_t>(std::max(0, known->second.ranks));
    auto const& ranks = known->second.ranks_of_devices;
    auto const own = ranks.find(device);
    if (own != ranks.end()) call.rank = own->second;
    if (own == ranks.end() && ranks.size() == 1) call.rank = ranks.begin()->second;
  }

  uint64_t whole = 0;
  if (model::collective_op_info(call.op).counts_share)
    call.bytes =
        __builtin_mul_overflow(call.bytes, uint64_t{call.participants}, &whole) ? 0 : whole;
}

void NcclCalls::assign(Plan& plan, OfProcess const& process) {
  // More than any group has: damage, and too much to compare.
  constexpr size_t kMostPairs = size_t{1} << 20U;
  if (plan.kernels.empty() || plan.calls.size() > kMostPairs / plan.kernels.size()) return;

  std::map<CollectiveOp, size_t> named;  // how many kernels say that they do it
  for (CommunicationKernel const* kernel : plan.kernels) ++named[detail_of(*kernel).op];

  for (CommunicationKernel const* const kernel : plan.kernels) {
    CollectiveDetail& to = detail_of(*kernel);
    std::vector<CollectiveDetail> calls;
    for (CollectiveDetail call : plan.calls) {
      // A kernel that does not say what it does (it sends and receives) carries what no other does.
      bool const is_of_other = call.op != CollectiveOp::kUnknown && named.contains(call.op);
      if (to.op == CollectiveOp::kUnknown ? is_of_other
                                          : call.op != CollectiveOp::kUnknown && call.op != to.op)
        continue;
      complete(call, kernel->device, process);
      calls.push_back(call);
    }

    if (calls.empty()) continue;

    // With several kernels of a kind the ranges do not tell which call is whose: take only what
    // holds for all of them.
    size_t const rivals = named.at(to.op);
    CollectiveDetail const carried = rivals == 1 ? model::combine(calls) : agreed(calls);
    bool const is_one_each = rivals == 1 || calls.size() == rivals;

    if (carried.op != CollectiveOp::kUnknown) to.op = carried.op;
    to.bytes = is_one_each ? carried.bytes : 0;
    to.communicator = carried.communicator;
    to.participants = carried.participants;
    to.rank = carried.rank;
    to.peer = carried.peer;
  }
}

void NcclCalls::refine(DeviceRows& devices) {
  for (auto const& [process, kernels] : devices.communication) {
    auto const found = processes_.find(process);
    if (found == processes_.end()) continue;

    std::unordered_multimap<uint64_t, CommunicationKernel const*, base::HashNumber> by_correlation;
    for (CommunicationKernel const& kernel : kernels)
      if (kernel.correlation != 0) by_correlation.emplace(kernel.correlation, &kernel);

    for (auto& [thread, ranges] : found->second.threads) {
      std::vector<Plan> plans = plans_of(ranges);
      model::EventBatch const& rows = thread->rows;

      for (size_t row = 0; row < rows.size() && !plans.empty(); ++row) {
        if (rows.kind[row] != model::EventKind::kLaunch) continue;
        if (!by_correlation.contains(rows.correlation[row])) continue;
        Plan* const plan = plan_at(plans, rows.start[row]);
        if (plan == nullptr) continue;

        // Only now: kernels with one correlation may be many, and are passed over once.
        auto const [first, last] = by_correlation.equal_range(rows.correlation[row]);
        for (auto kernel = first; kernel != last; ++kernel) plan->kernels.push_back(kernel->second);
        by_correlation.erase(first, last);
      }
      for (Plan& plan : plans) assign(plan, found->second);
    }
  }
}

std::optional<std::pair<int32_t, int32_t>> NcclCalls::rank_of(Process const& process) const {
  auto const found = processes_.find(&process);
  if (found == processes_.end()) return std::nullopt;
  std::optional<std::pair<int32_t, int32_t>> largest;
  for (auto const& [number, communicator] : found->second.communicators) {
    bool const is_one = communicator.ranks_of_devices.size() == 1;
    if (is_one && communicator.ranks > (largest ? largest->second : 0))
      largest = {communicator.ranks_of_devices.begin()->second, communicator.ranks};
  }
  return largest;
}

}  // namespace stepscope::import::nsys
