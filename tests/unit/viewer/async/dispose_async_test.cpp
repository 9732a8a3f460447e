// Disposed objects are destroyed on another thread than the frames, an object that refers to
// another one first.
#include "viewer/async/dispose_async.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

#include "viewer/event_store/out_of_core/tiles.h"

namespace stepscope::viewer {
namespace {

/// Records its destruction.
class DisposedThing {
 public:
  struct Ends {
    std::string order;
    std::promise<std::thread::id> last;  ///< the thread on which "c" ends
  };
  DisposedThing(Ends& ends, char name) : ends_(ends), name_(name) {}
  ~DisposedThing() {
    ends_.order += name_;
    if (name_ == 'c') ends_.last.set_value(std::this_thread::get_id());
  }
  DisposedThing(DisposedThing const&) = delete;
  DisposedThing& operator=(DisposedThing const&) = delete;

 private:
  Ends& ends_;
  char name_;
};

TEST(DisposeAsync, TakesThingsDownInTheirOrderOnAnotherThread) {
  DisposedThing::Ends ends;
  auto last = ends.last.get_future();
  dispose_async(std::make_unique<DisposedThing>(ends, 'a'),
                std::make_shared<DisposedThing>(ends, 'b'),
                std::make_unique<DisposedThing>(ends, 'c'));
  EXPECT_NE(last.get(), std::this_thread::get_id());
  EXPECT_EQ(ends.order, "abc");
}

TEST(DisposeAsync, LeavesWhatOthersStillLookAt) {
  DisposedThing::Ends ends;
  auto last = ends.last.get_future();
  auto const kept = std::make_shared<DisposedThing>(ends, 'b');
  dispose_async(kept, std::unique_ptr<DisposedThing>(), std::make_unique<DisposedThing>(ends, 'c'));
  last.get();
  EXPECT_EQ(ends.order, "c");
}

TEST(DisposeAsync, TilesThatAreForgottenAreFreedOnAnotherThread) {
  std::promise<std::thread::id> freed;
  TileStore store(
      [&](TileRequest const& request) {
        auto tile = std::make_unique<Tile>();
        tile->request = request;
        tile->bytes = 10;
        return std::shared_ptr<Tile const>(tile.release(), [&](Tile const* of) {
          delete of;
          freed.set_value(std::this_thread::get_id());
        });
      },
      1000);

  TileRequest request;
  request.tracks = {0};
  request.end = 10;
  store.want({request});
  store.finish();
  store.begin_frame();
  ASSERT_EQ(store.count(), 1U);

  store.retire();
  EXPECT_NE(freed.get_future().get(), std::this_thread::get_id());
}

}  // namespace
}  // namespace stepscope::viewer
