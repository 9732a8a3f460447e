#include <algorithm>

#include "trace/file/summaries.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

base::Expected<void> write_track(TraceWriter& writer, model::Trace const& trace,
                                 model::TrackId track) {
  model::EventView const events = trace.events_of(track);
  if (events.empty()) return {};
  if (auto const done = writer.write_sorted_events(track, events); !done) return done;
  return writer.write_summary(track, summary_of(trace, track));
}

}  // namespace

base::Expected<void> write_trace(model::Trace const& trace, std::string const& path) {
  auto writer = TraceWriter::create(path);
  if (!writer) return base::fail_with(writer);
  std::vector<std::string_view> texts;
  for (uint32_t id = 1; id < trace.strings().size(); ++id)
    texts.push_back(trace.text(model::StringId{id}));
  if (auto const done = writer->write_strings(1, texts); !done) return done;
  // Readers add the tracks' losses to the log's own; the trace's log holds both already.
  model::ImportLog log = trace.log();
  for (model::Track const& track : trace.tracks())
    log.dropped -= std::min(log.dropped, track.dropped);
  auto const describe = [&]() -> base::Expected<void> {
    if (auto const done = writer->write_description(trace.info(), trace.devices(), log); !done)
      return done;
    return writer->write_tracks(model::TrackId{0}, trace.tracks());
  };
  if (auto const done = describe(); !done) return done;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track)
    if (auto const done = write_track(*writer, trace, model::TrackId{track}); !done) return done;
  if (auto const done = writer->write_steps(steps_of(trace)); !done) return done;
  // Once more at the end: damage to one of the two loses no names of tracks.
  if (auto const done = describe(); !done) return done;
  return writer->finish();
}

}  // namespace stepscope::file
