// Folders in which JAX, TensorFlow and TensorBoard keep profiles:
// LOG/plugins/profile/DATE/HOST.xplane.pb.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepscope::import {

/// The last profile in a folder for logs; nothing when it holds none.
std::optional<std::string> newest_profile(std::string const& folder);

/// Removes copies of the same profile for browsers from the files of a folder. They are
/// "host.trace.json.gz" next to "host.xplane.pb", which is not cut to some number of events, and
/// "perfetto_trace.json.gz".
void drop_copies_for_browsers(std::vector<std::string>& files);

}  // namespace stepscope::import
