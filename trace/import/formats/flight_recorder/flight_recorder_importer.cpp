#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/file/trace_file.h"
#include "trace/import/common/coarse_times.h"
#include "trace/import/common/process_groups.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/flight_recorder/dump.h"
#include "trace/import/formats/flight_recorder/json_data.h"
#include "trace/import/formats/flight_recorder/pickle.h"
#include "trace/import/formats/importers.h"
#include "trace/model/build/communication_names.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using model::CollectiveState;
using model::EventKind;
using model::TrackId;

/// TraceInfo::tool, by which is_dump() finds the importer again.
constexpr std::string_view kFlightRecorderTool = "PyTorch flight recorder";
constexpr size_t kMostCallNameBytes = 256;
constexpr double kNsPerMs = 1e6;

/// "nccl:all_reduce" → "all_reduce".
std::string_view operation_of(std::string_view name) {
  size_t const colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

/// "send 0->1", "recv 1<-0": own and the other's number in the group; −1 = not known.
std::pair<int32_t, int32_t> ends_of_message(std::string_view operation) {
  std::array<int32_t, 2> numbers = {-1, -1};

  for (int32_t& number : numbers) {
    size_t const digit = operation.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;

    operation.remove_prefix(digit);
    auto const [end, error] =
        std::from_chars(operation.data(), operation.data() + operation.size(), number);
    if (error != std::errc()) number = -1;
    operation.remove_prefix(static_cast<size_t>(end - operation.data()));
  }

  return {numbers[0], numbers[1]};
}

class FlightTrace {
 public:
  FlightTrace(FlightDump dump, std::string const& file)
      : dump_(std::move(dump)), rank_(rank_of(file)) {
    for (FlightGroup const& group : dump_.groups) {
      std::string const ranks = group.ranks.empty() ? std::string() : ranks_text(group.ranks);
      communicators_.push_back(communicator_of(group.name, ranks));
      auto const own =
          rank_ ? std::find(group.ranks.begin(), group.ranks.end(), *rank_) : group.ranks.end();
      ranks_in_group_.push_back(
          own == group.ranks.end() ? -1 : static_cast<int32_t>(own - group.ranks.begin()));
    }

    for (FlightEntry const& entry : dump_.entries) {
      first_ns_ = std::min(first_ns_, entry.created_ns);
      last_ns_ = std::max({last_ns_, entry.created_ns, entry.seen_started_ns.value_or(0),
                           entry.seen_completed_ns.value_or(0)});
    }

    if (dump_.entries.empty()) first_ns_ = 0;
  }

  model::Trace build(std::optional<std::string> const& damage) && {
    for (FlightEntry const& entry : dump_.entries) add_call(entry);
    add_device_ops();
    add_info();
    add_notes(damage);
    return std::move(builder_).finish();
  }

 private:
  /// Whether each group with known members has this one: a dump lists the groups of its own rank
  /// alone.
  [[nodiscard]] bool is_member(int32_t rank) const {
    return std::all_of(dump_.groups.begin(), dump_.groups.end(), [&](FlightGroup const& group) {
      return group.ranks.empty() ||
             std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
    });
  }
  /// The rank comes from the file's name, in which a host may have a number, too: PyTorch writes
  /// the rank at its end. Else it is a rank that is in all of the groups, if there is but one.
  [[nodiscard]] std::optional<int32_t> rank_of(std::string const& file) const {
    for (auto const& rank : {number_at_end(file), rank_of_name(file)})
      if (rank && is_member(*rank)) return rank;

    std::vector<int32_t> common;
    bool is_first = true;

    for (FlightGroup const& group : dump_.groups) {
      if (group.ranks.empty()) continue;
      std::vector<int32_t> ranks = group.ranks;
      std::sort(ranks.begin(), ranks.end());
      std::vector<int32_t> both;
      std::set_intersection(ranks.begin(), ranks.end(), common.begin(), common.end(),
                            std::back_inserter(both));
      common = std::exchange(is_first, false) ? std::move(ranks) : std::move(both);
    }

    return common.size() == 1 ? std::optional(common.front()) : std::nullopt;
  }

  [[nodiscard]] std::string group_text(FlightGroup const& group) const {
    std::string text = fmt::format("group {}", group.name.empty() ? "?" : group.name);
    if (!group.description.empty() && group.description != "undefined")
      text += fmt::format(" ({})", group.description);
    return text;
  }

  CollectiveDetail detail_of(FlightEntry const& entry) {
    FlightGroup const& group = dump_.groups[entry.group];
    Name const& name = name_of(entry);

    CollectiveDetail detail;
    detail.op = name.op;
    detail.bytes = model::message_size(detail.op, entry.input_bytes, entry.output_bytes);
    detail.communicator = communicators_[entry.group];
    detail.participants = static_cast<uint32_t>(group.ranks.size());
    detail.rank = ranks_in_group_[entry.group];
    detail.data_type = entry.data_type;

    detail.launch = model::CallLaunch::kNone;
    if (!is_point_to_point(detail.op)) {
      detail.sequence = entry.is_message ? 0 : entry.sequence;
      return detail;
    }
    // Each rank counts its messages for itself: they are matched by who sends to whom.
    auto const in_job = [&](int32_t number) {
      return number >= 0 && static_cast<size_t>(number) < group.ranks.size()
                 ? group.ranks[static_cast<size_t>(number)]
                 : number;
    };
    detail.rank = rank_ ? *rank_ : in_job(name.own);
    detail.peer = in_job(name.other);
    return detail;
  }

  /// The parts of a name, read once for all calls that have it.
  struct Name {
    std::string text;  ///< "all_reduce"
    CollectiveOp op = CollectiveOp::kUnknown;
    int32_t own = -1, other = -1;               ///< of a message: numbers in the group
    std::array<model::StringId, 5> with_state;  ///< by CollectiveState
  };
  Name const& name_of(FlightEntry const& entry) {
    auto const [place, is_new] = names_.try_emplace(raw_text(entry.name));
    Name& name = place->second;
    if (!is_new) return name;

    std::string_view const operation = operation_of(raw_text(entry.name));
    name.text = shown_text(PlainData::text(operation, entry.name.type), kMostCallNameBytes);
    name.op = model::collective_op_of(operation);
    if (is_point_to_point(name.op)) std::tie(name.own, name.other) = ends_of_message(operation);

    for (auto const state : {CollectiveState::kEnqueued, CollectiveState::kStarted,
                             CollectiveState::kCompleted, CollectiveState::kCalled})
      name.with_state[static_cast<size_t>(state)] =
          builder_.intern(fmt::format("{}{}", name.text, suffix_of(state)));

    return name;
  }
  [[nodiscard]] std::string_view suffix_of(CollectiveState state) const {
    if (state == CollectiveState::kStarted) return ", started, not completed";
    if (state != CollectiveState::kEnqueued) return "";
    return dump_.knows_starts ? ", not started" : ", not completed";
  }
  model::StringId shown_name_of(FlightEntry const& entry) {
    return name_of(entry).with_state[static_cast<size_t>(entry.state)];
  }

  /// From the call until a thread of PyTorch saw that it had ended; what never did lasts until the
  /// dump ends. The call alone where no thread looks.
  void add_call(FlightEntry const& entry) {
    auto const [track, is_new] = call_tracks_.try_emplace(entry.group);
    if (is_new) {
      FlightGroup const& group = dump_.groups[entry.group];
      track->second = builder_.add_track({model::TrackKind::kThread,
                                          model::group_calls_name(group_text(group)),
                                          entry.group,
                                          -1,
                                          {},
                                          0});
    }

    CollectiveDetail detail = detail_of(entry);
    detail.state = entry.state;

    bool const is_pending =
        entry.state == CollectiveState::kEnqueued || entry.state == CollectiveState::kStarted;
    int64_t const end = is_pending ? last_ns_ : entry.seen_completed_ns.value_or(entry.created_ns);
    builder_.events(track->second)
        .add(EventKind::kCollectiveCall, entry.created_ns - first_ns_, end - entry.created_ns,
             shown_name_of(entry), 0, detail);
    if (entry.state == CollectiveState::kCalled) ++without_end_;
    if (is_pending && pending_++ == 0) first_pending_ = entry;
  }

  /// The operations of a group follow each other on one stream, messages on one for each peer.
  void add_device_ops() {
    std::map<std::pair<uint32_t, int32_t>, int64_t> next_start;  // by group and peer
    for (auto entry = dump_.entries.rbegin(); entry != dump_.entries.rend(); ++entry) {
      if (!entry->duration_ms || !entry->seen_completed_ns) continue;

      CollectiveDetail const detail = detail_of(*entry);
      int32_t const peer =
          is_point_to_point(detail.op) && next_start.size() < kMostGroups ? detail.peer : -1;

      auto const dur = static_cast<int64_t>(std::llround(*entry->duration_ms * kNsPerMs));
      auto const [next, is_first] = next_start.try_emplace({entry->group, peer}, INT64_MAX);
      int64_t start = std::min(*entry->seen_completed_ns, next->second) - dur;

      // Not one behind the other, then.
      if (start < entry->created_ns) start = *entry->seen_completed_ns - dur;
      next->second = start;

      builder_.events(stream_of(entry->group, peer))
          .add(EventKind::kCollective, start - first_ns_, dur, shown_name_of(*entry), 0, detail);
      ++timed_;
    }
  }
  TrackId stream_of(uint32_t group, int32_t peer) {
    auto const [track, is_new] = streams_.try_emplace({group, peer});
    if (!is_new) return track->second;
    std::string name = group_text(dump_.groups[group]);
    if (peer >= 0) name += fmt::format(", messages with rank {}", peer);
    track->second = builder_.add_track({model::TrackKind::kStream, std::move(name),
                                        static_cast<int64_t>(streams_.size()), 0,
                                        model::StreamKind::kCommunication, 0});
    return track->second;
  }

  void add_info() {
    model::TraceInfo& info = builder_.info();
    info.tool = kFlightRecorderTool;
    info.rank = rank_.value_or(-1);
    for (FlightGroup const& group : dump_.groups)
      for (int32_t const rank : group.ranks)
        if (rank < kMostJobRanks) info.world_size = std::max(info.world_size, rank + 1);
    info.origin_epoch_ns = first_ns_;

    auto const fact = [&](char const* name, PlainValue const& value) {
      std::string text = shown_text(value, kMostCallNameBytes);
      if (!text.empty()) info.facts.emplace_back(name, std::move(text));
    };
    fact("dump version", dump_.version);
    fact("communication library", dump_.library_version);
    add_group_facts();

    if (timed_ == 0) return;
    info.facts.emplace_back(kCollectiveTimesFact, kLatestTimes);
    builder_.add_device({0, rank_ ? fmt::format("GPU of rank {}", *rank_) : "GPU", 0, 0, 0});
  }

  /// Also groups without a call of this process in the dump: other ranks may wait for it in one.
  void add_group_facts() {
    constexpr size_t kMostGroupsWithFacts = 256;
    if (dump_.groups.size() > kMostGroupsWithFacts) return;

    for (FlightGroup const& group : dump_.groups) {
      if (group.ranks.empty() || group.ranks.size() > model::kMostGroupMembers) continue;
      std::string const name = group_text(group);
      builder_.info().facts.emplace_back(model::group_ranks_fact(name),
                                         model::group_ranks_text(group.ranks));
      if (group.counts)
        builder_.info().facts.emplace_back(model::group_counts_fact(name),
                                           model::group_counts_text(*group.counts));
    }
  }

  void add_notes(std::optional<std::string> const& damage) {
    model::ImportLog& log = builder_.log();
    if (damage) {
      log.truncated = true;
      log.notes.push_back(fmt::format("the dump {}: what came before was read", *damage));
    }

    note_times();
    if (!dump_.entries.empty() && dump_.entries.front().record > 0)
      log.notes.push_back(
          fmt::format("the first {} overwritten, the recorder keeps the last "
                      "TORCH_NCCL_TRACE_BUFFER_SIZE of them",
                      dump_.entries.front().record == 1
                          ? "call was"
                          : fmt::format("{} calls were", dump_.entries.front().record)));

    auto const note = [&](uint64_t count, char const* what) {
      if (count > 0) log.notes.push_back(base::count_sentence(count, what));
    };
    note(dump_.incomplete, "entries have no name, time, state or known group and were left out");
    note(dump_.doubled, "entries are there twice and were left out");
    note(dump_.strange, "numbers cannot be and were taken as not said");

    log.dropped += dump_.incomplete;
    if (pending_ > 0)
      log.notes.push_back(fmt::format(
          "{} had not completed when the dump was written, the first: {}",
          pending_ == 1 ? "one call" : fmt::format("{} calls", pending_), first_pending_text()));
  }
  void note_times() {
    if (without_end_ > 0)
      builder_.log().notes.push_back(
          fmt::format("PyTorch records when the host made {}, not whether they ended: it watches "
                      "the calls of NCCL alone",
                      without_end_ == 1 ? "one call" : fmt::format("{} calls", without_end_)));
    if (without_end_ > 0 && dump_.entries.size() == without_end_ + pending_) return;

    std::string const of_calls =
        "calls begin when the host made them; they end when a thread of PyTorch saw that they were "
        "over, late by up to its period "
        "(100 ms, unless changed)";

    std::string const of_device =
        timed_ > 0 ? "the dump tells how long operations took on the device, not when. They are "
                     "placed at the latest possible time, so trust durations, transfers and waits, "
                     "not skew and idle time"
                   : "the dump tells nothing of the device: record with TORCH_NCCL_ENABLE_TIMING=1 "
                     "to know durations";
    builder_.log().notes.push_back(of_calls + "; " + of_device);
  }
  std::string first_pending_text() {
    FlightEntry const& entry = first_pending_;
    std::string text = fmt::format("{} {} of {}{}", name_of(entry).text, entry.sequence,
                                   group_text(dump_.groups[entry.group]),
                                   dump_.knows_starts ? suffix_of(entry.state) : "");
    if (!raw_text(entry.file).empty())
      text += fmt::format(", called in {} ({}:{})", shown_text(entry.function, kMostCallNameBytes),
                          shown_text(entry.file, kMostCallNameBytes), entry.line);
    return text;
  }

  static constexpr int32_t kMostJobRanks = 1 << 24;

  FlightDump dump_;
  std::optional<int32_t> rank_;
  std::vector<uint64_t> communicators_;  ///< by group
  std::vector<int32_t> ranks_in_group_;
  int64_t first_ns_ = INT64_MAX, last_ns_ = 0;
  model::TraceBuilder builder_;
  std::map<uint32_t, TrackId> call_tracks_;
  std::map<std::pair<uint32_t, int32_t>, TrackId> streams_;
  std::unordered_map<std::string_view, Name> names_;
  uint64_t pending_ = 0, timed_ = 0, without_end_ = 0;
  FlightEntry first_pending_;
};

/// A value takes at least 3 bytes of a real dump, and real data pack to no less than a part of
/// Input::kSuspiciousRatio. Small data may hold any number of values. A value takes no more memory
/// than an event, for which there must be room, too.
size_t most_values_of(Input const& input) {
  constexpr size_t kValuesAByte = Input::kSuspiciousRatio / 3, kAlwaysGood = size_t{1} << 20U;
  size_t const by_size =
      kAlwaysGood + kValuesAByte * std::min(input.bytes().size(), PlainData::kMostValues);
  return std::min<size_t>({PlainData::kMostValues, by_size, file::events_that_fit() / 2});
}

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A whole pickle of other objects than a dump's. Other files with a dump's name are called so by
/// PyTorch alone ("nccl_trace_rank_3").
bool is_other_pickle(Input const& input, std::string_view file_name) {
  constexpr char kStop = '.';
  if (!file_name.ends_with(".pkl") && !file_name.ends_with(".pickle")) return false;
  auto const all = input.plain();
  return is_pickle(input.head()) && (!all || all->back() == kStop);
}

Advice advice_for_pickle(std::string_view head, std::string_view /*file_name*/) {
  if (!is_pickle(head)) return std::nullopt;
  if (has_part(head, "device_traces") || has_part(head, "segments"))
    return no_trace(
        "is a memory snapshot of PyTorch, no timeline: open it at pytorch.org/memory_viz");
  return no_trace(
      "is a pickled Python object, but no dump of PyTorch's flight recorder: name a trace");
}

}  // namespace

