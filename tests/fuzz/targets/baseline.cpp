// Any bytes as a baseline and as a history. Reading never crashes, and what was read is written and
// read back the same. A run of a baseline that was read is compared with itself without a fault.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/gate/gate.h"
#include "analyzer/gate/kept_sample.h"
#include "gate/baseline.h"
#include "gate/history_file.h"
#include "trace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  gate::is_baseline(text);

  if (auto const baseline = gate::parse_baseline(text, "fuzz.json")) {
    std::string const written = gate::baseline_text(*baseline);
    auto const again = gate::parse_baseline(written, "fuzz.json");
    STEPSCOPE_CHECK(again.has_value());
    STEPSCOPE_CHECK(gate::baseline_text(*again) == written);

    analyzer::Budget const budget{"step_time_ms", analyzer::Bound::kAtMost, 10, {}, 0, 0};
    analyzer::check_runs(baseline->runs, {analyzer::kept_sample(baseline->runs.front())}, {budget});
  }

  if (auto const history = gate::parse_history(text, "fuzz.json")) {
    std::string const written = gate::history_text(*history);
    auto const again = gate::parse_history(written, "fuzz.json");
    STEPSCOPE_CHECK(again.has_value());
    STEPSCOPE_CHECK(gate::history_text(*again) == written);
  }
  return 0;
}
