#include "agent/documents.h"

#include <algorithm>
#include <array>

namespace stepscope::agent {
namespace {

constexpr std::array kDocuments = {
    Document{"stepscope://docs/guide/SKILL.md", "guide", "How to read a run with these tools",
             "Which tool comes first, how to read findings, and what not to claim. Read it first.",
             skill_document},
    Document{"stepscope://docs/reference/DEFINITIONS.md", "definitions", "What each number means",
             "The definition of every number that the tools report.", definitions_document},
    Document{"stepscope://docs/reference/FINDINGS.md", "findings", "What each finding means",
             "For each rule: meaning, detection, cost, what to do, and when it stays silent.",
             findings_document},
    Document{"stepscope://docs/reference/QUERY.md", "query", "Tables for SQL",
             "Every table and column of the tool query, with useful statements.", query_document},
};

}  // namespace

std::span<Document const> documents() { return kDocuments; }

Document const* find_document(std::string_view uri) {
  auto const* const found = std::find_if(kDocuments.begin(), kDocuments.end(),
                                         [&](Document const& each) { return each.uri == uri; });
  return found == kDocuments.end() ? nullptr : found;
}

}  // namespace stepscope::agent
