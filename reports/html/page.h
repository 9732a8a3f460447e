// What the sections of the page are made of and made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/results/analysis.h"
#include "reports/html/html.h"
#include "reports/words/summary.h"

namespace stepscope::reports {

/// A stretch of the run that the timeline can show.
struct TimelineView {
  std::string id, title;              ///< id is plain ASCII
  model::Interval when;               ///< run time
  std::optional<int32_t> rank_index;  ///< only this rank's rows
};

/// HTML pictures (evidence_picture.h), indexed by place in Finding::evidence; empty if there is
/// nothing to show.
using EvidencePictures = std::vector<std::string>;

/// The part of the events that the page shows.
struct Timeline {
  struct Stream {
    analyzer::DeviceRef ref;
    std::string name;  ///< hostile text
    uint64_t operations = 0;
    model::Interval when;  ///< first start to last end, run time
  };
  std::vector<Stream> streams;  ///< that have operations, by process; at most kMaxTableRows
  std::string json;             ///< {"rows", "names", "views"}: see reports/web/src/data.ts
  std::vector<EvidencePictures> pictures;  ///< of the first findings, by finding
};

/// What a section's function returns.
struct SectionHtml {
  SectionHtml() = default;
  /// A whole <section>; empty: the run has nothing of the kind.
  SectionHtml(std::string whole) : html(std::move(whole)) {}  // NOLINT: most are no more than HTML
  std::string html;
  /// Plain text, untranslated: what the recording would need for a section. Empty with one.
  std::string_view lacking;
};
/// `text`: of the program, not of the trace.
inline SectionHtml lacks(std::string_view text) {
  SectionHtml none;
  none.lacking = text;
  return none;
}

/// Everything a section reads. Computed once.
struct Page {
  model::Run const& run;
  analyzer::Analysis const& analysis;
  ReportOptions const& options;
  Summary summary;
  model::Interval range;
  std::vector<TimelineView>
      views;  ///< whole run, typical step, slowest step, then evidence of findings
  Timeline timeline;
};

/// How many rows tables of events have at most; the JSON has all. Browsers lay out tables of
/// thousands of rows slowly.
inline constexpr size_t kMaxTableRows = 500;
/// The same of tables with a row a device and many columns.
inline constexpr size_t kMaxDeviceRows = 64;
/// Findings whose first evidence gets a view of its own.
inline constexpr size_t kMaxEvidenceViews = 8;

/// "finding-3", the view of finding 3's first evidence.
std::string evidence_view_id(size_t finding);
/// The stretch with a share of its length, but at least so much, before and behind it, within
/// `limit`.
model::Interval widened(model::Interval when, double share, int64_t at_least_ns,
                        model::Interval limit);
std::vector<TimelineView> timeline_views(model::Run const& run, analyzer::Analysis const& analysis,
                                         model::Interval range);

/// No device worked, and something is known of the host: sections about devices stay away.
bool is_about_host(Page const& page);

/// Parts of the section of idle time: exposed time that launch-bound stretches cost beyond it, and
/// what the host did meanwhile. Each may be empty.
std::string unhidden_block(Page const& page);
std::string host_ops_block(Page const& page);

/// Titles, labels and notes of all of these are as tr() takes them. <section> with a heading;
/// `body` is HTML.
std::string section(std::string_view id, std::string_view title, std::string_view body);
/// The place of a chart that the script draws, with a title; `how` says in plain text how its
/// numbers are computed.
std::string chart(std::string_view name, std::string_view title, std::string_view how);
/// A closed block that opens on demand; `body` is HTML.
std::string folded(std::string_view title, std::string_view body);
/// Blocks; the script shows one at a time. Without the script all are visible under their titles.
/// `id` is plain ASCII.
struct Tab {
  std::string id, title, body;  ///< body is HTML
};
/// `label`: what is chosen, for screen readers. One tab alone is shown plainly.
std::string tabbed(std::string_view label, std::vector<Tab> const& tabs);
std::string subheading(std::string_view title);
std::string how_computed(std::string_view text);
/// Sentences as they are; numbers stay on the line of their units.
std::string paragraph(std::string_view text);
/// A key number with what it is; the hint says how it is defined.
std::string key_tile(std::string_view value, std::string_view label, std::string_view hint);
/// A paragraph in small print; plain text.
std::string note(std::string_view text);
/// What a section says when it has nothing to show; plain text.
std::string empty_note(std::string_view text);
/// A stacked bar of a split, drawn by styles alone, with an accessible text.
std::string split_bar(analyzer::TimeSplit const& split);
/// The colour key of all parts that can be seen.
std::string split_key(Summary const& summary);
/// The mean of the analyzer's splits as a split, rounded to ns.
analyzer::TimeSplit mean_split(Summary const& summary);

}  // namespace stepscope::reports
