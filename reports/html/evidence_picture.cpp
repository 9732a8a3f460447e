#include "reports/html/evidence_picture.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/html/timeline_data.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// What a lane can tell apart at the width that a page gives it.
constexpr int kPictureColumns = 80;
/// Streams of the device that a picture shows: those that are busiest there.
constexpr size_t kPictureStreams = 4;
/// Margin before and after the place, as a share of its length.
constexpr double kContext = 0.4;
/// A span at least this part of the lane says its name when pointed at.
constexpr double kNamedShare = 0.03;

/// Indexed by SpanClass: the colour's name in report.css, and what the span is.
constexpr std::array<std::pair<char const*, char const*>, kSpanClassCount> kClassWords{
    {{"compute", "compute"},
     {"exposed_comm", "communication"},
     {"exposed_copy", "copy"},
     {"input", "waiting for input"},
     {"sync", "blocking synchronization"},
     {"allocation", "memory allocation"},
     {"profiler", "profiler overhead"},
     {"phase", "phase"},
     {"step", "step"},
     {"launch", "launch call"}}};

/// Devices that a picture of waiting shows: the late one, those that wait for it.
constexpr size_t kPictureDevices = 6;

struct Lane {
  std::string label;
  std::vector<Span> spans;
  int64_t busy_ns = 0;
};

class Picture {
 public:
  Picture(model::RankTrace const& rank, model::Interval window) : rank_(rank), window_(window) {}

  void add_lane(std::string label, model::TrackId track, RowContent content,
                std::vector<Lane>& lanes) const {
    Lane lane{
        std::move(label),
        thinned_spans(rank_.trace, rank_.trace.rows_of(track), content, window_, kPictureColumns),
        0};
    for (Span const& span : lane.spans) lane.busy_ns += span.end - span.begin;
    if (!lane.spans.empty()) lanes.push_back(std::move(lane));
  }

  [[nodiscard]] std::string html(Lane const& lane, model::Interval mark) const {
    std::string spans;
    for (Span const& span : lane.spans) {
      auto const& [colour, words] = kClassWords[static_cast<size_t>(span.cls)];

      std::string hint;
      if (span.count == 1 && share(span.end - span.begin) >= kNamedShare)
        hint = fmt::format(" title=\"{}, {}, {}\"", escape(rank_.trace.name(span.row), 80),
                           tr(words), base::format_duration(span.end - span.begin));
      spans +=
          fmt::format("<i class=\"c-{}\"{}{}></i>", colour, place({span.begin, span.end}), hint);
    }

    return fmt::format("<div class=\"lane\"><span>{}</span><div>{}<b{}></b></div></div>",
                       escape(lane.label, 40), spans, place(mark));
  }

 private:
  [[nodiscard]] double share(int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(window_.length());
  }
  [[nodiscard]] std::string place(model::Interval when) const {
    int64_t const begin = std::clamp(when.begin, window_.begin, window_.end),
                  end = std::clamp(when.end, begin, window_.end);
    return fmt::format(" style=\"left:{:.2f}%;width:{:.2f}%\"", share(begin - window_.begin) * 100,
                       share(end - begin) * 100);
  }
  model::RankTrace const& rank_;
  model::Interval window_;  ///< trace time
};

/// The busiest streams of the device, in the order of its tracks.
std::vector<Lane> stream_lanes(Picture const& picture, model::Trace const& trace, int32_t device) {
  std::vector<Lane> lanes;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    model::Track const& track = trace.tracks()[t];
    if (track.kind == model::TrackKind::kStream && track.device == device)
      picture.add_lane(stream_label(track), model::TrackId{t}, RowContent::kDeviceOps, lanes);
  }

  if (lanes.size() > kPictureStreams) {
    std::vector<int64_t> busy;
    for (Lane const& lane : lanes) busy.push_back(lane.busy_ns);
    std::nth_element(busy.begin(), busy.begin() + kPictureStreams - 1, busy.end(),
                     std::greater<>());
    std::erase_if(lanes,
                  [&](Lane const& lane) { return lane.busy_ns < busy[kPictureStreams - 1]; });
    lanes.resize(std::min(lanes.size(), kPictureStreams));
  }
  return lanes;
}

/// `label` and `key` are HTML.
std::string scene(std::string const& label, std::string const& lanes, model::Interval shown,
                  Page const& page, std::string const& key) {
  return fmt::format(
      "<div class=\"scene\" role=\"img\" aria-label=\"{}\">{}"
      "<div class=\"lane "
      "ends\"><span></span><div><span>{}</span><span>{}</span></div></div>{}</div>",
      label, lanes, format_instant(shown.begin - page.range.begin),
      format_instant(shown.end - page.range.begin), key);
}

