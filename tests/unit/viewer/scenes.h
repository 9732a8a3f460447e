// Runs for the viewer's tests: synthetic training runs, and malformed ones that a viewer must
// survive.
#pragma once

#include <string>
#include <utility>

#include "analyzer/analyze.h"
#include "tests/support/synthetic_run.h"
#include "trace/model/build/trace_builder.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {

inline Scene analyzed(model::Run run) {
  auto analysis = analyzer::analyze(run);
  return make_scene(std::move(run), std::move(analysis));
}

/// The first view of a run, with all of its ranks open.
inline ViewState open_view(Scene const& scene) {
  ViewState state = initial_view(scene);
  open_all(state);
  return state;
}

inline Scene synthetic_scene(support::SyntheticOptions const& options = {}) {
  return analyzed(support::make_synthetic_run(options));
}

/// A run of one trace; `fill` adds to its builder.
template <class Fill>
Scene scene_of(Fill fill) {
  model::TraceBuilder builder;
  fill(builder);
  model::Run run;
  run.name = "made";
  run.ranks.push_back({std::move(builder).finish(), 0, "made.stepscope"});
  return analyzed(std::move(run));
}

inline model::TrackId add_thread(model::TraceBuilder& builder, std::string name = "thread") {
  return builder.add_track({.kind = model::TrackKind::kThread, .name = std::move(name), .id = 1});
}
inline model::TrackId add_stream(model::TraceBuilder& builder, std::string name = "stream") {
  builder.add_device({.id = 0, .name = "device"});
  return builder.add_track(
      {.kind = model::TrackKind::kStream, .name = std::move(name), .id = 7, .device = 0});
}

/// Twelve steps of two ranks that wait for their input, and a leak.
inline Scene const& training() {
  static Scene const kScene = synthetic_scene({.devices = 2,
                                               .steps = 12,
                                               .process_per_device = true,
                                               .input_delay_ns = 8'000'000,
                                               .leak_bytes_per_step = 1U << 20});
  return kScene;
}

}  // namespace stepscope::viewer
