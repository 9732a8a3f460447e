// What a scaling series keeps of each of its runs, shared between the series and the thread that
// fits it.
#pragma once

#include <memory>

#include "analyzer/scaling/series.h"

namespace stepscope::viewer {

using SharedSample = std::shared_ptr<analyzer::RunMeasurements const>;

}  // namespace stepscope::viewer
