// The points of the bandwidth chart: the analysis computes them.
#pragma once

#include "analyzer/metrics/communication/bandwidth_by_size.h"

namespace stepscope::viewer {

using analyzer::bandwidth_by_size;
using analyzer::BandwidthPoint;
using analyzer::fitted_bandwidth;

}  // namespace stepscope::viewer
