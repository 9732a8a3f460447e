#include "trace/import/open/trace_source.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/format.h"
#include "trace/file/summaries.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/file_advice.h"
#include "trace/model/derive/packed_trace.h"

namespace stepscope::import {
namespace {

using base::Expected;
using base::fail;
using file::TraceFile;
using model::Trace;
using InMemory = std::shared_ptr<Trace>;

/// The window by the clock that recorded it, widened so that rounding excludes nothing.
file::TimeWindow recorded_window(file::TimeWindow window, model::ClockDrift const& drift) {
  if (drift.is_none()) return window;
  constexpr int64_t kRoundingNs = 8;
  if (window.begin > -model::kMaxTime) window.begin = drift.recorded(window.begin) - kRoundingNs;
  if (window.end < model::kMaxTime) window.end = drift.recorded(window.end) + kRoundingNs;
  return window;
}

Expected<std::vector<TraceSource>> open_indexed(Importer const& importer, std::string const& path) {
  auto file = importer.open_indexed(path);
  if (!file) return base::fail_with(file);
  std::vector<TraceSource> sources;
  sources.emplace_back(std::move(*file));
  return sources;
}

/// What a file that no importer knows is, and what to do.
std::string why_unknown(Input const& input, std::string const& path) {
  if (auto advice = conversion_advice(path)) return std::move(*advice);
  if (auto advice = advice_for_file(input)) return std::move(advice->sentence);
  if (auto const& damage = input.head_damage()) return *damage + ", copy or record it again";
  return fmt::format("is of no known trace format ({}), name a trace", importer_names());
}

}  // namespace

Expected<std::vector<TraceSource>> TraceSource::open(std::string const& path) {
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);
  if (mapped->bytes().empty()) return fail("{}: is empty, record the run again", path);

  Input const input(mapped->bytes(), path);
  Importer const* const importer = find_importer(input);
  if (importer != nullptr && importer->open_indexed != nullptr)
    return open_indexed(*importer, path);
  if (mapped->is_cut()) return base::became_shorter(path);
  if (importer == nullptr) return fail("{}: {}", path, why_unknown(input, path));

  auto traces = importer->read(input);
  if (mapped->is_cut()) return base::became_shorter(path);
  if (!traces) return base::fail_with(traces);

  std::vector<TraceSource> sources;
  for (model::Trace& trace : *traces) sources.emplace_back(std::move(trace));
  if (sources.size() == 1 && sources.front().info().rank < 0)
    if (auto const rank = rank_of_name(path)) sources.front().assume_rank_by_name(*rank);
  return sources;
}

TraceSource::TraceSource(std::shared_ptr<RemoteTrace const> remote) : of_(std::move(remote)) {
  RemoteTrace::Facts const& facts = this->remote()->facts();
  if (facts.is_rank_by_name) assume_rank_by_name(facts.head.info.rank);
}

model::TraceInfo const& TraceSource::info() const {
  if (assumed_info_) return *assumed_info_;
  if (head_) return head_->info;
  if (remote() != nullptr) return remote()->facts().head.info;
  auto const* const file = std::get_if<TraceFile>(&of_);
  return file != nullptr ? file->info() : std::get<InMemory>(of_)->info();
}

std::span<model::Track const> TraceSource::tracks() const {
  if (head_) return head_->tracks;
  if (remote() != nullptr) return remote()->facts().head.tracks;
  auto const* const file = std::get_if<TraceFile>(&of_);
  return file != nullptr ? file->tracks() : std::get<InMemory>(of_)->tracks();
}

std::span<model::Device const> TraceSource::devices() const {
  if (head_) return head_->devices;
  if (remote() != nullptr) return remote()->facts().head.devices;
  auto const* const file = std::get_if<TraceFile>(&of_);
  return file != nullptr ? file->devices() : std::get<InMemory>(of_)->devices();
}

model::ImportLog TraceSource::log() const {
  if (head_) return head_->log;
  if (remote() != nullptr) return remote()->facts().head.log;
  auto const* const file = std::get_if<TraceFile>(&of_);
  return file != nullptr ? file->known_losses() : std::get<InMemory>(of_)->log();
}

std::vector<uint64_t> TraceSource::event_counts() const {
  if (remote() != nullptr) return remote()->facts().event_counts;
  std::vector<uint64_t> counts(tracks().size());

  if (auto const* const file = std::get_if<TraceFile>(&of_)) {
    for (file::IndexEntry const& block : file->blocks())
      if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents) &&
          block.header.track < counts.size())
        counts[block.header.track] += block.header.rows;
  } else {
    for (uint32_t track = 0; track < counts.size(); ++track)
      counts[track] = std::get<InMemory>(of_)->rows_of(model::TrackId{track}).size();
  }
  return counts;
}

model::Interval TraceSource::time_range() const {
  auto const corrected = [&](auto const& range) {
    return model::Interval{drift_.corrected(range.begin), drift_.corrected(range.end)};
  };
  if (remote() != nullptr) return corrected(remote()->facts().time_range);
  if (auto const* const file = std::get_if<TraceFile>(&of_)) return corrected(file->time_range());
  auto const [first, last] = std::get<InMemory>(of_)->time_range();
  return {first, last};
}

