// stepscope info RUN: who recorded what, where and how much of it there is. Reads the files, analyzes nothing.
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

using base::printable;

char const* kind_of(model::Track const& track) {
  switch (track.kind) {
    case model::TrackKind::kThread:
      return "thread";
    case model::TrackKind::kStream:
      return "stream";
    case model::TrackKind::kCounter:
      return "counter";
  }
  return "track";
}

nlohmann::json json_of(model::RankTrace const& rank) {
  model::Trace const& trace = rank.trace;
  model::TraceInfo const& info = trace.info();
  auto const [first, last] = trace.time_range();
  nlohmann::json tracks = nlohmann::json::array();
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    model::Track const& track = trace.tracks()[t];
    tracks.push_back({{"kind", kind_of(track)},
                      {"name", track.name},
                      {"events", trace.rows_of(model::TrackId{t}).size()},
                      {"dropped", track.dropped}});
  }
  return {{"file", rank.file},
          {"rank", info.rank},
          {"host", info.host},
          {"command", info.command},
          {"tool", info.tool},
          {"process_id", info.process_id},
          {"events", trace.event_count()},
          {"duration_ns", last - first},
          {"dropped", trace.log().dropped},
          {"truncated", trace.log().truncated},
          {"tracks", tracks},
          {"facts", info.facts}};
}

void print(model::RankTrace const& rank) {
  model::Trace const& trace = rank.trace;
  model::TraceInfo const& info = trace.info();
  auto const [first, last] = trace.time_range();
  std::printf("%s\n", printable(rank.file).c_str());
  auto const line = [](char const* key, std::string const& value) {
    if (!value.empty()) std::printf("  %-14s %s\n", key, printable(value).c_str());
  };
  line("rank", fmt::format("{} of {}", info.rank, info.world_size));
  line("host", info.host);
  line("command", info.command);
  line("recorded by", info.tool);
  line("events", fmt::format("{} over {}", base::format_count(trace.event_count()), base::format_duration(last - first)));
  if (trace.log().dropped > 0) line("dropped", base::format_count(trace.log().dropped));
  for (auto const& [key, value] : info.facts) line(key.c_str(), value);
  for (model::Device const& device : trace.devices())
    line("device", fmt::format("{} {}, memory {}", device.id, device.name,
                               device.capacity_bytes > 0 ? base::format_bytes(device.capacity_bytes) : "unlimited"));
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    model::Track const& track = trace.tracks()[t];
    line(kind_of(track),
         fmt::format("{:>10} events  {}", base::format_count(trace.rows_of(model::TrackId{t}).size()), track.name));
  }
}

}  // namespace

Action add_info(CLI::App& app) {
  struct Options {
    std::vector<std::string> runs;
    bool json = false;
  };
  auto const options = std::make_shared<Options>();
  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_flag("--json", options->json, "print it as JSON");
  return [options] {
    auto const run = open_run_and_warn(options->runs);
    if (!run) return report_error(run.error());
    nlohmann::json all = nlohmann::json::array();
    for (model::RankTrace const& rank : run->ranks) {
      if (options->json)
        all.push_back(json_of(rank));
      else
        print(rank);
    }
    if (options->json) std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return kGood;
  };
}

}  // namespace stepscope::cli
