// What calls of a device's programming interface are in a trace.
#pragma once

#include "trace/model/api_calls.h"
#include "trace/model/kinds.h"

namespace stepscope::import {

inline model::EventKind kind_of_call(model::ApiClass api_class) {
  using model::ApiClass;
  using model::EventKind;

  switch (api_class) {
    case ApiClass::kLaunch:
      return EventKind::kLaunch;
    case ApiClass::kSync:
      return EventKind::kSync;
    case ApiClass::kMemory:
      return EventKind::kMemory;
    case ApiClass::kNoise:
    case ApiClass::kOther:
      return EventKind::kApi;
  }
  return EventKind::kApi;
}

}  // namespace stepscope::import
