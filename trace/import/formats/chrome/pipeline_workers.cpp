#include "trace/import/formats/chrome/pipeline_workers.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <xxhash.h>

#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/model/intervals.h"

namespace stepscope::import {
namespace {

using model::CollectiveOp;
using model::EventBatch;
using model::EventKind;
using model::PipelinePlace;
using Work = PipelineLane::Work;

/// Which workers a collective joins.
enum class JoinedWorkers : uint8_t {
  kNone,
  kNeighbours,   ///< a stage and the one that gets its message
  kDataGroup,    ///< all that hold the same part of the model
  kTensorGroup,  ///< all that share the work of one stage
  kOuterStages,  ///< the first and the last stage, which share the embedding's weights
  kWholeJob
};
struct PipelineOpRow {
  std::string_view name;
  CollectiveOp op = CollectiveOp::kUnknown;
  JoinedWorkers joined = JoinedWorkers::kNone;
};

/// Megatron's names of what communicates. A row's place is part of the numbers of its collectives.
constexpr std::array kCommunicating = {
    PipelineOpRow{"forward-send", CollectiveOp::kSend, JoinedWorkers::kNeighbours},
    PipelineOpRow{"forward-recv", CollectiveOp::kReceive, JoinedWorkers::kNeighbours},
    PipelineOpRow{"backward-send", CollectiveOp::kSend, JoinedWorkers::kNeighbours},
    PipelineOpRow{"backward-recv", CollectiveOp::kReceive, JoinedWorkers::kNeighbours},
    PipelineOpRow{"params-all-gather", CollectiveOp::kAllGather, JoinedWorkers::kDataGroup},
    PipelineOpRow{"params-all-gather-nonoverlapping", CollectiveOp::kAllGather,
                  JoinedWorkers::kDataGroup},
    PipelineOpRow{"grads-reduce-scatter", CollectiveOp::kReduceScatter, JoinedWorkers::kDataGroup},
    PipelineOpRow{"grads-reduce-scatter-nonoverlapping", CollectiveOp::kReduceScatter,
                  JoinedWorkers::kDataGroup},
    PipelineOpRow{"separate-grads-all-reduce", CollectiveOp::kAllReduce, JoinedWorkers::kDataGroup},
    PipelineOpRow{"layernorm-grads-all-reduce", CollectiveOp::kAllReduce,
                  JoinedWorkers::kTensorGroup},
    PipelineOpRow{"embedding-grads-all-reduce", CollectiveOp::kAllReduce,
                  JoinedWorkers::kOuterStages},
    PipelineOpRow{"optimizer-clip-main-grad", CollectiveOp::kAllReduce, JoinedWorkers::kWholeJob},
    PipelineOpRow{"tp-reducescatter", CollectiveOp::kReduceScatter, JoinedWorkers::kTensorGroup},
    PipelineOpRow{"tp-allgather", CollectiveOp::kAllGather, JoinedWorkers::kTensorGroup},
    PipelineOpRow{"tp-allreduce", CollectiveOp::kAllReduce, JoinedWorkers::kTensorGroup},
};
constexpr size_t kMessageRows = 4;
constexpr size_t kNoRow = kCommunicating.size();

/// Messages of each direction have a stream of their own: in one they would lie above each other.
constexpr std::array<std::string_view, 8> kStreamNames = {
    "compute",       "forward-send", "forward-recv", "backward-send",
    "backward-recv", "tp-comm",      "dp-comm",      "misc"};
constexpr int64_t kTensorStream = 5, kDataStream = 6, kOtherStream = 7;

size_t row_of_name(std::string_view name) {
  auto const at = std::find_if(kCommunicating.begin(), kCommunicating.end(),
                               [&](PipelineOpRow const& row) { return row.name == name; });
  return static_cast<size_t>(at - kCommunicating.begin());
}

int64_t stream_of_op(Work work, size_t row) {
  if (row < kMessageRows) return static_cast<int64_t>(row) + 1;
  switch (work) {
    case Work::kCompute:
      return row == kNoRow ? 0 : kDataStream;
    case Work::kTensorGroup:
      return kTensorStream;
    case Work::kDataGroup:
      return kDataStream;
    case Work::kMessages:
    case Work::kOther:
      break;
  }
  return kOtherStream;
}

/// The first number of "rank 3", "[3]", "3".
std::optional<int32_t> rank_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  size_t const first = text.find_first_of(kDigits);
  if (first == std::string_view::npos) return std::nullopt;
  size_t const last = std::min(text.find_first_not_of(kDigits, first), text.size());

