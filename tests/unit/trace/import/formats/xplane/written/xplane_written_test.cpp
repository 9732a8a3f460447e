// Random profiles, written by Protocol Buffers' own library: what is read is what a naive reader
// finds in the library's messages, which knows nothing of wire formats and pieces.
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <xplane.pb.h>

#include "trace/import/formats/xplane/xplane_importer.h"

namespace stepscope::import {
namespace {

using xplane::XEvent;
using xplane::XLine;
using xplane::XPlane;
using xplane::XSpace;
using xplane::XStat;
/// Kind, name, start, duration, correlation; of a kernel its grid and block, of a copy its bytes.
using Row = std::tuple<std::string, std::string, int64_t, int64_t, uint64_t, std::vector<uint64_t>>;
using Rows = std::multiset<Row>;

class RandomProfile {
 public:
  explicit RandomProfile(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) add_gpu(i);
    add_host();
    space_.add_hostnames("node-7");
  }
  [[nodiscard]] XSpace const& space() const { return space_; }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  int64_t any_id(std::vector<int64_t> const& ids) { return ids[below(ids.size())]; }

  std::vector<int64_t> name_events(XPlane& plane, std::vector<std::string> const& names) {
    std::vector<int64_t> ids;
    for (std::string const& name : names) {
      // Small ones, large ones, negative ones.
      auto const next = static_cast<int64_t>(plane.event_metadata().size() + 1);
      int64_t const id = below(4) == 0 ? static_cast<int64_t>(random_()) : next;

      xplane::XEventMetadata& metadata = (*plane.mutable_event_metadata())[id];
      metadata.set_id(id);
      metadata.set_name(name);
      ids.push_back(id);
    }
    return ids;
  }
  int64_t stat_id(XPlane& plane, std::string const& name) {
    for (auto const& [id, metadata] : plane.stat_metadata())
      if (metadata.name() == name) return id;
    auto const id = static_cast<int64_t>(plane.stat_metadata().size() * 3 + 1);
    xplane::XStatMetadata& metadata = (*plane.mutable_stat_metadata())[id];
    metadata.set_id(id);
    metadata.set_name(name);
    return id;
  }
  void add_text(XPlane& plane, XEvent& event, std::string const& name, std::string const& text) {
    XStat& stat = *event.add_stats();
    stat.set_metadata_id(stat_id(plane, name));
    if (below(2) == 0) {
      stat.set_str_value(text);
    } else {
      stat.set_ref_value(static_cast<uint64_t>(stat_id(plane, text)));
    }
  }
  void add_number(XPlane& plane, XEvent& event, std::string const& name, uint64_t number) {
    XStat& stat = *event.add_stats();
    stat.set_metadata_id(stat_id(plane, name));
    if (below(2) == 0) {
      stat.set_uint64_value(number);
    } else {
      stat.set_int64_value(static_cast<int64_t>(number));
    }
  }
  void add_noise(XPlane& plane, XEvent& event) {
    if (below(3) == 0) add_text(plane, event, "hlo_op", "fusion.1");
    if (below(5) == 0) {
      XStat& stat = *event.add_stats();
      stat.set_metadata_id(stat_id(plane, "noise"));
      if (below(2) == 0)
        stat.set_double_value(2.5);
      else
        stat.set_bytes_value(std::string("\0\xFF", 2));
    }
  }

