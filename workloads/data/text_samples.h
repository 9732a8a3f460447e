// Text as a language model takes it: bytes numbered by a vocabulary of the bytes that occur. It is
// cut into windows whose label is the same window one byte later. The bytes come from a file, or
// are generated where none is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/data/samples.h"

namespace stepscope::workloads {

/// A text as numbers; a token is one byte.
struct TokenizedText {
  std::string vocabulary;       ///< the byte of each token, ascending; at most 256
  std::vector<uint8_t> tokens;  ///< of the whole text

  /// The last tenth is the test set, what is before it is trained on.
  [[nodiscard]] std::span<uint8_t const> train() const {
    return std::span(tokens).first(tokens.size() - tokens.size() / 10);
  }
  [[nodiscard]] std::span<uint8_t const> test() const {
    return std::span(tokens).last(tokens.size() / 10);
  }
};
TokenizedText tokenize(std::string_view text);

/// Any file, taken as bytes. Errors: cannot be read; too short for a test set of one window of
/// `context` + 1 bytes.
base::Expected<TokenizedText> read_text(std::string const& path, int64_t context);

/// At least `bytes` of English-like sentences from a small grammar, the same in every run. A model
/// can learn from it, easiest first: which letters there are, the words, their order, and that a
/// verb agrees with its subject. For the last it has to look back over a clause ("the dog that the
/// cats see sleeps").
std::string generated_text(size_t bytes);

/// Windows of `context` tokens, one behind the other. Input: int32[context] tokens; label:
/// int32[context], each the token after it.
class TextSamples final : public Samples {
 public:
  /// `shift`: a window begins up to `context` − 1 tokens later, by its own random number, so that
  /// every epoch cuts the text elsewhere. There must be more `tokens` than `context`, and they must
  /// outlive the object.
  TextSamples(std::span<uint8_t const> tokens, int64_t context, bool shift);

  [[nodiscard]] size_t size() const override { return (tokens_.size() - 1) / context_; }
  [[nodiscard]] size_t input_bytes() const override { return context_ * sizeof(int32_t); }
  [[nodiscard]] size_t label_bytes() const override { return context_ * sizeof(int32_t); }
  void prepare(size_t i, Random random, std::byte* input, std::byte* label) const override;

 private:
  std::span<uint8_t const> tokens_;
  size_t context_;
  bool shift_;
};

}  // namespace stepscope::workloads
