#include "trace/synth/rank_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace stepscope::synth {

using base::Expected;

RankFile::RankFile(file::TraceWriter writer, size_t tracks, size_t block_rows)
    : writer_(std::move(writer)), block_rows_(block_rows), pending_(tracks) {}

Expected<RankFile> RankFile::create(std::string const& path, model::TraceInfo const& info, model::Device const& device,
                                    std::vector<model::Track> const& tracks, model::StringTable const& strings,
                                    size_t block_rows) {
  auto writer = file::TraceWriter::create(path);
  if (!writer) return base::fail_with(writer);
  std::vector<std::string_view> texts;
  for (uint32_t id = 1; id < strings.size(); ++id) texts.push_back(strings.text(model::StringId{id}));
  if (auto const done = writer->write_strings(1, texts); !done) return base::fail_with(done);
  if (auto const done = writer->write_description(info, std::span(&device, 1), {}); !done) return base::fail_with(done);
  if (auto const done = writer->write_tracks(model::TrackId{0}, tracks); !done) return base::fail_with(done);
  return RankFile(std::move(*writer), tracks.size(), block_rows);
}

Expected<void> RankFile::end_step() {
  for (uint32_t track = 0; track < pending_.size(); ++track) {
    Pending& pending = pending_[track];
    pending.longest_step = std::max(pending.longest_step, pending.events.size() - pending.before_step);
    if (pending.events.size() + pending.longest_step > block_rows_)
      if (auto const done = write(track); !done) return done;
    pending.before_step = pending.events.size();
  }
  return {};
}

Expected<void> RankFile::finish() {
  for (uint32_t track = 0; track < pending_.size(); ++track)
    if (auto const done = write(track); !done) return done;
  return writer_.finish();
}

Expected<void> RankFile::write(uint32_t track) {
  Pending& pending = pending_[track];
  if (pending.events.empty()) return {};
  if (auto const done = writer_.write_events(model::TrackId{track}, pending.events); !done) return done;
  pending.written += pending.events.size();
  pending.events.clear();
  return {};
}

uint64_t RankFile::event_count() const {
  uint64_t count = 0;
  for (Pending const& pending : pending_) count += pending.written + pending.events.size();
  return count;
}

}  // namespace stepscope::synth