  void add_gpu(int number) {
    XPlane& plane = *space_.add_planes();
    plane.set_id(number);
    plane.set_name("/device:GPU:" + std::to_string(number));
    auto const kernels = name_events(plane, {"gemm", "fusion", "relu", std::string(300, 'k')});
    auto const copies = name_events(plane, {"MemcpyH2D", "MemcpyD2H"});

    for (uint64_t s = 0; s <= below(3); ++s) {
      XLine& line = *plane.add_lines();
      line.set_id(static_cast<int64_t>(s + 10));
      line.set_name("Stream #" + std::to_string(s + 10) + "(Kernel)");
      line.set_timestamp_ns(static_cast<int64_t>(below(10'000)));
      for (uint64_t i = 0; i < below(200); ++i) {
        XEvent& event = *line.add_events();
        bool const is_copy = below(4) == 0;
        event.set_metadata_id(any_id(is_copy ? copies : kernels));
        event.set_offset_ps(static_cast<int64_t>(below(1'000'000'000'000)));
        event.set_duration_ps(static_cast<int64_t>(below(10'000'000)));
        add_noise(plane, event);
        if (below(4) != 0) add_number(plane, event, "correlation_id", below(1U << 30U) + 1);

        uint64_t const size = below(5) + 1;
        if (is_copy)
          add_text(
              plane, event, "memcpy_details",
              "kind_src:pinned kind_dst:device size:" + std::to_string(size) + " dest:0 async:1");
        else
          add_text(plane, event, "kernel_details",
                   "regs:8 grid:" + std::to_string(size) + ",2,1 block:64,1,1 occ_pct:50");
        add_noise(plane, event);
      }
    }

    XLine& derived = *plane.add_lines();
    derived.set_name("XLA Ops");
    derived.add_events()->set_duration_ps(1'000'000);
  }

  void add_host() {
    XPlane& plane = *space_.add_planes();
    plane.set_name("/host:CPU");
    auto const names = name_events(plane, {"op", "Loop", "ü€😀", "cuLaunchKernel", "train"});

    for (int64_t t = 0; t < 4; ++t) {
      XLine& line = *plane.add_lines();
      line.set_id(t < 3 ? t * 1'000'000'007 - 5 : -5);  // the last is the first again
      line.set_name("pool");
      line.set_timestamp_ns(static_cast<int64_t>(below(10'000)));

      for (uint64_t i = 0; i < below(500); ++i) {
        XEvent& event = *line.add_events();
        size_t const which = below(names.size());
        event.set_metadata_id(names[which]);
        event.set_offset_ps(static_cast<int64_t>(below(1'000'000'000'000)));
        event.set_duration_ps(static_cast<int64_t>(below(3) * below(10'000'000)));

        if (which == 3) add_number(plane, event, "correlation_id", below(1U << 30U) + 1);
        if (which == 4) add_number(plane, event, "step_num", below(100));
        if (below(10) == 0) event.set_num_occurrences(5);
      }
    }
  }

  std::mt19937_64 random_;
  XSpace space_;
};

int64_t rounded(int64_t timestamp_ns, int64_t ps) {
  return (timestamp_ns * 1000 + ps + 500) / 1000;  // none is negative here, nor large
}

std::string text_of(XPlane const& plane, XStat const& stat) {
  if (stat.value_case() == XStat::kStrValue) return stat.str_value();
  auto const found = plane.stat_metadata().find(static_cast<int64_t>(stat.ref_value()));
  return found == plane.stat_metadata().end() ? "" : found->second.name();
}

/// The number that follows a word.
uint64_t number_after(std::string const& text, std::string const& word) {
  size_t const at = text.find(word);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + word.size()));
}

Row naive_row(XPlane const& plane, XLine const& line, XEvent const& event) {
  std::string const name = plane.event_metadata().at(event.metadata_id()).name();
  uint64_t correlation = 0;
  bool is_step = false;
  std::string kernel, copy;

  for (XStat const& stat : event.stats()) {
    std::string const what = plane.stat_metadata().at(stat.metadata_id()).name();
    uint64_t const number = stat.value_case() == XStat::kUint64Value
                                ? stat.uint64_value()
                                : static_cast<uint64_t>(stat.int64_value());
    if (what == "correlation_id") correlation = number;
    if (what == "step_num") is_step = true;
    if (what == "kernel_details") kernel = text_of(plane, stat);
    if (what == "memcpy_details") copy = text_of(plane, stat);
  }

  int64_t const start = rounded(line.timestamp_ns(), event.offset_ps());
  int64_t const dur = rounded(line.timestamp_ns(), event.offset_ps() + event.duration_ps()) - start;

  if (!kernel.empty())
    return {"kernel", name,        start,
            dur,      correlation, {number_after(kernel, "grid:"), number_after(kernel, "block:")}};
  if (!copy.empty())
    return {"memcpy", name, start, dur, correlation, {number_after(copy, "size:")}};
  if (name == "cuLaunchKernel") return {"launch", name, start, dur, correlation, {}};
  if (event.duration_ps() == 0) return {"mark", name, start, 0, 0, {}};
  return {is_step ? "step" : "range", name, start, dur, 0, {}};
}

Rows naive_rows(XSpace const& space) {
  Rows rows;
  for (XPlane const& plane : space.planes()) {
    for (XLine const& line : plane.lines()) {
      if (line.name() == "XLA Ops") continue;
      for (XEvent const& event : line.events())
        if (event.data_case() != XEvent::kNumOccurrences)
          rows.insert(naive_row(plane, line, event));
    }
  }

  return rows;
}

Rows rows_of(model::Trace const& trace) {
  Rows rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    std::vector<uint64_t> details;
    if (trace.kind(row) == model::EventKind::kKernel) {
      auto const& kernel = trace.detail<model::KernelDetail>(row);
      details = {kernel.grid_x, kernel.block_x};
    } else if (trace.kind(row) == model::EventKind::kMemcpy) {
      details = {trace.detail<model::CopyDetail>(row).bytes};
    }

    rows.emplace(kind_info(trace.kind(row)).name, trace.name(row), trace.start(row),
                 trace.end(row) - trace.start(row), trace.columns().correlation[row], details);
  }
  return rows;
}

TEST(XPlaneWrittenByTheLibrary, HasTheEventsThatANaiveReaderFinds) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    RandomProfile const profile(seed);
    std::string const bytes = profile.space().SerializeAsString();

    for (size_t const piece : {1U, 1000U, 1'000'000U}) {
      auto const trace = read_xplane(Input(std::as_bytes(std::span(bytes)), "x.xplane.pb"), piece);
      ASSERT_TRUE(trace) << trace.error().message;
      ASSERT_EQ(rows_of(*trace), naive_rows(profile.space())) << seed << " " << piece;
      EXPECT_TRUE(trace->log().notes.empty());
      EXPECT_EQ(trace->log().dropped, 0U);
      EXPECT_EQ(trace->info().host, "node-7");
    }
  }
}

TEST(XPlaneWrittenByTheLibrary, NamesMayComeBeforeWhatTheyName) {
  RandomProfile const profile(99);
  std::string bytes;
  for (XPlane const& plane : profile.space().planes()) {
    XPlane names = plane, lines = plane;
    names.clear_lines();
    lines.clear_event_metadata();
    lines.clear_stat_metadata();

    // To the library, messages one behind the other are one.
    std::string const message = names.SerializeAsString() + lines.SerializeAsString();

    bytes += '\x0A';
    size_t size = message.size();
    for (; size >= 0x80; size >>= 7U) bytes += static_cast<char>(size | 0x80U);
    bytes += static_cast<char>(size);
    bytes += message;
  }

  XSpace again;
  ASSERT_TRUE(again.ParseFromString(bytes));
  auto const trace = read_xplane(Input(std::as_bytes(std::span(bytes)), "x.xplane.pb"), 500);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(rows_of(*trace), naive_rows(again));
}

}  // namespace
}  // namespace stepscope::import
