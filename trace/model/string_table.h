// Interned text: every distinct string once, found by a small id.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/model/ids.h"

namespace stepscope::model {

/// Id 0 is always the empty string. Views stay valid as long as the table. Not thread-safe while
/// interning.
class StringTable {
 public:
  StringTable() { intern({}); }
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;
  StringTable(StringTable const&) = delete;
  StringTable& operator=(StringTable const&) = delete;

  StringId intern(std::string_view text) {
    auto const found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    StringId const id{static_cast<uint32_t>(texts_.size())};
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  /// `id` must be one that intern() returned.
  [[nodiscard]] std::string_view text(StringId id) const { return texts_[id.value]; }
  /// The id of a text that is there, else an invalid one.
  [[nodiscard]] StringId find(std::string_view text) const {
    auto const found = ids_.find(text);
    return found == ids_.end() ? StringId{} : found->second;
  }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace stepscope::model
