// The input of a fuzzer as a file that commands and windows open, with a place for what they write.
#pragma once

#include <cstdint>
#include <string>

#include "trace/base/bytes.h"

namespace stepscope::fuzz {

/// A folder of this process alone, in memory where the system has such a place; removed when it
/// goes.
class InputFolder {
 public:
  InputFolder();
  InputFolder(InputFolder const&) = delete;
  InputFolder& operator=(InputFolder const&) = delete;
  ~InputFolder();

  /// Writes the input, with sound checksums where that is wanted, and removes all output. False:
  /// the input claims more events than `most_events`. A few bytes can claim millions, which would
  /// only make a fuzzer slow.
  bool take(base::ByteSpan bytes, bool with_sound_checksums, uint64_t most_events = kMostEvents);
  [[nodiscard]] std::string const& input() const { return input_; }
  [[nodiscard]] std::string const& output() const { return output_; }

  /// A hundred events show what a thousand do; with a sanitizer a command looks at some 100,000 a
  /// second.
  static constexpr uint64_t kMostEvents = 20'000;

 private:
  std::string folder_, input_, output_;
};

}  // namespace stepscope::fuzz
