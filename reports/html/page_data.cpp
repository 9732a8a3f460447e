#include "reports/html/page_data.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "analyzer/metrics/communication/bandwidth_by_size.h"
#include "analyzer/metrics/communication/wait_matrix.h"
#include "reports/html/timeline_data.h"
#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

using PageJson = nlohmann::json;

/// Bars that a chart of 1,000 px can tell apart; more steps are averaged in groups of neighbours.
constexpr size_t kMaxBars = 400;
constexpr size_t kMemoryBuckets = 400;
/// Pages of large jobs stay small: so many bars of all devices' steps together, though each has 16
/// at least.
constexpr size_t kAllBars = 12'800, kLeastBars = 16;
constexpr size_t kMaxBandwidthPoints = 1'500;
constexpr int kFitPoints = 40;
/// Bars of devices below each other; more are a screen of their own.
constexpr std::ptrdiff_t kMaxWaitBars = 32;

PageJson steps_of(Page const& page, std::vector<StepPeriod> const& periods,
                  analyzer::DeviceRef ref) {
  size_t const bars = std::clamp(kAllBars / page.analysis.devices.size(), kLeastBars, kMaxBars);

  std::vector<StepPeriod const*> steps;
  for (StepPeriod const& period : periods)
    if (period.step->ref == ref && !period.step->warmup) steps.push_back(&period);
  size_t const group = std::max<size_t>(1, (steps.size() + bars - 1) / bars);

  PageJson first = PageJson::array(), last = PageJson::array();
  std::vector<PageJson> parts(kPartCount, PageJson::array());
  for (size_t i = 0; i < steps.size(); i += group) {
    size_t const end = std::min(i + group, steps.size());
    first.push_back(steps[i]->step->step);
    last.push_back(steps[end - 1]->step->step);
    for (int p = 0; p < kPartCount; ++p) {
      int64_t sum = 0;
      for (size_t k = i; k < end; ++k) sum += steps[k]->parts_ns[static_cast<size_t>(p)];
      parts[static_cast<size_t>(p)].push_back(sum /
                                              static_cast<int64_t>(std::max<size_t>(end - i, 1)));
    }
  }

  PageJson by_part = PageJson::object();
  for (int p = 0; p < kPartCount; ++p) {
    PageJson& values = parts[static_cast<size_t>(p)];
    if (std::any_of(values.begin(), values.end(),
                    [](PageJson const& ns) { return ns.get<int64_t>() != 0; }))
      by_part[std::string(part(p).key)] = std::move(values);
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

PageJson fit_line(analyzer::LinkFit const& link, double factor, double smallest, double largest) {
  PageJson line = PageJson::array();
  if (!(link.beta_gbps > 0) || !std::isfinite(link.alpha_us) || !(smallest > 0) || !(factor > 0))
    return line;

  for (int i = 0; i <= kFitPoints; ++i) {
    double const bytes =
        smallest * std::pow(largest / smallest, static_cast<double>(i) / kFitPoints);
    double const fitted = analyzer::fitted_bandwidth(link, factor, bytes);
    if (fitted > 0) line.push_back({bytes, fitted});
  }

  return line;
}

PageJson bandwidth_data(Page const& page) {
  struct Series {
    std::vector<std::pair<double, double>> points;
    double factor = 0;
  };
  std::map<std::pair<uint64_t, model::CollectiveOp>, Series> groups;
  for (analyzer::CollectiveStats const& collective : page.analysis.collectives) {
    if (!collective.busbw_gbps || !std::isfinite(*collective.busbw_gbps) || collective.bytes == 0 ||
        collective.transfer_ns <= 0)
      continue;
    Series& series = groups[{collective.communicator, collective.op}];
    series.points.emplace_back(static_cast<double>(collective.bytes), *collective.busbw_gbps);
    if (series.factor <= 0)
      series.factor = model::bus_factor(collective.op, collective.expected_participants);
  }

  PageJson result = PageJson::array();
  for (auto const& [key, series] : groups) {
    PageJson points = PageJson::array();

    size_t const stride = std::max<size_t>(1, series.points.size() / kMaxBandwidthPoints);
    double smallest = series.points[0].first, largest = smallest;
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (i % stride == 0) points.push_back({series.points[i].first, series.points[i].second});
      smallest = std::min(smallest, series.points[i].first);
      largest = std::max(largest, series.points[i].first);
    }

    PageJson line = PageJson::array();
    for (analyzer::LinkFit const& link : page.analysis.links)
      if (link.communicator == key.first && link.op == key.second && largest > smallest)
        line = fit_line(link, series.factor, smallest, largest);

    result.push_back({{"op", model::to_string(key.second)},
                      {"communicator", std::to_string(key.first)},
                      {"points", points},
                      {"fit", line}});
  }

  return result;
}

/// The path in each step, as one device's steps; null where there is nothing to compare.
PageJson path_data(Page const& page) {
  auto const& path = page.analysis.critical_path;
  if (!path || path->steps.size() < 2) return nullptr;

  size_t const group = (path->steps.size() + kMaxBars - 1) / kMaxBars;
  PageJson first = PageJson::array(), last = PageJson::array();
  for (size_t i = 0; i < path->steps.size(); i += group) {
    first.push_back(path->steps[i].step);
    last.push_back(path->steps[std::min(i + group, path->steps.size()) - 1].step);
  }

  PageJson by_part = PageJson::object(), parts = PageJson::array();
  for (size_t c = 0; c < path->by_class.size(); ++c) {
    PageJson values = PageJson::array();
    bool any = false;
    for (size_t i = 0; i < path->steps.size(); i += group) {
      size_t const end = std::min(i + group, path->steps.size());
      double sum = 0;
      for (size_t k = i; k < end; ++k) sum += static_cast<double>(path->steps[k].by_class[c]);
      values.push_back(std::llround(sum / static_cast<double>(end - i)));
      any = any || sum > 0;
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
  std::vector<analyzer::DeviceWait> devices = analyzer::waits_by_device(page.analysis);

  if (std::ssize(devices) > kMaxWaitBars) {
    std::nth_element(devices.begin(), devices.begin() + kMaxWaitBars, devices.end(),
                     [](analyzer::DeviceWait const& a, analyzer::DeviceWait const& b) {
                       return a.wait_ns > b.wait_ns;
                     });
    devices.resize(kMaxWaitBars);
    std::sort(
        devices.begin(), devices.end(),
        [](analyzer::DeviceWait const& a, analyzer::DeviceWait const& b) { return a.ref < b.ref; });
  }

  for (analyzer::DeviceWait const& wait : devices) {
    auto const per =
        page.summary.has_steps ? static_cast<int64_t>(std::max<size_t>(wait.steps, 1)) : 1;
    waits.push_back({{"device", device_label(page.run, wait.ref)}, {"ns", wait.wait_ns / per}});
  }

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

std::vector<analyzer::DeviceStats const*> fullest_devices(analyzer::Analysis const& analysis) {
  std::vector<analyzer::DeviceStats const*> devices;
  for (analyzer::DeviceStats const& device : analysis.devices)
    if (!device.memory.timeline.empty()) devices.push_back(&device);
  if (devices.size() <= kMaxMemoryCurves) return devices;

  std::stable_sort(devices.begin(), devices.end(), [](auto const* a, auto const* b) {
    return a->memory.peak_allocated_bytes.value_or(0) > b->memory.peak_allocated_bytes.value_or(0);
  });
  devices.resize(kMaxMemoryCurves);

  std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<size_t> thinned_memory(analyzer::MemoryTimeline const& points, size_t buckets) {
  std::vector<size_t> kept;
  size_t const stride = std::max<size_t>(1, points.size() / std::max<size_t>(buckets, 1));

  auto point = points.begin();
  for (size_t begin = 0; begin < points.size(); begin += stride) {
    size_t const end = std::min(begin + stride, points.size());

    size_t low = begin, high = begin;
    uint64_t least = point->allocated_bytes, most = least;
    for (size_t i = begin; i < end; ++i, ++point) {
      if (point->allocated_bytes > most) high = i, most = point->allocated_bytes;
      if (point->allocated_bytes < least) low = i, least = point->allocated_bytes;
    }

    kept.push_back(std::min(low, high));
    if (low != high) kept.push_back(std::max(low, high));
  }

  if (!points.empty() && kept.back() != points.size() - 1) kept.push_back(points.size() - 1);
  return kept;
}

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
