// Where device time goes by what it ran for: kernels by name, framework operation and layer;
// operations that could take less.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyzer/metrics/work/totals_over_devices.h"
#include "reports/html/bars.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/kernel_label.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Ranges in a table by operation or layer; what follows takes next to nothing.
constexpr size_t kOpRows = 150;

Cell rate_cell(std::optional<double> flops) {
  if (!flops || !std::isfinite(*flops)) return none_cell();
  return *flops >= 1e12 ? number_cell(fmt::format("{:.3g} TFLOP/s", *flops / 1e12), *flops)
                        : number_cell(fmt::format("{:.3g} GFLOP/s", *flops / 1e9), *flops);
}

Cell tensor_cores_cell(std::optional<bool> used) {
  if (!used) return none_cell();
  return number_cell(tr(*used ? "yes" : "no"), *used ? 1 : 0);
}

/// Columns of a kernel's name; more of it is its tooltip.
constexpr size_t kLongestLabel = 120;
/// Rows by name: their names and columns are long.
constexpr size_t kKernelRows = 250;

/// The rows with most time, in the analyzer's order: where there are more than a page should carry,
/// the small ones go.
std::vector<analyzer::KernelStats const*> shown_kernels(analyzer::Analysis const& analysis) {
  std::vector<analyzer::KernelStats const*> rows;
  for (analyzer::KernelStats const& kernel : analysis.kernels) rows.push_back(&kernel);

  if (rows.size() <= kKernelRows) return rows;
  std::nth_element(rows.begin(), rows.begin() + std::ptrdiff_t{kKernelRows}, rows.end(),
                   [](auto const* a, auto const* b) {
                     return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a < b;
                   });

  rows.resize(kKernelRows);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Cell> kernel_row(Page const& page, analyzer::KernelStats const& kernel, Cell name) {
  return {std::move(name),
          label_cell(device_label(page.run, kernel.ref)),
          text_cell(tr(model::kind_info(kernel.kind).name)),
          count_cell(kernel.count),
          ns_cell(kernel.total_ns),
          share_cell(kernel.share),
          ns_cell(kernel.median_ns),
          ns_cell(kernel.p95_ns),
          ns_cell(kernel.max_ns),
          tensor_cores_cell(kernel.tensor_cores),
          share_cell(kernel.small_grid_share),
          kernel.occupancy_percent ? share_cell(*kernel.occupancy_percent / 100) : none_cell(),
          rate_cell(kernel.flops_rate),
          share_cell(kernel.peak_share),
          kernel.bytes_rate && std::isfinite(*kernel.bytes_rate)
              ? number_cell(base::format_bandwidth(*kernel.bytes_rate), *kernel.bytes_rate)
              : none_cell(),
          measure_cell(kernel.flops_per_byte, "")};
}

std::string kernels_table(Page const& page) {
  Table table("kernels-table", "Device operations by name");
  table.text("Name").text("Device").text("Kind").number("Calls").number("Total",
                                                                        "Sum of durations");

  table.number("Share", "Share of the device's summed operation time")
      .number("Median")
      .number("p95")
      .number("Max");

  table.number("Tensor cores",
               "Whether the kernel uses them, by its name; "
               "– if it is no matrix product or its name does not show it");
  table.if_known()
      .number("Small grid", "Share of kernel time in launches with fewer blocks than SMs")
      .if_known();

  table
      .number("Occupancy", "Estimated from the launch parameters, time-weighted mean; not measured")
      .if_known();
  table.number("Rate", "Floating-point operations / time")
      .if_known()
      .number("Share of peak", "Rate / the device's peak")
      .if_known();
  table.number("Memory rate", "Least memory traffic / time").if_known();
  table.number("FLOP / byte", "Arithmetic intensity").if_known();

  auto const shown = shown_kernels(page.analysis);
  std::vector<std::string> names;
  for (analyzer::KernelStats const* kernel : shown) names.push_back(kernel->name);
  std::vector<std::string> const labels = kernel_labels(names, kLongestLabel);

  for (size_t i = 0; i < shown.size(); ++i)
    table.row(kernel_row(page, *shown[i], name_cell(labels[i], shown[i]->name)));

  table.searchable();
  table.filter_by(1);
  return table.html() + and_more(table.size(), page.analysis.kernels.size(), "row");
}

char const* op_words(analyzer::OpStats::What what) {
  switch (what) {
    case analyzer::OpStats::What::kRange:
      return "";
    case analyzer::OpStats::What::kOutside:
      return "launched in no range";
    case analyzer::OpStats::What::kUnlaunched:
      return "the launch is not in the recording";
    case analyzer::OpStats::What::kRest:
      break;
  }
  return "further ranges together";
}

std::string ops_table(Page const& page, analyzer::OpStats::Level level) {
  std::vector<analyzer::OpTotal> const sums = analyzer::op_totals(page.analysis, level);
  bool const is_op = level == analyzer::OpStats::Level::kOp;
  bool const is_range_known =
      std::any_of(sums.begin(), sums.end(), [](analyzer::OpTotal const& sum) {
        return sum.first->what == analyzer::OpStats::What::kRange;
      });
  if (!is_range_known) return {};

  bool const several = page.analysis.devices.size() > 1;
  Table table(is_op ? "ops-table" : "layers-table",
              is_op ? "Device time by the innermost host range around the launch"
                    : "Device time by the layer that launched it");

  table.text(is_op ? "Operation" : "Layer");
  table.number("Device operations")
      .number("Total", "Sum of durations, over all devices")
      .number("Share", "Share of all devices' sums");
  if (several) table.number("Mean a device").number("Most on one device").text("Which");

  // Operations outside of ranges always end the list, so that the rows sum to all device time.
  size_t ranges = 0, left_out = 0;
  for (analyzer::OpTotal const& sum : sums) {
    bool const is_range = sum.first->what == analyzer::OpStats::What::kRange;
    if (is_range && ++ranges > kOpRows) {
      ++left_out;
      continue;
    }

    std::vector<Cell> cells = {
        is_range ? name_cell(sum.first->name) : text_cell(tr(op_words(sum.first->what))),
        count_cell(sum.count), ns_cell(sum.total_ns), meter_cell("compute", sum.share)};

    if (several) {
      cells.push_back(ns_cell(sum.total_ns / static_cast<int64_t>(sum.devices)));
      cells.push_back(ns_cell(sum.most_ns));
      cells.push_back(label_cell(device_label(page.run, sum.most_on)));
    }
    table.row(std::move(cells));
  }

  table.searchable();
  return table.html() + and_more(table.size(), table.size() + left_out, "range");
}

struct Slow {
  char const *title, *meaning;
  int64_t analyzer::SlowTime::*ns;
};
constexpr std::array<Slow, 6> kSlow = {
    {{"Matrices without tensor cores", "Only matrix products on plain cores compute",
      &analyzer::SlowTime::simt_matrix_ns},
     {"Small grids", "A kernel with fewer blocks than SMs runs alone",
      &analyzer::SlowTime::small_grid_ns},
     {"Lost by small grids", "Small grids × the share of SMs without a block",
      &analyzer::SlowTime::small_grid_lost_ns},
     {"Serialized streams",
      "A kernel that could run concurrently waits because of the default stream",
      &analyzer::SlowTime::serialized_ns},
     {"Slow copies",
      "Exposed copies of pageable memory, and exposed copies that the host waits for",
      &analyzer::SlowTime::slow_copy_ns},
     {"Copies within the device", "Exposed copies within the device's memory",
      &analyzer::SlowTime::device_copy_ns}}};

std::string slow_table(Page const& page) {
  Table table("slow-table", "Time in operations that could be shorter, whole run");
  table.text("Device");

  for (Slow const& slow : kSlow) table.number(slow.title, slow.meaning).if_known();
  bool any = false;

  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    if (table.size() == kMaxDeviceRows) break;
    std::vector<Cell> cells = {label_cell(device_label(page.run, device.ref))};

    for (Slow const& slow : kSlow) {
      int64_t const ns = device.slow.*slow.ns;
      any = any || ns > 0;
      cells.push_back(ns_cell(ns));
      cells.back().is_known = ns > 0;
    }
    table.row(std::move(cells));
  }

  if (!any) return {};
  return folded(
      "Operations that could be shorter",
      table.html() + note("The rows overlap each other and are not part of a breakdown."));
}

}  // namespace

