// Any text as SQL: recognizing a statement that is summed over columns never crashes, and what is
// rewritten has as many rows as what was written.
#include <cstddef>
#include <cstdint>
#include <string>

#include "query/database.h"
#include "query/rewrite.h"
#include "tests/support/synthetic_run.h"
#include "trace/base/check.h"

namespace {

using namespace stepscope;

class CountRows final : public query::RowSink {
 public:
  void begin(std::span<std::string const>) override {}
  bool row(std::span<model::Cell const>) override { return true; }
};

/// A few hundred bytes of SQL may ask these for a text of a gigabyte.
bool can_be_long(std::string const& sql) {
  for (char const* const name : {"printf", "format", "replace", "PRINTF", "FORMAT", "REPLACE"})
    if (sql.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static model::Run const run =
      support::make_synthetic_run({.steps = 2, .layers = 2, .process_per_device = true});
  std::string const sql(reinterpret_cast<char const*>(data), size);
  if (!query::rewrite(sql, "groups") || can_be_long(sql)) return 0;

  auto database = query::Database::open(run);
  STEPSCOPE_CHECK(database.has_value());
  CountRows sink;
  auto const fast = database->run(sql, sink);
  auto const slow = database->run(sql, sink, {.rewrite = false});
  STEPSCOPE_CHECK(fast.has_value() == slow.has_value());
  if (fast) STEPSCOPE_CHECK(*fast == *slow);
  return 0;
}
