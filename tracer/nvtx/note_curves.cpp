#include "tracer/nvtx/note_curves.h"

#include <cmath>

#include <fmt/format.h>

namespace stepscope::tracer {

void NoteCurves::add(int64_t thread_id, std::string const& name, double value, int64_t now,
                     TraceStore& store) {
  if (!std::isfinite(value) || name.empty()) return;
  if (count_ >= kMostTracks && !tracks_.contains(name)) return;
  auto& threads = tracks_[name];
  if (count_ >= kMostTracks && !threads.contains(thread_id)) return;
  auto const [place, is_new] = threads.try_emplace(thread_id);
  if (is_new) {
    model::Track track;
    track.kind = model::TrackKind::kCounter;
    track.name = threads.size() == 1 ? name : fmt::format("{} (thread {})", name, thread_id);
    track.id = kFirstTrack + count_++;
    place->second = store.add_track(std::move(track));
  }

  TrackRows& rows = store.rows(place->second);
  rows.add(model::EventKind::kSample, now, 0, store.intern(name), 0, model::SampleDetail{value});
  store.row_begun(place->second, rows);
}

}  // namespace stepscope::tracer
