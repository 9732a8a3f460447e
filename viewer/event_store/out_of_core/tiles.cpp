#include "viewer/event_store/out_of_core/tiles.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "viewer/async/dispose_async.h"

namespace stepscope::viewer {
namespace {

/// What is forgotten is freed at once when it is so much: single tiles would leave holes that
/// nothing fits into.
constexpr size_t kMostForgottenBytes = size_t{32} << 20;

/// Whether what was read for one request is what another one needs.
bool answers(TileRequest const& read, TileRequest const& request) {
  return read.rank == request.rank && read.begin <= request.need_begin &&
         read.end >= request.need_end &&
         std::includes(read.tracks.begin(), read.tracks.end(), request.tracks.begin(),
                       request.tracks.end());
}

}  // namespace

TileStore::TileStore(Read read, size_t most_bytes)
    : read_(std::move(read)),
      most_bytes_(most_bytes),
      thread_([this](std::stop_token const& stop) { work(stop); }) {}

TileStore::~TileStore() {
  thread_.request_stop();
  changed_.notify_all();
}

void TileStore::work(std::stop_token const& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    reading_ = std::move(queue_.front());
    queue_.erase(queue_.begin());
    TileRequest const request = *reading_;
    lock.unlock();

    std::shared_ptr<Tile const> tile;
    try {
      tile = read_(request);
    } catch (std::exception const&) {
      tile = nullptr;  // for want of memory: the marks stay
    }

    lock.lock();
    read_tiles_.emplace_back(request, std::move(tile));
    reading_.reset();
    changed_.notify_all();
  }
}

void TileStore::retire() {
  dispose_async(std::exchange(tiles_, {}), std::exchange(forgotten_, {}));
  bytes_ = forgotten_bytes_ = 0;
  {
    std::lock_guard const lock(mutex_);
    queue_.clear();
    read_tiles_.clear();
  }
  thread_.request_stop();
}

void TileStore::begin_frame() {
  ++frame_;

  std::vector<std::pair<TileRequest, std::shared_ptr<Tile const>>> fresh;
  {
    std::lock_guard const lock(mutex_);
    fresh.swap(read_tiles_);
  }

  for (auto& [request, tile] : fresh) {
    if (!tile) {
      refused_.push_back(std::move(request));
      continue;
    }
    bytes_ += tile->bytes;
    tiles_.insert(tiles_.begin(), Kept{std::move(tile), frame_});
  }

  make_room();
}

void TileStore::make_room() {
  while (bytes_ > most_bytes_ && !tiles_.empty()) {
    auto const oldest = std::min_element(
        tiles_.begin(), tiles_.end(), [](Kept const& a, Kept const& b) { return a.used < b.used; });
    // All are looked at: the last one that came was too much.
    auto const victim = oldest->used + 1 >= frame_ ? tiles_.begin() : oldest;
    if (victim->used + 1 >= frame_) refused_.push_back(victim->tile->request);
    forget(victim);
  }
}

void TileStore::forget(std::vector<Kept>::iterator tile) {
  bytes_ -= tile->tile->bytes;
  forgotten_bytes_ += tile->tile->bytes;
  forgotten_.push_back(std::move(tile->tile));
  tiles_.erase(tile);
  if (forgotten_bytes_ < kMostForgottenBytes) return;
  dispose_async(std::exchange(forgotten_, {}));
  forgotten_bytes_ = 0;
}

void TileStore::want(std::vector<TileRequest> requests) {
  std::erase_if(refused_, [&](TileRequest const& refused) {
    return std::find(requests.begin(), requests.end(), refused) == requests.end();
  });

  std::erase_if(requests, [&](TileRequest const& request) {
    if (std::find(refused_.begin(), refused_.end(), request) != refused_.end()) return true;
    bool is_there = false;
    for (Kept& kept : tiles_) {
      if (!answers(kept.tile->request, request)) continue;
      kept.used = frame_;
      is_there = true;
    }
    return is_there;
  });

  std::lock_guard const lock(mutex_);
  std::erase_if(requests, [&](TileRequest const& request) {
    bool const comes = std::any_of(read_tiles_.begin(), read_tiles_.end(),
                                   [&](auto const& read) { return answers(read.first, request); });
    return comes || (reading_ && answers(*reading_, request));
  });

  queue_ = std::move(requests);
  if (!queue_.empty()) changed_.notify_all();
}

std::shared_ptr<Tile const> TileStore::find(uint32_t rank, uint32_t track, int64_t begin,
                                            int64_t end) {
  Kept* found = nullptr;

  for (Kept& kept : tiles_) {
    if (kept.tile->request.rank != rank || !kept.tile->has(track) || !kept.tile->covers(begin, end))
      continue;
    if (found == nullptr || kept.used > found->used) found = &kept;
  }

  if (found == nullptr) return nullptr;
  found->used = frame_;
  return found->tile;
}

bool TileStore::is_busy() const {
  std::lock_guard const lock(mutex_);
  return !queue_.empty() || reading_ || !read_tiles_.empty();
}

void TileStore::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !reading_; });
}

}  // namespace stepscope::viewer
