// What a sequence of packets refers to by number: mostly few numbers, given out one after the
// other.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"

namespace stepscope::import::perfetto {

template <class Value>
class InternTable {
 public:
  /// Numbers far beyond those before go to a map: a damaged one must not take its own size in
  /// memory.
  Value& operator[](uint64_t id) {
    if (id < dense_.size()) return dense_[id];

    constexpr uint64_t kSlack = 256;
    if (id < 2 * dense_.size() + kSlack && !sparse_.contains(id)) {
      while (dense_.size() <= id) {
        uint64_t const next = dense_.size();
        auto const known = sparse_.find(next);
        dense_.push_back(known == sparse_.end() ? Value{} : std::move(known->second));
        if (known != sparse_.end()) sparse_.erase(known);
      }
      return dense_[id];
    }

    return sparse_[id];
  }
  /// Null: nothing was put there.
  [[nodiscard]] Value const* find(uint64_t id) const {
    if (id < dense_.size()) return &dense_[id];
    auto const found = sparse_.find(id);
    return found == sparse_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] Value* find(uint64_t id) {
    return const_cast<Value*>(std::as_const(*this).find(id));
  }
  void clear() {
    dense_.clear();
    sparse_.clear();
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Value& value : dense_) visit(value);
    for (auto& [id, value] : sparse_) visit(value);
  }

 private:
  std::vector<Value> dense_;
  std::unordered_map<uint64_t, Value, base::HashNumber> sparse_;
};

}  // namespace stepscope::import::perfetto
