// Profiles of XLA, as JAX, TensorFlow and PyTorch/XLA write them: .xplane.pb, an XSpace of Protocol
// Buffers, packed or not. One walk finds the lines, then pieces of them are decoded on all cores;
// the bytes are looked at where they are. What the planes and lines mean:
// docs/design/decisions/0013-xla-profiles.md.
#pragma once

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer xplane_importer();
bool is_xplane(Input const& input);
/// The log names what is cut off or damaged; the rest is read. Errors: no events, or too many for
/// the machine's memory.
base::Expected<model::Trace> read_xplane(Input const& input);
/// The same in pieces of about `piece_bytes`, which change nothing but the time that it takes.
base::Expected<model::Trace> read_xplane(Input const& input, size_t piece_bytes);

}  // namespace stepscope::import
