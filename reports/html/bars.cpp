#include "reports/html/bars.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

int64_t sum_of(std::vector<BarPart> const& parts) {
  int64_t sum = 0;
  for (BarPart const& each : parts) sum = saturated_sum(sum, std::max<int64_t>(each.ns, 0));
  return sum;
}

}  // namespace

std::string html_bar(std::vector<BarPart> const& parts, int64_t whole_ns) {
  int64_t const sum = sum_of(parts);
  if (sum <= 0 || whole_ns <= 0)
    return fmt::format("<span class=\"none\">{}</span>", tr("no time"));

  std::string spans, words;

  for (BarPart const& each : parts) {
    if (each.ns <= 0) continue;

    double const share = static_cast<double>(each.ns) / static_cast<double>(sum);
    double const width =
        static_cast<double>(each.ns) / static_cast<double>(std::max(whole_ns, sum));
    std::string const label =
        escape(fmt::format("{} {} ({})", tr(each.part->label), base::format_share(share),
                           base::format_duration(each.ns)));
    spans += fmt::format("<i class=\"p p-{}\" style=\"width:{:.3f}%\" title=\"{}\"></i>",
                         each.part->key, width * 100, label);
    words += (words.empty() ? "" : ", ") + label;
  }

  return fmt::format("<span class=\"bar\" role=\"img\" aria-label=\"{}\">{}</span>", words, spans);
}

Cell bar_cell_of(std::vector<BarPart> const& parts, int64_t whole_ns) {
  return {html_bar(parts, whole_ns), static_cast<double>(sum_of(parts))};
}

std::string bar_key(std::vector<BarPart> const& parts, int64_t whole_ns, bool of_device_time) {
  std::string items;
  for (BarPart const& each : parts)
    if (each.ns > 0 &&
        static_cast<double>(each.ns) >= kLeastShownShare * static_cast<double>(whole_ns))
      items += fmt::format("<li title=\"{}\"><i class=\"p p-{}\"></i>{}{}</li>",
                           escape(tr(each.part->meaning)), each.part->key,
                           of_device_time && each.part->idle ? tr("idle: ") : "",
                           escape(tr(each.part->label)));
  return fmt::format("<ul class=\"key\">{}</ul>\n", items);
}

Cell part_cell(Part const& part) {
  return {fmt::format("<span class=\"nw\" title=\"{}\"><i class=\"p p-{}\"></i>{}</span>",
                      escape(tr(part.meaning)), part.key, escape(tr(part.label))),
          std::nullopt};
}

std::string waterfall_row(std::string_view title, double before, double after,
                          std::string_view saved) {
  std::string const less =
      after < before ? "−" + base::format_share(before - after) : std::string("–");
  double const kept = std::clamp(after, 0.0, 1.0),
               taken = std::clamp(before - after, 0.0, 1 - kept);

  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td><span class=\"bar\" aria-hidden=\"true\">"
      "<span class=\"p kept\" style=\"width:{:.1f}%\"></span>"
      "<span class=\"p saved\" style=\"width:{:.1f}%\"></span></span></td>"
      "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>\n",
      escape(title), kept * 100, taken * 100, base::format_share(after),
      saved.empty() ? less : escape(saved));
}

std::string waterfall(std::string_view title, std::string_view what, std::string_view left,
                      std::string_view saved, std::string_view rows) {
  return subheading(title) +
         fmt::format(
             "<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">"
             "<table class=\"waterfall\"><thead><tr><th scope=\"col\">{}</th><td></td>"
             "<th scope=\"col\" class=\"num\">{}</th><th scope=\"col\" class=\"num\">{}</th>"
             "</tr></thead>\n<tbody>{}</tbody></table></div>\n",
             escape(tr(title)), escape(tr(what)), escape(tr(left)), escape(tr(saved)), rows);
}

std::string and_more(size_t shown_rows, size_t all_rows, std::string_view noun) {
  if (shown_rows >= all_rows) return {};
  return fmt::format(
      "<p class=\"note\">{}</p>\n",
      tr("… and {}; {} has all.", counted(all_rows - shown_rows, "more " + std::string(noun)),
         "<code>stepscope analyze --json</code>"));
}

int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace stepscope::reports
