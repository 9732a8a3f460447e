#include "reports/html/timeline_data.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/html/evidence_picture.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Devices whose rows a page shows; the viewer has all.
constexpr size_t kMaxDevices = 16;
/// Threads of a process that feed its devices; others say nothing about training.
constexpr size_t kMaxThreads = 4;
/// How far to look back for an event that began before the window; host nesting and stream overlap
/// are shallower.
constexpr uint32_t kLookBack = 64;
constexpr int kMinColumns = 60, kMaxColumns = 1'200;

std::optional<SpanClass> class_of(model::EventKind kind, RowContent content) {
  switch (content) {
    case RowContent::kDeviceOps:
      switch (model::kind_info(kind).op_class) {
        case model::OpClass::kCompute:
          return SpanClass::kCompute;
        case model::OpClass::kComm:
          return SpanClass::kComm;
        case model::OpClass::kCopy:
          return SpanClass::kCopy;
        case model::OpClass::kNone:
          return std::nullopt;
      }
      return std::nullopt;

    case RowContent::kHostWaits:
      switch (kind) {
        case model::EventKind::kInputWait:
          return SpanClass::kInput;
        case model::EventKind::kSync:
          return SpanClass::kSync;
        case model::EventKind::kMemory:
          return SpanClass::kMemory;
        case model::EventKind::kOverhead:
          return SpanClass::kOverhead;
        case model::EventKind::kLaunch:
          return SpanClass::kLaunch;
        default:
          return std::nullopt;
      }

    case RowContent::kPhases:
      return kind == model::EventKind::kPhase ? std::optional(SpanClass::kPhase) : std::nullopt;
    case RowContent::kRanges:
      return kind == model::EventKind::kRange || kind == model::EventKind::kAnnotatedRange
                 ? std::optional(SpanClass::kPhase)
                 : std::nullopt;
    case RowContent::kSteps:
      return kind == model::EventKind::kStep ? std::optional(SpanClass::kStep) : std::nullopt;
  }

  return std::nullopt;
}

/// Collects neighbours until a gap or an event is long enough to be seen.
class Thinner {
 public:
  explicit Thinner(int64_t resolution) : resolution_(resolution) {}
  void add(int64_t begin, int64_t end, SpanClass cls, uint32_t row) {
    int64_t const dur = end - begin;
    bool const joins = count_ > 0 && begin - end_ < resolution_ && dur < resolution_ &&
                       end_ - begin_ < resolution_;

    if (!joins) flush();
    if (count_ == 0) begin_ = begin;
    end_ = count_ == 0 ? end : std::max(end_, end);
    time_[static_cast<size_t>(cls)] += std::max<int64_t>(dur, 1);

    if (dur >= longest_) {
      longest_ = dur;
      row_ = row;
    }
    ++count_;
  }
  void flush() {
    if (count_ > 0) {
      auto const most = std::max_element(time_.begin(), time_.end()) - time_.begin();
      spans_.push_back({begin_, end_, static_cast<SpanClass>(most), row_, count_});
    }
    count_ = 0;
    longest_ = -1;
    time_.fill(0);
  }
  std::vector<Span> take() && {
    flush();
    return std::move(spans_);
  }

 private:
  int64_t resolution_;
  int64_t begin_ = 0, end_ = 0, longest_ = -1;
  std::array<int64_t, kSpanClassCount> time_{};
  uint32_t row_ = 0;
  uint32_t count_ = 0;
  std::vector<Span> spans_;
};

struct Row {
  std::string label;
  size_t rank;
  model::TrackId track;
  RowContent content;
};

