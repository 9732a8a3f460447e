// Any bytes as what processes of a team tell each other (run_loading/team/questions.h): the first
// byte says which message. Unpacking never crashes, and what is whole packs to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/observed_bytes.h"
#include "query/tables/rows_table.h"
#include "run_loading/each_process.h"
#include "run_loading/team/questions.h"
#include "trace/model/derive/packed_trace.h"

namespace {

using namespace stepscope;

void expect_same(std::string_view bytes, std::string const& packed) {
  if (packed != bytes) std::abort();
}

template <class... Fields>
void look_at_fields(std::string_view bytes) {
  std::tuple<Fields...> fields;
  auto const unpack = [&](auto&... each) { return run_loading::unpack_fields(bytes, each...); };
  auto const pack = [](auto const&... each) { return run_loading::packed_fields(each...); };
  if (std::apply(unpack, fields)) expect_same(bytes, std::apply(pack, fields));
}

void look_at_question(std::string_view bytes) {
  if (auto const question = analyzer::unpacked_question(bytes))
    expect_same(bytes, analyzer::packed_question(*question));
}

void look_at_answer(std::string_view bytes) {
  base::Unpacker from(bytes);
  analyzer::ObservedProcess observed;
  model::WholeOfSkeleton whole;
  analyzer::unpack_answer(from, observed);
  from(whole);
  if (!from.is_whole()) return;

  base::Packer to;
  analyzer::pack_answer(to, observed);
  to(whole);
  expect_same(bytes, std::move(to).take());
}

void look_at_trace(std::string_view bytes) {
  if (auto const trace = model::unpacked_trace(bytes))
    expect_same(bytes, model::packed_trace(*trace));
}

void look_at_rows(std::string_view bytes) {
  query::Rows rows(2), again(2);
  if (!rows.add_packed(bytes)) return;
  // Texts that no cell has are left out.
  std::string const packed = rows.packed();
  if (!again.add_packed(packed)) std::abort();
  expect_same(packed, again.packed());
}

// THE list of messages; corpus_makers/team_messages.cpp makes inputs of each.
constexpr void (*kMessages[])(std::string_view) = {
    &look_at_fields<run_loading::FoundFiles>,
    &look_at_fields<std::vector<run_loading::OpenedThere>>,
    &look_at_fields<uint64_t, run_loading::PlaceInRun, bool>,
    &look_at_fields<uint64_t, file::Selection>,
    &look_at_fields<std::vector<file::StepSpan>>,
    &look_at_question,
    &look_at_answer,
    &look_at_trace,
    &look_at_fields<import::CollectivesOfDevices>,
    &look_at_fields<uint64_t, run_loading::PlaceInRun, run_loading::ProcessQuestion>,
    &look_at_fields<std::string, model::WholeOfSkeleton>,
    &look_at_rows,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  if (size == 0) return 0;
  std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  kMessages[data[0] % std::size(kMessages)](bytes);
  return 0;
}
