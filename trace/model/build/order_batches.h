// Batches of a track, sorted or not, become sorted ones that follow each other in time: what a
// trace's columns are made of.
#pragma once

#include <vector>

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// For each track. Afterwards every batch is in (start, −dur) order and none begins before the one
/// before it ends; events of equal key keep the order in which they came. Batches that are so
/// already stay as they are. On all cores.
void order_batches(std::vector<std::vector<EventBatch>>& tracks);

}  // namespace stepscope::model
