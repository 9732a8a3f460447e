#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"
#include "viewer/panels/common/panel.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/queries/search_query.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

using analyzer::Comparison;
using analyzer::KernelChange;
using analyzer::Metric;
using analyzer::MetricFamily;

/// Parts of less than this share of the base's step are summed up, as in the text of `stepscope
/// compare`.
constexpr double kLeastShownPart = 0.001;
constexpr size_t kLongestWords = 2000;  ///< bytes of a sentence that is shown

uint32_t verdict_colour(analyzer::Verdict verdict, Theme theme) {
  switch (verdict) {
    case analyzer::Verdict::kLess:
      return mark_colour(ChangeMark::kFasterFifth, theme);
    case analyzer::Verdict::kMore:
      return mark_colour(ChangeMark::kSlowerFifth, theme);
    default:
      return surface(theme).text;
  }
}

/// A number right-aligned in the next cell.
void change_cell(std::string const& value, uint32_t colour) {
  ImGui::TableNextColumn();
  text_right(value, colour);
}

void say(std::string const& words, uint32_t colour) {
  text_wrapped(printable_name(words, kLongestWords), colour);
}

void verdict_lines(RunPair& pair, Comparison const& comparison, Theme theme) {
  push_bold();
  say(reports::headline(comparison), verdict_colour(comparison.verdict, theme));
  pop_bold();

  if (pair.is_same_run())
    say("Base and new are the same recording: whatever differs here would be a fault of the "
        "comparison.",
        surface(theme).warning);
  if (comparison.differences.empty()) return;

  ImGui::Spacing();
  heading("Not the same on both sides");
  for (analyzer::Difference const& difference : comparison.differences)
    say("• " + reports::difference_text(difference), surface(theme).warning);
}

/// An exact breakdown of the change of the mean step, largest part first.
void why_table(Comparison const& comparison, Theme theme) {
  auto const& parts = comparison.parts_ns;
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(static_cast<double>(parts[a])) > std::abs(static_cast<double>(parts[b]));
  });

  auto const change = static_cast<double>(comparison.candidate.mean_ns) -
                      static_cast<double>(comparison.base.mean_ns);
  double const least =
      std::max(kLeastShownPart * static_cast<double>(comparison.base.mean_ns), 1.0);

  ImGui::Spacing();
  heading(fmt::format("Why: the {} of the mean step, exact breakdown",
                      reports::signed_duration(change)));
  if (!ImGui::BeginTable("why", 2, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("change", ImGuiTableColumnFlags_WidthFixed, 84 * ui_scale());
  ImGui::TableSetupColumn("part", ImGuiTableColumnFlags_WidthStretch);

  double rest = 0;
  bool has_rest = false;
  for (size_t const i : order) {
    auto const ns = static_cast<double>(parts[i]);
    if (std::abs(ns) < least) {
      rest += ns;
      has_rest = has_rest || parts[i] != 0;
      continue;
    }

    auto const part = static_cast<analyzer::ChangePart>(i);
    std::string const reason = reports::change_part_reason(comparison, part);
    ImGui::TableNextRow();
    change_cell(reports::signed_duration(ns),
                mark_colour(ns < 0 ? ChangeMark::kFasterFifth : ChangeMark::kSlowerFifth, theme));
    ImGui::TableNextColumn();
    say(reports::change_part_label(part, parts[i]) + (reason.empty() ? "" : ": " + reason),
        surface(theme).text);
  }

  if (has_rest) {
    ImGui::TableNextRow();
    change_cell(reports::signed_duration(rest), surface(theme).text_dim);
    ImGui::TableNextColumn();
    text_coloured("everything else", surface(theme).text_dim);
  }

  ImGui::EndTable();
}

/// What is searched for by a click on a class: its ops. Empty: it has none.
std::string query_of_class(Metric const& metric) {
  if (metric.family == MetricFamily::kCollective) return "kind:collective";
  if (metric.family != MetricFamily::kPart) return {};
  auto const is = [&](analyzer::StepPart part) { return metric.name == analyzer::to_string(part); };
  if (is(analyzer::StepPart::kCompute)) return "kind:kernel";
  if (is(analyzer::StepPart::kCommunication) || is(analyzer::StepPart::kWaiting))
    return "kind:collective";
  return is(analyzer::StepPart::kCopies) ? "kind:memcpy" : "";
}

std::string amount_of(Metric const& metric, double value) {
  if (metric.family == MetricFamily::kMemory)
    return base::format_bytes(static_cast<uint64_t>(std::clamp(value, 0.0, 1e18)));
  return base::format_duration(std::llround(std::clamp(value, -9e18, 9e18)));
}

std::string change_of(Metric const& metric) {
  double const change = metric.change.candidate_mean - metric.change.base_mean;
  if (metric.family != MetricFamily::kMemory) return reports::signed_duration(change);
  return (change < 0 ? "-" : "+") + amount_of(metric, std::abs(change));
}

std::string interval_of(Metric const& metric) {
  if (metric.change.method == analyzer::CompareMethod::kNone) return "–";
  if (metric.change.base_mean > 0) return reports::interval_text(metric.change);
  return fmt::format("{} to {}", reports::signed_duration(metric.change.shift.low),
                     reports::signed_duration(metric.change.shift.high));
}

/// The name of a line, which can be clicked where it has a query.
void change_name_cell(RunPair& pair, std::string const& name, std::string const& query, int id,
                      Theme theme, decltype(fit)* fit_name = fit) {
  ImGui::TableNextColumn();
  ImGui::PushID(id);

  ImVec2 const at = ImGui::GetCursorScreenPos();
  std::string const shown = fit_name(name, ImGui::GetContentRegionAvail().x);
  bool const is_searched = !query.empty() && pair.front().state.search.text == query;

  if (ImGui::Selectable("##change", is_searched, ImGuiSelectableFlags_SpanAllColumns) &&
      !query.empty())
    pair.highlight(query);
  hint(query.empty() ? name : name + "\nA click lets these ops stand out in both runs");
  ImGui::PopID();
  draw_text(*ImGui::GetWindowDrawList(), at,
            query.empty() ? surface(theme).text_dim : surface(theme).text, shown);
}

/// What the table is sorted by: the comparison's order, unless the person asked for another.
struct SortedBy {
  int column = -1;
  bool ascending = false;
};
SortedBy sorted_by() {
  ImGuiTableSortSpecs const* const specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || specs->SpecsCount == 0) return {};
  return {specs->Specs[0].ColumnIndex,
          specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending};
}

