#include "viewer/queries/charts/wait_matrix.h"

#include <algorithm>
#include <cmath>

#include "analyzer/metrics/communication/collective_waits.h"

namespace stepscope::viewer {
namespace {

/// The first run time that is not before a view time.
int64_t run_time_from(Scene const& scene, double view_time) {
  double const ns = std::clamp(std::ceil(view_time), -1e18, 1e18);
  return add(static_cast<int64_t>(ns), scene.origin);
}

}  // namespace

WaitMatrix wait_matrix(Scene const& scene, WaitMatrixKey const& key, std::stop_token const& stop) {
  model::Interval const range{run_time_from(scene, key.range.begin),
                              run_time_from(scene, key.range.end)};
  return analyzer::collective_wait_matrix(scene.analysis, {range, key.most_rows, key.most_columns},
                                          stop);
}

}  // namespace stepscope::viewer
