// Memory of the devices: peaks, growth, room for more, and owners.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

constexpr size_t kPurposes = 7;
/// Owners listed under the curve; the table of all devices has the analyzer's list.
constexpr size_t kOwnersShown = 6, kOwnerRows = 200;

/// Signed, as growth is.
Cell growth_cell(std::optional<double> bytes) {
  if (!bytes || !(std::fabs(*bytes) < 9e18)) return none_cell();
  std::string const size =
      base::format_bytes(static_cast<uint64_t>(std::llround(std::fabs(*bytes))));
  return number_cell((*bytes <= -0.5 ? "−" : "") + size, *bytes);
}

std::string memory_table(Page const& page) {
  std::array<bool, kPurposes> used{};
  for (analyzer::DeviceStats const& device : page.analysis.devices)
    for (size_t i = 0; i < kPurposes; ++i)
      used[i] = used[i] || device.memory.by_purpose_at_peak[i] > 0;

  Table table("memory-table", "Memory of each device");
  table.text("Device")
      .number("Capacity")
      .if_known()
      .number("Peak reserved", "Memory that the allocator holds from the driver")
      .if_known();
  table.number("Peak allocated", "Live bytes")
      .if_known()
      .number("Headroom", "Capacity − peak reserved")
      .if_known();

  for (size_t i = 0; i < kPurposes; ++i)
    if (used[i])
      table.number(model::to_string(static_cast<model::MemoryPurpose>(i)),
                   "Live bytes at the peak");

  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    if (table.size() == kMaxDeviceRows) break;
    analyzer::MemoryStats const& memory = device.memory;
    std::vector<Cell> cells = {
        label_cell(device_label(page.run, device.ref)), bytes_cell(memory.capacity_bytes),
        bytes_cell(memory.peak_reserved_bytes), bytes_cell(memory.peak_allocated_bytes),
        bytes_cell(memory.headroom_bytes())};
    for (size_t i = 0; i < kPurposes; ++i)
      if (used[i])
        cells.push_back(memory.peak_allocated_bytes ? bytes_cell(memory.by_purpose_at_peak[i])
                                                    : none_cell());

    table.row(std::move(cells));
  }

  return table.html() + and_more(table.size(), page.analysis.devices.size(), "device");
}

/// "×" and two digits: an estimate.
Cell factor_cell(std::optional<double> factor) {
  return factor && std::isfinite(*factor)
             ? number_cell(base::format_significant(*factor, 2) + " ×", *factor)
             : none_cell();
}

std::string memory_room_table(Page const& page) {
  Table table("memory-room-table", "Room for more, and what takes it");
  table.text("Device");

  table
      .number("Batch that fits",
              "× the current batch: "
              "activations, and all memory not known to be constant, grow with it")
      .if_known();
  table
      .number("Fragmentation",
              "1 − largest free block / all free memory, when most memory is reserved")
      .if_known();
  table
      .number("Worst fragmentation",
              "In measured steps, when most bytes are free outside of the largest free block")
      .if_known();

  table.number("Free in fragments", "This fragmentation in bytes").if_known();
  table
      .number("Reserved for fragmentation",
              "Reserved for allocations although enough memory was free in total")
      .if_known();

  table.number("Retries", "Allocations for which the allocator first released cached memory")
      .if_known();
  table.number("Page-locking calls a step", "Calls that page-lock or release host memory")
      .if_known();

  bool any = false;
  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    if (table.size() == kMaxDeviceRows) break;
    analyzer::MemoryStats const& memory = device.memory;

    std::vector<Cell> cells = {label_cell(device_label(page.run, device.ref)),
                               factor_cell(memory.batch_factor),
                               share_cell(memory.fragmentation),
                               share_cell(memory.worst_fragmentation),
                               bytes_cell(memory.stranded_bytes),
                               bytes_cell(memory.fragmented_growth_bytes),
                               memory.retries ? count_cell(*memory.retries) : none_cell(),
                               measure_cell(memory.pinning_calls_per_step, "")};

    any = any || std::any_of(cells.begin() + 1, cells.end(),
                             [](Cell const& cell) { return cell.is_known; });
    table.row(std::move(cells));
  }

  return any ? subheading("Room for more, and what takes it") + table.html() +
                   and_more(table.size(), page.analysis.devices.size(), "device")
             : "";
}

