#include "trace/import/formats/chrome/merged_events.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::EventKind;
using model::StringId;

constexpr size_t kMostTextBytes = 256;  // of a thread's or process's name

/// The farthest that there is where a damaged trace is farther from its origin: the builder moves
/// such events, and counts them.
int64_t minus(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? INT64_MIN : INT64_MAX;
}

int64_t possible(int64_t time_ns) { return std::clamp(time_ns, -model::kMaxTime, model::kMaxTime); }

std::string without_last_spaces(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}
std::string text_of(std::string_view raw) {
  return without_last_spaces(json_text(raw, kMostTextBytes));
}

/// U+FFFD where the trace itself has none.
bool has_replacement(std::string_view text, std::string_view raw) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  auto const has = [raw](std::string_view part) {
    return raw.find(part) != std::string_view::npos;
  };
  return text.find(kReplacement) != std::string_view::npos && !has(kReplacement) &&
         !has("\\ufffd") && !has("\\uFFFD");
}

/// The first time of a block's events. It passes over events a day or more before most others: a
/// time of 0 among epoch times would hide when the trace began. Nothing: the block has no events.
std::optional<int64_t> origin_of(BlockEvents const& block) {
  constexpr int64_t kDayNs = 86'400'000'000'000;

  std::vector<int64_t> times;
  for (EventBatch const& rows : block.rows)
    times.insert(times.end(), rows.start.begin(), rows.start.end());
  for (BlockEvents::Bracket const& bracket : block.brackets) times.push_back(bracket.time_ns);
  if (times.empty()) return std::nullopt;

  auto const middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());

  int64_t const least = minus(*middle, kDayNs);
  int64_t first = *middle;
  for (int64_t const time : times)
    if (time >= least) first = std::min(first, time);

  return first;
}

/// Times since the Unix epoch are later than this: the year 2001.
constexpr int64_t kEarliestEpoch = 1'000'000'000'000'000'000;

}  // namespace

size_t MergedEvents::track_of(TrackKey const& key) {
  if (tracks_.size() >= kMostTracks && !numbers_.contains(key)) {
    TrackKey const others = key_of_others(key.kind);
    if (!(key == others)) {
      ++folded_tracks_;
      return track_of(others);
    }
  }

  auto const [place, is_new] = numbers_.try_emplace(key, tracks_.size());
  if (is_new) {
    MergedTrack& track = tracks_.emplace_back();
    track.key = key;
  }

  return place->second;
}

std::string MergedEvents::repaired_text(std::string_view raw, size_t most) {
  std::string text = json_text(raw, most);
  if (has_replacement(text, raw)) repaired_.insert(text);
  return text;
}

std::vector<StringId> MergedEvents::intern_names(BlockEvents const& block) {
  std::vector<StringId> names;
  names.reserve(block.names.texts().size());
  for (std::string_view const raw : block.names.texts()) {
    if (raw.size() > kMostNameBytes) ++cut_names_;
    names.push_back(builder_.intern(repaired_text(raw, kMostNameBytes)));
  }
  return names;
}

void MergedEvents::add(BlockEvents block) {
  is_kineto_ = is_kineto_ || block.is_kineto;
  untimed_ += block.untimed;
  unvalued_ += block.unvalued;
  broken_ += block.end.broken;
  log().unknown_events += block.unknown;

  std::vector<StringId> const names = intern_names(block);
  if (!origin_ns_) origin_ns_ = origin_of(block);
  if (last_op_ && block.first_arrow &&
      block.first_arrow->ends_at({last_op_->process, last_op_->thread, last_op_->time_ns}))
    tracks_[last_op_->track].batches.back().correlation.back() = block.first_arrow->id;
  add_users_and_groups(block);

  std::vector<size_t> const numbers = add_tracks(block, names);
  last_op_.reset();
  if (auto const& op = block.last_op)
    last_op_ = {std::string(op->process), std::string(op->thread), op->time_ns, numbers[op->track]};

  add_brackets(block, numbers, names);
  for (BlockEvents::Metadata const& metadata : block.metadata) add_metadata(metadata);
}

void MergedEvents::add_users_and_groups(BlockEvents const& block) {
  for (BlockEvents::DeviceUser const& user : block.users)
    if (device_users_.size() < kMostDeviceUsers || device_users_.contains(user.device))
      if (auto& processes = device_users_[user.device]; processes.size() < kMostDeviceUsers)
        processes.emplace(user.process);

  for (BlockEvents::Group const& group : block.groups)
    if (rank_ && !ranks_in_groups_.contains(group.communicator))
      ranks_in_groups_.emplace(group.communicator,
                               rank_in_group(*rank_, world_size_, group.members));
}