  constexpr int64_t kMostRank = 1 << 20;  // no job has as many
  auto const rank = parse_integer(text.substr(first, last - first));
  return rank && *rank <= kMostRank ? std::optional(static_cast<int32_t>(*rank)) : std::nullopt;
}

std::optional<Work> work_of(std::string_view text) {
  if (text == "compute") return Work::kCompute;
  if (text == "pp-comm") return Work::kMessages;
  if (text == "tp-comm") return Work::kTensorGroup;
  if (text == "dp-comm") return Work::kDataGroup;
  return text == "misc" ? std::optional(Work::kOther) : std::nullopt;
}

/// Numbers devices and groups, and gives each operation its place in them.
class WorkerMaker {
 public:
  WorkerMaker(std::map<PipelinePlace, std::vector<PipelineOp>> const& ops,
              model::TraceBuilder& builder)
      : builder_(builder) {
    for (auto const& [place, of_place] : ops) {
      devices_.emplace(place, static_cast<int32_t>(devices_.size()));
      shape_.stages = std::max(shape_.stages, place.stage + 1);
      for (PipelineOp const& op : of_place) shape_.chunks = std::max(shape_.chunks, op.chunk + 1);
    }
  }

  PipelineWorker make(PipelinePlace place, std::vector<PipelineOp> ops) {
    PipelineWorker worker{place, {}, {}};
    std::stable_sort(ops.begin(), ops.end(), [](PipelineOp const& a, PipelineOp const& b) {
      return std::tie(a.step, a.start_ns, a.sequence) < std::tie(b.step, b.start_ns, b.sequence);
    });
    add_steps(ops, worker.steps);

    for (size_t first = 0, last = 0; first < ops.size(); first = last) {
      while (last < ops.size() && ops[last].step == ops[first].step) ++last;
      add_step_ops(place, std::span(ops).subspan(first, last - first), worker);
    }
    return worker;
  }

 private:
  /// Where an operation of a step stands among those of its name, for messages among those that
  /// have a partner.
  struct NumberedOp {
    PipelineOp const* op = nullptr;
    size_t row = kNoRow;
    int64_t number = 0;
    bool is_empty = false;
  };

  size_t row_of(model::StringId name) {
    auto const [known, is_new] = rows_.try_emplace(name.value, kNoRow);
    if (is_new) known->second = row_of_name(builder_.text(name));
    return known->second;
  }

  /// Each from its first operation to its last, and no longer than to the next step.
  void add_steps(std::vector<PipelineOp> const& ops, EventBatch& steps) {
    std::map<int64_t, model::Interval> when;
    for (PipelineOp const& op : ops) {
      if (op.step < 0) continue;
      int64_t const begin = std::clamp(op.start_ns, -model::kMaxTime, model::kMaxTime);
      // An operation without length at the very end belongs to the step, too.
      int64_t const end = begin + std::clamp<int64_t>(op.dur_ns, 1, model::kMaxTime);
      model::Interval& step = when.try_emplace(op.step, model::Interval{begin, end}).first->second;
      step = {std::min(step.begin, begin), std::max(step.end, end)};
    }

    std::vector<std::pair<int64_t, int64_t>> by_begin;
    for (auto const& [number, step] : when) by_begin.emplace_back(step.begin, number);
    std::sort(by_begin.begin(), by_begin.end());

    model::StringId const name = builder_.intern("step");
    for (size_t i = 0; i < by_begin.size(); ++i) {
      auto const [begin, number] = by_begin[i];
      int64_t end = when.at(number).end;
      if (i + 1 < by_begin.size()) end = std::min(end, by_begin[i + 1].first);
      if (end > begin)
        steps.add(EventKind::kStep, begin, end - begin, name, 0, model::StepDetail{number});
    }
  }

  /// `ops`: of one step, by time.
  void add_step_ops(PipelinePlace place, std::span<PipelineOp const> ops, PipelineWorker& worker) {
    std::vector<NumberedOp> numbered;
    std::map<size_t, int64_t> counts;
    for (PipelineOp const& op : ops) {
      size_t const row = row_of(op.name);
      int64_t const count = row == kNoRow ? 0 : counts[row]++;
      numbered.push_back({&op, row, op.sequence >= 0 ? op.sequence : count, false});
    }

    for (size_t row = 0; row < kMessageRows; ++row)
      if (counts.contains(row)) number_messages(place, row, numbered);

    for (NumberedOp const& op : numbered) {
      EventBatch& rows = worker.streams[stream_of_op(op.op->work, op.row)];
      add_op(place, op, rows);
    }
  }

