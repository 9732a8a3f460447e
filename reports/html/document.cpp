#include "reports/html/document.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/html/assets.h"
#include "reports/html/escape.h"
#include "reports/html/html.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

/// Styles are inline because bars carry their widths.
std::string content_policy() {
  std::string const scripts =
      report_script_hash().empty() ? "'none'" : fmt::format("'{}'", report_script_hash());
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; form-action "
      "'none'",
      scripts);
}

/// The angle of a CSS gradient whose stripes have that direction, in degrees.
int gradient_angle(Hatch hatch) {
  if (hatch == Hatch::kLevel) return 180;
  return hatch == Hatch::kFalling ? 45 : 135;
}

/// A style element with the parts' colours as CSS variables, --KEY, and the direction in which idle
/// time is hatched, --KEY-hatch.
std::string part_colours() {
  std::string light, dark;
  for (int i = 0; i < kPartCount; ++i) {
    light += fmt::format("--{}:#{:06x};", part(i).key, part(i).light);
    dark += fmt::format("--{}:#{:06x};", part(i).key, part(i).dark);
    if (part(i).idle)
      light += fmt::format("--{}-hatch:{}deg;", part(i).key, gradient_angle(part(i).hatch));
  }

  return fmt::format(
      "<style>:root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}</style>\n",
      light, dark);
}

std::string head(std::string const& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} · Stepscope</title>\n{}<style>{}</style></head>\n",
      html_language(), content_policy(), title, part_colours(), report_style());
}

/// All sections that say something, after the links to them.
std::string navigation_and_sections(std::vector<DocumentSection> const& all,
                                    std::string_view before_sections) {
  std::string items, sections;
  for (DocumentSection const& each : all) {
    if (each.html.empty()) continue;
    items += fmt::format("<a href=\"#{}\">{}</a>", each.id, escape(tr(each.title)));
    sections += each.html;
  }
  return fmt::format("<nav aria-label=\"{}\">{}</nav>\n<main>\n{}{}</main>\n", tr("Sections"),
                     items, before_sections, sections);
}

/// The data with what the script says, where that is not English.
std::string with_words(std::string const& data) {
  Catalogue const& words = script_catalogue(language());
  return words.empty()
             ? data
             : fmt::format("{{\"words\":{},{}", nlohmann::json(words).dump(), data.substr(1));
}

}  // namespace

bool report_has_charts() { return !report_script().empty(); }

std::string html_document(Document const& document) {
  std::string const title = escape(document.title, 200);
  std::string out = head(title);

  out += fmt::format(
      "<body>\n<a class=\"skip\" href=\"#{}\">{}</a>\n<header class=\"top\"><span "
      "class=\"brand\">Stepscope</span><h1>{}</h1></header>\n",
      document.sections.front().id, tr("Skip to the verdict"), title);

  out += navigation_and_sections(
      document.sections,
      report_has_charts()
          ? fmt::format("<noscript><p class=\"empty\">{}</p></noscript>\n",
                        tr("Charts need JavaScript. Every number is in the tables."))
          : fmt::format(
                "<p class=\"empty\">{}</p>\n",
                tr("This program was built without its charts. Every number is in the tables.")));

  out += fmt::format(
      "<footer class=\"end\">{} {}</footer>\n",
      tr("Written by Stepscope{}.", document.version.empty() ? "" : " " + escape(document.version)),
      escape(tr(document.footer), 2000));

  if (report_has_charts()) {
    out += "<script type=\"application/json\" id=\"data\">" +
           script_safe(with_words(document.data)) + "</script>\n";
    out += fmt::format("<script>{}</script>\n", report_script());
  }
  return out + "</body></html>\n";
}

}  // namespace stepscope::reports
