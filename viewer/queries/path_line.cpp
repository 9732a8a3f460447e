#include "viewer/queries/path_line.h"

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

PathLine path_line(Scene const& scene, std::stop_token const& stop) {
  PathFeed feed;
  scene.store->find_path(scene, feed, stop);

  PathLine line;
  feed.take(line);
  return line;
}

}  // namespace stepscope::viewer
