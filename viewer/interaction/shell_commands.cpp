#include "viewer/interaction/shell_commands.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trace/base/shell_word.h"
#include "trace/model/tables.h"
#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

/// "stepscope view rank-0.json rank-1.json".
std::string command_with_files(std::string command, Scene const& scene) {
  for (std::string const& file : scene.files) command += " " + base::shell_word(file);
  return command;
}

/// To the ns, as far as one can zoom in: "1.2s".
std::string seconds_text(int64_t ns) {
  std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "s";
}

/// Where the events of a kind have their columns.
std::string_view table_of(model::EventKind kind) {
  model::DetailTable const wanted = model::kind_info(kind).table;
  for (model::TraceTable const& table : model::trace_tables())
    if (table.rows == model::TableRows::kEvents && table.detail == wanted) return table.name;
  return "events";
}

/// Which process. Damaged files and several programs can have one rank twice.
std::string condition_on_rank(Scene const& scene, uint32_t rank) {
  model::TraceInfo const& info = scene.trace(rank).info();
  std::string condition = fmt::format("rank = {}", info.rank);
  auto const same = [&](model::RankTrace const& other) {
    return other.trace.info().rank == info.rank;
  };
  if (std::count_if(scene.run.ranks.begin(), scene.run.ranks.end(), same) > 1)
    condition += fmt::format(" and process = {}", info.process_id);
  return condition;
}

/// Gaps of a device do not overlap; tables hold them as far as they lie in the device's window.
std::string select_gap(Scene const& scene, uint32_t index) {
  analyzer::IdleGap const gap = scene.analysis.gaps[index];
  if (gap.ref.rank_index < 0) return {};
  return fmt::format(
      "select * from idle_gaps where rank = {} and device = {} and start_ns < {} and end_ns > {}",
      scene.trace(static_cast<uint32_t>(gap.ref.rank_index)).info().rank, gap.ref.device,
      gap.when.end, gap.when.begin);
}

std::string select_event(Scene const& scene, Selection const& selection) {
  auto const at = scene.find(selection);
  std::string const rank = condition_on_rank(scene, selection.rank);
  std::string_view const table = at ? table_of(at->trace->kind(at->row)) : "events";
  auto const place = scene.store->place_of(scene, selection);
  if (!place) return {};
  if (place->row)
    return fmt::format("select * from {} where {} and id = {}", table, rank, *place->row);

  // What was read of a run has other row numbers than the whole has.
  std::string sql = fmt::format(
      "select * from {} where {} and track = {} and start_ns = {} and dur_ns = {}", table, rank,
      place->track, place->start + scene.run.ranks[selection.rank].offset_ns, place->dur);
  if (place->depth != Selection::kAnyDepth) sql += fmt::format(" and depth = {}", place->depth);
  return sql;
}

}  // namespace

std::string query_command(Scene const& scene, Selection const& selection) {
  if (scene.files.empty()) return {};
  bool const is_event = selection.what == Selection::What::kEvent;
  std::string const sql =
      is_event ? select_event(scene, selection) : select_gap(scene, selection.index);
  // Words and numbers alone: nothing that a shell would look at between these marks.
  return sql.empty() ? sql : command_with_files("stepscope query", scene) + " \"" + sql + "\"";
}

std::string view_command(Scene const& scene, TimeWindow const& window) {
  if (scene.files.empty()) return {};
  constexpr double kMostNs = 1e18;  // as parse_time_range()
  auto const begin = static_cast<int64_t>(std::floor(std::clamp(window.begin, 0.0, kMostNs - 1e3)));
  auto const end =
      std::max(begin + 1, static_cast<int64_t>(std::ceil(std::min(window.end, kMostNs))));
  return fmt::format("{} --time {}:{}", command_with_files("stepscope view", scene),
                     seconds_text(begin), seconds_text(end));
}

}  // namespace stepscope::viewer
