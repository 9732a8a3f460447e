// What benchmarks do with errors.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "trace/base/expected.h"

namespace stepscope::bench {

/// The value; a benchmark without one ends.
template <class T>
T expect(base::Expected<T> value) {
  if (!value) {
    fmt::print(stderr, "stepscope: {}\n", value.error().message);
    std::exit(2);
  }
  return std::move(*value);
}

}  // namespace stepscope::bench
