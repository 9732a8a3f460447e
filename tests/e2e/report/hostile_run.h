// A run in which every text is one that would run a script, end an element or colour a terminal
// wherever it is not escaped.
#pragma once

#include <string>

#include "trace/model/run.h"

namespace stepscope::support {

inline constexpr char const* kHostileText =
    "<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'&\xE2\x80\xA8\x1b[31m\xFF";

/// The same run with all its names, tracks, devices and facts replaced by `text`; names of events
/// have their own behind it.
model::Run with_hostile_texts(model::Run const& run, std::string const& text = kHostileText);

}  // namespace stepscope::support
