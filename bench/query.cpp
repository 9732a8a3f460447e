// How long questions take over 10 M events of 1,000 names on 4 threads. It times GROUP BY name
// (docs/design/BENCHMARKS.md has the target) as it is rewritten, and as SQLite answers it row by
// row. The machine's limit is the same sums in a plain loop over the columns.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "query/database.h"
#include "trace/model/build/trace_builder.h"

namespace {

using namespace stepscope;

constexpr int64_t kEvents = 10'000'000;
constexpr int64_t kThreads = 4;
constexpr uint64_t kNames = 1000;

/// Names as long as those of kernels; which one comes next has no pattern that a processor could
/// learn.
model::Run const& run_of_ranges() {
  static model::Run const run = [] {
    model::TraceBuilder builder;
    std::vector<model::StringId> names;
    for (uint64_t i = 0; i < kNames; ++i)
      names.push_back(builder.intern(fmt::format(
          "void example::elementwise_kernel<{}, float, at::native::functor>(int, float*)", i)));

    uint64_t random = 1;
    for (int64_t t = 0; t < kThreads; ++t) {
      model::TrackId const track = builder.add_track(
          {.kind = model::TrackKind::kThread, .name = fmt::format("thread {}", t), .id = t});

      model::EventBatch batch;
      batch.reserve(static_cast<size_t>(kEvents / kThreads));

      for (int64_t i = 0; i < kEvents / kThreads; ++i) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        batch.add_range(i * 1000, static_cast<int64_t>(random >> 55U),
                        names[(random >> 33U) % kNames]);
      }

      builder.append(track, std::move(batch));
    }

    model::Run made;
    made.ranks.push_back({std::move(builder).finish(), 0, ""});
    return made;
  }();

  return run;
}

class CountRows final : public query::RowSink {
 public:
  void begin(std::span<std::string const>) override {}
  bool row(std::span<model::Cell const>) override { return true; }
};

void ask(benchmark::State& state, std::string const& sql, bool rewrite) {
  model::Run const& run = run_of_ranges();
  uint64_t rows = 0;

  for (auto _ : state) {
    auto database = query::Database::open(run);
    CountRows sink;
    auto const answered = database->run(sql, sink, {.rewrite = rewrite});
    if (!answered) return state.SkipWithError(answered.error().message.c_str());
    rows = *answered;
  }

  state.counters["rows"] = static_cast<double>(rows);
}

/// Sums and counts by name id, which needs a look at every row.
void bm_plain_loop(benchmark::State& state) {
  auto const& columns = run_of_ranges().ranks[0].trace.columns();

  for (auto _ : state) {
    std::vector<std::pair<int64_t, int64_t>> sums(kNames + 1);
    for (size_t row = 0; row < columns.start.size(); ++row) {
      auto& sum = sums[columns.name[row].value];
      ++sum.first;
      sum.second += columns.dur[row];
    }

    benchmark::DoNotOptimize(sums.data());
  }
}

constexpr char const* kByName =
    "select name, count(*), sum(dur_ns) from events group by name order by 3 desc";
constexpr char const* kWindow =
    "select name, start_ns from events where track = 2 and start_ns between 1000000000 and "
    "1001000000";

void bm_group_by_name(benchmark::State& state) { ask(state, kByName, true); }
void bm_group_by_name_row_by_row(benchmark::State& state) { ask(state, kByName, false); }
void bm_group_by_track_and_name(benchmark::State& state) {
  ask(state,
      "select track_name, name, count(*), avg(dur_ns), max(dur_ns) from events where dur_ns > 100 "
      "group by track_name, name",
      true);
}
/// SQLite's own pace: a count and a sum of every row, nothing to group.
void bm_sum_row_by_row(benchmark::State& state) {
  ask(state, "select count(*), sum(dur_ns) from events", false);
}
/// 1,000 rows of 10 M.
void bm_window(benchmark::State& state) { ask(state, kWindow, false); }
/// The same without its conditions: what pushing them down saves.
void bm_window_row_by_row(benchmark::State& state) {
  ask(state,
      "select name, start_ns from events where +track = 2 and +start_ns between 1000000000 and "
      "1001000000",
      false);
}

BENCHMARK(bm_plain_loop)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_group_by_name)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_group_by_track_and_name)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_sum_row_by_row)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_group_by_name_row_by_row)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(bm_window)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_window_row_by_row)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
