#include "tracer/core/trace_store.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace stepscope::tracer {
namespace {

/// What a name costs in the table beside its characters: nodes, pointers, the string object.
constexpr size_t kStringOverhead = 100;
/// A row of another track may be written so much later than one that began at the same time.
constexpr int64_t kMaxWaitNs = 4 * TraceStore::kMaxAgeNs;

}  // namespace

model::StringId TraceStore::intern(std::string_view text) {
  if (text.empty()) return model::StringId{0};
  uint32_t const before = strings_.size();
  uint32_t const id = strings_.intern(text).value;
  if (strings_.size() != before) string_bytes_ += text.size() + kStringOverhead;
  return model::StringId{first_string_ + id};
}

std::string_view TraceStore::text(model::StringId id) const {
  return id.value == 0 ? std::string_view()
                       : strings_.text(model::StringId{id.value - first_string_});
}

void TraceStore::track_changed(model::TrackId id) {
  if (std::exchange(batches_[id.value].track_changed, true)) return;
  changed_tracks_.push_back(id.value);
}

model::TrackId TraceStore::add_track(model::Track track) {
  model::TrackId const id{static_cast<uint32_t>(tracks_.size())};
  tracks_.push_back(std::move(track));
  batches_.emplace_back();
  changed_tracks_.push_back(id.value);
  return id;
}

void TraceStore::set_track(model::TrackId id, model::Track track) {
  tracks_[id.value] = std::move(track);
  track_changed(id);
}

model::TrackId TraceStore::thread_track(int64_t thread_id) {
  auto const [place, is_new] = threads_.try_emplace(thread_id);
  if (is_new) {
    model::Track track;
    track.kind = model::TrackKind::kThread;
    track.id = thread_id;
    track.name = fmt::format("thread {}", thread_id);
    place->second = add_track(std::move(track));
  }
  return place->second;
}

void TraceStore::share_thread_track(int64_t thread_id, uint64_t shared_by,
                                    std::string const& name) {
  auto const [shared, is_first] = shared_by_threads_.try_emplace(shared_by);
  if (!is_first) {
    threads_.try_emplace(thread_id, shared->second);
    return;
  }

  shared->second = thread_track(thread_id);
  model::Track track = tracks_[shared->second.value];
  track.name = name;
  set_track(shared->second, std::move(track));
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
  auto const place = std::find_if(devices_.begin(), devices_.end(),
                                  [&](model::Device const& d) { return d.id == device.id; });
  if (place == devices_.end())
    devices_.push_back(std::move(device));
  else
    *place = std::move(device);
  describe_again();
}

void TraceStore::name_device(int32_t device, std::string_view name) {
  std::string& given = device_names_[device];
  if (given == name) return;
  given = name;
  describe_again();
}

std::string TraceStore::system_name(int64_t thread_id, std::string_view known) {
  std::string name = names_->ask(thread_id, known);
  if (!name.empty() || output_ != nullptr) return name;
  names_->read_asked();  // there is no file thread to do it
  return names_->ask(thread_id, known);
}

void TraceStore::read_names() {
  if (output_ == nullptr || !names_->has_asked()) return;
  output_->submit(0, [names = names_](file::TraceWriter&) {
    names->read_asked();
    return base::Expected<void>();
  });
}

std::vector<model::Device> TraceStore::devices() const {
  std::vector<model::Device> result = devices_;
  for (model::Device& device : result) {
    auto const given = device_names_.find(device.id);
    if (given != device_names_.end() && !given->second.empty())
      device.name += fmt::format(" ({})", given->second);
  }
  return result;
}

void TraceStore::write_strings() {
  uint32_t const count = strings_.size();
  if (written_strings_ == count) return;

  std::vector<std::string> texts;
  texts.reserve(count - written_strings_);
  for (uint32_t id = written_strings_; id < count; ++id)
    texts.emplace_back(strings_.text(model::StringId{id}));

  output_->submit(0, [first = first_string_ + written_strings_,
                      texts = std::move(texts)](file::TraceWriter& writer) {
    std::vector<std::string_view> const views(texts.begin(), texts.end());
    return writer.write_strings(first, views);
  });
  written_strings_ = count;

  if (is_endless_) return;  // begin_names_anew()
  if (string_bytes_ < kMaxStringBytes) return;
  first_string_ += count - 1;
  strings_ = model::StringTable();
  string_bytes_ = 0;
  written_strings_ = 1;
}

void TraceStore::begin_names_anew(std::function<void(RowWatcher::Renamed const&)> const& tell) {
  if (!keeps_nothing_) write_strings();
  model::StringTable const before = std::exchange(strings_, model::StringTable());
  uint32_t const first = first_string_;
  name_space_ = (name_space_ + 1) % kNameSpaces;
  first_string_ = name_space_ * kNamesOfSpace;
  string_bytes_ = 0;
  written_strings_ = 1;

  auto const renamed = [&](model::StringId name) {
    bool const is_known = name.value > first && name.value - first < before.size();
    return is_known ? intern(before.text(model::StringId{name.value - first})) : model::StringId{0};
  };
  for (Batch& batch : batches_) batch.rows.rename(renamed);
  for (RowWatcher* const watcher : watchers_) watcher->names_begin_anew(renamed);
  tell(renamed);
}

