// A box for a line of text that is kept elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace stepscope::viewer {

/// True in the frames in which the text was changed: it is bounded to `most_bytes`. `hint`: shown
/// while there is none.
bool writing_box(char const* id, char const* hint, std::string& text, float width,
                 size_t most_bytes);

}  // namespace stepscope::viewer
