// Lines of a descriptor, each of bounded length: what an endless line holds is skipped, not kept.
#pragma once

#include <optional>
#include <string>

namespace stepscope::agent {

class LineReader {
 public:
  /// Lines longer than `longest` bytes are cut there, with one byte more, so that they are seen as
  /// too long. The descriptor stays open.
  LineReader(int descriptor, size_t longest) : descriptor_(descriptor), longest_(longest) {}

  /// The next line without its end; nothing at the end of the input or when it cannot be read.
  std::optional<std::string> next();

 private:
  [[nodiscard]] bool fill();

  int descriptor_;
  size_t longest_;
  std::string buffer_;  ///< read and not yet handed out
  size_t place_ = 0;    ///< of what was not yet looked at
};

}  // namespace stepscope::agent
