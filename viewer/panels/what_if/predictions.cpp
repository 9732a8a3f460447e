#include "viewer/panels/what_if/predictions.h"

#include <utility>

#include "viewer/async/background.h"
#include "viewer/async/dispose_async.h"
#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

using SharedSession = std::shared_ptr<analyzer::ReplaySession const>;

struct OpenedReplay {
  SharedSession session;
  std::string error = "the replay does not fit into memory";
};

struct PredictedChanges {
  analyzer::WhatIfAnswer answer;
  std::shared_ptr<GhostTracks const> ghosts;  ///< null where the answer is refused
};

struct WhatIfCache {
  Background<int, OpenedReplay> replay;  ///< one key, as the next
  Background<int, std::vector<analyzer::WhatIfFix>> fixes;
  Background<std::string, PredictedChanges> prediction;  ///< by the text in the box
  std::string text, error;                               ///< that was parsed last
  std::vector<analyzer::WhatIfChange> changes;           ///< of `text`
  std::shared_ptr<GhostTracks const> ghosts;             ///< of this frame

  bool is_busy() {
    bool const opens = replay.is_busy();
    bool const finds = fixes.is_busy();
    return prediction.is_busy() || opens || finds;
  }
  void finish() {
    replay.finish();
    fixes.finish();
    prediction.finish();
  }

  [[nodiscard]] SharedSession session() const {
    OpenedReplay const* const opened = replay.latest();
    return opened != nullptr ? opened->session : nullptr;
  }
  /// Parsed only when it changes: a regular expression takes longer than the rest of a frame.
  void parse(std::string const& now) {
    if (now == text) return;
    text = now;
    error.clear();
    auto parsed = analyzer::parse_changes(text);
    if (parsed)
      changes = std::move(*parsed);
    else
      error = parsed.error().message;
  }
};

OpenedReplay open_session(Scene const& scene, std::stop_token const& stop) {
  auto opened = scene.store->open_replay(scene, stop);
  if (!opened) return {nullptr, opened.error().message};
  return {std::move(*opened), {}};
}

PredictedChanges predict(Scene const& scene, SharedSession const& session,
                         std::vector<analyzer::WhatIfChange> const& changes,
                         std::stop_token const& stop) {
  analyzer::WhatIfPrediction made = session->predict(changes);
  if (made.answer.is_refused || stop.stop_requested()) return {std::move(made.answer), nullptr};
  auto ghosts = make_ghost_tracks(scene, session, made.answer.change, std::move(made.timeline));
  return {std::move(made.answer), std::move(ghosts)};
}

/// Asks for the replay, and once it is there for what it answers.
void ask(Scene const& scene, ViewState const& state, WhatIfCache& cache) {
  bool const is_open = state.panels.tab == Tab::kWhatIf;
  bool const asks = !state.panels.what_if.changes.empty();
  if (!is_open && !asks) return;

  cache.replay.ask(
      0, [&scene](int, std::stop_token const& stop) { return open_session(scene, stop); });
  SharedSession const session = cache.session();
  if (!session) return;

  if (is_open)
    cache.fixes.ask(0, [session](int, std::stop_token const& stop) {
      return analyzer::find_fixes(*session, stop);
    });
  if (!asks || cache.changes.empty()) return cache.prediction.give_up();
  if (!cache.error.empty()) return;
  cache.prediction.ask(cache.text, [&scene, session, changes = cache.changes](
                                       std::string const&, std::stop_token const& stop) {
    return predict(scene, session, changes, stop);
  });
}

}  // namespace

void update_what_if(Scene const& scene, ViewState& state, PanelCache& panels, bool is_alone) {
  auto& cache = panels.of<WhatIfCache>();
  WhatIfView& view = state.panels.what_if;
  cache.parse(view.changes);
  if (scene.has_analysis()) ask(scene, state, cache);

  PredictedChanges const* const latest = cache.prediction.latest();
  bool const shows = is_alone && view.ghosts && !view.changes.empty() && latest != nullptr;
  std::shared_ptr<GhostTracks const> next = shows ? latest->ghosts : nullptr;
  if (next == cache.ghosts && (next != nullptr) == !view.nodes.empty()) return;

  std::swap(cache.ghosts, next);
  view.nodes = cache.ghosts ? cache.ghosts->nodes() : std::vector<uint32_t>();
  // A timeline of millions of events takes longer to free than a frame has.
  if (next && next != cache.ghosts) dispose_async(std::move(next));
}

WhatIfStatus what_if_so_far(PanelCache& panels) {
  auto& cache = panels.of<WhatIfCache>();
  WhatIfStatus status;
  status.error = cache.error;
  status.session = cache.session();
  OpenedReplay const* const opened = cache.replay.latest();
  if (opened != nullptr && !opened->session) status.failure = opened->error;

  status.is_predicting = cache.prediction.is_busy();
  status.is_finding_fixes = cache.fixes.is_busy();
  bool const is_asked = !cache.changes.empty() && !cache.text.empty();
  if (PredictedChanges const* const made = cache.prediction.latest(); made != nullptr && is_asked)
    status.answer = &made->answer;
  status.fixes = cache.fixes.latest();
  return status;
}

GhostTracks const* shown_ghosts(ViewState const& state, PanelCache& panels) {
  return state.panels.what_if.nodes.empty() ? nullptr : panels.of<WhatIfCache>().ghosts.get();
}

}  // namespace stepscope::viewer
