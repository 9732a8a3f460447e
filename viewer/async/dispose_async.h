// Frees what no frame looks at any more, on another thread: destroying a large run, and waiting for
// work that reads it, takes longer than a frame has.
#pragma once

#include <memory>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "trace/base/malloc_tuning.h"
#include "viewer/async/detached_threads.h"

namespace stepscope::viewer {

/// Takes things down on a thread of its own, one after the other: what looks at another one comes
/// before it. Then their memory goes back to the system, which else keeps as much as was ever in
/// use at once. The program's end does not wait for it.
template <class... Things>
void dispose_async(Things... things) {
  auto const all = std::make_shared<std::tuple<Things...>>(std::move(things)...);
  auto const take_down = [](auto& thing) { [[maybe_unused]] auto const last = std::move(thing); };

  auto const take_all_down = [all, take_down] {
    std::apply([&](auto&... each) { (take_down(each), ...); }, *all);
    base::give_back_freed_memory();
  };

  try {
    std::thread([take_all_down, detached = std::make_shared<DetachedThread>()] {
      take_all_down();
    }).detach();
  } catch (std::system_error const&) {
    take_all_down();  // no thread is to be had
  }
}

}  // namespace stepscope::viewer
