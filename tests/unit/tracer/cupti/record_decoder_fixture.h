// Records through the decoder, as the oldest CUPTI 12 writes them and as the installed one does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/decode/record_decoder.h"

namespace stepscope::tracer {

/// Who wrote the records, and who walks over them.
enum class Writer {
  kOldest,    ///< the layouts of CUPTI 12.0, walked by the fake
  kInstalled  ///< those of the toolkit's CUPTI, walked by that itself; it needs no driver for that
};

/// Bytes that the toolkit's CUPTI writes.
inline size_t installed_bytes(CUpti_ActivityKind kind) {
  static std::map<CUpti_ActivityKind, size_t> const bytes = {
#if CUPTI_API_VERSION >= 130000
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4)},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(CUpti_ActivityMemoryPool3)},
    {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice5)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext3)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3)},
#endif
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(CUpti_ActivityCudaEvent2)},
  };

  auto const found = bytes.find(kind);
  return found == bytes.end() ? 0 : found->second;
}

struct Row {
  model::EventKind kind{};
  std::string name, track;
  int64_t start = 0, dur = 0;
  uint64_t correlation = 0;
  bool operator==(Row const&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, Row const& row) {
  return out << fmt::format("{{{} '{}' on '{}' {}+{} #{}}}", model::kind_info(row.kind).name,
                            row.name, row.track, row.start, row.dur, row.correlation);
}

class RecordDecoderTest : public testing::TestWithParam<Writer> {
 protected:
  void SetUp() override {
    api_ = FakeCupti::api();
    if (GetParam() == Writer::kInstalled) {
      auto library = load_cupti();
      if (!library) GTEST_SKIP() << library.error().message;
      if (library->version != CUPTI_API_VERSION)
        GTEST_SKIP() << library->path << " is not the one of the headers";
      api_ = library->api;
    }
    decoder_.emplace(api_, counts_launches_);
  }

  template <class Record>
  void add(Record const& record) {
    buffer_.add(record);
    if (GetParam() != Writer::kInstalled) return;
    constexpr uint8_t kFill = 0xEE;  // fields that the decoder must not read
    for (size_t bytes = sizeof record; bytes < installed_bytes(record.kind); ++bytes)
      buffer_.add(kFill);
  }
  /// All records so far are a buffer that was completed.
  void complete() {
    // The walkers cast to records: aligned memory, and nothing behind the end.
    std::span<uint8_t const> const bytes = buffer_.bytes();
    std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t) + 1);
    auto* const copy = reinterpret_cast<uint8_t*>(words.data());
    std::copy(bytes.begin(), bytes.end(), copy);
    decoder_->decode({copy, bytes.size()}, clock, store);
    buffer_ = {};
  }
  void round() {
    complete();
    decoder_->end_round(clock, store);
  }
  void finish() {
    complete();
    decoder_->finish(clock, store);
  }

  model::EventBatch const& events(uint32_t track) {
    auto const [place, is_new] = taken_.try_emplace(track);
    if (is_new) place->second = store.rows(model::TrackId{track}).take().copy();
    return place->second;
  }
  /// After finish(): of all tracks.
  std::vector<Row> rows() {
    std::vector<Row> result;
    for (uint32_t track = 0; track < store.tracks().size(); ++track) {
      model::EventBatch const& batch = events(track);
      for (size_t i = 0; i < batch.size(); ++i)
        result.push_back({batch.kind[i], std::string(store.text(batch.name[i])),
                          store.tracks()[track].name, batch.start[i], batch.dur[i],
                          batch.correlation[i]});
    }
    return result;
  }
  /// After finish(): of all tracks.
  template <class Detail>
  std::vector<Detail> details() {
    std::vector<Detail> result;
    for (uint32_t track = 0; track < store.tracks().size(); ++track)
      for (Detail const& detail : std::get<model::DetailColumn<Detail>>(events(track).details))
        result.push_back(detail);
    return result;
  }

  TraceStore store;
  RecordBuffer buffer_;
  std::optional<RecordDecoder> decoder_;
  CuptiApi api_;
  bool counts_launches_ = false;
  RecordClock clock{kOrigin};

 private:
  std::map<uint32_t, model::EventBatch> taken_;
};

}  // namespace stepscope::tracer
