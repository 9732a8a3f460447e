// Traces with every kind of event and hostile values, for tests of the file format.
#pragma once

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::file {

/// The members of a detail row set from random bits, so that a column that is lost or swapped
/// shows.
template <class Row>
Row random_row(std::mt19937_64& random) {
  Row row;
  std::apply(
      [&](auto const&... field) {
        auto const set = [&](auto& member) {
          using Member = std::remove_cvref_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, double>)
            member = static_cast<double>(random() % 1'000'000) / 7;
          else if constexpr (std::is_enum_v<Member>)
            member = static_cast<Member>(random() % 4);
          else
            member = static_cast<Member>(random());
        };
        (set(row.*field.member), ...);
      },
      model::detail_fields<Row>);

  return row;
}

/// Adds an event of `kind` with random details.
inline void add_random(model::EventBatch& batch, model::EventKind kind, int64_t start, int64_t dur,
                       model::StringId name, uint64_t correlation, std::mt19937_64& random) {
  auto const table = static_cast<int>(model::kind_info(kind).table);
  if (table < 0) return batch.add(kind, start, dur, name, correlation);
  int index = 0;
  auto const add = [&]<class Row>(model::DetailColumn<Row> const&) {
    if (index++ == table) batch.add(kind, start, dur, name, correlation, random_row<Row>(random));
  };
  std::apply([&](auto const&... rows) { (add(rows), ...); }, model::DetailTables{});
}

inline model::Trace sample_trace(uint64_t seed, int tracks, int events_per_track) {
  std::mt19937_64 random(seed);
  model::TraceBuilder builder;
  builder.info() = {.tool = "test 1",
                    .host = "node \"1\"",
                    .command = "train\n--fast",
                    .process_id = 42,
                    .rank = 3,
                    .world_size = 8,
                    .origin_epoch_ns = 1'700'000'000'123'456'789,
                    .whole_steps = {.count = 9, .first = 5, .chosen_first = 7, .chosen_last = 8},
                    .facts = {{"cpu", "x"}, {"cores", "2"}}};
  builder.add_device(
      {.id = 1, .name = "host:1", .capacity_bytes = 1 << 30, .threads = 2, .peak_flops = 1e12});

  for (int t = 0; t < tracks; ++t) {
    model::TrackId const track = builder.add_track(
        {.kind = t % 2 == 0 ? model::TrackKind::kThread : model::TrackKind::kStream,
         .name = "track " + std::to_string(t),
         .id = t,
         .device = t % 2 == 0 ? -1 : 1,
         .stream_kind = model::StreamKind::kCopy,
         .dropped = static_cast<uint64_t>(t)});

    int64_t time = static_cast<int64_t>(random() % 1000) - 500;
    for (int i = 0; i < events_per_track; ++i) {
      auto const kind = static_cast<model::EventKind>(random() % model::kKindCount);
      std::string const name = i % 17 == 0 ? std::string(static_cast<size_t>(random() % 300), 'n')
                                           : "op " + std::to_string(random() % 50);
      add_random(builder.events(track), kind, time, static_cast<int64_t>(random() % 5000),
                 builder.intern(name), random() % 3 == 0 ? 0 : random(), random);
      time += static_cast<int64_t>(random() % 2000);
    }
  }

  return std::move(builder).finish();
}

/// Every column and detail of a trace as text, so that a difference names itself.
inline std::vector<std::string> rows_of(model::Trace const& trace) {
  std::vector<std::string> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    auto const& columns = trace.columns();
    std::string text =
        fmt::format("track {} start {} dur {} name {} kind {} correlation {} depth {} link {}:",
                    columns.track[row].value, columns.start[row], columns.dur[row], trace.name(row),
                    model::kind_info(columns.kind[row]).name, columns.correlation[row],
                    columns.depth[row], columns.link[row].value);

    int index = 0;
    auto const table = static_cast<int>(model::kind_info(columns.kind[row]).table);
    auto const describe = [&]<class Row>(model::DetailColumn<Row> const&) {
      if (index++ != table) return;
      std::apply(
          [&](auto const&... field) {
            auto const add = [&](char const* name, auto value) {
              if constexpr (std::is_enum_v<decltype(value)>)
                text += fmt::format(" {} {}", name, static_cast<int>(value));
              else
                text += fmt::format(" {} {}", name, value);
            };
            (add(field.name, trace.detail<Row>(row).*field.member), ...);
          },
          model::detail_fields<Row>);
    };

    std::apply([&](auto const&... rows_type) { (describe(rows_type), ...); },
               model::DetailTables{});
    rows.push_back(std::move(text));
  }

  return rows;
}

/// A file in the test's temporary folder, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    auto const* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "stepscope_" + test->test_suite_name() + "_" + test->name() +
            ".stepscope";
    std::remove(path_.c_str());
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(TemporaryFile const&) = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stepscope::file