/// `key(row, column)`: a number; names are sorted by `name(row)`.
template <class Row, class Name, class Number>
void sort_changes(std::vector<Row>& rows, Name name, Number number) {
  auto const [column, ascending] = sorted_by();
  if (column < 0) return;

  bool const up = ascending;
  int const by = column;
  std::stable_sort(rows.begin(), rows.end(), [&](Row const& a, Row const& b) {
    Row const& low = up ? a : b;
    Row const& high = up ? b : a;
    return by == 0 ? name(low) < name(high) : number(low, by) < number(high, by);
  });
}

constexpr ImGuiTableFlags kChangeTable = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY |
                                         ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate |
                                         ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_Resizable;

void number_column(char const* title, float width, bool is_default = false) {
  ImGui::TableSetupColumn(title,
                          ImGuiTableColumnFlags_WidthFixed |
                              ImGuiTableColumnFlags_PreferSortDescending |
                              (is_default ? ImGuiTableColumnFlags_DefaultSort : 0),
                          width * ui_scale());
}

double relative_change(double change, double of) {
  if (of > 0) return change / of;
  return change > 0 ? HUGE_VAL : 0;
}

struct KernelLine {
  size_t index = 0;  ///< of Comparison::kernels
  Metric const* call = nullptr;
};

double kernel_number(KernelChange const& kernel, Metric const* call, int column) {
  switch (column) {
    case 1:
      return kernel.base_ns;
    case 2:
      return kernel.candidate_ns;
    case 4:
      return relative_change(kernel.candidate_ns - kernel.base_ns, kernel.base_ns);
    case 5:
      return kernel.candidate_calls;
    case 6:
      return call == nullptr ? 0
                             : relative_change(call->change.candidate_mean - call->change.base_mean,
                                               call->change.base_mean);
    default:
      return std::abs(kernel.candidate_ns - kernel.base_ns);
  }
}

std::string calls_of(KernelChange const& kernel) {
  std::string const before = fmt::format("{:.4g}", kernel.base_calls);
  std::string const after = fmt::format("{:.4g}", kernel.candidate_calls);
  return before == after ? after : fmt::format("{} → {}", before, after);
}

/// How a call changed: what the colour in the timeline says.
void call_cell(KernelChange const& kernel, Metric const* call, Theme theme) {
  ImGui::TableNextColumn();
  ChangeMark mark = call == nullptr ? ChangeMark::kUnknown : mark_of(*call);
  if (kernel.where == KernelChange::Where::kNew) mark = ChangeMark::kNew;
  if (kernel.where == KernelChange::Where::kVanished) mark = ChangeMark::kVanished;

  swatch(mark_colour(mark, theme));
  if (kernel.where != KernelChange::Where::kBoth) {
    text(mark_words(mark));
  } else if (call == nullptr) {
    text_coloured("not compared", surface(theme).text_dim);
    hint("Calls are compared only for kernels whose names are unique in both runs");
  } else {
    text(fmt::format("{} {}",
                     reports::signed_share(call->change.candidate_mean - call->change.base_mean,
                                           call->change.base_mean),
                     reports::verdict_word(*call)));
    hint(fmt::format("A call: {} → {}; 95 % interval {}", amount_of(*call, call->change.base_mean),
                     amount_of(*call, call->change.candidate_mean), interval_of(*call)));
  }
}

