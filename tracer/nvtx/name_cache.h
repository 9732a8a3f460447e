// The name of a range in the file, found by its characters as a compact record has them. Programs
// use few names again and again. A look-up costs a few ns this way, a tenth of interning a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/model/ids.h"

namespace stepscope::tracer {

/// A hash table with open addressing. Forgets everything when it has kMaxNames: its memory is
/// bounded, whatever the program does.
class NameCache {
 public:
  static constexpr size_t kMaxNames = 1 << 15;

  /// The id of these words in that domain, or an invalid one.
  [[nodiscard]] model::StringId find(uint16_t domain, std::span<uint64_t const> words) const {
    for (size_t i = hash(domain, words);; ++i) {
      Entry const& entry = table_[i & (table_.size() - 1)];
      if (entry.words == 0 || is(entry, domain, words)) return entry.name;
    }
  }
  /// Words of a name that find() did not find; not none.
  void add(uint16_t domain, std::span<uint64_t const> words, model::StringId name) {
    if (count_ == kMaxNames) *this = NameCache();
    if (count_ * 2 >= table_.size()) grow();
    place({name, static_cast<uint32_t>(words_.size()), static_cast<uint16_t>(words.size()), domain,
           words.front()},
          words);
    words_.insert(words_.end(), words.begin(), words.end());
    ++count_;
  }

 private:
  struct Entry {
    model::StringId name;
    uint32_t first = 0;  ///< of its words in words_
    uint16_t words = 0;  ///< 0 = no entry
    uint16_t domain = 0;
    uint64_t first_word = 0;  ///< all of a short name
  };

  static size_t hash(uint16_t domain, std::span<uint64_t const> words) {
    uint64_t sum = domain;
    for (uint64_t const word : words) {
      sum = (sum ^ word) * 0x9E37'79B9'7F4A'7C15;
      sum ^= sum >> 32;
    }
    return static_cast<size_t>(sum);
  }
  [[nodiscard]] bool is(Entry const& entry, uint16_t domain,
                        std::span<uint64_t const> words) const {
    if (entry.first_word != words.front() || entry.words != words.size() || entry.domain != domain)
      return false;
    for (size_t i = 1; i < words.size(); ++i) {  // few: a call of memcmp costs more
      if (words[i] != words_[entry.first + i]) return false;
    }
    return true;
  }
  void place(Entry const& entry, std::span<uint64_t const> words) {
    size_t i = hash(entry.domain, words);
    while (table_[i & (table_.size() - 1)].words != 0) ++i;
    table_[i & (table_.size() - 1)] = entry;
  }
  void grow() {
    std::vector<Entry> const before = std::exchange(table_, std::vector<Entry>(table_.size() * 2));
    for (Entry const& entry : before) {
      if (entry.words != 0) place(entry, std::span(words_).subspan(entry.first, entry.words));
    }
  }

  static constexpr size_t kFirstSize = 256;
  std::vector<Entry> table_ =
      std::vector<Entry>(kFirstSize);  ///< a power of two; at most half full
  std::vector<uint64_t> words_;        ///< of all names
  size_t count_ = 0;
};

}  // namespace stepscope::tracer
