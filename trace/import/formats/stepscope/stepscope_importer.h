// Traces that Stepscope recorded (.stepscope): docs/reference/TRACE_FORMAT.md.
#pragma once

namespace stepscope::import {

struct Importer;

Importer stepscope_importer();

}  // namespace stepscope::import
