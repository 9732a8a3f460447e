// What to do about a finding in the terms of the framework that made the trace.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/results/analysis.h"
#include "trace/model/run.h"

namespace stepscope::reports {

enum class Framework : uint8_t {
  kOther,  ///< not known, or a program that calls the device itself
  kPyTorch,
  kXla,  ///< JAX, TensorFlow and PyTorch/XLA
};

/// The tool that made the trace tells, or its rows, or names of kernels.
Framework framework_of(model::Run const& run, analyzer::Analysis const& analysis);

/// In English; empty where the rule's own advice says it for this framework, too.
std::string_view framework_advice(Framework framework, std::string_view rule);

/// For programs that serve a model and do not train it: there are no gradients and checkpoints.
std::string_view inference_advice(std::string_view rule);

}  // namespace stepscope::reports
