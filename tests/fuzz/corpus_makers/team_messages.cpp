// Writes the first inputs of fuzz_team_messages: usage make_team_corpus FOLDER (tests/fuzz/corpus).
// Deterministic.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "query/tables/rows_table.h"
#include "run_loading/each_process.h"
#include "run_loading/team/questions.h"
#include "tests/unit/trace/file/sample_trace.h"

namespace {

using namespace stepscope;
using import::RemoteTrace;

/// The first byte is the message's place in the list of targets/team_messages.cpp.
void write(std::filesystem::path const& folder, char const* name, char message,
           std::string const& bytes) {
  std::ofstream file(folder / name, std::ios::binary);
  file << message << bytes;
}

RemoteTrace::Facts facts_of(model::Trace const& trace) {
  RemoteTrace::Facts facts;
  facts.head.info = trace.info();
  facts.head.tracks = {trace.tracks().begin(), trace.tracks().end()};
  facts.head.devices = {trace.devices().begin(), trace.devices().end()};
  facts.event_counts = facts.kinds = {5, 7};
  return facts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }
  std::filesystem::path const folder = std::filesystem::path(argv[1]) / "team_messages";
  std::filesystem::create_directories(folder);

  model::Trace const trace = file::sample_trace(1, 2, 12);
  run_loading::PlaceInRun place;
  place.info = trace.info();
  place.file = "rank-0.stepscope";
  file::Selection selection;
  selection.tracks = {model::TrackId{0}, model::TrackId{1}};

  write(folder, "found", 0,
        run_loading::packed_fields(
            run_loading::FoundFiles{{{"rank-0.stepscope", 100, 7}}, {"one file was left out"}}));
  write(folder, "opened", 1,
        run_loading::packed_fields(std::vector<run_loading::OpenedThere>{{3, facts_of(trace)}}));
  write(folder, "place", 2, run_loading::packed_fields(uint64_t{3}, place, true));
  write(folder, "selection", 3, run_loading::packed_fields(uint64_t{3}, selection));
  write(folder, "steps", 4, run_loading::packed_fields(std::vector<file::StepSpan>(2)));
  write(folder, "question", 5, analyzer::packed_question({}));

  base::Packer answer;
  analyzer::pack_answer(answer, {});
  answer(model::WholeOfSkeleton{});
  write(folder, "answer", 6, std::move(answer).take());
  write(folder, "trace", 7, model::packed_trace(trace));
  write(folder, "collectives", 8,
        run_loading::packed_fields(import::CollectivesOfDevices{{{}, {}}, {{}}}));

  run_loading::ProcessQuestion const asked{"select count(*) from kernels", {}};
  write(folder, "asked", 9, run_loading::packed_fields(uint64_t{3}, place, asked));
  write(folder, "worked", 10,
        run_loading::packed_fields(std::string("an answer"), model::WholeOfSkeleton{}));
  query::Rows rows(2);
  rows.add_text("a kernel");
  rows.add(model::Cell::of(int64_t{-7}));
  write(folder, "rows", 11, rows.packed());
  return 0;
}