void add_growth(Page const& page, Table& table, analyzer::DeviceStats const& device,
                std::string_view what, std::optional<double> growth,
                std::optional<analyzer::MemoryForecast> const& forecast) {
  // Less than a byte a step is the arithmetic's noise.
  bool const grows = growth && std::fabs(*growth) >= 1;
  if ((!grows && !forecast) || table.size() >= kMaxDeviceRows) return;

  auto const steps = [](double count) {
    return std::isfinite(count) && count < 1e15
               ? base::format_count(static_cast<uint64_t>(std::max(count, 0.0)))
               : "∞";
  };

  table.row({label_cell(device_label(page.run, device.ref)), label_cell(tr(what)),
             growth_cell(growth),
             forecast ? growth_cell(1.96 * forecast->standard_error_bytes) : none_cell(),
             forecast ? number_cell(steps(forecast->steps), forecast->steps) : none_cell(),
             forecast ? number_cell(fmt::format("{} – {}", steps(forecast->earliest_steps),
                                                steps(forecast->latest_steps)),
                                    forecast->earliest_steps)
                      : none_cell(),
             forecast ? ns_cell(forecast->time_ns) : none_cell()});
}

std::string memory_growth_table(Page const& page) {
  Table table("memory-growth-table", "Memory that grows from step to step");
  table.text("Device")
      .text("What grows")
      .number("A step", "Slope by least squares, without warm-up");

  table.number("±", "95 %, by the slope's standard error").if_known();
  table.number("Steps until full", "From the last step, if the growth continues").if_known();
  table.number("At 95 %", "At the bounds of the slope's 95 % interval")
      .if_known()
      .number("Time until full")
      .if_known();

  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    analyzer::MemoryStats const& memory = device.memory;
    add_growth(page, table, device, "least allocated", memory.floor_growth_bytes_per_step,
               memory.floor_forecast);
    add_growth(page, table, device, "reserved", memory.reserved_growth_bytes_per_step,
               memory.reserved_forecast);
  }

  return table.size() == 0 ? "" : subheading("Growth") + table.html();
}

/// Live bytes of one owner; nothing for none.
void add_owner(Page const& page, Table& table, bool with_device,
               analyzer::DeviceStats const& device, std::string_view name, bool is_from_trace,
               uint64_t bytes) {
  if (bytes == 0 || table.size() >= kOwnerRows) return;

  auto const all =
      static_cast<double>(std::max<uint64_t>(device.memory.peak_allocated_bytes.value_or(1), 1));
  std::vector<Cell> cells = {is_from_trace ? name_cell(name) : text_cell(tr(name)),
                             bytes_cell(bytes),
                             meter_cell("m-activations", static_cast<double>(bytes) / all)};

  if (with_device) cells.insert(cells.begin(), label_cell(device_label(page.run, device.ref)));
  table.row(std::move(cells));
}

Table owners_columns(std::string_view id, bool with_device) {
  Table table(id, "Owners of memory at the peak");
  if (with_device) table.text("Device");
  table.text("Owner", "The allocation's own name, else the range around it").number("Bytes");
  table.number("Share", "Share of peak allocated");
  return table;
}

