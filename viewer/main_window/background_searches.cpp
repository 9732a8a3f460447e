// Searches on other threads: the hits of the search box, and the next event of the selected one's
// name.
#include <memory>
#include <string>

#include "viewer/async/background.h"
#include "viewer/event_store/event_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/main_window/parts.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct SearchCache {
  Background<std::string, SearchHits> hits;
  std::shared_ptr<SearchFeed> feed;  ///< of the search at hand
  std::string searched;              ///< the text that the feed is for

  bool is_busy() { return hits.is_busy(); }
  void finish() { hits.finish(); }
};

struct SameNameCache : Background<SameNameKey, SameNameFound> {};

}  // namespace

void update_search(Scene const& scene, ViewState& state, PanelCache& panels) {
  if (!state.search.pending) return;

  // Each search has a feed of its own: what an earlier one still finds must not be shown.
  auto& cache = panels.of<SearchCache>();
  if (!cache.feed || cache.searched != state.search.text) {
    cache.feed = std::make_shared<SearchFeed>();
    cache.searched = state.search.text;
  }
  auto const work = [&scene, feed = cache.feed](std::string const& text,
                                                std::stop_token const& stop) {
    return find_hits(scene, text, stop, feed.get());
  };
  SearchHits const* const found = cache.hits.ask(state.search.text, work);

  if (found != nullptr) {
    show_first_hits(state, *found);
    state.search.pending = false;
  } else if (auto first = cache.feed ? cache.feed->take() : std::nullopt) {
    show_first_hits(state, std::move(*first));
  }
}

void update_same_name(Scene const& scene, ViewState& state, PanelCache& panels) {
  auto& seek = state.panels.seek;
  auto& cache = panels.of<SameNameCache>();
  // Another selection ends the search.
  if (seek && state.selection != seek->from) seek.reset();
  if (!seek || seek->is_over) return cache.give_up();

  auto const work = [&scene](SameNameKey const& key, std::stop_token const& stop) {
    return scene.store->next_of_name(scene, key, stop);
  };
  SameNameFound const* const found = cache.ask({seek->from, seek->direction, seek->name}, work);
  if (found == nullptr) return;
  if (!found->event) {
    seek->is_over = true;
    return;
  }
  Selection const next = *found->event;
  seek.reset();
  show_same_name(state, scene, next);
}

void same_name_words(ViewState const& state) {
  if (!state.panels.seek) return;
  ImGui::SameLine(0, 16 * ui_scale());
  ImGui::AlignTextToFramePadding();
  std::string const which = state.panels.seek->direction > 0 ? "next" : "previous";
  text_coloured(state.panels.seek->is_over ? "no " + which + " of this name"
                                           : "searching the " + which + " of this name… (Esc)",
                surface(state.theme).text_dim);
}

}  // namespace stepscope::viewer