std::string kernel_words(KernelChange const& kernel) {
  return kernel.name.empty() ? "further kernels" : printable_name(kernel.name);
}

void kernel_changes_table(RunPair& pair, RunDifference const& difference, Theme theme) {
  Comparison const& comparison = *difference.comparison;
  if (!ImGui::BeginTable("kernel changes", 7, kChangeTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Kernel, per step and device", ImGuiTableColumnFlags_WidthStretch);
  number_column("Base", 60);
  number_column("New", 60);
  number_column("Change", 70, true);
  number_column("%", 56);
  number_column("Calls", 56);
  number_column("A call", 114);
  header_row(1);

  std::vector<KernelLine> lines;
  for (size_t i = 0; i < comparison.kernels.size(); ++i) {
    auto const metric = difference.kernel_metrics[i];
    lines.push_back({i, metric ? &comparison.metrics[*metric] : nullptr});
  }
  sort_changes(
      lines,
      [&](KernelLine const& line) { return std::string_view(comparison.kernels[line.index].name); },
      [&](KernelLine const& line, int column) {
        return kernel_number(comparison.kernels[line.index], line.call, column);
      });

  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(lines.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      KernelLine const& line = lines[static_cast<size_t>(i)];
      KernelChange const& kernel = comparison.kernels[line.index];
      double const change = kernel.candidate_ns - kernel.base_ns;
      ImGui::TableNextRow();

      std::string const name = kernel_words(kernel);
      change_name_cell(pair, name, kernel.name.empty() ? "" : query_for(name),
                       static_cast<int>(line.index), theme, fit_kernel);

      uint32_t const colour = surface(theme).text;
      change_cell(base::format_duration(std::llround(kernel.base_ns)), colour);
      change_cell(base::format_duration(std::llround(kernel.candidate_ns)), colour);
      change_cell(reports::signed_duration(change), colour);
      change_cell(reports::signed_share(change, kernel.base_ns), colour);
      change_cell(calls_of(kernel),
                  kernel.base_calls == kernel.candidate_calls ? surface(theme).text_dim : colour);
      call_cell(kernel, line.call, theme);
    }
  ImGui::EndTable();
}

double range_change_number(analyzer::RangeChange const& range, int column) {
  double const change = range.candidate_ns - range.base_ns;
  std::array const numbers = {0.0, range.base_ns, range.candidate_ns, change,
                              range.base_ns > 0 ? change / range.base_ns : 0};
  return numbers[static_cast<size_t>(column)];
}

/// Changes of ranges, for programs without a device.
void range_changes_table(RunPair& pair, Comparison const& comparison, Theme theme) {
  if (!ImGui::BeginTable("range changes", 5, kChangeTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Own time of a range, per step", ImGuiTableColumnFlags_WidthStretch);
  number_column("Base", 60);
  number_column("New", 60);
  number_column("Change", 70, true);
  number_column("%", 56);
  header_row(1);

  std::vector<analyzer::RangeChange const*> ranges;
  for (analyzer::RangeChange const& range : comparison.ranges) ranges.push_back(&range);
  sort_changes(
      ranges, [](auto const* range) { return std::string_view(range->name); },
      [](auto const* range, int column) { return range_change_number(*range, column); });

  int line = 0;
  for (analyzer::RangeChange const* const range : ranges) {
    double const change = range->candidate_ns - range->base_ns;
    std::string const name = printable_name(range->name);
    uint32_t const colour = surface(theme).text;

    ImGui::TableNextRow();
    change_name_cell(pair, name, query_for(name), line++, theme);
    change_cell(base::format_duration(std::llround(range->base_ns)), colour);
    change_cell(base::format_duration(std::llround(range->candidate_ns)), colour);
    change_cell(reports::signed_duration(change), colour);
    change_cell(reports::signed_share(change, range->base_ns), colour);
  }
  ImGui::EndTable();
}

double metric_number(Metric const& metric, int column) {
  double const change = metric.change.candidate_mean - metric.change.base_mean;
  switch (column) {
    case 1:
      return metric.change.base_mean;
    case 2:
      return metric.change.candidate_mean;
    case 4:
    case 5:
      return relative_change(change, metric.change.base_mean);
    case 6:
      return static_cast<double>(metric.verdict);
    default:
      return std::abs(change);
  }
}

/// The numbers of some families; the comparison's order where no other is asked for.
void metrics_table(RunPair& pair, std::vector<Metric const*> metrics, char const* id,
                   char const* title, Theme theme) {
  if (!ImGui::BeginTable(id, 7, kChangeTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthStretch);
  number_column("Base", 60);
  number_column("New", 60);
  number_column("Change", 70);
  number_column("%", 56);
  number_column("95 % interval", 132);
  number_column("Verdict", 56);
  header_row(1);

  sort_changes(
      metrics, [](Metric const* metric) { return reports::metric_label(*metric); },
      [](Metric const* metric, int column) { return metric_number(*metric, column); });

  int line = 0;
  for (Metric const* const metric : metrics) {
    ImGui::TableNextRow();
    uint32_t const colour = surface(theme).text;
    double const change = metric->change.candidate_mean - metric->change.base_mean;

    change_name_cell(pair, printable_name(reports::metric_label(*metric)), query_of_class(*metric),
                     line++, theme);
    change_cell(amount_of(*metric, metric->change.base_mean), colour);
    change_cell(amount_of(*metric, metric->change.candidate_mean), colour);
    change_cell(change_of(*metric), colour);
    change_cell(reports::signed_share(change, metric->change.base_mean), colour);
    change_cell(interval_of(*metric), surface(theme).text_dim);
    change_cell(std::string(reports::verdict_word(*metric)),
                verdict_colour(metric->verdict, theme));
  }
  ImGui::EndTable();
}

std::vector<Metric const*> metrics_of(Comparison const& comparison, bool of_collectives) {
  std::vector<Metric const*> metrics;
  for (Metric const& metric : comparison.metrics) {
    bool const is_class = metric.family == MetricFamily::kStep ||
                          metric.family == MetricFamily::kPart ||
                          metric.family == MetricFamily::kMemory;
    if (of_collectives ? metric.family == MetricFamily::kCollective : is_class)
      metrics.push_back(&metric);
  }
  return metrics;
}

void table_choice(RunPair& pair, bool of_hosts, Theme theme) {
  struct Choice {
    ChangeTable table;
    char const* name;
  };

  for (Choice const choice : {Choice{ChangeTable::kKernels, of_hosts ? "By range" : "By kernel"},
                              Choice{ChangeTable::kClasses, "By class"},
                              Choice{ChangeTable::kCollectives, "Collectives"}}) {
    if (of_hosts && choice.table == ChangeTable::kCollectives) continue;
    bool const is_shown = pair.table == choice.table;

    ImGui::PushStyleColor(ImGuiCol_Button,
                          is_shown ? surface(theme).line_strong : surface(theme).background);
    if (ImGui::SmallButton(choice.name)) pair.table = choice.table;
    ImGui::PopStyleColor();
    ImGui::SameLine(0, 4 * ui_scale());
  }
  ImGui::NewLine();
}

void change_tables(RunPair& pair, RunDifference const& difference, Theme theme) {
  Comparison const& comparison = *difference.comparison;
  table_choice(pair, comparison.of_hosts, theme);

  switch (pair.table) {
    case ChangeTable::kKernels:
      if (comparison.of_hosts)
        range_changes_table(pair, comparison, theme);
      else
        kernel_changes_table(pair, difference, theme);
      return;
    case ChangeTable::kClasses:
      metrics_table(pair, metrics_of(comparison, false), "class changes",
                    comparison.of_hosts ? "Per step" : "Per step and device", theme);
      return;
    case ChangeTable::kCollectives: {
      auto metrics = metrics_of(comparison, true);
      if (metrics.empty())
        return empty_state("No collective of one kind and size is in both runs.", theme);
      metrics_table(pair, std::move(metrics), "collective changes",
                    "Transfer of one, without waiting", theme);
      return;
    }
  }
}

}  // namespace

void comparison_panel(PanelScope const& scope) {
  if (scope.pair == nullptr) return;

  RunPair& pair = *scope.pair;

  Theme const theme = pair.front().state.theme;
  RunDifference const* const difference = pair.difference();
  if (difference == nullptr) return empty_state(pair.waits_for(), theme);
  if (!difference->comparison)
    return empty_state(
        "The comparison does not fit into memory: compare parts of the runs "
        "(stepscope slice).",
        theme);

  Comparison const& comparison = *difference->comparison;
  if (comparison.refusal) {
    push_bold();
    say("Cannot be compared: " + reports::refusal_text(comparison), surface(theme).warning);
    pop_bold();
    say("Both runs are still shown next to each other.", surface(theme).text_dim);
    return;
  }

  ImGui::BeginChild("what changed", ImVec2(ImGui::GetContentRegionAvail().x * 0.38F, 0));
  verdict_lines(pair, comparison, theme);
  why_table(comparison, theme);
  ImGui::Spacing();
  for (std::string const& note : reports::comparison_notes(comparison))
    say("• " + note, surface(theme).text_dim);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * ui_scale());
  ImGui::BeginChild("changes", ImVec2(0, 0));
  change_tables(pair, *difference, theme);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