/// The fullest device's largest owners, then all in a block of their own.
std::string memory_owners(Page const& page) {
  analyzer::DeviceStats const* fullest = nullptr;
  Table all = owners_columns("memory-all-owners-table", true);
  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    auto const& owners = device.memory.peak_owners;
    if (!owners || !device.memory.peak_allocated_bytes) continue;
    if (fullest == nullptr ||
        *device.memory.peak_allocated_bytes > *fullest->memory.peak_allocated_bytes)
      fullest = &device;

    for (auto const& owner : owners->owners)
      add_owner(page, all, true, device, owner.name, true, owner.bytes);
    add_owner(page, all, true, device, "others", false, owners->other_bytes);
    add_owner(page, all, true, device, "before the recording", false,
              owners->before_recording_bytes);
  }

  if (fullest == nullptr) return {};
  analyzer::MemoryOwners const& owners = *fullest->memory.peak_owners;
  Table most = owners_columns("memory-owners-table", false);
  uint64_t others = owners.other_bytes;

  for (size_t i = 0; i < owners.owners.size(); ++i) {
    if (i < kOwnersShown)
      add_owner(page, most, false, *fullest, owners.owners[i].name, true, owners.owners[i].bytes);
    else
      others += owners.owners[i].bytes;
  }
  add_owner(page, most, false, *fullest, "others", false, others);
  add_owner(page, most, false, *fullest, "before the recording", false,
            owners.before_recording_bytes);

  std::string body =
      subheading(tr("Owners of memory at the peak of {}", device_label(page.run, fullest->ref))) +
      most.html();
  if (all.size() > most.size())
    body += folded(tr("All owners, by device ({})", all.size()), all.html());

  return body;
}

/// Rows of the curve's own table; the chart has more points, the JSON of a run has none of them.
constexpr size_t kCurveRows = 60;

std::string memory_curve_table(Page const& page) {
  Table table("memory-curve-table", "Memory over time, thinned");
  table.text("Device")
      .number("Time", "Since the first event of the run")
      .number("Allocated")
      .number("Reserved");

  for (analyzer::DeviceStats const* device : fullest_devices(page.analysis))
    for (size_t const i : thinned_memory(device->memory.timeline, kCurveRows)) {
      if (table.size() >= kMaxTableRows) break;
      auto const& point = device->memory.timeline[i];

      table.row({label_cell(device_label(page.run, device->ref)),
                 number_cell(format_instant(point.time_ns - page.range.begin),
                             static_cast<double>(point.time_ns)),
                 bytes_cell(point.allocated_bytes), bytes_cell(point.reserved_bytes)});
    }

  return table.html();
}

}  // namespace

SectionHtml memory_section(Page const& page) {
  if (is_about_host(page)) return {};
  bool const any = std::any_of(
      page.analysis.devices.begin(), page.analysis.devices.end(), [](auto const& device) {
        return device.memory.peak_allocated_bytes || device.memory.peak_reserved_bytes ||
               !device.memory.timeline.empty();
      });
  if (!any)
    return lacks(
        "The recording has no allocations of device memory, so there is no curve and no peak.");

  std::string body;
  bool const is_curve =
      std::any_of(page.analysis.devices.begin(), page.analysis.devices.end(),
                  [](auto const& device) { return !device.memory.timeline.empty(); });
  if (is_curve) {
    body += chart("memory", "Memory by purpose",
                  "Allocated bytes after every allocation and free, "
                  "stacked by the purpose that the program or its framework reported; "
                  "thinned out so that every peak remains. The line is the reserved memory.");
    body += folded("Data as a table", memory_curve_table(page));
  } else {
    body += empty_note("The recording has no single allocations, only these peaks.");
  }
  if (is_curve && page.analysis.devices.size() > kMaxMemoryCurves)
    body += note(tr("Curves of the {} devices with the highest peaks.", kMaxMemoryCurves));

  body += memory_table(page) + memory_growth_table(page) + memory_room_table(page) +
          memory_owners(page);
  body += how_computed(
      "Reserved is the memory that the allocator holds from the driver; "
      "allocated is the part in use. Growth is the slope over the steps; "
      "there is a forecast only if the growth is significant. "
      "The batch that fits would fill 90 % of the capacity, if weights, "
      "gradients and optimizer state stay constant and all else grows with the batch. "
      "Owners at the peak are named by the allocation itself, "
      "else by the range of the program around it.");
  return section("memory", "Memory", body);
}

}  // namespace stepscope::reports