/// The marked place, and what the colours mean.
std::string key_of(Page const& page, analyzer::Finding::Evidence const& place,
                   std::vector<Lane> const& lanes) {
  std::array<bool, kSpanClassCount> is_seen{};
  for (Lane const& lane : lanes)
    for (Span const& span : lane.spans) is_seen[static_cast<size_t>(span.cls)] = true;

  std::string items = fmt::format("<li><b class=\"mark\"></b>{}</li>",
                                  tr("{} on {}", base::format_duration(place.when.length()),
                                     escape(device_label(page.run, place.ref))));
  for (size_t i = 0; i < is_seen.size(); ++i)
    if (is_seen[i])
      items += fmt::format("<li><i class=\"c-{}\"></i>{}</li>", kClassWords[i].first,
                           tr(kClassWords[i].second));
  return fmt::format("<ul class=\"key\">{}</ul>", items);
}

std::string picture_of(Page const& page, model::RankTrace const& rank,
                       analyzer::Finding::Evidence const& place) {
  model::Trace const& trace = rank.trace;
  model::Interval const shown = widened(place.when, kContext, 1000, page.range);
  if (shown.length() <= 0) return {};
  model::Interval const window{shown.begin - rank.offset_ns, shown.end - rank.offset_ns};
  model::Interval const mark{place.when.begin - rank.offset_ns, place.when.end - rank.offset_ns};

  Picture const picture(rank, window);
  std::vector<Lane> lanes;
  if (place.track && *place.track < trace.tracks().size()) {
    model::Track const& track = trace.tracks()[*place.track];
    if (track.kind == model::TrackKind::kThread)
      picture.add_lane(track.name.empty() ? std::string(tr("thread")) : track.name,
                       model::TrackId{*place.track}, RowContent::kHostWaits, lanes);
  }

  for (Lane& lane : stream_lanes(picture, trace, place.ref.device))
    lanes.push_back(std::move(lane));
  if (lanes.empty()) return {};

  std::string html;
  for (Lane const& lane : lanes) html += picture.html(lane, mark);

  return scene(
      tr("{}, {} before and after the marked {}", escape(device_label(page.run, place.ref)),
         base::format_duration(place.when.begin - shown.begin),
         base::format_duration(place.when.length())),
      html, shown, page, key_of(page, place, lanes));
}

// Waiting for another device: a lane for each, so that culprit and victims are seen together.

/// All streams of a device in one lane: compute lies over copies, and these over communication, as
/// they hide each other.
Lane merged_lane(Picture const& picture, model::Trace const& trace, int32_t device,
                 std::string label) {
  std::vector<Lane> lanes;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    model::Track const& track = trace.tracks()[t];
    if (track.kind == model::TrackKind::kStream && track.device == device)
      picture.add_lane({}, model::TrackId{t}, RowContent::kDeviceOps, lanes);
  }

  Lane merged{std::move(label), {}, 0};
  for (SpanClass const cls : {SpanClass::kComm, SpanClass::kCopy, SpanClass::kCompute})
    for (Lane const& lane : lanes)
      for (Span const& span : lane.spans)
        if (span.cls == cls) merged.spans.push_back(span);
  return merged;
}

std::string picture_of_waiting(Page const& page, analyzer::DeviceRef late,
                               analyzer::Finding::Evidence const& place, std::string const& lanes,
                               size_t shown_devices, size_t participants) {
  std::string key = fmt::format(
      "<li><b class=\"mark\"></b>{}</li>",
      tr("from its arrival to the last one's: {} on {}", base::format_duration(place.when.length()),
         escape(device_label(page.run, place.ref))));
  for (SpanClass const cls : {SpanClass::kCompute, SpanClass::kComm, SpanClass::kCopy}) {
    auto const& [colour, words] = kClassWords[static_cast<size_t>(cls)];
    key += fmt::format("<li><i class=\"c-{}\"></i>{}</li>", colour, tr(words));
  }
  if (shown_devices < participants)
    key += fmt::format("<li>{}</li>",
                       tr("{} of {} devices of the collective", shown_devices, participants));

  return scene(tr("{} waits {} for {}", escape(device_label(page.run, place.ref)),
                  base::format_duration(place.when.length()), escape(device_label(page.run, late))),
               lanes, widened(place.when, kContext, 1000, page.range), page,
               fmt::format("<ul class=\"key\">{}</ul>", key));
}

bool is_before(analyzer::DeviceRef ref, int64_t begin, analyzer::DeviceRef other, int64_t then) {
  return ref != other ? ref < other : begin < then;
}

}  // namespace

