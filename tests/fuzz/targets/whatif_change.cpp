// Any bytes as a change of a run, or as several. Parsing never crashes, and each duration that an
// accepted change gives is a possible one. Changes that are written again are read as the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/whatif/changes/change.h"
#include "trace/base/check.h"
#include "trace/model/trace.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  if (auto const several = analyzer::parse_changes(text)) {
    std::vector<std::string> texts;
    for (analyzer::WhatIfChange const& each : *several) texts.push_back(each.text);
    auto const again = analyzer::parse_changes(analyzer::written_changes(texts));
    STEPSCOPE_CHECK(again && again->size() == texts.size());
    for (size_t i = 0; i < texts.size(); ++i) STEPSCOPE_CHECK((*again)[i].text == texts[i]);
  }

  auto const change = analyzer::parse_change(text);
  if (!change) {
    STEPSCOPE_CHECK(!change.error().message.empty());
    return 0;
  }

  STEPSCOPE_CHECK(change->text == text);
  STEPSCOPE_CHECK(std::isfinite(change->how.factor) && change->how.factor >= 0);
  int64_t const amount = change->how.amount_ns.value_or(0);
  STEPSCOPE_CHECK(amount >= 0 && amount <= model::kMaxTime);
  STEPSCOPE_CHECK(change->rank.value_or(0) >= 0);

  for (int64_t const ns : {int64_t{0}, int64_t{1}, model::kMaxTime}) {
    int64_t const changed = change->how.of(ns);
    STEPSCOPE_CHECK(changed >= 0 && changed <= model::kMaxTime);
  }
  return 0;
}
