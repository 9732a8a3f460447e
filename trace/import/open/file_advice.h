// Files that Stepscope does not read but that users name, or keep among their traces: what each is,
// and what to do with it.
#pragma once

#include "trace/import/common/advice.h"
#include "trace/import/common/input.h"

namespace stepscope::import {

/// Advice about a file that no importer knows, by its content and, where that says nothing, by its
/// name. Nothing if the file may be anything.
Advice advice_for_file(Input const& input);

}  // namespace stepscope::import
