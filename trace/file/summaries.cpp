#include "trace/file/summaries.h"

#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::file {

using base::Expected;

model::TrackSummary summary_of(model::Trace const& trace, model::TrackId track) {
  auto const rows = trace.rows_of(track);
  return model::summarize(trace.events_of(track),
                          std::span(trace.columns().depth).subspan(rows.first, rows.size()));
}

std::vector<StepSpan> steps_of(model::Trace const& trace) {
  std::vector<StepSpan> steps;
  auto const& columns = trace.columns();
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (columns.kind[row] == model::EventKind::kStep)
      steps.push_back({columns.track[row], columns.start[row], columns.dur[row],
                       trace.detail<model::StepDetail>(row).index});
  return steps;
}

namespace {

// Tracks are read together up to this many events: few reads for many small tracks, bounded memory
// for large ones.
constexpr uint64_t kEventsAtOnce = 4'000'000;

/// The tracks that have events, in groups of about kEventsAtOnce.
std::vector<std::vector<model::TrackId>> groups_of(TraceFile const& file) {
  std::vector<uint64_t> events(file.tracks().size());
  for (IndexEntry const& entry : file.blocks())
    if (entry.header.type == static_cast<uint16_t>(BlockType::kEvents) &&
        entry.header.track < events.size())
      events[entry.header.track] += entry.header.rows;
  std::vector<std::vector<model::TrackId>> groups;
  uint64_t sum = 0;
  for (uint32_t track = 0; track < events.size(); ++track) {
    if (events[track] == 0) continue;
    if (groups.empty() || sum + events[track] > kEventsAtOnce) {
      groups.emplace_back();
      sum = 0;
    }
    groups.back().push_back(model::TrackId{track});
    sum += events[track];
  }
  return groups;
}

}  // namespace

std::vector<model::StringId> file_ids(TraceFile const& file, model::Trace const& trace) {
  std::vector<model::StringId> ids(trace.strings().size(), model::StringId{0});
  auto const texts = file.texts();
  for (uint32_t id = 1; id < texts.size(); ++id)
    if (auto const found = trace.strings().find(texts[id]); found.valid())
      ids[found.value] = model::StringId{id};
  return ids;
}

Expected<void> add_summaries(std::string const& path) {
  auto const file = TraceFile::open(path);
  if (!file) return base::fail_with(file);
  if (!file->is_finished() || !file->damage().empty() || file->has_summaries()) return {};
  auto const blocks = file->blocks();
  auto writer = TraceWriter::append_to(path, {blocks.begin(), blocks.end()});
  if (!writer) return base::fail_with(writer);
  std::vector<StepSpan> steps;
  for (auto const& tracks : groups_of(*file)) {
    auto const trace = file->read({.tracks = tracks});
    if (!trace) return base::fail_with(trace);
    auto const ids = file_ids(*file, *trace);
    for (model::TrackId const track : tracks) {
      model::TrackSummary summary = summary_of(*trace, track);
      for (model::StringId& name : summary.longest_name) name = ids[name.value];
      if (auto const done = writer->write_summary(track, summary); !done) return done;
    }
    auto const found = steps_of(*trace);
    steps.insert(steps.end(), found.begin(), found.end());
  }
  if (auto const done = writer->write_steps(steps); !done) return done;
  return writer->finish();
}

}  // namespace stepscope::file
