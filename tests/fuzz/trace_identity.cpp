#include "tests/fuzz/trace_identity.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"
#include "trace/model/summary/track_pyramid.h"

namespace stepscope::fuzz {
namespace {

template <class Row>
bool same_rows(std::span<Row const> a, std::span<Row const> b) {
  if (a.size() != b.size()) return false;

  bool same = true;
  for (size_t i = 0; i < a.size(); ++i) {
    // Compared as bytes: a NaN has to come back as the same NaN.
    auto const compare = [&](auto const& field) {
      auto const x = a[i].*(field.member);
      auto const y = b[i].*(field.member);
      same = same && std::memcmp(&x, &y, sizeof x) == 0;
    };
    std::apply([&](auto const&... field) { (compare(field), ...); }, model::detail_fields<Row>);
  }
  return same;
}

template <class... Rows>
bool same_details(model::Trace const& a, model::Trace const& b,
                  std::tuple<model::DetailColumn<Rows>...> const* /*type*/) {
  return (same_rows(a.details<Rows>(), b.details<Rows>()) && ...);
}

bool same_names(model::Trace const& a, model::Trace const& b) {
  for (uint32_t row = 0; row < a.event_count(); ++row)
    if (a.name(row) != b.name(row)) return false;
  return true;
}

/// Removes the file when it goes.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() { std::remove(path.c_str()); }
};

}  // namespace

bool same_events(model::EventBatch const& a, model::EventBatch const& b) {
  bool details = true;
  std::apply(
      [&](auto const&... table) {
        auto const compare = [&]<class Row>(model::DetailColumn<Row> const& rows) {
          details = details && same_rows<Row>(rows, std::get<model::DetailColumn<Row>>(b.details));
        };
        (compare(table), ...);
      },
      a.details);

  return details && a.start == b.start && a.dur == b.dur && a.name == b.name && a.kind == b.kind &&
         a.correlation == b.correlation;
}

void check_readable(file::TraceFile const& file) {
  // A few bytes can say that a column is constant over 65,536 rows: without a limit the fuzzer
  // would find nothing but large traces.
  constexpr uint64_t kMaxEvents = 1 << 18;
  auto const trace = file.read({}, kMaxEvents);
  if (!trace) return;
  check_write_read_identity(*trace);

  size_t const damaged = file.find_damage().size();
  STEPSCOPE_CHECK(damaged >= file.damage().size());
  STEPSCOPE_CHECK(file.steps().has_value());
  for (uint32_t track = 0; track < std::min<size_t>(file.tracks().size(), 4); ++track) {
    auto const summary = file.summary(model::TrackId{track});
    STEPSCOPE_CHECK(summary.has_value());
    STEPSCOPE_CHECK(model::TrackPyramid(*summary).view(-1000, 1'000'000, 16).size() == 16);
  }

  auto const [begin, end] = trace->time_range();
  int64_t const middle = begin + (end - begin) / 2;
  auto const half = file.read({.window = {begin, middle}}, kMaxEvents);
  STEPSCOPE_CHECK(half.has_value() && half->event_count() <= trace->event_count());
}

void check_write_read_identity(model::Trace const& trace) {
  // In memory where the system has such a folder: thousands of files a second.
  char const* const folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  TemporaryFile const file{fmt::format("{}/stepscope-fuzz-{}.stepscope", folder, getpid())};
  std::remove(file.path.c_str());
  auto const written = file::write_trace(trace, file.path);
  STEPSCOPE_CHECK(written.has_value());
  auto const copy = file::read_trace_file(file.path);
  STEPSCOPE_CHECK(copy.has_value());

  auto const& a = trace.columns();
  auto const& b = copy->columns();
  STEPSCOPE_CHECK(a.start == b.start);
  STEPSCOPE_CHECK(a.dur == b.dur);
  STEPSCOPE_CHECK(a.kind == b.kind);
  STEPSCOPE_CHECK(a.correlation == b.correlation);
  STEPSCOPE_CHECK(a.track == b.track);
  STEPSCOPE_CHECK(a.depth == b.depth);
  STEPSCOPE_CHECK(a.link == b.link);
  STEPSCOPE_CHECK(same_names(trace, *copy));
  STEPSCOPE_CHECK(same_details(trace, *copy, static_cast<model::DetailTables const*>(nullptr)));
  STEPSCOPE_CHECK(trace.tracks().size() == copy->tracks().size());
  STEPSCOPE_CHECK(trace.devices().size() == copy->devices().size());
  STEPSCOPE_CHECK(!copy->log().truncated);
}

}  // namespace stepscope::fuzz
