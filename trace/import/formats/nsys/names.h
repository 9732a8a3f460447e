// The texts of an export (its table StringIds), each once, and what a name tells beyond itself,
// found out once a name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/common/database/database.h"
#include "trace/model/api_calls.h"

namespace stepscope::import::nsys {

/// Longer names are cut, and counted.
inline constexpr size_t kMostNameBytes = size_t{1} << 14U;

/// As it may be shown: cut, without control characters and what is no UTF-8. A view of `text`, or
/// of `scratch` where it had to change.
std::string_view clean_name(std::string_view text, std::string& scratch, uint64_t& cut_names);

/// A text of the export: an index from 0 on.
using NameIndex = uint32_t;

struct CallName {
  NameIndex name = 0;  ///< as programs call the function
  model::ApiClass api_class = model::ApiClass::kOther;
  model::SyncKind sync = model::SyncKind::kUnknown;
};

class Names {
 public:
  /// Reads StringIds.
  void read(Database& database);
  /// The name in a column with an id. An id that the export does not have gets a name that says so,
  /// and so does null.
  NameIndex of(TableScan const& scan, int column) {
    int64_t const id = scan.integer(column);
    return of(id == 0 && scan.is_null(column) ? kNoId : id);
  }
  NameIndex of(int64_t id);
  /// Valid as long as this.
  [[nodiscard]] std::string_view text(NameIndex name) const { return texts_[name]; }
  [[nodiscard]] size_t size() const { return texts_.size(); }
  /// The name of a function of the CUDA runtime or driver.
  CallName const& call_of(TableScan const& scan, int column);
  /// Whether a kernel of this name belongs to a communication library.
  bool communicates(NameIndex name);

  uint64_t cut = 0;      ///< names that were too long
  uint64_t unknown = 0;  ///< ids that the export does not have

 private:
  static constexpr int64_t kNoId = INT64_MIN;
  NameIndex add(std::string_view text);

  std::vector<std::unique_ptr<char[]>> chunks_;  ///< texts, packed
  size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
  std::vector<std::string_view> texts_;
  std::vector<NameIndex> by_small_id_;  ///< kNoName where there is none
  std::unordered_map<int64_t, NameIndex, base::HashNumber> by_large_id_;
  std::unordered_map<int64_t, CallName, base::HashNumber> calls_;
  std::vector<int8_t> communicates_;  ///< −1 = not asked yet
};

}  // namespace stepscope::import::nsys
