// Any bytes as a file in a run's folder of requests: reading never crashes, and what is accepted is
// the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/base/check.h"
#include "tracer/requests/asking.h"
#include "tracer/requests/messages.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope::tracer;
  std::string_view const text(reinterpret_cast<char const*>(data), size);

  if (auto const request = parse_request(text); request && request->version == kRequestVersion)
    STEPSCOPE_CHECK(parse_request(to_text(*request)) == request);

  auto const state = parse_process_state(text);
  if (!state || state->version != kRequestVersion) return 0;
  auto const again = parse_process_state(to_text(*state));
  STEPSCOPE_CHECK(again.has_value() && state_file_name(*again) == state_file_name(*state));

  STEPSCOPE_CHECK(state_file_name(*state).find('/') == std::string::npos);
  if (auto const steps = choose_steps({*state}, {}))
    STEPSCOPE_CHECK(steps->first > state->step && steps->last >= steps->first);
  return 0;
}
