#include "tracer/core/trace_store.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::tracer {

model::TrackId TraceStore::add_track(model::Track track) {
  model::TrackId const id{static_cast<uint32_t>(tracks_.size())};
  tracks_.push_back(std::move(track));
  batches_.emplace_back();
  describe_again();
  return id;
}

model::TrackId TraceStore::stream_track(int32_t device, int64_t stream) {
  auto const [place, is_new] = streams_.try_emplace({device, stream});
  if (is_new) {
    model::Track track;
    track.kind = model::TrackKind::kStream;
    track.name = fmt::format("stream {}", stream);
    track.id = stream;
    track.device = device;
    place->second = add_track(std::move(track));
  }
  return place->second;
}

void TraceStore::set_device(model::Device device) {
  auto const place = std::find_if(devices_.begin(), devices_.end(), [&](model::Device const& d) { return d.id == device.id; });
  if (place == devices_.end())
    devices_.push_back(std::move(device));
  else
    *place = std::move(device);
  describe_again();
}

base::Expected<void> TraceStore::write_pending_strings(file::TraceWriter& writer) {
  uint32_t const count = strings_.size();
  if (written_strings_ == count) return {};
  std::vector<std::string_view> texts;
  texts.reserve(count - written_strings_);
  for (uint32_t id = written_strings_; id < count; ++id) texts.push_back(strings_.text(model::StringId{id}));
  uint32_t const first = written_strings_;
  written_strings_ = count;
  return writer.write_strings(first, texts);
}

base::Expected<void> TraceStore::write_batch(file::TraceWriter& writer, model::TrackId track, Batch& batch) {
  size_t const rows = batch.events.size();
  auto const written = writer.write_events(track, batch.events);
  (written ? written_rows_ : lost_rows_) += rows;
  batch.events.clear();
  batch.since_ns = -1;
  return written;
}

base::Expected<void> TraceStore::flush(file::TraceWriter& writer, int64_t now_ns, bool all) {
  std::vector<model::TrackId> due;
  for (uint32_t i = 0; i < batches_.size(); ++i) {
    Batch& batch = batches_[i];
    if (batch.events.empty()) continue;
    if (batch.since_ns < 0) batch.since_ns = now_ns;
    if (all || batch.events.size() >= file::kMaxBlockRows || now_ns - batch.since_ns >= kMaxAgeNs)
      due.push_back(model::TrackId{i});
  }
  if (due.empty() && !all) return {};
  auto result = write_pending_strings(writer);
  if (result && description_changed_) {
    description_changed_ = false;
    result = writer.write_description(info, devices_, log);
    if (result) result = writer.write_tracks(model::TrackId{0}, tracks_);
  }
  for (model::TrackId const track : due) {
    auto const written = write_batch(writer, track, batches_[track.value]);
    if (result) result = written;
  }
  return result;
}

void TraceStore::discard() {
  for (Batch& batch : batches_) {
    lost_rows_ += batch.events.size();
    batch.events.clear();
    batch.since_ns = -1;
  }
}

}  // namespace stepscope::tracer
