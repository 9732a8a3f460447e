// The input of a fuzzer as a file that commands and windows open, with a place for what they write.
#pragma once

#include <string>

#include "trace/base/bytes.h"

namespace stepscope::fuzz {

/// A folder of this process alone, in memory where the system has such a place; removed when it goes.
class InputFolder {
 public:
  InputFolder();
  InputFolder(InputFolder const&) = delete;
  InputFolder& operator=(InputFolder const&) = delete;
  ~InputFolder();

  /// Writes the input, with sound checksums where that is wanted, and removes all output. False: the input is none for a fuzzer:
  /// a few bytes can claim as many events as memory holds, which would only make it slow.
  bool take(base::ByteSpan bytes, bool with_sound_checksums);
  [[nodiscard]] std::string const& input() const { return input_; }
  [[nodiscard]] std::string const& output() const { return output_; }

 private:
  std::string folder_, input_, output_;
};

}  // namespace stepscope::fuzz
