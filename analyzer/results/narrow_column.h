// A column of numbers that nearly always fit into few bytes. The others are kept whole, in a table
// of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stepscope::analyzer {

/// `Narrow`: unsigned; its highest value stands for a number that is kept beside it.
template <class Narrow>
class NarrowColumn {
 public:
  void reserve(size_t count) { numbers_.reserve(count); }
  void push_back(int64_t number) {
    bool const fits = 0 <= number && number < int64_t{kBeside};
    if (!fits) beside_.emplace_back(numbers_.size(), number);
    numbers_.push_back(fits ? static_cast<Narrow>(number) : kBeside);
  }

  [[nodiscard]] size_t size() const { return numbers_.size(); }
  [[nodiscard]] int64_t operator[](size_t place) const {
    return numbers_[place] == kBeside ? beside(place) : int64_t{numbers_[place]};
  }

  /// For trace/base/pack.h.
  template <class Archive>
  void pack_fields(Archive& at) {
    at(numbers_, beside_);
  }

 private:
  static constexpr Narrow kBeside = std::numeric_limits<Narrow>::max();
  [[nodiscard]] int64_t beside(size_t place) const {
    return std::partition_point(beside_.begin(), beside_.end(),
                                [&](auto const& of) { return of.first < place; })
        ->second;
  }

  std::vector<Narrow> numbers_;
  std::vector<std::pair<size_t, int64_t>> beside_;  ///< by place
};

}  // namespace stepscope::analyzer
