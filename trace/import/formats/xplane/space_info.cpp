// What an XSpace holds besides its events: devices, host, rank, when it was recorded, what went
// wrong then.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/xplane/space_trace.h"

namespace stepscope::import {
namespace {

constexpr size_t kMostProgramTextBytes = 1024;

/// Calls take(name, stat) for the stats of a plane itself.
template <class Take>
void for_each_plane_stat(PlaneIndex const& plane, StatTable const& table, Take&& take) {
  constexpr uint32_t kStats = 6;
  base::ProtobufReader reader(plane.bytes);
  base::ProtobufField field;
  while (reader.next(field)) {
    if (!field.is_bytes(kStats) || field.is_cut) continue;
    RawStat const stat = read_stat(field.bytes);
    if (StatTable::Entry const* const entry = table.find(stat.metadata_id)) take(entry->name, stat);
  }
}

std::string program_text(std::string_view text) {
  return base::printable(text.substr(0, kMostProgramTextBytes));
}

/// A device as its plane describes it.
struct DeviceStats {
  model::Device device;
  std::string vendor;
  int64_t capability_major = -1, capability_minor = 0;
  double bytes_per_second = 0;
};

DeviceStats read_device_stats(PlaneIndex const& plane, PlannedPlane const& planned) {
  DeviceStats result;
  StatTable const& table = planned.tables->stats;
  result.device.id = planned.plan.device;

  for_each_plane_stat(plane, table, [&](std::string_view name, RawStat const& stat) {
    int64_t const count = std::max<int64_t>(0, stat.integer().value_or(0));
    double const number = std::max(0.0, stat.real().value_or(0));
    constexpr double kTera = 1e12, kGiga = 1e9;
    if (name == "gpu_device_name" || name == "device_type_string")
      result.device.name = program_text(table.text(stat));
    if (name == "device_vendor") result.vendor = program_text(table.text(stat));
    if (name == "memory_size") result.device.capacity_bytes = static_cast<uint64_t>(count);
    if (name == "core_count")
      result.device.threads = static_cast<uint32_t>(std::min<int64_t>(count, UINT32_MAX));
    if (name == "peak_teraflops_per_second") result.device.peak_flops = number * kTera;
    if (name == "peak_hbm_bw_gigabytes_per_second") result.bytes_per_second = number * kGiga;
    if (name == "memory_bandwidth" && result.bytes_per_second == 0)
      result.bytes_per_second = number;
    if (name == "compute_cap_major") result.capability_major = count;
    if (name == "compute_cap_minor") result.capability_minor = count;
  });

  return result;
}

/// "host-3.xplane.pb.gz" → "host-3".
std::string host_of_file(std::string const& file) {
  std::string name = std::filesystem::path(file).filename().string();
  for (std::string_view const suffix : {".gz", ".zst", ".pb", ".xplane"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      name.resize(name.size() - suffix.size());
  return base::printable(name);
}

/// The machines of a TPU slice are called "t1v-n-4c1f03a8-w-3".
std::optional<int32_t> worker_of_host(std::string_view host) {
  size_t const at = host.rfind("-w-");
  if (at == std::string_view::npos) return std::nullopt;
  host.remove_prefix(at + 3);
  int32_t number = 0;
  auto const [end, error] = std::from_chars(host.data(), host.data() + host.size(), number);
  constexpr int32_t kMostRanks = 1 << 24;
  bool const is_whole = error == std::errc() && end == host.data() + host.size();
  return is_whole && number >= 0 && number < kMostRanks ? std::optional(number) : std::nullopt;
}

}  // namespace

/// Adds the devices that did something.
void SpaceTrace::add_devices() {
  std::set<int32_t> used;
  for (SpaceTrack const& merged : tracks_)
    if (merged.track.kind == model::TrackKind::kStream) used.insert(merged.track.device);

  for (size_t i = 0; i < planes_.size(); ++i) {
    PlanePlan const& plan = planes_[i].plan;
    if (plan.role != PlaneRole::kDevice || !plan.part.empty() || !used.contains(plan.device))
      continue;

    DeviceStats stats = read_device_stats(index_.planes[i], planes_[i]);
    if (stats.device.name.empty())
      stats.device.name = stats.vendor + (stats.vendor.empty() ? "" : " ") + plan.label;

    auto& facts = builder_.info().facts;
    auto const fact = [&](char const* name, std::string value) {
      bool const is_known = std::any_of(facts.begin(), facts.end(),
                                        [&](auto const& known) { return known.first == name; });
      if (!is_known) facts.emplace_back(name, std::move(value));
    };

    if (stats.capability_major >= 0)
      fact("compute capability",
           fmt::format("{}.{}", stats.capability_major, stats.capability_minor));
    if (stats.bytes_per_second > 0)
      fact("memory bandwidth", base::format_bandwidth(stats.bytes_per_second));

    used.erase(plan.device);  // of several planes the first describes it
    builder_.add_device(std::move(stats.device));
  }

  for (int32_t const id : used) {
    model::Device device;
    device.id = id;
    device.name = fmt::format("device {}", id);
    builder_.add_device(std::move(device));
  }
}

void SpaceTrace::add_environment(int64_t origin_ns) {
  model::TraceInfo& info = builder_.info();

  int64_t begin = 0;
  for (size_t i = 0; i < planes_.size(); ++i) {
    if (planes_[i].plan.role != PlaneRole::kEnvironment) continue;
    StatTable const& table = planes_[i].tables->stats;

    for_each_plane_stat(index_.planes[i], table, [&](std::string_view name, RawStat const& stat) {
      if (name == "profile_start_time") begin = stat.integer().value_or(0);
      constexpr std::array<std::string_view, 5> kFacts = {"cuda_version", "libtpu_version",
                                                          "cuda_runtime_version",
                                                          "cuda_driver_version", "profile_options"};

      if (std::find(kFacts.begin(), kFacts.end(), name) == kFacts.end()) return;
      auto const number = stat.integer();
      info.facts.emplace_back(std::string(name),
                              number ? std::to_string(*number) : program_text(table.text(stat)));
    });
  }

  // Lines are on the epoch's clock, or on one that begins with the profile.
  info.origin_epoch_ns = origin_ns > 0 ? origin_ns : begin;
}

void SpaceTrace::add_info(std::string const& file) {
  model::TraceInfo& info = builder_.info();
  info.tool = "XLA profiler (XPlane)";
  info.host = index_.hosts.empty() || index_.hosts.front().empty()
                  ? host_of_file(file)
                  : program_text(index_.hosts.front());

  auto rank = rank_of_name(file);
  if (!rank) rank = worker_of_host(host_of_file(file));
  if (!rank) rank = worker_of_host(info.host);
  info.rank = rank.value_or(-1);

  if (derived_ > 0)
    info.facts.emplace_back("events left out that are made from others",
                            base::format_count(derived_));
  if (aggregated_ > 0)
    info.facts.emplace_back("events left out that are sums without a time",
                            base::format_count(aggregated_));
}

void SpaceTrace::note_losses() {
  model::ImportLog& to = log();
  auto const note = [&](uint64_t count, char const* what) {
    if (count > 0) to.notes.push_back(base::count_sentence(count, what));
  };
  if (index_.is_cut) {
    to.truncated = true;
    to.notes.emplace_back(
        "the file ends in the middle of a message: what is whole before was read");
  }

  uint64_t doubled = 0;
  for (PlannedPlane const& plane : planes_)
    if (plane.tables != nullptr)
      doubled += plane.tables->stats.doubled() + plane.tables->events.doubled();

  note(index_.broken + broken_, "messages are damaged: of each what can be read was read");
  note(index_.left_out,
       "planes, lines or messages are more than any profile has and were left out");
  note(unnamed_, "events have no name in the file");
  note(doubled, "names are given to ids that have one: the last counts");
  note(cut_names_, "names are longer than 16 KiB and were cut");
  note(whole_graphs_,
       "launches of CUDA graphs were recorded whole: their kernels, and communication among them, "
       "are not told apart; record without gpu_enable_cupti_activity_graph_trace");

  note(folded_tracks_,
       "times a track was one more than are shown: its events are on one track, called others");

  to.dropped += index_.broken + broken_ + index_.left_out;
  for (auto const* const messages : {&index_.errors, &index_.warnings})
    for (std::string_view const message : *messages)
      to.notes.push_back(fmt::format("the profiler said: {}", program_text(message)));
}

}  // namespace stepscope::import
