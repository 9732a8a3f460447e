#include "reports/html/page_data.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analyzer/metrics/communication/bandwidth_series.h"
#include "analyzer/metrics/communication/wait_matrix.h"
#include "analyzer/metrics/critical_path/path_step_groups.h"
#include "analyzer/metrics/steps/step_lengths.h"
#include "reports/html/timeline_data.h"
#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

using PageJson = nlohmann::json;

/// Bars that a chart of 1,000 px can tell apart; more steps are averaged in groups of neighbours.
constexpr size_t kMaxBars = 400;
constexpr size_t kMemoryBuckets = 400;
/// Bars of all devices' steps together, so that pages of large jobs stay small; each device has at
/// least kLeastBars.
constexpr size_t kAllBars = 12'800, kLeastBars = 16;
constexpr size_t kMaxBandwidthPoints = 1'500;
/// Bars of devices below each other; more are a screen of their own.
constexpr size_t kMaxWaitBars = 32;

PageJson steps_of(Page const& page, std::vector<StepPeriod> const& periods,
                  analyzer::DeviceRef ref) {
  size_t const bars = std::clamp(kAllBars / page.analysis.devices.size(), kLeastBars, kMaxBars);
  std::vector<analyzer::StepGroup> const groups = analyzer::step_groups(periods, ref, bars);

  PageJson first = PageJson::array(), last = PageJson::array();
  for (analyzer::StepGroup const& group : groups) {
    first.push_back(group.first);
    last.push_back(group.last);
  }

  PageJson by_part = PageJson::object();
  for (int p = 0; p < kPartCount; ++p) {
    PageJson values = PageJson::array();
    bool any = false;
    for (analyzer::StepGroup const& group : groups) {
      int64_t const ns = group.parts_ns[static_cast<size_t>(p)];
      values.push_back(ns);
      any = any || ns != 0;
    }
    if (any) by_part[std::string(part(p).key)] = std::move(values);
  }

  return {{"device", device_label(page.run, ref)},
          {"first", first},
          {"last", last},
          {"parts", by_part}};
}

PageJson steps_data(Page const& page) {
  PageJson devices = PageJson::array();
  std::vector<StepPeriod> const periods = step_periods(page.analysis);
  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    PageJson steps = steps_of(page, periods, device.ref);
    if (!steps["first"].empty()) devices.push_back(std::move(steps));
  }
  return devices;
}

PageJson memory_data(Page const& page) {
  PageJson devices = PageJson::array();
  for (analyzer::DeviceStats const* fullest : fullest_devices(page.analysis)) {
    analyzer::DeviceStats const& device = *fullest;
    auto const& points = device.memory.timeline;
    PageJson times = PageJson::array(), reserved = PageJson::array();

    std::vector<PageJson> purposes(7, PageJson::array());
    for (size_t const i : thinned_memory(points, kMemoryBuckets)) {
      analyzer::MemoryPoint const point = points[i];
      times.push_back(point.time_ns - page.range.begin);
      reserved.push_back(point.reserved_bytes);
      for (size_t p = 0; p < purposes.size(); ++p) purposes[p].push_back(point.by_purpose[p]);
    }

    PageJson by_purpose = PageJson::object();
    for (size_t p = 0; p < purposes.size(); ++p)
      if (std::any_of(purposes[p].begin(), purposes[p].end(),
                      [](PageJson const& bytes) { return bytes.get<uint64_t>() != 0; }))
        by_purpose[model::to_string(static_cast<model::MemoryPurpose>(p))] = std::move(purposes[p]);

    auto const& capacity = device.memory.capacity_bytes;
    devices.push_back({{"device", device_label(page.run, device.ref)},
                       {"capacity", capacity ? PageJson(*capacity) : PageJson(nullptr)},
                       {"end", page.range.length()},
                       {"times", times},
                       {"reserved", reserved},
                       {"purposes", by_purpose}});
  }

  return devices;
}

PageJson bandwidth_points(std::vector<analyzer::BandwidthSeries::Point> const& points) {
  PageJson result = PageJson::array();
  for (analyzer::BandwidthSeries::Point const& point : points)
    result.push_back({point.bytes, point.bus_gbps});
  return result;
}

