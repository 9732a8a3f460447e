#include "trace/synth/process/rank_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace stepscope::synth {

using base::Expected;

namespace {

/// How deep each row nests; rows by (start, −dur). Nothing is open at the first: batches begin and
/// end with steps.
std::vector<uint16_t> depths_of(model::EventBatch const& events) {
  std::vector<uint16_t> depths;
  depths.reserve(events.size());
  std::vector<int64_t> open_ends;
  for (size_t row = 0; row < events.size(); ++row) {
    while (!open_ends.empty() && open_ends.back() <= events.start[row]) open_ends.pop_back();
    depths.push_back(static_cast<uint16_t>(open_ends.size()));
    open_ends.push_back(events.start[row] + events.dur[row]);
  }
  return depths;
}

/// The last bin of `whole` goes on to the first of `part`; no event does.
void append_summary(model::TrackSummary const& part, model::TrackSummary& whole) {
  auto const append = [](auto const& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(part.begin, whole.begin);
  for (size_t op_class = 0; op_class < model::kOpClassCount; ++op_class)
    append(part.busy[op_class], whole.busy[op_class]);
  append(part.starts, whole.starts);
  append(part.depth, whole.depth);
  append(part.longest, whole.longest);
  append(part.longest_name, whole.longest_name);
  append(part.low, whole.low);
  append(part.high, whole.high);
  whole.end = part.end;
}

}  // namespace

RankFile::RankFile(std::optional<file::TraceWriter> writer, std::vector<model::Track> tracks,
                   size_t block_rows)
    : writer_(std::move(writer)),
      tracks_(std::move(tracks)),
      block_rows_(block_rows),
      pending_(tracks_.size()) {}

Expected<RankFile> RankFile::create_nowhere(std::vector<model::Track> tracks) {
  return RankFile(std::nullopt, std::move(tracks), 0);
}

Expected<RankFile> RankFile::create(std::string const& path, model::TraceInfo const& info,
                                    model::Device const& device,
                                    std::vector<model::Track> const& tracks,
                                    model::StringTable const& strings, size_t block_rows) {
  auto writer = file::TraceWriter::create(path);
  if (!writer) return base::fail_with(writer);
  std::vector<std::string_view> texts;
  for (uint32_t id = 1; id < strings.size(); ++id)
    texts.push_back(strings.text(model::StringId{id}));
  if (auto const done = writer->write_strings(1, texts); !done) return base::fail_with(done);
  if (auto const done = writer->write_description(info, std::span(&device, 1), {}); !done)
    return base::fail_with(done);
  if (auto const done = writer->write_tracks(model::TrackId{0}, tracks); !done)
    return base::fail_with(done);
  return RankFile(std::move(*writer), tracks, block_rows);
}

Expected<void> RankFile::end_step() {
  for (uint32_t track = 0; track < pending_.size(); ++track) {
    Pending& pending = pending_[track];
    pending.longest_step =
        std::max(pending.longest_step, pending.events.size() - pending.before_step);
    if (pending.events.size() + pending.longest_step > block_rows_)
      if (auto const done = write(track); !done) return done;
    pending.before_step = pending.events.size();
  }
  return {};
}

Expected<void> RankFile::finish() {
  if (!writer_) return {};
  for (uint32_t track = 0; track < pending_.size(); ++track)
    if (auto const done = write(track); !done) return done;
  for (uint32_t track = 0; track < pending_.size(); ++track) {
    if (pending_[track].summary.size() == 0) continue;
    if (auto const done = writer_->write_summary(model::TrackId{track}, pending_[track].summary);
        !done)
      return done;
  }
  if (auto const done = writer_->write_steps(steps_); !done) return done;
  bool const lost_some = std::any_of(tracks_.begin(), tracks_.end(),
                                     [](model::Track const& t) { return t.dropped > 0; });
  if (lost_some)
    if (auto const done = writer_->write_tracks(model::TrackId{0}, tracks_); !done) return done;
  return writer_->finish();
}

Expected<void> RankFile::write(uint32_t track) {
  Pending& pending = pending_[track];
  if (pending.events.empty()) return {};
  if (!writer_) {
    pending.events.clear();
    return {};
  }
  if (auto const done = writer_->write_events(model::TrackId{track}, pending.events); !done)
    return done;
  append_summary(model::summarize(model::EventView(pending.events), depths_of(pending.events)),
                 pending.summary);
  add_steps(model::TrackId{track}, pending.events);
  pending.written += pending.events.size();
  pending.events.clear();
  return {};
}

void RankFile::add_steps(model::TrackId track, model::EventBatch const& events) {
  auto const& details = std::get<model::DetailColumn<model::StepDetail>>(events.details);
  if (details.empty()) return;
  auto detail = details.begin();
  for (size_t row = 0; row < events.size(); ++row)
    if (events.kind[row] == model::EventKind::kStep)
      steps_.push_back({track, events.start[row], events.dur[row], (detail++)->index});
}

uint64_t RankFile::event_count() const {
  uint64_t count = 0;
  for (Pending const& pending : pending_) count += pending.written + pending.events.size();
  return count;
}

}  // namespace stepscope::synth
