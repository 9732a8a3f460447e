// The numbers of Perfetto's fields that Stepscope reads (https://github.com/google/perfetto,
// protos/perfetto/trace/), and the numbers that its own export adds. Other readers pass over the
// latter.
#pragma once

#include <cstdint>

namespace stepscope::import::perfetto {

/// TracePacket
struct PacketNumber {
  static constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                            kInternedData = 12, kSequenceFlags = 13, kTraceStats = 35,
                            kStateCleared = 41, kPreviousDropped = 42, kProcessDescriptor = 43,
                            kThreadDescriptor = 44, kCompressed = 50, kGpuRenderStage = 53,
                            kTimestampClock = 58, kDefaults = 59, kTrackDescriptor = 60,
                            kFirstOnSequence = 87,
                            kStepscope = 9871;  ///< of our own export
  static constexpr uint64_t kFlagCleared = 1, kFlagNeedsState = 2;
};
/// What our own export says of a process: pieces of texts as a .stepscope file has them, and where
/// its time 0 lies.
struct StepscopeNumber {
  static constexpr uint32_t kDescriptionPiece = 1, kTracksPiece = 2, kTextEnds = 3, kTimeShift = 4,
                            kTruncated = 5;
};
struct DefaultsNumber {
  static constexpr uint32_t kTimestampClock = 58, kTrackEvent = 99;
  // TrackEventDefaults
  static constexpr uint32_t kTrackUuid = 11, kExtraCounters = 31, kExtraDoubleCounters = 45;
};
struct ClockNumber {
  static constexpr uint32_t kClocks = 1, kPrimary = 2;
  static constexpr uint32_t kId = 1, kTimestamp = 2, kIsIncremental = 3, kUnitNs = 4;
  static constexpr uint64_t kRealTime = 1, kBootTime = 6, kFirstOfSequence = 64, kFirstGlobal = 128;
};
/// TrackDescriptor, and what is in it
struct TrackNumber {
  static constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                            kCounter = 8, kStaticName = 10, kAtraceName = 13,
                            kStepscopeTrack =
                                9871;  ///< of our own export: number of the track, from 1
  static constexpr uint32_t kProcessPid = 1, kCommandLine = 2, kProcessName = 6, kProcessLabels = 8;
  static constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5, kReferenceUs = 6;
  static constexpr uint32_t kUnit = 3, kUnitMultiplier = 4, kCounterIsIncremental = 5;
  static constexpr uint64_t kUnitBytes = 3;
};
struct EventNumber {
  static constexpr uint32_t kDeltaUs = 1, kCategoryIids = 3, kAnnotations = 4, kLegacy = 6,
                            kType = 9, kNameIid = 10, kTrackUuid = 11, kExtraValues = 12,
                            kAbsoluteUs = 16, kCategories = 22, kName = 23, kCounterValue = 30,
                            kExtraCounters = 31, kOldFlowIds = 36, kDoubleCounterValue = 44,
                            kExtraDoubleCounters = 45, kExtraDoubleValues = 46, kFlowIds = 47,
                            kLastFlowIds = 48;
  static constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
};
struct LegacyNumber {
  static constexpr uint32_t kNameIid = 1, kPhase = 2, kDurationUs = 3, kUnscopedId = 6,
                            kLocalId = 10, kGlobalId = 11, kPid = 18, kTid = 19;
};
struct AnnotationNumber {
  static constexpr uint32_t kNameIid = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kReal = 5,
                            kText = 6, kPointer = 7, kNested = 8, kLegacyJson = 9, kName = 10,
                            kEntries = 11, kItems = 12, kTextIid = 17;
  // NestedValue, of old versions
  static constexpr uint32_t kKeys = 2, kValues = 3, kOldItems = 4, kOldInt = 5, kOldReal = 6,
                            kOldBool = 7, kOldText = 8;
};
/// InternedData
struct InternedNumber {
  static constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kGpuStages = 24,
                            kTexts = 29;
  static constexpr uint32_t kIid = 1, kText = 2;
};
struct GpuStageNumber {
  static constexpr uint32_t kDuration = 2, kQueueId = 3, kStageId = 4, kDeprecated = 7, kGpuId = 11,
                            kQueueIid = 13, kStageIid = 14;
};

}  // namespace stepscope::import::perfetto
