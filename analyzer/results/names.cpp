// The names of causes and severities as JSON and texts spell them.
#include "analyzer/results/analysis.h"

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
    case IdleCause::kLaunchBound:
      return "launch_starved";
    case IdleCause::kLaunchLatency:
      return "launch_latency";
    case IdleCause::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

char const* cause_of(WaitStats const& waits) {
  switch (waits.cause) {
    case WaitCause::kCompute:
      return "compute";
    case WaitCause::kCommunication:
      return "comm";
    case WaitCause::kCopy:
      return "copy";
    case WaitCause::kIdle:
      return to_string(waits.idle);
    case WaitCause::kLateStart:
      return "late_start";
    case WaitCause::kBeforeRecording:
      return "before_recording";
    case WaitCause::kUnknown:
      return "unknown";
  }
  return "unknown";
}

char const* to_string(PathClass path_class) {
  switch (path_class) {
    case PathClass::kCompute:
      return "compute";
    case PathClass::kCommunication:
      return "communication";
    case PathClass::kCopy:
      return "copy";
    case PathClass::kHost:
      return "host";
    case PathClass::kLaunch:
      return "launch";
    case PathClass::kSync:
      return "sync";
    case PathClass::kInput:
      return "input";
    case PathClass::kAllocation:
      return "allocation";
    case PathClass::kProfiler:
      return "profiler";
    case PathClass::kPeer:
      return "peer";
    case PathClass::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

char const* to_string(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGpipe:
      return "gpipe";
    case PipelineSchedule::kOneForwardOneBackward:
      return "1f1b";
    case PipelineSchedule::kUnknown:
      return "unknown";
  }
  return "unknown";
}

char const* to_string(ClockLimit limit) {
  switch (limit) {
    case ClockLimit::kPowerCap:
      return "power_cap";
    case ClockLimit::kHardware:
      return "hardware";
    case ClockLimit::kSyncBoost:
      return "sync_boost";
    case ClockLimit::kThermal:
      return "thermal";
    case ClockLimit::kPowerBrake:
      return "power_brake";
    case ClockLimit::kUnknown:
      return "unknown";
  }
  return "unknown";
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
