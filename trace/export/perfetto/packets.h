// A file of Perfetto's TracePackets, and the numbers of the fields that we write
// (https://github.com/google/perfetto, protos/perfetto/trace/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/base/files/partial_file.h"
#include "trace/export/perfetto/protobuf_writer.h"

namespace stepscope::exporting {

/// Trace, TracePacket
struct PacketField {
  static constexpr uint32_t kPacket = 1;  ///< of Trace
  static constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                            kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60,
                            kFirstOnSequence = 87;
  static constexpr uint32_t kStepscope =
      9871;  ///< for our own importer: others pass over what they do not know
};
/// Data on a process that only our own importer reads: its description and tracks as a .stepscope
/// file has them, in pieces, and what was added to its times.
struct StepscopeField {
  static constexpr uint32_t kDescriptionPiece = 1, kTracksPiece = 2, kTextEnds = 3, kTimeShift = 4,
                            kTruncated = 5;
};
enum SequenceFlag : uint8_t { kStateCleared = 1, kNeedsState = 2 };
/// ClockSnapshot, ClockSnapshot.Clock
struct ClockField {
  static constexpr uint32_t kClocks = 1, kPrimaryClock = 2;
  static constexpr uint32_t kClockId = 1, kTimestamp = 2;
  static constexpr uint64_t kRealTime = 1, kBootTime = 6;  ///< clock ids
};
/// TrackDescriptor
struct DescriptorField {
  static constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParentUuid = 5,
                            kCounter = 8, kChildOrdering = 11, kSiblingOrderRank = 12;
  static constexpr uint32_t kStepscopeTrack =
      9871;  ///< number of the trace's track, from 1; for our own importer
  static constexpr uint64_t kExplicit = 3;  ///< child_ordering: by sibling_order_rank
  // ProcessDescriptor
  static constexpr uint32_t kProcessPid = 1, kCommandLine = 2, kProcessName = 6, kProcessLabels = 8;
  // ThreadDescriptor
  static constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
  // CounterDescriptor
  static constexpr uint32_t kUnit = 3;
  static constexpr uint64_t kUnitBytes = 3;
};
/// TrackEvent
struct EventField {
  static constexpr uint32_t kCategoryIids = 3, kDebugAnnotations = 4, kType = 9, kNameIid = 10,
                            kTrackUuid = 11, kName = 23, kDoubleCounterValue = 44, kFlowIds = 47;
  static constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;  ///< types
};
/// DebugAnnotation
struct AnnotationField {
  static constexpr uint32_t kNameIid = 1, kUnsigned = 3, kSigned = 4, kReal = 5, kText = 6;
};
/// InternedData, and EventCategory, EventName, DebugAnnotationName, which are alike
struct InternedField {
  static constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3;
  static constexpr uint32_t kIid = 1, kName = 2;
};

/// The state that the packets of all processes share. After a failed write nothing more is written.
class PacketFile {
 public:
  explicit PacketFile(base::PartialFile file) : file_(std::move(file)), out_(kBufferBytes) {}

  /// A packet begins, and is the one that is written to the writer until end_packet().
  [[nodiscard]] size_t begin_packet() {
    if (out_.is_full()) flush();
    return out_.begin_root(PacketField::kPacket);
  }
  void end_packet(size_t place) { out_.end(place); }
  ProtobufWriter& out() { return out_; }

  [[nodiscard]] base::Expected<void> const& status() const { return status_; }
  uint64_t new_uuid() { return ++last_uuid_; }
  uint32_t new_sequence() { return ++last_sequence_; }
  base::Expected<void> finish() {
    flush();
    return status_ ? file_.finish() : status_;
  }

  std::optional<int64_t>
      shift_ns;  ///< time in the file = run time + this; known with the first process
  bool has_wall_clock = false;  ///< a snapshot with the time of day was written

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20U;
  void flush() {
    if (status_) status_ = file_.write(out_.bytes());
    out_.clear();
  }

  base::PartialFile file_;
  ProtobufWriter out_;
  base::Expected<void> status_;
  uint64_t last_uuid_ = 0;  ///< 0 is the track of all processes
  uint32_t last_sequence_ = 0;
};

}  // namespace stepscope::exporting
