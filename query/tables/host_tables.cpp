#include "query/tables/host_tables.h"

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::query {
namespace {

using analyzer::Analysis;
using model::Cell;
using model::Run;
using enum model::ColumnType;

void add_rank(Run const& run, int32_t rank_index, Rows& rows) {
  rows.add(Cell::of(int64_t{reports::rank_of(run, {rank_index, analyzer::kHostDevice})}));
}

void add_thread(Run const& run, int32_t rank_index, uint32_t track, Rows& rows) {
  rows.add(Cell::of(uint64_t{track}));
  rows.add_text(
      base::printable(run.ranks[static_cast<size_t>(rank_index)].trace.tracks()[track].name));
}

void add_wholes(std::initializer_list<int64_t> values, Rows& rows) {
  for (int64_t const value : values) rows.add(Cell::of(value));
}

void add_known(std::optional<int64_t> const& value, Rows& rows) {
  rows.add(value ? Cell::of(*value) : Cell{});
}

FactTable host_step_table() {
  return {"host_steps",
          "every step of every thread of processes without a device",
          {{"rank", kInteger, "rank of the process in the job"},
           {"track", kInteger, "number of the thread's track in its process"},
           {"thread", kText, "its name"},
           {"step", kInteger, "number of the step"},
           {"start_ns", kInteger, "begin of the annotated range, run time"},
           {"dur_ns", kInteger, "its length"},
           {"end_ns", kInteger, "start_ns + dur_ns"},
           {"period_start_ns", kInteger,
            "end of the previous step if its number is the previous one, else start_ns"},
           {"period_ns", kInteger, "from there to end_ns: the step time"},
           {"input_ns", kInteger, "part of period_ns in which the thread waited for data"},
           {"warmup", kInteger, "1 = left out of means and findings"},
           {"outlier", kInteger, "1 = much longer than the others"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (analyzer::HostStats const& host : analysis.hosts)
              for (analyzer::HostStepStats const& step : host.steps) {
                add_rank(run, host.rank_index, rows);
                add_thread(run, host.rank_index, step.track, rows);
                add_wholes({step.step, step.range.begin, step.range.length(), step.range.end,
                            step.period.begin, step.period.length(), step.input_ns,
                            int64_t{step.warmup}, int64_t{step.outlier}},
                           rows);
              }
          }};
}

FactTable host_range_table() {
  return {"host_ranges",
          "time by name of range or call, over all threads of a process without a device",
          {{"rank", kInteger, "rank of the process in the job"},
           {"name", kText, "of the range; NULL = further names together"},
           {"kind", kText, "'range', 'phase' or 'input' (waits for data)"},
           {"name_count", kInteger, "how many names this row stands for"},
           {"count", kInteger, "number of occurrences"},
           {"inclusive_ns", kInteger, "union per thread, summed over the threads"},
           {"exclusive_ns", kInteger, "part of it without inner ranges"},
           {"longest_ns", kInteger, "of one time"},
           {"step_inclusive_ns", kInteger, "mean of a counted step; NULL without steps"},
           {"step_exclusive_ns", kInteger, "likewise"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (analyzer::HostStats const& host : analysis.hosts)
              for (analyzer::HostRangeStats const& range : host.ranges) {
                add_rank(run, host.rank_index, rows);

                if (range.names == 1)
                  rows.add_text(base::printable(range.name));
                else
                  rows.add(Cell{});
                rows.add(Cell::of(std::string_view(analyzer::to_string(range.kind))));

                rows.add(Cell::of(range.names));
                rows.add(Cell::of(range.count));
                add_wholes({range.inclusive_ns, range.exclusive_ns, range.longest_ns}, rows);
                add_known(range.step_inclusive_ns, rows);
                add_known(range.step_exclusive_ns, rows);
              }
          }};
}

FactTable host_thread_table() {
  return {"host_threads",
          "the threads of processes without a device, busiest first",
          {{"rank", kInteger, "rank of the process in the job"},
           {"track", kInteger, "number of the thread's track in its process"},
           {"thread", kText, "its name"},
           {"events", kInteger, "ranges, calls and steps"},
           {"steps", kInteger, "of these"},
           {"busy_ns", kInteger, "union of its events"},
           {"input_ns", kInteger, "the thread waited for data"},
           {"window_ns", kInteger, "first begin to last end of all threads of the process"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (analyzer::HostStats const& host : analysis.hosts)
              for (analyzer::HostThreadStats const& thread : host.threads) {
                add_rank(run, host.rank_index, rows);
                add_thread(run, host.rank_index, thread.track, rows);
                rows.add(Cell::of(thread.events));
                rows.add(Cell::of(thread.steps));
                add_wholes({thread.busy_ns, thread.input_ns, host.window.length()}, rows);
              }
          }};
}

FactTable negotiation_table() {
  return {
      "negotiations",
      "ranks that were ready last for collectives, from a Horovod timeline; "
      "one row per rank, latest first",
      {{"recorded_by", kInteger, "rank of the process whose file has this row"},
       {"negotiations", kInteger, "whose record names every rank"},
       {"incomplete", kInteger, "others"},
       {"rank", kInteger, "rank that this row describes"},
       {"last", kInteger, "negotiations in which it was last"},
       {"late_ns", kInteger, "union, over these, from the last but one to it"},
       {"mean_late_ns", kInteger, "of one of these"},
       {"longest_late_ns", kInteger, "of one of these"},
       {"moments", kInteger, "number of intervals in late_ns"},
       {"worst_start_ns", kInteger, "begin of the longest interval, run time; NULL without one"},
       {"worst_ns", kInteger, "its length"}},

      [](Run const& run, Analysis const& analysis, Rows& rows) {
        for (analyzer::NegotiationStats const& facts : analysis.negotiations)
          for (analyzer::NegotiationStats::Rank const& rank : facts.ranks) {
            add_rank(run, facts.rank_index, rows);

            rows.add(Cell::of(facts.count));
            rows.add(Cell::of(facts.incomplete));
            rows.add(Cell::of(rank.rank));
            rows.add(Cell::of(rank.last));
            add_wholes({rank.late_ns, rank.mean_ns, rank.longest_ns}, rows);
            rows.add(Cell::of(rank.moments));

            rows.add(rank.moments > 0 ? Cell::of(rank.worst.begin) : Cell{});
            rows.add(rank.moments > 0 ? Cell::of(rank.worst.length()) : Cell{});
          }
      }};
}

}  // namespace

std::vector<FactTable> host_tables() {
  return {host_step_table(), host_range_table(), host_thread_table(), negotiation_table()};
}

}  // namespace stepscope::query