SectionHtml kernels_section(Page const& page) {
  if (is_about_host(page)) return {};
  if (page.analysis.kernels.empty()) return lacks("No device operation was recorded.");

  std::vector<Tab> tabs = {{"kernels-by-name", "By name", kernels_table(page)}};
  std::string const ops = ops_table(page, analyzer::OpStats::Level::kOp);
  std::string const layers = ops.empty() ? "" : ops_table(page, analyzer::OpStats::Level::kLayer);
  if (!ops.empty()) tabs.push_back({"kernels-by-op", "By operation", ops});
  if (!layers.empty()) tabs.push_back({"kernels-by-layer", "By layer", layers});

  std::string body = tabbed("Kernels by", tabs);
  if (ops.empty())
    body +=
        empty_note("The recording does not show in which host ranges operations were launched.");
  body += slow_table(page);

  body += how_computed(
      "Totals in this section are sums of durations, to rank kernels. "
      "Concurrent streams count twice, so shares refer to the summed time, "
      "not to the step. An operation is the innermost host range around the launch; "
      "a layer is the outermost one, or the innermost module if the framework names "
      "modules. Tensor core use is derived from kernel names. "
      "Occupancy is the number of warps that fit by registers, shared memory and blocks. "
      "Rates are known if the program reported operations and bytes.");

  return section("kernels", "Kernels", body);
}

}  // namespace stepscope::reports
