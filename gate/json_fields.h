// Reads an untrusted JSON document. The caller asks for every value by key, type and bounds; the
// error names the first value that does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "trace/base/expected.h"

namespace stepscope::gate {

/// Objects with a million keys are read in good time by the sorted one; what is written keeps its
/// order.
using ReadJson = nlohmann::json;
using WriteJson = nlohmann::ordered_json;

/// Times, sizes and counts in files of ours: more than any trace has (2^63), and nothing overflows.
inline constexpr double kMostFileNumber = 1e19;

/// `kind` and `schema` of a document of ours. Errors: no JSON (with line and column), another kind,
/// a newer schema, more than `most_bytes`. What is nested deeper than `kMostDepth` is left out.
base::Expected<ReadJson> parse_document(std::string_view text, std::string const& path,
                                        std::string_view kind, int64_t schema, size_t most_bytes);
inline constexpr int kMostDepth = 8;

/// Whether the text begins like a document of this kind.
bool is_document(std::string_view begin, std::string_view kind);

/// The members of an object. After the first error all answers are empty, so that it is asked for
/// once, at the end.
class Fields {
 public:
  /// `where`: for messages, "runs[0]".
  Fields(ReadJson const& object, std::string where, std::optional<std::string>& error);

  [[nodiscard]] bool has(char const* key) const;  ///< and it is not null
  double number(char const* key, double low, double high);
  int64_t whole(char const* key, int64_t low, int64_t high);
  bool boolean(char const* key);
  std::string text(char const* key, size_t most_bytes);
  std::vector<std::string> texts(char const* key, size_t most, size_t most_bytes);
  /// `count`: how many there have to be; none: up to `most`.
  std::vector<double> numbers(char const* key, std::optional<size_t> count, size_t most, double low,
                              double high);
  std::vector<int64_t> wholes(char const* key, size_t most, int64_t low, int64_t high);
  /// Its objects, at most `most`.
  std::vector<Fields> objects(char const* key, size_t most);
  /// The member that is an object; null after an error.
  std::optional<Fields> object(char const* key);
  [[nodiscard]] std::vector<std::string> keys() const;
  void fail(char const* key, std::string_view what);

 private:
  ReadJson const* member(char const* key);
  ReadJson const* array(char const* key, size_t most);

  ReadJson const* object_;
  std::string where_;
  std::optional<std::string>* error_;
};

/// Whole numbers without a point, which are most: files are read by people too.
WriteJson file_number(double value);
WriteJson file_numbers(std::vector<double> const& values);

}  // namespace stepscope::gate
