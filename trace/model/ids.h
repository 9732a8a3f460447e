// The id types of the trace store.
#pragma once

#include "trace/base/ids.h"

namespace stepscope::model {

using StringId = base::Id<struct StringTag>;  ///< a text of a StringTable; id 0 is the empty text
using TrackId = base::Id<struct TrackTag>;    ///< an index into Trace::tracks()
using EventId = base::Id<struct EventTag>;    ///< a row of Trace's columns

}  // namespace stepscope::model
