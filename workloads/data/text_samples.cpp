// Tokens, windows and the generated text; see text_samples.h.
#include "workloads/data/text_samples.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "trace/base/check.h"
#include "trace/base/files/mapped_file.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

// The grammar of the generated text.

constexpr uint64_t kTextSeed = 20'170'612;
// How often there is one.
constexpr float kPlural = 0.5F, kAdjective = 0.4F, kClause = 0.25F, kObject = 0.5F, kPlace = 0.5F;

constexpr std::array kNouns = {"dog",    "cat",     "bird",  "horse",
                               "farmer", "teacher", "child", "neighbour"};
constexpr std::array kPlurals = {"dogs",    "cats",     "birds",    "horses",
                                 "farmers", "teachers", "children", "neighbours"};
constexpr std::array kAdjectives = {"old", "young", "small", "clever", "hungry", "quiet"};
constexpr std::array kActions = {"sleep", "run", "sing", "wait", "play", "work"};
constexpr std::array kRelations = {"see", "follow", "like", "help", "hear"};
constexpr std::array kPlaces = {"in the garden", "near the river", "behind the house",
                                "on the hill", "under the tree"};

class Grammar {
 public:
  /// "the old dog that the cats see sleeps near the river.\n"
  std::string sentence() {
    bool const plural = happens(kPlural);
    text_ = "the";
    say_noun_phrase(plural);

    if (happens(kClause)) {
      bool const other = happens(kPlural);
      say("that the");
      say_noun(other);
      say_verb(kRelations, other);
    }

    if (happens(kObject)) {
      say_verb(kRelations, plural);
      say("the");
      say_noun_phrase(happens(kPlural));
    } else {
      say_verb(kActions, plural);
    }

    if (happens(kPlace)) say(pick(kPlaces));
    return text_ + ".\n";
  }

 private:
  template <size_t N>
  char const* pick(std::array<char const*, N> const& words) {
    return words[random_.below(N)];
  }
  bool happens(float probability) { return random_.uniform() < probability; }
  void say(char const* words) { (text_ += ' ') += words; }
  void say_noun(bool plural) { say(pick(plural ? kPlurals : kNouns)); }
  void say_noun_phrase(bool plural) {
    if (happens(kAdjective)) say(pick(kAdjectives));
    say_noun(plural);
  }
  template <size_t N>
  void say_verb(std::array<char const*, N> const& verbs, bool plural) {
    say(pick(verbs));
    if (!plural) text_ += 's';
  }

  Random random_{kTextSeed};
  std::string text_;
};

}  // namespace

std::string generated_text(size_t bytes) {
  Grammar grammar;
  std::string text;
  while (text.size() < bytes) text += grammar.sentence();
  return text;
}

// Tokens.

TokenizedText tokenize(std::string_view text) {
  std::array<bool, 256> occurs = {};
  for (char const c : text) occurs[static_cast<uint8_t>(c)] = true;

  TokenizedText result;
  std::array<uint8_t, 256> number = {};
  for (size_t byte = 0; byte < occurs.size(); ++byte) {
    if (!occurs[byte]) continue;
    number[byte] = static_cast<uint8_t>(result.vocabulary.size());
    result.vocabulary += static_cast<char>(byte);
  }

  result.tokens.reserve(text.size());
  for (char const c : text) result.tokens.push_back(number[static_cast<uint8_t>(c)]);
  return result;
}

base::Expected<TokenizedText> read_text(std::string const& path, int64_t context) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return base::fail("{}: is a folder, name one text file", path);

  auto const file = base::MappedFile::open(path);
  if (!file) return base::fail_with(file);

  base::ByteSpan const bytes = file->bytes();
  size_t const least = (static_cast<size_t>(context) + 1) * 10;
  if (bytes.size() < least) {
    return base::fail(
        "{}: has {} bytes; its last tenth is the test set and has to hold one window, so --context "
        "{} takes {} bytes: give a longer text or a smaller --context",
        path, bytes.size(), context, least);
  }

  auto tokens =
      tokenize(std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size()));
  if (file->is_cut()) return base::became_shorter(path);
  return tokens;
}

// Windows.

TextSamples::TextSamples(std::span<uint8_t const> tokens, int64_t context, bool shift)
    : tokens_(tokens), context_(static_cast<size_t>(context)), shift_(shift) {
  STEPSCOPE_CHECK(context > 0 && tokens_.size() > context_);
}

void TextSamples::prepare(size_t i, Random random, std::byte* input, std::byte* label) const {
  size_t first = i * context_;
  if (shift_) first += random.below(static_cast<uint32_t>(context_));
  first = std::min(first, tokens_.size() - 1 - context_);
  for (size_t t = 0; t < context_; ++t) {
    int32_t const token = tokens_[first + t], next = tokens_[first + t + 1];
    std::memcpy(input + t * sizeof token, &token, sizeof token);
    std::memcpy(label + t * sizeof next, &next, sizeof next);
  }
}

}  // namespace stepscope::workloads
