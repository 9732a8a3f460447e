// Runs of several processes with every kind of event, random details and hostile names, small
// enough to be looked at row by row.
#pragma once

#include <random>
#include <string>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/model/run.h"

namespace stepscope::support {

struct RandomRanks {
  uint64_t seed = 1;
  int ranks = 3;
  int tracks = 5;
  int events_per_track = 40;
};

/// Names repeat within and across ranks; some differ only in bytes that tables show alike.
inline std::string random_name(std::mt19937_64& random) {
  switch (random() % 12) {
    case 0:
      return "";
    case 1:
      return "=cmd|' /C calc'!A0";
    case 2:
      return "-1,\"two\"\n\xFF";
    case 3:
      return "-1,\"two\"\n\xFE";
    default:
      return "op " + std::to_string(random() % 9);
  }
}

inline model::Track random_track(std::mt19937_64& random, int number) {
  model::Track track;
  track.kind = static_cast<model::TrackKind>(number % 3);
  track.name = number % 4 == 3 ? "" : "track " + std::to_string(number % 3);
  track.id = static_cast<int64_t>(random() % 4);
  track.device = track.kind == model::TrackKind::kThread ? -1 : static_cast<int32_t>(random() % 2);
  track.stream_kind = static_cast<model::StreamKind>(random() % 3);
  track.dropped = random() % 3;
  return track;
}

/// None, or one of a few that several events share, or now and then one that no signed number
/// holds.
inline uint64_t random_correlation(std::mt19937_64& random) {
  if (random() % 4 == 0) return 0;
  if (random() % 50 == 0) return UINT64_MAX - random() % 2;
  return random() % 20;
}

inline model::Trace random_process(std::mt19937_64& random, RandomRanks const& options,
                                   int32_t rank) {
  model::TraceBuilder builder;
  builder.info().rank = rank;
  builder.info().world_size = options.ranks;
  builder.info().process_id = rank % 2 == 0 ? 0 : 100 + rank;
  builder.info().host = "host\x1b[31m";
  builder.add_device(
      {.id = 0, .name = "device \x01", .capacity_bytes = 1000, .threads = 2, .peak_flops = 1e12});
  builder.add_device(
      {.id = 1, .name = "unknown", .capacity_bytes = 0, .threads = 0, .peak_flops = 0});

  for (int t = 0; t < options.tracks; ++t) {
    model::TrackId const track = builder.add_track(random_track(random, t));
    int const events = t == 1 ? 0 : options.events_per_track;
    for (int i = 0; i < events; ++i) {
      auto const kind = static_cast<model::EventKind>(random() % model::kKindCount);
      auto const start = static_cast<int64_t>(random() % 2000) - 500;
      uint64_t const correlation = random_correlation(random);
      file::add_random(builder.events(track), kind, start, static_cast<int64_t>(random() % 300),
                       builder.intern(random_name(random)), correlation, random);
    }
  }

  return std::move(builder).finish();
}

inline model::Run random_ranks(RandomRanks const& options) {
  std::mt19937_64 random(options.seed);
  model::Run run;
  run.name = "random";
  for (int32_t rank = 0; rank < options.ranks; ++rank) {
    model::Trace trace = random_process(random, options, rank);
    run.ranks.push_back({std::move(trace), static_cast<int64_t>(random() % 2000) - 1000, "random"});
  }
  return run;
}

}  // namespace stepscope::support