PageJson bandwidth_data(Page const& page) {
  PageJson result = PageJson::array();
  for (analyzer::BandwidthSeries const& series :
       analyzer::bandwidth_series(page.analysis, kMaxBandwidthPoints))
    result.push_back({{"op", model::to_string(series.op)},
                      {"communicator", std::to_string(series.communicator)},
                      {"points", bandwidth_points(series.points)},
                      {"fit", bandwidth_points(series.fit)}});
  return result;
}

/// The path in each step, as one device's steps; null where there is nothing to compare.
PageJson path_data(Page const& page) {
  auto const& path = page.analysis.critical_path;
  if (!path || path->steps.size() < 2) return nullptr;

  std::vector<analyzer::PathStepGroup> const groups = analyzer::path_step_groups(*path, kMaxBars);
  PageJson first = PageJson::array(), last = PageJson::array();
  for (analyzer::PathStepGroup const& group : groups) {
    first.push_back(group.first);
    last.push_back(group.last);
  }

  PageJson by_part = PageJson::object(), parts = PageJson::array();
  for (size_t c = 0; c < path->by_class.size(); ++c) {
    PageJson values = PageJson::array();
    bool any = false;
    for (analyzer::PathStepGroup const& group : groups) {
      values.push_back(std::llround(group.mean_ns[c]));
      any = any || group.mean_ns[c] > 0;
    }

    if (!any) continue;
    Part const& words = path_part(static_cast<analyzer::PathClass>(c));
    parts.push_back({{"key", words.key}, {"label", words.label}, {"idle", words.idle}});
    by_part[std::string(words.key)] = std::move(values);
  }

  return {
      {"parts", parts},
      {"steps",
       {{"device", tr("critical path")}, {"first", first}, {"last", last}, {"parts", by_part}}}};
}

PageJson waits_data(Page const& page) {
  PageJson waits = PageJson::array();
  for (analyzer::DeviceWait const& wait : analyzer::longest_waits(page.analysis, kMaxWaitBars))
    if (wait.lost_ns)
      waits.push_back({{"device", device_label(page.run, wait.ref)}, {"ns", *wait.lost_ns}});
  return waits;
}

/// Null where there is nothing to compare.
PageJson step_waits_data(Page const& page) {
  analyzer::StepWaitMatrix const matrix = analyzer::step_wait_matrix(page.analysis);
  if (matrix.rows.empty()) return nullptr;

  PageJson first = PageJson::array(), last = PageJson::array(), devices = PageJson::array(),
           ns = PageJson::array();
  for (analyzer::StepWaitMatrix::Column const& column : matrix.columns) {
    first.push_back(column.first);
    last.push_back(column.last);
  }
  for (analyzer::StepWaitMatrix::Row const& row : matrix.rows) {
    devices.push_back(device_label(page.run, row.ref));
    ns.push_back(row.ns);
  }
  return {{"devices", devices}, {"first", first}, {"last", last}, {"ns", ns}};
}

PageJson parts_data() {
  PageJson parts = PageJson::array();
  for (int i = 0; i < kPartCount; ++i)
    parts.push_back(
        {{"key", part(i).key},
         {"label", std::string(part(i).idle ? tr("idle: ") : "") + std::string(part(i).label)},
         {"idle", part(i).idle}});
  return parts;
}

}  // namespace

std::string page_data(Page const& page) {
  PageJson const data = {{"perStep", page.summary.has_steps}, {"parts", parts_data()},
                         {"steps", steps_data(page)},         {"memory", memory_data(page)},
                         {"bandwidth", bandwidth_data(page)}, {"waits", waits_data(page)},
                         {"waitMap", step_waits_data(page)},  {"path", path_data(page)}};
  // The timeline is most of the data and flat numbers: written directly.
  std::string text = data.dump(-1, ' ', false, PageJson::error_handler_t::replace);
  text.pop_back();
  return text + ",\"timeline\":" + page.timeline.json + "}";
}

}  // namespace stepscope::reports