void TraceStore::write_description() {
  if (!description_changed_) return;
  description_changed_ = false;
  output_->submit(0, [info = info, devices = devices(), log = log](file::TraceWriter& writer) {
    return writer.write_description(info, devices, log);
  });
}

void TraceStore::write_tracks() {
  std::sort(changed_tracks_.begin(), changed_tracks_.end());

  for (size_t i = 0; i < changed_tracks_.size();) {
    uint32_t const first = changed_tracks_[i];
    std::vector<model::Track> run;
    for (; i < changed_tracks_.size() && changed_tracks_[i] == first + run.size(); ++i) {
      batches_[changed_tracks_[i]].track_changed = false;
      run.push_back(tracks_[changed_tracks_[i]]);
    }

    output_->submit(0, [first, run = std::move(run)](file::TraceWriter& writer) {
      return writer.write_tracks(model::TrackId{first}, run);
    });
  }

  changed_tracks_.clear();
}

void TraceStore::write_what_rows_need() {
  if (keeps_nothing_) return;
  write_strings();
  write_description();
  write_tracks();
}

void TraceStore::write_rows(model::TrackId id) {
  Batch& batch = batches_[id.value];

  // Only tracks that fill blocks get memory for whole ones: others would hold it for nothing.
  RowBatch fresh;
  if (batch.is_busy) {
    fresh = keeps_nothing_ ? std::move(seen_) : output_->spare_batch();
    fresh.reserve(file::kMaxBlockRows);
  }

  size_t const rows = batch.rows.ended();
  batch.since_ns = -1;
  RowBatch ended = batch.rows.take(std::move(fresh));
  if (live_memory_) live_memory_->add(id, ended);
  for (RowWatcher* const watcher : watchers_) watcher->see(id, ended);
  if (keeps_nothing_) {
    if (!batch.is_busy) return;
    ended.clear();
    seen_ = std::move(ended);
    return;
  }
  output_->submit(
      rows, [output = output_, id, events = std::move(ended)](file::TraceWriter& writer) mutable {
        model::EventView const view = events.view();
        auto written = view.is_sorted() ? writer.write_sorted_events(id, view)
                                        : writer.write_events(id, events.copy());
        output->give_back(std::move(events));
        return written;
      });
}

void TraceStore::write_full(model::TrackId id) {
  if (output_ == nullptr) return;
  batches_[id.value].is_busy = true;
  // Open rows stay and are copied: as long as at least as many leave, that costs no more a row than
  // writing it.
  if (2 * batches_[id.value].rows.open() > batches_[id.value].rows.size()) return;
  write_what_rows_need();
  write_rows(id);
}

void TraceStore::keep_live_memory(int64_t now_ns) {
  for (uint32_t i = 0; i < batches_.size(); ++i) {
    TrackRows& rows = batches_[i].rows;
    if (rows.ended() > 0) live_memory_->add(model::TrackId{i}, rows.take());
  }
  live_memory_->forget_frees_before(now_ns - kMaxWaitNs);
}

void TraceStore::begin_file(FileThread* output) {
  output_ = output;
  written_strings_ = 1;
  description_changed_ = true;

  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    tracks_[i].dropped = 0;  // said in the file before
    track_changed(model::TrackId{i});
  }

  live_memory_->for_each([this](LiveMemory::Allocation const& call) {
    rows(call.track)
        .add(model::EventKind::kMemory, call.start_ns, call.dur_ns, call.name, call.correlation,
             call.detail);
  });
}

void TraceStore::keep_ring(FileThread* output) {
  output_ = output;
  is_endless_ = true;
}

void TraceStore::keep_nothing(FileThread* output) {
  keep_ring(output);
  keeps_nothing_ = true;
}

void TraceStore::for_each_open(int64_t now_ns,
                               std::function<void(model::TrackId, RowBatch)> const& call) const {
  for (uint32_t i = 0; i < batches_.size(); ++i)
    if (batches_[i].rows.open() > 0) call(model::TrackId{i}, batches_[i].rows.open_rows(now_ns));
}

void TraceStore::flush(int64_t now_ns, bool all) {
  if (output_ == nullptr) {
    if (live_memory_) keep_live_memory(now_ns);
    return;
  }

  // A ring loses nothing by waiting longer, and has fewer blocks.
  int64_t const max_age_ns = is_endless_ ? 2 * kMaxAgeNs : kMaxAgeNs;
  std::vector<model::TrackId> due;
  for (uint32_t i = 0; i < batches_.size(); ++i) {
    Batch& batch = batches_[i];
    if (batch.rows.ended() == 0) continue;
    if (batch.since_ns < 0) batch.since_ns = now_ns;
    if (all || now_ns - batch.since_ns >= max_age_ns) due.push_back(model::TrackId{i});
  }

  if (due.empty() && !all && !description_changed_) return;
  write_what_rows_need();
  for (model::TrackId const track : due) write_rows(track);
}

}  // namespace stepscope::tracer
