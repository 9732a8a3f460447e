// Buffers that an H100 filled (tests/data/cupti), through the decoder, walked by the toolkit's own
// CUPTI. The numbers beside them are those that the walker alone counts.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <zstd.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"

namespace stepscope::tracer {
namespace {

/// On H100 and H200 a kernel may appear to begin some µs before the call that launches it.
constexpr int64_t kEarlyNs = 50'000;

std::vector<char> read_compressed(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<char> result(ZSTD_getFrameContentSize(bytes.data(), bytes.size()));
  size_t const size = ZSTD_decompress(result.data(), result.size(), bytes.data(), bytes.size());
  EXPECT_EQ(size, result.size()) << path;
  return result;
}

#if CUPTI_API_VERSION >= 130000
template <class Record>
Record& as(CUpti_Activity& record) {
  return reinterpret_cast<Record&>(record);
}

/// Texts were in the memory of the program that was recorded: pointers to them mean nothing here.
void name_again(CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    as<CUpti_ActivityKernel10>(record).name = "kernel";
  if (record.kind == CUPTI_ACTIVITY_KIND_DEVICE) as<CUpti_ActivityDevice5>(record).name = "GPU";
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
    as<CUpti_ActivityMemory4>(record).name = nullptr;
    as<CUpti_ActivityMemory4>(record).source = nullptr;
  }
}
#else
void name_again(CUpti_Activity&) {}
#endif

class RealBuffers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = STEPSCOPE_TEST_DATA "/cupti/";
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not on this machine";
    auto library = load_cupti();
    if (!library) GTEST_SKIP() << library.error().message;
    if (CUPTI_API_VERSION < 130000 || library->version < 130'001)
      GTEST_SKIP() << library->path << " is older than the one that wrote them";
    api_ = library->api;
    decoder_.emplace(api_, false);
  }

  /// All buffers of the file, as they were completed.
  void decode(std::string const& name) {
    std::vector<char> const bytes = read_compressed(folder_ + name);
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size();) {
      uint64_t size = 0;
      std::memcpy(&size, bytes.data() + at, sizeof size);
      at += sizeof size;
      ASSERT_LE(size, bytes.size() - at);

      // Aligned, as CUPTI's buffers are.
      std::vector<uint64_t> words(size / sizeof(uint64_t) + 1);
      std::memcpy(words.data(), bytes.data() + at, size);
      std::span<uint8_t> const buffer{reinterpret_cast<uint8_t*>(words.data()), size};
      CUpti_Activity* record = nullptr;
      while (api_.get_next_record(buffer.data(), buffer.size(), &record) == CUPTI_SUCCESS)
        name_again(*record);

      decoder_->decode(buffer, clock_, store_);
      at += size;
    }
    decoder_->finish(clock_, store_);
    for (uint32_t t = 0; t < store_.tracks().size(); ++t)
      tracks_.push_back(store_.rows(model::TrackId{t}).take().copy());
  }
  size_t count(model::EventKind kind) const {
    size_t result = 0;
    for (model::EventBatch const& track : tracks_)
      result += static_cast<size_t>(std::count(track.kind.begin(), track.kind.end(), kind));
    return result;
  }
  /// Begin of the launch by correlation.
  std::map<uint64_t, int64_t> launches() const {
    std::map<uint64_t, int64_t> result;
    for (model::EventBatch const& track : tracks_)
      for (size_t i = 0; i < track.size(); ++i)
        if (track.kind[i] == model::EventKind::kLaunch)
          result.emplace(track.correlation[i], track.start[i]);
    return result;
  }
  /// Calls `see` with the track and the row of every kernel.
  template <class See>
  void for_each_kernel(See const& see) const {
    for (model::EventBatch const& track : tracks_)
      for (size_t i = 0; i < track.size(); ++i)
        if (track.kind[i] == model::EventKind::kKernel) see(track, i);
  }

  std::string folder_;
  CuptiApi api_;
  RecordClock clock_{0};
  std::optional<RecordDecoder> decoder_;
  TraceStore store_;
  std::vector<model::EventBatch> tracks_;
};

TEST_F(RealBuffers, of_a_training_are_complete_and_in_order) {
  decode("h100-cifar10.zst");
  EXPECT_EQ(count(model::EventKind::kKernel), 348U);
  EXPECT_EQ(count(model::EventKind::kMemcpy), 20U);
  EXPECT_EQ(count(model::EventKind::kMemset), 14U);
  EXPECT_EQ(store_.log.unknown_events, 0U);
  EXPECT_EQ(decoder_->untimed(), 0U);

  auto const launched = launches();
  size_t linked = 0;
  for_each_kernel([&](model::EventBatch const& track, size_t i) {
    EXPECT_GT(track.dur[i], 0);
    auto const launch = launched.find(track.correlation[i]);
    if (launch == launched.end()) return;
    ++linked;
    EXPECT_GT(track.start[i], launch->second - kEarlyNs);
  });
  EXPECT_EQ(linked, 336U)
      << "libraries launch the others by the driver, whose calls were not recorded";
}

TEST_F(RealBuffers, of_a_stream_do_not_overlap) {
  decode("h100-cifar10.zst");
  size_t streams = 0;
  for (uint32_t t = 0; t < tracks_.size(); ++t) {
    if (store_.tracks()[t].kind != model::TrackKind::kStream) continue;
    ++streams;

    model::EventBatch const& track = tracks_[t];
    std::vector<std::pair<int64_t, int64_t>> ops;
    for (size_t i = 0; i < track.size(); ++i)
      if (track.kind[i] == model::EventKind::kKernel)
        ops.emplace_back(track.start[i], track.start[i] + track.dur[i]);
    std::sort(ops.begin(), ops.end());
    for (size_t i = 1; i < ops.size(); ++i) EXPECT_GE(ops[i].first, ops[i - 1].second);
  }
  EXPECT_GE(streams, 2U) << "computation and copies";
}

TEST_F(RealBuffers, of_copies_and_allocations_have_their_bytes) {
  decode("h100-probe-work.zst");
  EXPECT_EQ(count(model::EventKind::kKernel), 773U);
  EXPECT_EQ(count(model::EventKind::kMemcpy), 25U);
  EXPECT_EQ(count(model::EventKind::kMemset), 1U);
  EXPECT_EQ(store_.log.unknown_events, 0U);

  // What the program says of itself.
  uint64_t copied = 0;
  for (model::EventBatch const& track : tracks_)
    for (auto const& copy : std::get<model::DetailColumn<model::CopyDetail>>(track.details))
      copied += copy.bytes;
  constexpr uint64_t kFilled = 1'048'576;
  EXPECT_EQ(copied, 7'864'280U + 983'040U + 1'310'720U + kFilled);
}

TEST_F(RealBuffers, of_graphs_link_kernels_to_the_launch_of_their_graph) {
  decode("h100-probe-graph.zst");
  EXPECT_EQ(count(model::EventKind::kKernel), 1'289U);
  EXPECT_EQ(store_.log.unknown_events, 0U);

  auto const launched = launches();
  size_t without = 0;
  for_each_kernel([&](model::EventBatch const& track, size_t i) {
    without += launched.count(track.correlation[i]) == 0 ? 1 : 0;
  });
  EXPECT_EQ(without, 21U) << "their launch is in a buffer that was not kept";
}

}  // namespace
}  // namespace stepscope::tracer