bool is_flight_recorder_dump(Input const& input) {
  std::string_view const head = input.head();
  if (is_pickle(head))
    return has_part(head, "profiling_name") || has_part(head, "pg_config") ||
           has_part(head, "entries");
  size_t const first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  if (has_part(head, "\"traceEvents\"")) return false;
  return has_part(head, "\"profiling_name\"") ||
         (has_part(head, "\"pg_config\"") && has_part(head, "\"pg_status\""));
}

bool is_flight_recorder_name(std::string_view file_name) {
  if (file_name.ends_with(".pkl") || file_name.ends_with(".pickle")) return true;
  size_t const digits = file_name.find_last_not_of("0123456789");
  bool const ends_with_number = digits != std::string_view::npos && digits + 1 < file_name.size();
  return ends_with_number && (file_name.substr(0, digits + 1).ends_with("rank_") ||
                              file_name.substr(0, digits + 1).ends_with("rank"));
}

bool is_renamed_flight_recorder_dump(std::string const& path) {
  if (!number_at_end(path)) return false;
  auto const mapped = base::MappedFile::open(path);
  return mapped && !mapped->bytes().empty() &&
         is_flight_recorder_dump(Input(mapped->bytes(), path));
}

base::Expected<model::Trace> read_flight_recorder_dump(Input const& input) {
  auto const whole = WholeInput::read(input);
  if (!whole) return base::fail_with(whole);

  PlainData data(most_values_of(input));
  auto const read = is_pickle(whole->text()) ? read_pickle(whole->text(), data)
                                             : read_json_data(whole->text(), data);
  if (!read) return base::fail("{}: {}", input.name(), read.error().message);

  auto dump = read_dump(data, read->root);
  if (!dump) {
    return read->damage ? base::fail("{}: {}, record or copy it again", input.name(), *read->damage)
                        : base::fail("{}: holds no dump of PyTorch's flight recorder, name a trace",
                                     input.name());
  }

  if (dump->entries.size() > file::events_that_fit() / 2)
    return base::fail(
        "{}: holds more calls than fit into this machine's memory, use a larger machine",
        input.name());

  auto const& damage = whole->damage() ? whole->damage() : read->damage;
  return FlightTrace(std::move(*dump), input.name()).build(damage);
}

Importer flight_recorder_importer() {
  return {.name = kFlightRecorderTool,
          .file_suffix = ".pkl",
          .sniff = is_flight_recorder_dump,
          .read = [](Input const& input) { return one_trace(read_flight_recorder_dump(input)); },
          .is_dump = true,
          .has_name = is_flight_recorder_name,
          .is_renamed = is_renamed_flight_recorder_dump,
          .is_other_kind = is_other_pickle,
          .first_members = " entries nccl_version pg_config ",
          .advice = advice_for_pickle};
}

}  // namespace stepscope::import
