// Whether JSON is as a schema says: the part of JSON Schema 2020-12 that our schemas use.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stepscope::support {

/// What is wrong, one line a fault with its place ("/run/name: is a number, not string"); empty =
/// valid. Keys that an object's schema does not name are faults, too, though readers pass over
/// them: ours name all that are written. A keyword of the schema that is not known here is a fault
/// of its own.
std::vector<std::string> schema_faults(nlohmann::json const& schema, nlohmann::json const& value);

}  // namespace stepscope::support
