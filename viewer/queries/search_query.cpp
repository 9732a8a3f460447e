#include "viewer/queries/search_query.h"

#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "trace/base/parse_time.h"
#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

/// ">10us", "<=3ms". False: it is something else.
bool take_duration(std::string_view word, Query& query) {
  if (word.size() < 2 || (word[0] != '<' && word[0] != '>')) return false;
  bool const or_equal = word[1] == '=';
  std::string_view const number = word.substr(or_equal ? 2 : 1);

  // A number without a unit is a part of a name: "<3" stands in many.
  if (number.empty() || std::isdigit(static_cast<unsigned char>(number.back()))) return false;
  auto const ns = base::parse_duration(number, "");
  if (!ns) return false;

  if (word[0] == '>') {
    query.least_ns = or_equal ? *ns : *ns + 1;
  } else {
    query.most_ns = or_equal ? *ns : *ns - 1;
  }
  return true;
}

bool take_filter(std::string_view word, Query& query) {
  if (word.starts_with("kind:") && word.size() > 5) {
    query.kind = lower_case(word.substr(5));
    return true;
  }

  if (word.starts_with("rank:")) {
    int32_t rank = 0;
    auto const [rest, error] = std::from_chars(word.data() + 5, word.data() + word.size(), rank);
    if (error != std::errc{} || rest != word.data() + word.size()) return false;
    query.rank = rank;
    return true;
  }
  return take_duration(word, query);
}

}  // namespace

Query parse_query(std::string_view text) {
  Query query;

  // The name itself may have quotation marks in it: the last one ends it.
  size_t const last_mark = text.rfind('"');
  if (text.starts_with('"') && last_mark > 0) {
    query.whole = true;
    query.name = text.substr(1, last_mark - 1);
    text.remove_prefix(last_mark + 1);
  }

  while (!text.empty()) {
    size_t const begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view const word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (take_filter(word, query) || query.whole) continue;
    if (!query.name.empty()) query.name += ' ';
    query.name += lower_case(word);
  }
  return query;
}

std::string query_for(std::string_view printable_name) {
  return fmt::format("\"{}\"", printable_name);
}

std::string query_for(std::string_view printable_name, int64_t least_ns, int64_t most_ns) {
  return fmt::format("\"{}\" >={}ns <={}ns", printable_name, least_ns, most_ns);
}

SearchHits find_hits(Scene const& scene, std::string const& text, std::stop_token const& stop,
                     SearchFeed* feed) {
  Query const query = parse_query(text);
  if (query.is_empty()) return {};
  return scene.store->search(scene, query, stop, feed);
}

}  // namespace stepscope::viewer
