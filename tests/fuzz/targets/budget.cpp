// Any bytes as a budget file: reading never crashes, every budget is on a known fact and has a
// finite limit, every mistake has a place.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gate/budget_file.h"
#include "trace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  auto const budgets =
      gate::parse_budgets({reinterpret_cast<char const*>(data), size}, "fuzz.toml", "cifar10");
  if (!budgets) {
    STEPSCOPE_CHECK(budgets.error().message.starts_with("fuzz.toml:"));
    return 0;
  }

  STEPSCOPE_CHECK(!budgets->empty());
  for (analyzer::Budget const& budget : *budgets) {
    STEPSCOPE_CHECK(analyzer::find_budget_fact(budget.fact) != nullptr);
    STEPSCOPE_CHECK(std::isfinite(budget.limit) && budget.limit >= 0 && budget.line > 0);
  }
  return 0;
}