Expected<std::vector<file::StepSpan>> TraceSource::steps() const {
  if (is_in_memory()) return file::steps_of(*std::get<InMemory>(of_));
  auto steps = remote() != nullptr ? remote()->steps() : std::get<TraceFile>(of_).steps();
  if (!steps || drift_.is_none()) return steps;

  for (file::StepSpan& step : *steps) {
    int64_t const end = drift_.corrected(step.start + step.dur);
    step.start = drift_.corrected(step.start);
    step.dur = end - step.start;
  }
  return steps;
}

std::vector<uint64_t> TraceSource::kinds() const {
  if (remote() != nullptr) return remote()->facts().kinds;
  std::vector<uint64_t> kinds(tracks().size());

  if (auto const* const file = std::get_if<TraceFile>(&of_)) {
    for (file::IndexEntry const& block : file->blocks())
      if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents) &&
          block.header.track < kinds.size())
        kinds[block.header.track] |= block.header.kinds;
  } else {
    Trace::Columns const& columns = std::get<InMemory>(of_)->columns();
    for (size_t row = 0; row < columns.kind.size(); ++row)
      kinds[columns.track[row].value] |= file::kind_bit(columns.kind[row]);
  }
  return kinds;
}

Expected<std::shared_ptr<model::Trace const>> TraceSource::read(
    file::Selection const& selection) const {
  using Read = std::shared_ptr<model::Trace const>;
  if (is_in_memory()) return Read(std::get<InMemory>(of_));
  auto trace = copy(selection);
  if (!trace) return base::fail_with(trace);
  return Read(std::make_shared<Trace const>(std::move(*trace)));
}

Expected<model::Trace> TraceSource::copy(file::Selection const& selection) const {
  // As few as these are: large ones are packed (spilled_source.h).
  if (is_in_memory()) return *model::unpacked_trace(model::packed_trace(*std::get<InMemory>(of_)));
  file::Selection recorded = selection;
  recorded.window = recorded_window(selection.window, drift_);
  // A clock is corrected event by event, which needs all columns.
  if (!drift_.is_none()) recorded.columns = {};
  auto trace =
      remote() != nullptr ? remote()->copy(recorded) : std::get<TraceFile>(of_).read(recorded);
  if (!trace) return base::fail_with(trace);
  return as_assumed(std::move(*trace));
}

std::optional<model::Trace> TraceSource::read_kinds(uint64_t kinds) const {
  if (is_in_memory() || !drift_.is_none()) return std::nullopt;
  auto trace = remote() != nullptr ? remote()->read_kinds(kinds)
                                   : std::get<TraceFile>(of_).read_kinds(kinds);
  return trace ? std::optional(as_assumed(std::move(*trace))) : std::nullopt;
}

void TraceSource::release_pages() const {
  if (auto const* const opened = file()) opened->release_pages();
}

Expected<model::Trace> TraceSource::load() && {
  if (auto* const file = std::get_if<TraceFile>(&of_)) {
    auto trace = TraceFile(std::move(*file)).read();  // closes the file at the end of the statement
    return trace ? as_assumed(std::move(*trace)) : Expected<Trace>(base::fail_with(trace));
  }
  if (remote() != nullptr) return copy({});
  InMemory const trace = std::move(std::get<InMemory>(of_));
  STEPSCOPE_CHECK(trace.use_count() == 1);
  return std::move(*trace);
}

Trace TraceSource::as_assumed(Trace trace) const {
  // The log of a file that lost blocks meanwhile is the better one.
  if (head_ && trace.log().lost_blocks == head_->log.lost_blocks)
    model::replace_head(trace, *head_);
  if (assumed_info_) {
    trace.assume_rank(assumed_info_->rank);
    trace.assume_world_size(assumed_info_->world_size);
  }
  return drift_.is_none() ? std::move(trace) : model::correct_drift(trace, drift_);
}

void TraceSource::assume_rank(int32_t rank) {
  if (auto* const trace = std::get_if<InMemory>(&of_)) return (*trace)->assume_rank(rank);
  to_assume().rank = rank;
}

void TraceSource::assume_world_size(int32_t world_size) {
  if (auto* const trace = std::get_if<InMemory>(&of_))
    return (*trace)->assume_world_size(world_size);
  to_assume().world_size = world_size;
}

/// The description of a file, to be changed.
model::TraceInfo& TraceSource::to_assume() {
  if (!assumed_info_) assumed_info_ = info();
  return *assumed_info_;
}

void TraceSource::correct_drift(model::ClockDrift const& drift) {
  STEPSCOPE_CHECK(drift_.is_none());
  if (!is_in_memory())
    drift_ = drift;
  else
    of_ = std::make_shared<Trace>(model::correct_drift(*std::get<InMemory>(of_), drift));
}

model::Interval time_range(RunSources const& run) {
  model::Interval range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};

  for (RankSource const& rank : run.ranks) {
    auto const counts = rank.source.event_counts();
    if (std::all_of(counts.begin(), counts.end(), [](uint64_t count) { return count == 0; }))
      continue;

    model::Interval const own = rank.source.time_range();
    range = {std::min(range.begin, own.begin + rank.offset_ns),
             std::max(range.end, own.end + rank.offset_ns)};
  }

  return range.begin > range.end ? model::Interval{} : range;
}

}  // namespace stepscope::import
