#include "trace/import/formats/chrome/name_traits.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "trace/import/formats/chrome/chrome_events.h"
#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::EventKind;

/// PyTorch's, PaddlePaddle's.
constexpr std::array<std::string_view, 2> kStepPrefixes = {"ProfilerStep#", "ProfileStep#"};

/// "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
bool waits_for_input(std::string_view name) {
  return name.find("DataLoader") != std::string_view::npos &&
         name.find("__next__") != std::string_view::npos;
}

}  // namespace

NameTraits traits_of_name(std::string_view name) {
  NameTraits traits;
  traits.is_known = true;
  auto const prefix = std::find_if(kStepPrefixes.begin(), kStepPrefixes.end(),
                                   [&](std::string_view known) { return name.starts_with(known); });
  if (prefix != kStepPrefixes.end()) {
    auto const step = parse_integer(name.substr(prefix->size()));
    if (step && *step >= 0) traits = {true, EventKind::kStep, *step};
  } else if (waits_for_input(name)) {
    traits.host_kind = EventKind::kInputWait;
  }

  std::string_view const function = model::plain_name(name);
  traits.api_class = model::classify(function);
  traits.sync = model::sync_kind_of(function);
  traits.communicates = model::is_communication_kernel(name);
  return traits;
}

std::string_view without_duration(std::string_view name, int64_t dur_ns) {
  constexpr std::string_view kUnit = " ms]";
  if (!name.ends_with(kUnit)) return name;
  size_t const open = name.rfind('[');
  if (open == std::string_view::npos || open == 0) return name;

  auto const written =
      parse_microseconds(name.substr(open + 1, name.size() - open - 1 - kUnit.size()));
  constexpr int64_t kNsOfLastDigit = 1000;
  bool const is_it = written && *written < INT64_MAX / 1000 &&
                     std::abs(*written * 1000 - dur_ns) <= kNsOfLastDigit;
  return is_it ? name.substr(0, open) : name;
}

}  // namespace stepscope::import