/// Takes the rows of a block; returns the places in tracks_ of its tracks.
std::vector<size_t> MergedEvents::add_tracks(BlockEvents& block,
                                             std::vector<StringId> const& names) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < block.tracks.size(); ++i) {
    numbers.push_back(track_of(block.tracks[i]));
    MergedTrack& track = tracks_[numbers.back()];
    track.undecided += block.undecided[i];
    add_rows(track, std::move(block.rows[i]), names);
  }

  for (BlockEvents::Saying const& saying : block.sayings) {
    MergedTrack& track = tracks_[numbers[saying.track]];
    track.sayings.push_back({track.batches.size() - 1, saying.row, saying.op, saying.step,
                             saying.is_op, saying.is_placed, saying.device});
  }
  for (BlockEvents::Part const& part : block.parts) {
    MergedTrack& track = tracks_[numbers[part.track]];
    track.parts.push_back(
        {track.batches.size() - 1, part.row, part.step, part.sequence, part.model_chunk});
  }

  return numbers;
}

void MergedEvents::add_brackets(BlockEvents& block, std::vector<size_t> const& numbers,
                                std::vector<StringId> const& names) {
  size_t const first_op = ops_.size();
  for (DeviceOp& op : block.ops) {
    op.track = static_cast<uint32_t>(numbers[op.track]);
    if (op.kind == EventKind::kCollective && rank_) add_own_rank(op.collective);
    ops_.push_back(op);
  }

  for (BlockEvents::Bracket const& bracket : block.brackets) {
    auto const op = bracket.op == 0 ? std::nullopt : std::optional(first_op + bracket.op - 1);
    brackets_[numbers[bracket.track]].push_back({possible(minus(bracket.time_ns, *origin_ns_)),
                                                 names[bracket.name], bracket.phase,
                                                 std::string(bracket.id), op});
  }

  for (BlockEvents::Bracket const& bracket : block.brackets)
    last_ns_ = std::max(last_ns_, possible(minus(bracket.time_ns, *origin_ns_)));
  event_count_ += block.brackets.size();
}

void MergedEvents::add_rows(MergedTrack& track, EventBatch rows,
                            std::vector<StringId> const& names) {
  for (size_t i = 0; i < rows.size(); ++i) {
    rows.start[i] = minus(rows.start[i], *origin_ns_);
    rows.name[i] = names[rows.name[i].value];
    track.copies += rows.kind[i] == EventKind::kMemcpy ? 1 : 0;
    track.collectives += rows.kind[i] == EventKind::kCollective ? 1 : 0;
    last_ns_ = std::max(
        last_ns_, possible(rows.start[i]) + std::clamp<int64_t>(rows.dur[i], 0, model::kMaxTime));
  }

  track.events += rows.size();
  event_count_ += rows.size();

  if (rank_)
    for (model::CollectiveDetail& detail :
         std::get<model::DetailColumn<model::CollectiveDetail>>(rows.details))
      add_own_rank(detail);
  if (!rows.empty()) track.batches.push_back(std::move(rows));
}

/// The rank may stand behind the events of a packed file.
void MergedEvents::add_late_rank(TraceHeader const& header) {
  if (rank_ || !header.rank) return;
  rank_ = header.rank;
  for (MergedTrack& track : tracks_)
    for (EventBatch& rows : track.batches)
      for (model::CollectiveDetail& detail :
           std::get<model::DetailColumn<model::CollectiveDetail>>(rows.details))
        add_own_rank(detail);
  for (DeviceOp& op : ops_)
    if (op.kind == EventKind::kCollective) add_own_rank(op.collective);
}

/// Adds the rank in the job to messages, as it names their peers. Collectives get the rank in their
/// group, which identifies the participant in another recording of this process, a dump of its
/// collectives.
void MergedEvents::add_own_rank(model::CollectiveDetail& detail) const {
  if (detail.rank >= 0) return;
  if (model::is_point_to_point(detail.op)) {
    if (detail.peer >= 0) detail.rank = *rank_;
  } else if (auto const known = ranks_in_groups_.find(detail.communicator);
             known != ranks_in_groups_.end()) {
    detail.rank = known->second;
  }
}

