// Any bytes as trials.jsonl: reading never crashes, and what is read is written and read again as
// the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/check.h"
#include "tune/trial_log.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  tune::Space space;
  space.knobs.resize(1);
  space.knobs[0].name = "n";
  auto const log = tune::parse_trial_log({reinterpret_cast<char const*>(data), size},
                                         "trials.jsonl", space, "0");
  if (!log) {
    STEPSCOPE_CHECK(log.error().message.starts_with("trials.jsonl:"));
    return 0;
  }

  std::string text = tune::log_header("0");
  for (tune::Trial const& trial : log->trials) text += tune::trial_line(space, trial);
  auto const again = tune::parse_trial_log(text, "trials.jsonl", space, "0");
  STEPSCOPE_CHECK(again && again->trials.size() == log->trials.size() && !again->is_cut);
  return 0;
}
