// What process 0 of a team asks its helpers (team.h), and what they answer: each question as bytes
// and back. Programs of a team are of one build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/observed_bytes.h"
#include "trace/base/pack.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/clock_drift.h"
#include "trace/model/derive/packed_trace.h"

namespace stepscope::import {

template <class Archive>
void pack_fields(Archive& at, RemoteTrace::Facts& facts) {
  auto& [head, event_counts, kinds, time_range, is_rank_by_name] = facts;
  at(head, event_counts, kinds, time_range, is_rank_by_name);
}

}  // namespace stepscope::import

namespace stepscope::file {

template <class Archive>
void pack_fields(Archive& at, Selection& selection) {
  auto& [window, before, tracks, columns] = selection;
  at(window, before, tracks, columns);
}

}  // namespace stepscope::file

namespace stepscope::run_loading {

enum class Asks : uint8_t {
  kFind,         ///< the files of a path → FoundFiles
  kOpen,         ///< a file → sources
  kSteps,        ///< of a source
  kCopy,         ///< events of a source → a trace
  kReadKinds,    ///< … those of some kinds → a trace or nothing
  kCollectives,  ///< of a source, device by device
  kSkeleton,     ///< of a source at its place in the run → a trace
  kObserve,      ///< a source with its skeleton → an answer
  kWork,         ///< on a source at its place in the run → an answer
  kForget        ///< a source
};

struct FoundFiles {
  struct File {
    std::string path;
    uint64_t bytes = 0;
    uint64_t head = 0;  ///< of its first bytes: the same where processes see the same file
  };
  std::vector<File> files;
  std::vector<std::string> notes;
};
template <class Archive>
void pack_fields(Archive& at, FoundFiles::File& file) {
  auto& [path, bytes, head] = file;
  at(path, bytes, head);
}
template <class Archive>
void pack_fields(Archive& at, FoundFiles& found) {
  auto& [files, notes] = found;
  at(files, notes);
}

/// A source that a helper has opened: its number there.
struct OpenedThere {
  uint64_t number = 0;
  import::RemoteTrace::Facts facts;
};
template <class Archive>
void pack_fields(Archive& at, OpenedThere& opened) {
  auto& [number, facts] = opened;
  at(number, facts);
}

/// What a run says of one of its sources.
struct PlaceInRun {
  model::TraceInfo info;    ///< with the rank that it has in the run
  model::ClockDrift drift;  ///< import::TraceSource::drift()
  int64_t offset_ns = 0;
  std::string file;
  double rank_drift = 0;  ///< model::RankTrace::drift
};
template <class Archive>
void pack_fields(Archive& at, PlaceInRun& place) {
  auto& [info, drift, offset_ns, file, rank_drift] = place;
  at(info, drift, offset_ns, file, rank_drift);
}

template <class... Fields>
std::string packed_fields(Fields const&... fields) {
  base::Packer at;
  at(fields...);
  return std::move(at).take();
}

/// False where the bytes are not these fields.
template <class... Fields>
bool unpack_fields(std::string_view bytes, Fields&... fields) {
  base::Unpacker at(bytes);
  at(fields...);
  return at.is_whole();
}

}  // namespace stepscope::run_loading