  /// The n-th message with a partner is the partner's n-th, whatever else either side recorded.
  void number_messages(PipelinePlace place, size_t row, std::vector<NumberedOp>& numbered) {
    bool const is_forward = row < kMessageRows / 2;
    bool const is_receive = kCommunicating[row].op == CollectiveOp::kReceive;
    std::string_view const pass = is_forward ? "forward-compute" : "backward-compute";

    std::vector<uint8_t> crosses;
    std::vector<NumberedOp*> messages;
    for (NumberedOp& op : numbered) {
      if (op.row == row) messages.push_back(&op);
      if (op.row == kNoRow && builder_.text(op.op->name) == pass)
        crosses.push_back(shape_.crosses(place.stage, op.op->chunk, {is_forward, is_receive}) ? 1
                                                                                              : 0);
    }

    auto const passes = model::passes_of_messages(messages.size(), crosses, is_receive);
    int64_t number = 0;
    for (size_t i = 0; i < messages.size(); ++i) {
      messages[i]->is_empty = passes && (*passes)[i].is_empty;
      messages[i]->number = number;
      number += messages[i]->is_empty ? 0 : 1;
    }
  }

  void add_op(PipelinePlace place, NumberedOp const& numbered, EventBatch& rows) {
    PipelineOp const& op = *numbered.op;
    model::StringId const name =
        op.chunk == 0
            ? op.name
            : builder_.intern(model::name_of_chunk(std::string(builder_.text(op.name)), op.chunk));
    bool const communicates = numbered.row != kNoRow || op.work == Work::kMessages ||
                              op.work == Work::kTensorGroup || op.work == Work::kDataGroup;

    if (communicates) {
      rows.add(EventKind::kCollective, op.start_ns, op.dur_ns, name, 0,
               collective_of(place, numbered));
    } else {
      rows.add(EventKind::kKernel, op.start_ns, op.dur_ns, name, 0, model::KernelDetail());
    }
  }

  /// Without a communicator where it has no partner, or does not tell its step.
  model::CollectiveDetail collective_of(PipelinePlace place, NumberedOp const& op) {
    model::CollectiveDetail detail;
    if (op.row == kNoRow) return detail;
    detail.op = kCommunicating[op.row].op;
    if (op.is_empty || op.op->step < 0) return detail;

    // Room for 65,536 of a name in a step; numbers of more steps than 2^40 begin again.
    constexpr uint64_t kStepBits = 24U, kRowBits = 16U, kMostNumber = (1U << kRowBits) - 1;
    bool const is_message = op.row < kMessageRows;
    uint64_t const row = is_message ? op.row / 2 : op.row;  // both sides of a message have one
    detail.sequence = (static_cast<uint64_t>(op.op->step) << kStepBits) + ((row + 1) << kRowBits) +
                      (static_cast<uint64_t>(op.number) & kMostNumber);

    if (is_message) {
      join_neighbour(place, op.row, detail);
    } else {
      join_group(place, kCommunicating[op.row].joined, detail);
    }
    return detail;
  }

  void join_neighbour(PipelinePlace place, size_t row, model::CollectiveDetail& detail) const {
    bool const is_forward = row < kMessageRows / 2;
    bool const is_send = detail.op == CollectiveOp::kSend;
    PipelinePlace peer = place;
    int32_t const away = is_forward == is_send ? 1 : shape_.stages - 1;
    peer.stage = static_cast<int32_t>((int64_t{place.stage} + away) % shape_.stages);

    auto const other = devices_.find(peer);
    detail.rank = devices_.at(place);
    detail.peer = other == devices_.end() ? -1 : other->second;
    detail.participants = 2;
    detail.communicator = communicator(
        {static_cast<int32_t>(JoinedWorkers::kNeighbours), is_send ? place.stage : peer.stage,
         is_send ? peer.stage : place.stage, place.data, place.tensor});
  }

