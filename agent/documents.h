// The documents that an agent may read as resources. They are compiled in, so that the program
// alone is enough and its words fit its numbers.
#pragma once

#include <span>
#include <string_view>

namespace stepscope::agent {

struct Document {
  std::string_view uri, name, title, description;
  std::string_view (*text)();  ///< Markdown
};

/// THE list of resources.
std::span<Document const> documents();
/// The document of this address; null when the server has none.
Document const* find_document(std::string_view uri);

// The bytes of docs/guide/SKILL.md and of docs/reference/DEFINITIONS.md, FINDINGS.md and QUERY.md.
std::string_view skill_document();
std::string_view definitions_document();
std::string_view findings_document();
std::string_view query_document();

}  // namespace stepscope::agent
