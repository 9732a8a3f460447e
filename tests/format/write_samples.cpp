// Writes .stepscope files, and next to each a .json of its contents according to the library's
// model. The independent reader is compared with it. Usage: write_format_samples FOLDER
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/synthetic_run.h"
#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/files/output_file.h"
#include "trace/file/summaries.h"
#include "trace/file/writer.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope {
namespace {

using base::Expected;
using nlohmann::json;

/// Texts are bytes; JSON takes only UTF-8.
std::string hex(std::string_view text) {
  std::string digits;
  for (char const c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}

json detail_json(model::Trace const& trace, uint32_t row) {
  json detail = nullptr;
  auto const describe = [&]<class Row>(model::DetailColumn<Row> const&) {
    if (model::kind_info(trace.kind(row)).table != model::DetailTableOf<Row>::value) return;
    std::apply(
        [&](auto const&... field) {
          ((detail[field.name] = trace.detail<Row>(row).*field.member), ...);
        },
        model::detail_fields<Row>);
  };

  std::apply([&](auto const&... tables) { (describe(tables), ...); }, model::DetailTables{});
  return detail;
}

json rows_json(model::Trace const& trace, model::TrackId track) {
  json rows = json::array();
  for (uint32_t row = trace.rows_of(track).first; row < trace.rows_of(track).last; ++row)
    rows.push_back({{"start", trace.start(row)},
                    {"dur", trace.columns().dur[row]},
                    {"name", hex(trace.name(row))},
                    {"kind", trace.kind(row)},
                    {"correlation", trace.columns().correlation[row]},
                    {"detail", detail_json(trace, row)}});
  return rows;
}

json description_json(model::Trace const& trace) {
  model::TraceInfo const& info = trace.info();
  model::ImportLog const& log = trace.log();
  uint64_t dropped = log.dropped;  // in the file without what its tracks say
  for (model::Track const& track : trace.tracks()) dropped -= track.dropped;

  json devices = json::array();
  for (model::Device const& device : trace.devices())
    devices.push_back({{"id", device.id},
                       {"name", device.name},
                       {"capacity_bytes", device.capacity_bytes},
                       {"threads", device.threads},
                       {"peak_flops", device.peak_flops}});

  json who = {{"tool", info.tool},
              {"host", info.host},
              {"command", info.command},
              {"process_id", info.process_id},
              {"rank", info.rank},
              {"world_size", info.world_size},
              {"origin_epoch_ns", info.origin_epoch_ns},
              {"facts", info.facts}};
  if (info.whole_steps.count > 0)
    who.update({{"whole_step_count", info.whole_steps.count},
                {"whole_first_step", info.whole_steps.first}});
  if (info.whole_steps.has_choice())
    who.update({{"chosen_first_step", info.whole_steps.chosen_first},
                {"chosen_last_step", info.whole_steps.chosen_last}});

  return {{"info", who},
          {"devices", devices},
          {"log",
           {{"dropped", dropped},
            {"negative_durations", log.negative_durations},
            {"unknown_events", log.unknown_events},
            {"lost_blocks", log.lost_blocks},
            {"notes", log.notes}}}};
}

json trace_json(model::Trace const& trace) {
  json texts = json::array(), tracks = json::array(), events = json::array();
  for (uint32_t id = 0; id < trace.strings().size(); ++id)
    texts.push_back(hex(trace.text(model::StringId{id})));

  for (uint32_t id = 0; id < trace.tracks().size(); ++id) {
    model::Track const& track = trace.tracks()[id];
    tracks.push_back({{"kind", track.kind},
                      {"name", track.name},
                      {"id", track.id},
                      {"device", track.device},
                      {"stream_kind", track.stream_kind},
                      {"dropped", track.dropped}});
    events.push_back(rows_json(trace, model::TrackId{id}));
  }

  return {{"description", description_json(trace)},
          {"texts", texts},
          {"tracks", tracks},
          {"events", events}};
}

/// More rows than one block takes, most of them where the one before ended.
model::Trace long_trace() {
  model::TraceBuilder builder;
  model::TrackId const track =
      builder.add_track({.kind = model::TrackKind::kStream, .name = "long", .id = 7, .device = 0});

  int64_t time = -1'000'000;
  for (uint64_t i = 0; i < 70'000; ++i) {
    int64_t const dur = 1000 * static_cast<int64_t>(1 + i * i % 97);
    model::StringId const name = builder.intern(fmt::format("operation {}", i * i % 31));
    uint64_t const correlation = i % 3 == 0 ? 0 : 5000 + i;
    if (i % 16 == 0)
      builder.events(track).add(model::EventKind::kSample, time, dur, name, correlation,
                                model::SampleDetail{0.5 * static_cast<double>(i % 7)});
    else
      builder.events(track).add(model::EventKind::kRange, time, dur, name, correlation);
    time += dur + (i % 11 == 0 ? 3000 : 0);
  }

  return std::move(builder).finish();
}

/// What a recorder writes: descriptions and texts in parts, blocks of a track that overlap in time,
/// no summaries.
Expected<model::Trace> record(std::string const& path, bool finished) {
  auto writer = file::TraceWriter::create(path);
  if (!writer) return base::fail_with(writer);

  model::TraceBuilder builder;
  std::mt19937_64 random(11);
  Expected<void> written;
  auto const check = [&](Expected<void> const& result) {
    if (written && !result) written = result;
  };
  std::vector<model::Track> const tracks = {{.name = "first"}, {.name = "second", .id = 8}};
  builder.info() = {.tool = "recorder", .world_size = 2};
  builder.log().dropped = 9;
  check(writer->write_description(builder.info(), {}, builder.log()));
  check(writer->write_tracks(model::TrackId{0}, tracks));
  for (model::Track const& track : tracks) builder.add_track(track);

  for (uint32_t part = 0; part < 6; ++part) {
    std::vector<std::string> const texts = {fmt::format("step {}", part),
                                            fmt::format("\xff\x01 no UTF-8 {}", part)};
    std::vector<std::string_view> const views(texts.begin(), texts.end());
    model::StringId const first = builder.intern(texts[0]);
    builder.intern(texts[1]);
    check(writer->write_strings(first.value, views));

    model::EventBatch batch;
    for (uint32_t i = 0; i < 500; ++i) {
      auto const kind = static_cast<model::EventKind>(i % model::kKindCount);
      file::add_random(batch, kind, int64_t{100} * i - int64_t{10'000} * part,
                       static_cast<int64_t>(random() % 900), {first.value + i % 2}, random() % 4,
                       random);
    }

    model::TrackId const track{part % 2};
    check(writer->write_events(track, batch));
    builder.append(track, std::move(batch));
  }

  model::Track const known{.kind = model::TrackKind::kCounter,
                           .name = "second, renamed",
                           .id = 8,
                           .device = 3,
                           .dropped = 5};
  builder.update_track(model::TrackId{1}, known);
  check(writer->write_tracks(model::TrackId{1}, {&known, 1}));
  builder.info().facts = {{"cpu", "x"}};
  builder.add_device({.id = 3, .name = "late", .peak_flops = 0.5});
  model::Device const device{.id = 3, .name = "late", .peak_flops = 0.5};
  check(writer->write_description(builder.info(), {&device, 1}, builder.log()));

  if (finished) check(writer->finish());
  if (!written) return base::fail_with(written);
  return std::move(builder).finish();
}

/// Writes the .json next to a file that was written.
bool describe(std::string const& path, Expected<model::Trace> const& trace) {
  Expected<void> const done =
      trace ? base::write_file_atomically(path + ".json", trace_json(*trace).dump())
            : Expected<void>(base::fail_with(trace));
  if (!done) std::fprintf(stderr, "write_format_samples: %s\n", done.error().message.c_str());
  return done.has_value();
}

bool write(std::string const& path, model::Trace trace) {
  auto const written = file::write_trace(trace, path);
  return describe(path, written ? Expected<model::Trace>(std::move(trace))
                                : Expected<model::Trace>(base::fail_with(written)));
}

bool write_samples(std::string const& folder) {
  auto const path = [&](char const* name) { return folder + "/" + name + ".stepscope"; };
  model::Run run = support::make_synthetic_run({.allocate_in_step = true});

  bool good = write(path("random"), file::sample_trace(7, 5, 2500));
  good = write(path("training"), std::move(run.ranks[0].trace)) && good;
  good = write(path("long"), long_trace()) && good;
  good = write(path("empty"), model::TraceBuilder().finish()) && good;

  good = describe(path("killed"), record(path("killed"), false)) && good;
  good = describe(path("recorded"), record(path("recorded"), true)) && good;
  good = describe(path("appended"), record(path("appended"), true)) && good;
  return good && file::add_summaries(path("appended")).has_value();
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_format_samples FOLDER\n", stderr);
    return 2;
  }
  std::filesystem::remove_all(argv[1]);
  std::filesystem::create_directories(argv[1]);
  return stepscope::write_samples(argv[1]) ? 0 : 1;
}