EvidenceDrawing::EvidenceDrawing(Page const& page) : page_(page) {
  auto const& findings = page.analysis.findings;
  drawn_.resize(std::min(findings.size(), kPicturedFindings));
  for (size_t f = 0; f < drawn_.size(); ++f) {
    analyzer::Finding const& finding = findings[f];
    for (size_t i = 0; i < std::min(finding.evidence.size(), kPicturesOfFinding); ++i) {
      DrawnPlace& drawn = drawn_[f].emplace_back();
      drawn.place = &finding.evidence[i];
      if (finding.where && *finding.where != drawn.place->ref) drawn.late = *finding.where;
    }
  }

  find_collectives();
}

/// One look at all collectives, however many places there are.
void EvidenceDrawing::find_collectives() {
  std::vector<DrawnPlace*> wanted;
  for (auto& of_finding : drawn_)
    for (DrawnPlace& drawn : of_finding)
      if (drawn.late) wanted.push_back(&drawn);
  if (wanted.empty()) return;
  auto const by_begin = [](DrawnPlace const* a, DrawnPlace const* b) {
    return is_before(a->place->ref, a->place->when.begin, b->place->ref, b->place->when.begin);
  };
  std::sort(wanted.begin(), wanted.end(), by_begin);

  for (analyzer::CollectiveStats const& collective : page_.analysis.collectives)
    for (auto const& participant : collective.participants) {
      auto at = std::partition_point(wanted.begin(), wanted.end(), [&](DrawnPlace const* drawn) {
        return is_before(drawn->place->ref, drawn->place->when.begin, participant.ref,
                         participant.when.begin);
      });
      for (; at != wanted.end() && (*at)->place->ref == participant.ref &&
             (*at)->place->when.begin == participant.when.begin;
           ++at)
        if (participant.wait_ns == (*at)->place->when.length()) take_devices(collective, **at);
    }
}

/// The late device, the one that waits, and others of the collective. Nothing, where the late one
/// takes no part: then the device waits there for another.
void EvidenceDrawing::take_devices(analyzer::CollectiveStats const& collective, DrawnPlace& drawn) {
  auto const& participants = collective.participants;
  auto const is_late = [&](auto const& participant) { return participant.ref == *drawn.late; };
  if (!drawn.devices.empty() || std::none_of(participants.begin(), participants.end(), is_late))
    return;

  drawn.participants = participants.size();
  size_t others = kPictureDevices - 2;
  for (auto const& participant : participants) {
    bool const is_named = is_late(participant) || participant.ref == drawn.place->ref;
    if (!is_named && others == 0) continue;
    if (!is_named) --others;
    drawn.devices.push_back(
        {participant.ref, {participant.when.begin, participant.when.begin + participant.wait_ns}});
  }
  std::sort(drawn.devices.begin(), drawn.devices.end(),
            [](auto const& a, auto const& b) { return a.ref < b.ref; });
}

void EvidenceDrawing::add(size_t process, model::RankTrace const& rank) {
  for (auto& of_finding : drawn_)
    for (DrawnPlace& drawn : of_finding) {
      if (!drawn.devices.empty())
        drawn.html += lanes_of_waiting(process, rank, drawn);
      else if (drawn.place->ref.rank_index == static_cast<int32_t>(process))
        drawn.html = picture_of(page_, rank, *drawn.place);
    }
}

/// The lanes of the devices that are of this process.
std::string EvidenceDrawing::lanes_of_waiting(size_t process, model::RankTrace const& rank,
                                              DrawnPlace const& drawn) const {
  model::Interval const shown = widened(drawn.place->when, kContext, 1000, page_.range);
  if (shown.length() <= 0) return {};
  Picture const picture(rank, {shown.begin - rank.offset_ns, shown.end - rank.offset_ns});

  std::string html;
  for (WaitingDevice const& device : drawn.devices) {
    if (device.ref.rank_index != static_cast<int32_t>(process)) continue;
    std::string label = device_label(page_.run, device.ref);
    if (device.ref == *drawn.late) label = tr("{}: late", label);
    html += picture.html(merged_lane(picture, rank.trace, device.ref.device, std::move(label)),
                         {device.wait.begin - rank.offset_ns, device.wait.end - rank.offset_ns});
  }
  return html;
}

std::vector<EvidencePictures> EvidenceDrawing::take() && {
  std::vector<EvidencePictures> pictures(drawn_.size());
  for (size_t f = 0; f < drawn_.size(); ++f)
    for (DrawnPlace& drawn : drawn_[f]) {
      bool const waits = !drawn.devices.empty() && !drawn.html.empty();
      pictures[f].push_back(waits ? picture_of_waiting(page_, *drawn.late, *drawn.place, drawn.html,
                                                       drawn.devices.size(), drawn.participants)
                                  : std::move(drawn.html));
    }
  return pictures;
}

}  // namespace stepscope::reports
