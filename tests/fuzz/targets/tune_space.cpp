// Any bytes as a space: reading never crashes, what is read can be searched, and every mistake is
// of the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/base/check.h"
#include "tune/candidates.h"
#include "tune/space_file.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  auto const space = tune::parse_space({reinterpret_cast<char const*>(data), size}, "fuzz.toml");
  if (!space) {
    STEPSCOPE_CHECK(space.error().message.starts_with("fuzz.toml:"));
    return 0;
  }

  tune::Settings const usual = tune::default_settings(*space);
  STEPSCOPE_CHECK(tune::is_allowed(*space, usual));
  auto const candidates = tune::candidates_from(*space, usual);
  STEPSCOPE_CHECK(candidates.size() <= tune::kMostCandidates);
  for (tune::Candidate const& candidate : candidates)
    STEPSCOPE_CHECK(candidate.settings != usual && tune::is_allowed(*space, candidate.settings));
  return 0;
}
