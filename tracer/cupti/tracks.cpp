#include "tracer/cupti/tracks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stepscope::tracer {
namespace {

void rename(model::TrackId id, std::string const& name, TraceStore& store) {
  model::Track track = store.track(id);
  if (track.name == name) return;
  track.name = name;
  store.set_track(id, std::move(track));
}

}  // namespace

int64_t StreamTracks::stream_number(uint32_t device, uint32_t context, uint32_t stream) {
  uint32_t const first = first_context_.try_emplace(device, context).first->second;
  return context == first ? int64_t{stream} : (int64_t{context} << 32) | stream;
}

TrackRef StreamTracks::look_up(Key const& key, TraceStore& store) {
  int64_t const number = stream_number(key.device, key.context, key.stream);
  size_t const before = store.tracks().size();
  model::TrackId const id = store.stream_track(static_cast<int32_t>(key.device), number);
  if (store.tracks().size() != before && number != key.stream)
    rename(id, fmt::format("stream {} of context {}", key.stream, key.context), store);
  if (auto const given = names_.find({key.context, key.stream}); given != names_.end())
    rename(id, given->second, store);
  Context const& context = contexts_.try_emplace(key.context, Context{key.device}).first->second;
  if (context.default_stream == key.stream) name_default_stream(key.context, store);
  return {id, &store.rows(id)};
}

void StreamTracks::name_default_stream(uint32_t context, TraceStore& store) {
  Context const& known = contexts_.at(context);
  int64_t const number = stream_number(known.device, context, known.default_stream);
  model::TrackId const id = store.stream_track(static_cast<int32_t>(known.device), number);
  std::string const plain = fmt::format("stream {}", known.default_stream);
  if (store.track(id).name == plain)
    rename(id, plain + " (default)", store);  // else it was named by the program, or here
}

void StreamTracks::describe_context(uint32_t device, uint32_t context, uint32_t default_stream,
                                    TraceStore& store) {
  contexts_[context] = {device, default_stream};
  first_context_.try_emplace(device, context);
  // A stream without ops gets no track.
  if (find_track(device, context, default_stream, store)) name_default_stream(context, store);
}

std::optional<model::TrackId> StreamTracks::find_track(uint32_t device, uint32_t context,
                                                       uint32_t stream, TraceStore const& store) {
  int64_t const number = stream_number(device, context, stream);
  auto const& tracks = store.tracks();
  auto const found = std::find_if(tracks.begin(), tracks.end(), [&](model::Track const& track) {
    return track.kind == model::TrackKind::kStream &&
           track.device == static_cast<int32_t>(device) && track.id == number;
  });
  if (found == tracks.end()) return {};
  return model::TrackId{static_cast<uint32_t>(found - tracks.begin())};
}

void StreamTracks::name(uint32_t context, uint32_t stream, std::string name, TraceStore& store) {
  if (name.empty()) return;
  std::string const& given = names_[{context, stream}] = std::move(name);
  auto const known = contexts_.find(context);
  if (known == contexts_.end()) return;
  if (auto const track = find_track(known->second.device, context, stream, store))
    rename(*track, given, store);
}

int32_t StreamTracks::device_of(uint32_t context) const {
  auto const found = contexts_.find(context);
  return found == contexts_.end() ? -1 : static_cast<int32_t>(found->second.device);
}

}  // namespace stepscope::tracer
