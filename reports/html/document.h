// What all pages are: one self-contained HTML document. Nothing may be loaded, sent or framed; the
// one script is named by its hash, so text of a trace can never become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope::reports {

struct DocumentSection {
  std::string_view id, title;  ///< id is plain ASCII; title: in the navigation, as tr() takes it
  std::string html;  ///< a whole <section>; empty: there is nothing of the kind, and no link
};

struct Document {
  std::string_view title;                 ///< hostile text
  std::string_view version;               ///< of the program, for the footer; may be empty
  std::vector<DocumentSection> sections;  ///< the first decides
  std::string_view footer;                ///< plain text, as tr() takes it
  std::string data;                       ///< JSON for the script
};

/// A whole HTML document.
std::string html_document(Document const& document);

}  // namespace stepscope::reports