void MergedEvents::add_metadata(BlockEvents::Metadata const& metadata) {
  if (metadata.what == "thread_name") {
    thread_names_[{std::string(metadata.process), std::string(thread_of(metadata.thread))}] =
        without_last_spaces(repaired_text(metadata.value, kMostTextBytes));
  } else if (metadata.what == "process_name") {
    process_names_[std::string(metadata.process)] =
        without_last_spaces(repaired_text(metadata.value, kMostTextBytes));
  } else if (metadata.what == "process_labels") {
    process_labels_[std::string(metadata.process)] = text_of(metadata.value);
  }
}

/// The thread's own name, else its number or text.
std::string MergedEvents::name_of_thread(TrackKey const& key) const {
  auto const known = thread_names_.find({key.process, key.thread});
  if (known != thread_names_.end() && !known->second.empty()) return known->second;
  std::string const thread = text_of(key.thread);
  if (thread.empty()) return "unnamed";
  return parse_integer(thread) ? "thread " + thread : thread;
}

/// `processes`: of threads, which get the name of theirs where there are several.
model::Track MergedEvents::describe(MergedTrack const& merged,
                                    std::set<std::string> const& processes) const {
  TrackKey const& key = merged.key;
  model::Track track;
  switch (key.kind) {
    case TrackKey::Kind::kStream:
      track.kind = model::TrackKind::kStream;
      track.id = key.stream;
      track.device = key.device;
      track.name = merged.name.empty() ? fmt::format("stream {}", key.stream) : merged.name;
      if (2 * merged.copies > merged.events) track.stream_kind = model::StreamKind::kCopy;
      if (2 * merged.collectives > merged.events)
        track.stream_kind = model::StreamKind::kCommunication;
      return track;

    case TrackKey::Kind::kCounter:
      track.kind = model::TrackKind::kCounter;
      track.name = text_of(key.thread);
      return track;

    case TrackKey::Kind::kThread:
    case TrackKey::Kind::kAsync:
    case TrackKey::Kind::kDeviceRanges:
      break;
  }

  track.id = trailing_number(key.thread).value_or(0);
  track.device = merged.device;
  if (key.kind == TrackKey::Kind::kDeviceRanges) {
    std::string const thread = text_of(key.thread);
    track.name = fmt::format("annotations of GPU {} {}", text_of(key.process),
                             parse_integer(thread) ? "stream " + thread : thread);
    return track;
  }

  track.name = name_of_thread(key);
  if (processes.size() > 1 && processes.contains(key.process)) {
    auto const process = process_names_.find(key.process);
    bool const has_name = process != process_names_.end() && !process->second.empty();
    track.name += fmt::format(" [{}]", has_name ? process->second : key.process);
  }
  return track;
}

void MergedEvents::name_tracks() {
  std::set<std::string> processes;
  for (MergedTrack const& track : tracks_)
    if (track.key.kind == TrackKey::Kind::kThread && parse_integer(track.key.process))
      processes.insert(track.key.process);
  for (MergedTrack const& merged : tracks_)
    builder_.update_track(merged.id, describe(merged, processes));
}

/// Adds the devices that did something, among the many that a machine has.
void MergedEvents::add_devices(TraceHeader const& header) {
  std::set<int32_t> used;
  for (MergedTrack const& track : tracks_)
    if (track.key.kind == TrackKey::Kind::kStream) used.insert(track.key.device);

  for (int32_t const id : used) {
    auto const parted = parted_devices_.find(id);
    int32_t const in_file = parted == parted_devices_.end() ? id : parted->second.first;
    auto const known = std::find_if(header.devices.begin(), header.devices.end(),
                                    [&](auto const& d) { return d.id == in_file; });

    model::Device device;
    if (known != header.devices.end()) device = *known;
    device.id = id;
    if (auto const worker = pipeline_devices_.find(id); worker != pipeline_devices_.end())
      device.name = worker->second;
    if (device.name.empty()) device.name = fmt::format("GPU {}", in_file);
    if (parted != parted_devices_.end())
      device.name += fmt::format(" (process {})", text_of(parted->second.second));
    builder_.add_device(std::move(device));
  }
}