  void join_group(PipelinePlace place, JoinedWorkers joined, model::CollectiveDetail& detail) {
    bool const is_outer = place.stage == 0 || place.stage + 1 == shape_.stages;
    if (joined == JoinedWorkers::kOuterStages && !is_outer) {
      detail.sequence = 0;
      return;
    }

    Group const& group = group_of(place, joined);
    auto const at = std::lower_bound(group.members.begin(), group.members.end(), place);
    detail.rank = static_cast<int32_t>(at - group.members.begin());
    detail.participants = static_cast<uint32_t>(group.members.size());
    detail.communicator = group.communicator;
  }

  struct Group {
    uint64_t communicator = 0;
    std::vector<PipelinePlace> members;  ///< in their order
  };
  /// Its stage, data and tensor rank; −1 where members differ in it.
  using GroupKey = std::tuple<JoinedWorkers, int32_t, int32_t, int32_t>;

  [[nodiscard]] static GroupKey key_of(PipelinePlace place, JoinedWorkers joined) {
    switch (joined) {
      case JoinedWorkers::kDataGroup:
        return {joined, place.stage, -1, place.tensor};
      case JoinedWorkers::kTensorGroup:
        return {joined, place.stage, place.data, -1};
      case JoinedWorkers::kOuterStages:
        return {joined, -1, place.data, place.tensor};
      case JoinedWorkers::kWholeJob:
        return {joined, -1, -1, -1};
      case JoinedWorkers::kNone:
      case JoinedWorkers::kNeighbours:
        break;
    }
    return {joined, place.stage, place.data, place.tensor};
  }

  Group const& group_of(PipelinePlace place, JoinedWorkers joined) {
    if (groups_.empty()) find_groups();
    return groups_.at(key_of(place, joined));
  }

  void find_groups() {
    for (JoinedWorkers const joined : {JoinedWorkers::kDataGroup, JoinedWorkers::kTensorGroup,
                                       JoinedWorkers::kOuterStages, JoinedWorkers::kWholeJob}) {
      for (auto const& [place, device] : devices_) {
        bool const is_outer = place.stage == 0 || place.stage + 1 == shape_.stages;
        if (joined == JoinedWorkers::kOuterStages && !is_outer) continue;
        groups_[key_of(place, joined)].members.push_back(place);
      }
    }

    for (auto& [key, group] : groups_) {
      auto const& [joined, stage, data, tensor] = key;
      group.communicator = communicator({static_cast<int32_t>(joined), stage, data, tensor, 0});
    }
  }

  static uint64_t communicator(std::array<int32_t, 5> const& members) {
    return std::max<uint64_t>(1, XXH3_64bits(members.data(), sizeof members));
  }

  model::TraceBuilder& builder_;
  std::map<PipelinePlace, int32_t> devices_;
  model::PipelineShape shape_;
  std::unordered_map<uint32_t, size_t> rows_;  ///< by name
  std::map<GroupKey, Group> groups_;
};

}  // namespace

std::string_view name_of_pipeline_stream(int64_t stream) {
  return kStreamNames.at(static_cast<size_t>(stream));
}

std::optional<int32_t> data_rank_of(std::string_view process_name) {
  return process_name.starts_with("DP rank") ? rank_in(process_name) : std::nullopt;
}

std::optional<PipelineLane> pipeline_lane_of(std::string_view thread_name) {
  PipelineLane lane;
  if (!thread_name.starts_with("PP rank")) return std::nullopt;
  size_t const last = thread_name.rfind(", ");
  if (last == std::string_view::npos) return std::nullopt;
  auto const work = work_of(thread_name.substr(last + 2));
  if (!work) return std::nullopt;
  lane.work = *work;

  std::string_view rest = thread_name.substr(0, last);
  while (!rest.empty()) {
    size_t const end = std::min(rest.find(", "), rest.size());
    std::string_view const part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));

    auto const rank = rank_in(part);
    if (!rank && part.starts_with("PP")) return std::nullopt;
    if (!rank) continue;
    if (part.starts_with("PP")) lane.stage = *rank;
    if (part.starts_with("VPP")) lane.chunk = *rank;
    if (part.starts_with("TP")) lane.tensor = *rank;
    if (part.starts_with("DP")) lane.data = *rank;
  }
  return lane;
}

std::vector<PipelineWorker> make_pipeline_workers(
    std::map<PipelinePlace, std::vector<PipelineOp>> ops, model::TraceBuilder& builder) {
  WorkerMaker maker(ops, builder);
  std::vector<PipelineWorker> workers;
  for (auto& [place, of_place] : ops) workers.push_back(maker.make(place, std::move(of_place)));
  return workers;
}

}  // namespace stepscope::import
