#include "run_loading/each_process.h"

#include <memory>
#include <optional>
#include <utility>

#include "run_loading/process_reading.h"
#include "run_loading/team/team_files.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;

Expected<WorkedProcess> work_there(Team& team, SourceOwner owner, import::RankSource const& of,
                                   ProcessQuestion const& question) {
  PlaceInRun const place{of.source.info(), of.source.drift(), of.offset_ns, of.file, of.drift};
  auto const answer =
      team.ask(owner.rank, packed_fields(Asks::kWork, owner.number, place, question));
  if (!answer) return base::fail_with(answer);

  WorkedProcess worked;
  if (!unpack_fields(*answer, worked.bytes, worked.whole))
    return base::fail("an answer of rank {} cannot be read", owner.rank);
  return worked;
}

}  // namespace

Expected<WorkedProcess> work_on_process(import::RankSource const& source,
                                        ProcessQuestion const& question, ProcessWork const& work) {
  auto const trace = source.source.read(all_events(source.source, question.columns));
  if (!trace) return base::fail_with(trace);
  source.source.release_pages();

  auto bytes = work(question.text, **trace, source.offset_ns);
  if (!bytes) return base::fail_with(bytes);
  return WorkedProcess{std::move(*bytes), model::whole_of_skeleton(**trace)};
}

Expected<WorkedRun> work_on_each_process(import::RunSources const& sources,
                                         ProcessQuestion const& question, ProcessWork const& work,
                                         Team* team) {
  std::vector<std::optional<Expected<WorkedProcess>>> worked(sources.ranks.size());
  spread(team, owners_of(sources.ranks), [&](size_t i) {
    import::RankSource const& source = sources.ranks[i];
    SourceOwner const owner = owner_of(source.source);
    worked[i].emplace(owner.rank == 0 ? work_on_process(source, question, work)
                                      : work_there(*team, owner, source, question));
  });
  // What lies with a process that is gone cannot be left out as if it could not be read.
  if (auto const why = team != nullptr ? team->failure() : std::nullopt)
    return base::fail("{}", *why);

  WorkedRun result{{}, {sources.name, {}, sources.clock, sources.notes}};
  std::optional<base::Error> first_error;
  for (size_t i = 0; i < worked.size(); ++i) {
    import::RankSource const& source = sources.ranks[i];
    Expected<WorkedProcess>& process = *worked[i];
    if (!process) {
      if (!first_error) first_error = process.error();
      result.run.notes.push_back(process.error().message);
      continue;
    }
    model::Trace trace = without_events(source.source);
    model::complete_skeleton(trace, process->whole);
    result.run.ranks.push_back({std::move(trace), source.offset_ns, source.file, source.drift});
    result.answers.push_back(std::move(process->bytes));
  }

  if (result.answers.empty() && first_error) return base::fail("{}", first_error->message);
  return result;
}

}  // namespace stepscope::run_loading