void MergedEvents::add_info(TraceHeader& header) {
  model::TraceInfo& info = builder_.info();
  info.tool = is_kineto_ || header.is_kineto ? "PyTorch profiler (Kineto)" : "Chrome trace events";
  info.host = std::move(header.host);
  info.rank = header.rank.value_or(-1);
  info.world_size = header.world_size.value_or(1);

  std::map<std::string, uint64_t> events_of;
  for (MergedTrack const& track : tracks_)
    if (track.key.kind == TrackKey::Kind::kThread) events_of[track.key.process] += track.events;
  uint64_t most = 0;
  for (auto const& [process, events] : events_of) {
    auto const id = parse_integer(process);
    if (!id || events <= most) continue;
    most = events;
    info.process_id = *id;
    if (auto const name = process_names_.find(process); name != process_names_.end())
      info.command = name->second;
  }

  int64_t const origin = origin_ns_.value_or(0);
  if (header.base_ns > 0 && origin < kEarliestEpoch) {
    info.origin_epoch_ns = minus(header.base_ns, minus(0, origin));
  } else if (origin >= kEarliestEpoch) {
    info.origin_epoch_ns = origin;
  }
  info.facts = std::move(header.facts);
}

void MergedEvents::note_losses() {
  model::ImportLog& to = log();
  auto const note = [&](uint64_t count, char const* what) {
    if (count > 0) to.notes.push_back(base::count_sentence(count, what));
  };

  note(broken_, "places between events are no JSON and were left out");
  note(untimed_, "events have no time that can be read and were left out");
  note(outliers_,
       "events have times more than a day from all others and were left out: such times cannot be");
  note(unvalued_, "values of counters are no finite numbers and were left out");
  note(repaired_.size(),
       "names hold bytes that are no UTF-8 text, or control characters: they are shown as "
       "\xEF\xBF\xBD");
  note(cut_names_, "names are longer than 16 KiB and were cut");
  note(folded_tracks_,
       "tracks are more than are shown: their events are on one track, called others");
  note(unopened_, "ends of ranges have no begin and were left out");
  note(unclosed_, "ranges never end; they are shown until the end of the trace");

  to.dropped += untimed_ + outliers_ + unvalued_ + broken_;
}

/// "rank 0: train.py (process 100), rank 1: train.py (process 101), …"
std::string MergedEvents::names_of_processes(std::set<std::string> const& processes) const {
  constexpr size_t kMostNamed = 8;
  std::string names;
  size_t named = 0;

  for (std::string const& process : processes) {
    if (named == kMostNamed) return names + ", …";

    auto const known = process_names_.find(process);
    std::string const number = fmt::format("process {}", text_of(process));
    names += named++ == 0 ? "" : ", ";
    names += known == process_names_.end() || known->second.empty()
                 ? number
                 : fmt::format("{} ({})", known->second, number);
  }
  return names;
}

/// The profiler writes a file a process: several were merged.
void MergedEvents::note_processes() {
  std::set<std::string> callers, shared;
  std::vector<int32_t> devices;
  for (auto const& [device, processes] : device_users_) {
    if (device < 0) callers = processes;
    if (device < 0 || processes.size() < 2) continue;
    devices.push_back(device);
    shared.insert(processes.begin(), processes.end());
  }
  if (callers.size() < 2 && devices.empty()) return;

  bool const is_by_calls = callers.size() >= shared.size();
  std::string const what =
      fmt::format("the file holds work of several processes ({}): they are read as one",
                  names_of_processes(is_by_calls ? callers : shared));
  std::string const so = devices.empty() ? "each has devices of its own, whose times are right; "
                                           "steps, launches and collectives of all are mixed"
                                         : fmt::format(
                                               "ops of several of them lie on the same streams of "
                                               "device {}: no number of it holds for one of them",
                                               fmt::join(devices, ", "));

  log().notes.push_back(fmt::format("{}; {}. Open a file for each rank", what, so));
}

model::Trace MergedEvents::finish(TraceHeader header) && {
  add_late_rank(header);
  close_brackets();
  part_devices();
  take_pipeline();
  for (MergedTrack& track : tracks_) track.id = builder_.add_track({});

  decide_roles();
  add_steps_of_parts();
  send_tracks();
  name_tracks();
  add_devices(header);
  add_info(header);

  outliers_ = builder_.leave_out_timestamp_outliers();
  note_losses();
  note_processes();
  if (header.other_rank)
    log().notes.push_back(
        fmt::format("the file says that it is rank {} and rank {}: it is taken as rank {}",
                    *header.rank, *header.other_rank, *header.rank));

  builder_.take_calls_as_launches();
  return std::move(builder_).finish();
}

}  // namespace stepscope::import
