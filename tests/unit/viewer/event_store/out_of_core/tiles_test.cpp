// Which tiles the store keeps: never more bytes than its limit, and the tiles of the latest frames
// first.
#include "viewer/event_store/out_of_core/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace stepscope::viewer {
namespace {

TileRequest request_of(uint32_t rank, int64_t begin = 0, int64_t end = 100) {
  TileRequest request;
  request.rank = rank;
  request.tracks = {0};
  request.begin = request.need_begin = begin;
  request.end = request.need_end = end;
  return request;
}

std::shared_ptr<Tile const> tile_for(TileRequest const& request) {
  auto tile = std::make_shared<Tile>();
  tile->request = request;
  tile->tracks.resize(1);
  tile->tracks[0].is_whole = true;
  tile->bytes = 100;
  return tile;
}

void frame(TileStore& store, std::vector<TileRequest> requests) {
  store.begin_frame();
  store.want(std::move(requests));
  store.finish();
}

TEST(TileStore, ReadsWhatIsWantedOnce) {
  std::atomic<int> reads = 0;
  TileStore store(
      [&](TileRequest const& request) {
        ++reads;
        return tile_for(request);
      },
      1000);

  for (int i = 0; i < 4; ++i) frame(store, {request_of(0), request_of(1)});
  EXPECT_EQ(reads, 2);

  EXPECT_NE(store.find(0, 0, 10, 20), nullptr);
  EXPECT_EQ(store.find(0, 0, 50, 101), nullptr);
  EXPECT_EQ(store.find(0, 1, 10, 20), nullptr);
  EXPECT_EQ(store.find(2, 0, 10, 20), nullptr);
  EXPECT_FALSE(store.is_busy());
}

TEST(TileStore, KeepsNoMoreThanThereIsRoomFor) {
  TileStore store(tile_for, 250);
  for (uint32_t rank = 0; rank < 20; ++rank) {
    frame(store, {request_of(rank)});
    store.begin_frame();
    EXPECT_LE(store.bytes(), 250U);
    EXPECT_NE(store.find(rank, 0, 0, 100), nullptr);
  }
  EXPECT_EQ(store.count(), 2U);
}

TEST(TileStore, ForgetsWhatWasNotLookedAtForLongest) {
  TileStore store(tile_for, 250);
  frame(store, {request_of(0)});
  frame(store, {request_of(1)});
  frame(store, {request_of(0)});
  frame(store, {request_of(0), request_of(2)});
  store.begin_frame();
  EXPECT_NE(store.find(0, 0, 0, 100), nullptr);
  EXPECT_EQ(store.find(1, 0, 0, 100), nullptr);
  EXPECT_NE(store.find(2, 0, 0, 100), nullptr);
}

TEST(TileStore, DoesNotReadAgainAndAgainWhatFindsNoRoom) {
  std::atomic<int> reads = 0;
  TileStore store(
      [&](TileRequest const& request) {
        ++reads;
        return tile_for(request);
      },
      250);

  for (int i = 0; i < 10; ++i) {
    frame(store, {request_of(0), request_of(1), request_of(2)});
    EXPECT_LE(store.bytes(), 250U);
  }
  EXPECT_EQ(reads, 3);
}

TEST(TileStore, DoesNotReadAgainAndAgainWhatCannotBeRead) {
  std::atomic<int> reads = 0;
  TileStore store(
      [&](TileRequest const&) -> std::shared_ptr<Tile const> {
        ++reads;
        return nullptr;
      },
      250);
  for (int i = 0; i < 5; ++i) frame(store, {request_of(0)});
  EXPECT_EQ(reads, 1);
}

/// Reads a tile when the test lets it, and keeps the ranks that it read.
struct HeldReader {
  std::counting_semaphore<> begun{0}, go{0};
  std::vector<uint32_t> read;

  [[nodiscard]] auto reading() {
    return [this](TileRequest const& request) {
      begun.release();
      go.acquire();
      read.push_back(request.rank);
      return tile_for(request);
    };
  }
};

TEST(TileStore, DoesNotReadWhatNoFrameWantsAnyMore) {
  HeldReader reader;
  {
    TileStore store(reader.reading(), 1000);
    store.want({request_of(0), request_of(1), request_of(2)});
    reader.begun.acquire();

    store.want({request_of(2)});
    EXPECT_TRUE(store.is_busy());
    reader.go.release(2);
    store.finish();
  }

  EXPECT_THAT(reader.read, testing::ElementsAre(0, 2));
}

TEST(TileStore, OneThatIsGivenUpDoesNotWaitForWhatItReads) {
  HeldReader reader;
  {
    TileStore store(reader.reading(), 1000);
    store.want({request_of(0), request_of(1)});
    reader.begun.acquire();

    store.retire();
    EXPECT_EQ(store.bytes(), 0U);
    reader.go.release(2);
  }
  EXPECT_THAT(reader.read, testing::ElementsAre(0));
}

TEST(TileStore, ReadsMoreWhenTheViewLeavesWhatIsThere) {
  std::atomic<int> reads = 0;
  TileStore store(
      [&](TileRequest const& request) {
        ++reads;
        return tile_for(request);
      },
      1000);

  TileRequest request = request_of(0);
  request.need_begin = 20;
  request.need_end = 80;
  frame(store, {request});
  request.need_end = 100;
  frame(store, {request});
  EXPECT_EQ(reads, 1);

  request.end = request.need_end = 101;
  frame(store, {request});
  EXPECT_EQ(reads, 2);
}

}  // namespace
}  // namespace stepscope::viewer