/// Threads of a trace that have a given kind of event, the ones with most of them first.
std::vector<model::TrackId> threads_with(model::Trace const& trace, RowContent content) {
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kThread) continue;
    auto const rows = trace.rows_of(model::TrackId{t});
    uint32_t count = 0;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (class_of(trace.kind(row), content)) ++count;
    if (count > 0) found.emplace_back(count, t);
  }

  std::sort(found.begin(), found.end(), [](auto const& a, auto const& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (found.size() > kMaxThreads) found.resize(kMaxThreads);
  std::sort(found.begin(), found.end(),
            [](auto const& a, auto const& b) { return a.second < b.second; });

  std::vector<model::TrackId> tracks;
  for (auto const& [count, t] : found) tracks.push_back(model::TrackId{t});
  return tracks;
}

/// With fewer processes each shows its steps and phases; else the first one's stand for all.
constexpr size_t kProcessesInFull = 3;

/// A process's rows from the top: steps, host threads, then its devices' streams.
void add_rows_of_rank(Page const& page, size_t rank, model::Trace const& trace,
                      std::vector<Row>& rows, size_t& devices_left) {
  std::string const prefix =
      page.run.ranks.size() > 1 ? tr("rank {}", trace.info().rank) + " " : "";
  auto const steps = threads_with(trace, RowContent::kSteps);
  bool const in_full = rank == 0 || page.run.ranks.size() < kProcessesInFull;

  if (!steps.empty() && in_full)
    rows.push_back({prefix + std::string(tr("steps")), rank, steps[0], RowContent::kSteps});

  for (RowContent const content : {RowContent::kPhases, RowContent::kHostWaits})
    for (model::TrackId const track : threads_with(trace, content)) {
      if (content == RowContent::kPhases && !in_full) continue;
      std::string const& name = trace.tracks()[track.value].name;
      rows.push_back({fmt::format("{}{} ({})", prefix,
                                  shown(name.empty() ? tr("thread") : std::string_view(name), 24),
                                  content == RowContent::kPhases ? tr("phases") : tr("calls")),
                      rank, track, content});
    }
  // Without a device the program's ranges are all that there is to see.
  if (is_about_host(page))
    for (model::TrackId const track : threads_with(trace, RowContent::kRanges)) {
      std::string const& name = trace.tracks()[track.value].name;
      std::string const label = shown(name.empty() ? tr("thread") : std::string_view(name), 24);
      rows.push_back({fmt::format("{}{} ({})", prefix, label, tr("ranges")), rank, track,
                      RowContent::kRanges});
    }

  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    if (static_cast<size_t>(device.ref.rank_index) != rank || devices_left == 0) continue;
    --devices_left;
    for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
      model::Track const& track = trace.tracks()[t];
      if (track.kind != model::TrackKind::kStream || track.device != device.ref.device) continue;
      if (trace.rows_of(model::TrackId{t}).size() == 0) continue;
      rows.push_back({fmt::format("{} {}", device_label(page.run, device.ref), stream_label(track)),
                      rank, model::TrackId{t}, RowContent::kDeviceOps});
    }
  }
}

/// Texts that occur in spans, once each.
class Names {
 public:
  size_t index_of_event(model::Trace const& trace, size_t rank, uint32_t row) {
    if (trace.kind(row) == model::EventKind::kStep)
      return index(tr("step {}", trace.detail<model::StepDetail>(row).index));
    uint64_t const key = (static_cast<uint64_t>(rank) << 32U) | trace.columns().name[row].value;
    auto const known = by_id_.find(key);
    if (known != by_id_.end()) return known->second;
    return by_id_[key] = index(shown(trace.name(row), 200));
  }
  [[nodiscard]] std::vector<std::string> const& texts() const { return texts_; }

 private:
  size_t index(std::string text) {
    auto const [found, is_new] = by_text_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(std::move(text));
    return found->second;
  }
  std::unordered_map<uint64_t, size_t> by_id_;
  std::map<std::string, size_t> by_text_;
  std::vector<std::string> texts_;
};

/// A view while its processes come one by one.
struct ViewSpans {
  int columns = kMinColumns;
  std::vector<size_t> drawn;  ///< rows
  std::string spans;          ///< flat: row, begin (since the view's), length, class, name, count
};

bool shows(TimelineView const& view, Row const& row) {
  return !view.rank_index || static_cast<size_t>(*view.rank_index) == row.rank;
}

/// The rows of one process.
void add_spans(TimelineView const& view, std::vector<Row> const& rows, size_t process,
               model::RankTrace const& rank, Names& names, ViewSpans& result) {
  model::Interval const window{view.when.begin - rank.offset_ns, view.when.end - rank.offset_ns};

  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].rank != process || !shows(view, rows[i])) continue;
    auto const found = thinned_spans(rank.trace, rank.trace.rows_of(rows[i].track), rows[i].content,
                                     window, result.columns);

    // An idle stream says something, an idle thread does not.
    if (!found.empty() || rows[i].content == RowContent::kDeviceOps) result.drawn.push_back(i);
    for (Span const& span : found)
      result.spans +=
          fmt::format("{}{},{},{},{},{},{}", result.spans.empty() ? "" : ",", i,
                      span.begin - window.begin, span.end - span.begin, static_cast<int>(span.cls),
                      names.index_of_event(rank.trace, process, span.row), span.count);
  }
}

std::string view_json(Page const& page, TimelineView const& view, ViewSpans const& of_view) {
  nlohmann::json const head = {{"id", view.id},
                               {"title", view.title},
                               {"begin", view.when.begin - page.range.begin},
                               {"length", view.when.length()},
                               {"rows", of_view.drawn}};
  std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.pop_back();
  return text + ",\"spans\":[" + of_view.spans + "]}";
}

