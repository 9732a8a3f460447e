// Any bytes as the file in which a view is kept. Reading never crashes, what was read is written
// and read back the same, and a run can be shown with it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/synthetic_run.h"
#include "trace/base/check.h"
#include "viewer/session/saved_view.h"
#include "viewer/timeline/layout.h"

namespace {

using namespace stepscope;

viewer::Scene make_small_scene() {
  auto run = support::make_synthetic_run(
      {.devices = 2, .steps = 2, .layers = 2, .process_per_device = true});
  auto analysis = analyzer::analyze(run);
  return viewer::make_scene(std::move(run), std::move(analysis));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static viewer::Scene const scene = make_small_scene();
  auto const saved =
      viewer::parse_saved_view({reinterpret_cast<char const*>(data), size}, "fuzz.json");
  if (!saved) return 0;

  std::string const written = viewer::saved_view_text(*saved);
  auto const again = viewer::parse_saved_view(written, "fuzz.json");
  STEPSCOPE_CHECK(again.has_value());
  STEPSCOPE_CHECK(*again == *saved);

  viewer::ViewState state = viewer::initial_view(scene);
  viewer::apply_saved_view(*saved, scene, state);
  STEPSCOPE_CHECK(state.window.begin < state.window.end);
  viewer::lay_out(scene, state, {600, 400, 1});
  return 0;
}
