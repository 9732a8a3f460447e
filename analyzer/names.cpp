// The names of causes and severities as JSON and texts spell them.
#include "analyzer/analysis.h"

namespace stepscope::analyzer {

char const* to_string(IdleCause cause) {
  switch (cause) {
    case IdleCause::kProfiler:
      return "profiler";
    case IdleCause::kAllocation:
      return "allocation";
    case IdleCause::kSync:
      return "sync";
    case IdleCause::kInput:
      return "input";
    case IdleCause::kDependency:
      return "dependency";
    case IdleCause::kPeer:
      return "peer";
    case IdleCause::kGraph:
      return "graph";
    case IdleCause::kLaunchStarved:
      return "launch_starved";
    case IdleCause::kLaunchLatency:
      return "launch_latency";
    case IdleCause::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

char const* to_string(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "info";
}

}  // namespace stepscope::analyzer