void add_streams(size_t process, model::RankTrace const& rank,
                 std::vector<Timeline::Stream>& streams) {
  model::Trace const& trace = rank.trace;
  for (uint32_t t = 0; t < trace.tracks().size() && streams.size() < kMaxTableRows; ++t) {
    model::Track const& track = trace.tracks()[t];
    auto const rows = trace.rows_of(model::TrackId{t});
    if (track.kind != model::TrackKind::kStream || rows.size() == 0) continue;

    int64_t last = trace.start(rows.first);
    for (uint32_t row = rows.first; row < rows.last; ++row) last = std::max(last, trace.end(row));
    streams.push_back({{static_cast<int32_t>(process), track.device},
                       track.name,
                       rows.size(),
                       {trace.start(rows.first) + rank.offset_ns, last + rank.offset_ns}});
  }
}

}  // namespace

std::string stream_label(model::Track const& track) {
  std::string name =
      track.name.empty() ? std::string(tr(model::to_string(track.stream_kind))) : track.name;
  std::string const prefix = fmt::format("device {} ", track.device);
  if (name.size() > prefix.size() && name.starts_with(prefix)) name.erase(0, prefix.size());
  return shown(name, 24);
}

std::vector<Span> thinned_spans(model::Trace const& trace, model::Trace::Rows rows,
                                RowContent content, model::Interval window, int columns) {
  auto const& starts = trace.columns().start;
  auto const from = starts.begin() + rows.first;
  auto first = static_cast<uint32_t>(
      std::lower_bound(from, starts.begin() + rows.last, window.begin) - starts.begin());
  // The events just before may reach into the window.
  first = std::max(rows.first, first > kLookBack ? first - kLookBack : 0);

  Thinner thinner(std::max<int64_t>(window.length() / std::max(columns, 1), 1));
  for (uint32_t row = first; row < rows.last && trace.start(row) < window.end; ++row) {
    if (trace.end(row) < window.begin ||
        (trace.end(row) == window.begin && trace.columns().dur[row] > 0))
      continue;
    if (auto const cls = class_of(trace.kind(row), content))
      thinner.add(std::max(trace.start(row), window.begin), std::min(trace.end(row), window.end),
                  *cls, row);
  }
  return std::move(thinner).take();
}

base::Expected<Timeline> make_timeline(Page const& page, ReadProcess const& read) {
  Timeline timeline;
  std::vector<Row> rows;
  size_t devices_left = kMaxDevices, processes_shown = 0;
  EvidenceDrawing evidence(page);
  for (size_t process = 0; process < page.run.ranks.size(); ++process) {
    auto const rank = read(process);
    if (!rank) return base::fail_with(rank);
    add_streams(process, **rank, timeline.streams);
    evidence.add(process, **rank);
    if (devices_left == 0) continue;
    add_rows_of_rank(page, process, (*rank)->trace, rows, devices_left);
    processes_shown = process + 1;
  }
  timeline.pictures = std::move(evidence).take();

  std::vector<ViewSpans> views(page.views.size());
  for (size_t v = 0; v < views.size(); ++v) {
    auto const of_view = std::count_if(rows.begin(), rows.end(),
                                       [&](Row const& row) { return shows(page.views[v], row); });
    int const share =
        page.options.timeline_spans / static_cast<int>(std::max<ptrdiff_t>(of_view, 1));
    views[v].columns = std::clamp(share, kMinColumns, kMaxColumns);
  }

  Names names;
  for (size_t process = 0; process < processes_shown; ++process) {
    auto const rank = read(process);
    if (!rank) return base::fail_with(rank);
    for (size_t v = 0; v < views.size(); ++v)
      add_spans(page.views[v], rows, process, **rank, names, views[v]);
  }

  std::string of_views;
  for (size_t v = 0; v < views.size(); ++v)
    of_views += (v == 0 ? "" : ",") + view_json(page, page.views[v], views[v]);

  nlohmann::json labels = nlohmann::json::array();
  for (Row const& row : rows) labels.push_back(row.label);
  auto const dump = [](nlohmann::json const& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };

  size_t const left_out =
      page.analysis.devices.size() > kMaxDevices ? page.analysis.devices.size() - kMaxDevices : 0;
  timeline.json = fmt::format("{{\"rows\":{},\"names\":{},\"devicesLeftOut\":{},\"views\":[{}]}}",
                              dump(labels), dump(names.texts()), left_out, of_views);
  return timeline;
}

}  // namespace stepscope::reports
