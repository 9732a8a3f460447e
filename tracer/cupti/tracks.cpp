#include "tracer/cupti/tracks.h"

#include <utility>

#include <fmt/format.h>

namespace stepscope::tracer {

int64_t StreamTracks::stream_number(uint32_t device, uint32_t context, uint32_t stream) {
  uint32_t const first = first_context_.try_emplace(device, context).first->second;
  return context == first ? int64_t{stream} : (int64_t{context} << 32) | stream;
}

TrackRef StreamTracks::look_up(Key const& key, TraceStore& store) {
  int64_t const number = stream_number(key.device, key.context, key.stream);
  size_t const before = store.tracks().size();
  model::TrackId const id = store.stream_track(static_cast<int32_t>(key.device), number);
  if (store.tracks().size() != before && number != key.stream) {
    model::Track track = store.track(id);
    track.name = fmt::format("stream {} of context {}", key.stream, key.context);
    store.set_track(id, std::move(track));
  }
  Context const& context = contexts_.try_emplace(key.context, Context{key.device}).first->second;
  if (context.default_stream == key.stream) name_default_stream(key.context, store);
  return {id, &store.rows(id)};
}

void StreamTracks::name_default_stream(uint32_t context, TraceStore& store) {
  Context const& known = contexts_.at(context);
  int64_t const number = stream_number(known.device, context, known.default_stream);
  model::TrackId const id = store.stream_track(static_cast<int32_t>(known.device), number);
  model::Track track = store.track(id);
  if (track.name != fmt::format("stream {}", known.default_stream)) return;  // named by the program, or here
  track.name += " (default)";
  store.set_track(id, std::move(track));
}

void StreamTracks::describe_context(uint32_t device, uint32_t context, uint32_t default_stream, TraceStore& store) {
  contexts_[context] = {device, default_stream};
  first_context_.try_emplace(device, context);
  // A stream without ops gets no track.
  int64_t const number = stream_number(device, context, default_stream);
  for (model::Track const& track : store.tracks()) {
    bool const is_stream = track.kind == model::TrackKind::kStream && track.device == static_cast<int32_t>(device);
    if (is_stream && track.id == number) return name_default_stream(context, store);
  }
}

int32_t StreamTracks::device_of(uint32_t context) const {
  auto const found = contexts_.find(context);
  return found == contexts_.end() ? -1 : static_cast<int32_t>(found->second.device);
}

}  // namespace stepscope::tracer
