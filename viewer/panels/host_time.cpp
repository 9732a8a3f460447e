#include "viewer/panels/host_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/host_words.h"
#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/stat_table.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

enum RangeColumn : size_t {
  kRangeName,
  kRangeKind,
  kRangeOwn,
  kRangeStep,
  kRangeAll,
  kRangeLongest,
  kRangeCount,
  kRangeColumns
};
constexpr std::array<FactColumn, kRangeColumns> kRangeTable = {
    {{"Range", "Ranges and calls of one name, on all threads of their process", 0, 0},
     {"Kind", "A phase, a wait for data, or any other range", 56, 3},
     {"Own", "Time in the range but in no range within it", 70, 0},
     {"A step", "Own time of a step, mean of all that count", 70, 1},
     {"With inner", "Union per thread, summed over the threads", 74, 2},
     {"Longest", "The longest time of one run", 70, 2},
     {"Ran", "How many times", 56, 1}}};

double range_value(analyzer::HostRangeStats const& range, size_t column) {
  switch (column) {
    case kRangeKind:
      return static_cast<double>(range.kind);
    case kRangeOwn:
      return static_cast<double>(range.exclusive_ns);
    case kRangeStep:
      return range.step_exclusive_ns ? static_cast<double>(*range.step_exclusive_ns) : std::nan("");
    case kRangeAll:
      return static_cast<double>(range.inclusive_ns);
    case kRangeLongest:
      return static_cast<double>(range.longest_ns);
    case kRangeCount:
      return static_cast<double>(range.count);
    default:
      return 0;
  }
}

void range_table(ViewState& state, analyzer::HostStats const& host) {
  auto const& rows = host.ranges;

  FactTable table;
  table.id = "ranges";
  table.columns = kRangeTable;
  table.rows = rows.size();
  table.first_number = 2;
  table.height = -1;
  table.name = [&](size_t row) {
    return rows[row].names == 1
               ? printable_name(rows[row].name)
               : fmt::format("{} further names", base::format_count(rows[row].names));
  };

  table.value = [&](size_t row, size_t column) { return range_value(rows[row], column); };
  table.text = [&](size_t row, size_t column) -> std::string {
    if (column == kRangeKind) return analyzer::to_string(rows[row].kind);
    double const value = range_value(rows[row], column);
    return column == kRangeCount ? count_words(value) : duration_words(value);
  };

  auto const clicked = fact_table(table, state.theme);
  if (clicked && rows[*clicked].names == 1)
    search_for(state, query_for(printable_name(rows[*clicked].name)));
}

enum ThreadColumn : size_t { kThreadName, kThreadBusy, kThreadInput, kThreadSteps, kThreadColumns };
constexpr std::array<FactColumn, kThreadColumns> kThreadTable = {
    {{"Thread", "", 0, 0},
     {"Busy", "Union of its ranges, calls and steps", 74, 0},
     {"Waits", "For data", 70, 1},
     {"Steps", "", 56, 2}}};

double thread_value(analyzer::HostThreadStats const& thread, size_t column) {
  switch (column) {
    case kThreadBusy:
      return static_cast<double>(thread.busy_ns);
    case kThreadInput:
      return static_cast<double>(thread.input_ns);
    case kThreadSteps:
      return static_cast<double>(thread.steps);
    default:
      return 0;
  }
}

void thread_table(ViewState& state, analyzer::HostStats const& host) {
  auto const& rows = host.threads;

  FactTable table;
  table.id = "threads";
  table.columns = kThreadTable;
  table.rows = rows.size();
  table.height = -1;
  table.can_click = false;

  table.name = [&](size_t row) { return printable_name(rows[row].name); };
  table.value = [&](size_t row, size_t column) { return thread_value(rows[row], column); };
  table.text = [&](size_t row, size_t column) {
    double const value = thread_value(rows[row], column);
    return column == kThreadSteps ? count_words(value) : duration_words(value);
  };
  fact_table(table, state.theme);
}

void host_words(Scene const& scene, ViewState const& state) {
  for (analyzer::NegotiationStats const& facts : scene.analysis.negotiations)
    if (std::string const words = reports::negotiation_words(facts); !words.empty())
      text_wrapped(printable_name(words), surface(state.theme).text);
  for (analyzer::HostStats const& host : scene.analysis.hosts)
    if (std::string const words = reports::slow_step_words(host); !words.empty())
      text_wrapped(printable_name(words), surface(state.theme).text);
}

}  // namespace

void host_time(Scene const& scene, ViewState& state) {
  auto const& hosts = scene.analysis.hosts;
  size_t const shown_hosts = std::min(hosts.size(), reports::kMostHosts);
  auto const title = [&](analyzer::HostStats const& host, char const* what) {
    heading(hosts.size() == 1
                ? what
                : fmt::format("{}, {}", what,
                              describe(scene, {host.rank_index, analyzer::kHostDevice})));
  };
  ImGui::BeginChild("ranges", ImVec2(ImGui::GetContentRegionAvail().x * 0.62F, 0));
  for (size_t i = 0; i < shown_hosts; ++i) {
    ImGui::PushID(static_cast<int>(i));
    title(hosts[i], "Time by range");
    range_table(state, hosts[i]);
    ImGui::PopID();
  }
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * ui_scale());
  ImGui::BeginChild("threads", ImVec2(0, 0));
  host_words(scene, state);
  for (size_t i = 0; i < shown_hosts; ++i) {
    ImGui::PushID(static_cast<int>(i));
    title(hosts[i], "Threads");
    thread_table(state, hosts[i]);
    ImGui::PopID();
  }
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
