#include "run_loading/team/team_files.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "run_loading/team/helper.h"
#include "trace/import/common/rank_from_name.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;
using import::OpenedFile;

/// A source that a helper has opened.
class OpenedByHelper final : public import::RemoteTrace {
 public:
  OpenedByHelper(Team& team, uint32_t rank, OpenedThere opened, std::string path_here)
      : RemoteTrace(std::move(opened.facts)),
        team_(team),
        owner_{rank, opened.number},
        path_here_(std::move(path_here)) {}
  ~OpenedByHelper() override { team_.forget(owner_.rank, question(Asks::kForget)); }

  [[nodiscard]] SourceOwner owner() const { return owner_; }
  /// The file, where this process sees it, too; else empty.
  [[nodiscard]] std::string const& path_here() const { return path_here_; }

  [[nodiscard]] Expected<std::vector<file::StepSpan>> steps() const override {
    auto const answer = team_.ask(owner_.rank, question(Asks::kSteps));
    if (!answer) return base::fail_with(answer);
    std::vector<file::StepSpan> steps;
    if (!unpack_fields(*answer, steps)) return unreadable();
    return steps;
  }
  [[nodiscard]] Expected<model::Trace> copy(file::Selection const& selection) const override {
    auto const answer = team_.ask(owner_.rank, question(Asks::kCopy, selection));
    if (!answer) return base::fail_with(answer);
    auto trace = model::unpacked_trace(*answer);
    if (!trace) return unreadable();
    return std::move(*trace);
  }
  [[nodiscard]] std::optional<model::Trace> read_kinds(uint64_t kinds) const override {
    auto const answer = team_.ask(owner_.rank, question(Asks::kReadKinds, kinds));
    return answer && !answer->empty() ? model::unpacked_trace(*answer) : std::nullopt;
  }
  [[nodiscard]] Expected<import::CollectivesOfDevices> collectives() const override {
    auto const answer = team_.ask(owner_.rank, question(Asks::kCollectives));
    if (!answer) return base::fail_with(answer);
    import::CollectivesOfDevices collectives;
    if (!unpack_fields(*answer, collectives)) return unreadable();
    return collectives;
  }

 private:
  template <class... Fields>
  [[nodiscard]] std::string question(Asks asks, Fields const&... fields) const {
    return packed_fields(asks, owner_.number, fields...);
  }
  [[nodiscard]] tl::unexpected<base::Error> unreadable() const {
    return base::fail("an answer of rank {} cannot be read", owner_.rank);
  }

  Team& team_;
  SourceOwner owner_;
  std::string path_here_;
};

/// Files of one name may have the same first bytes and differ: one still grows, or is a cut copy.
bool has_events_of(import::TraceSource const& here, import::RemoteTrace::Facts const& there) {
  model::Interval const when = here.time_range();
  return here.event_counts() == there.event_counts && here.kinds() == there.kinds &&
         here.tracks().size() == there.head.tracks.size() && when.begin == there.time_range.begin &&
         when.end == there.time_range.end;
}

}  // namespace

std::optional<import::TraceSource> opened_here(import::TraceSource const& source) {
  auto const* const remote = dynamic_cast<OpenedByHelper const*>(source.remote());
  if (remote == nullptr || remote->path_here().empty()) return std::nullopt;
  auto file = file::TraceFile::open(remote->path_here());
  if (!file) return std::nullopt;

  import::TraceSource here(std::move(*file));
  if (!has_events_of(here, remote->facts())) return std::nullopt;
  here.assume_rank(source.info().rank);
  here.assume_world_size(source.info().world_size);
  if (!source.drift().is_none()) here.correct_drift(source.drift());
  return here;
}

std::vector<uint32_t> divide(std::vector<uint64_t> const& sizes,
                             std::vector<std::vector<uint32_t>> const& candidates,
                             uint32_t owners) {
  constexpr double kShareOfAnswers = 0.08;

  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });

  std::vector<uint32_t> result(sizes.size());
  std::vector<uint64_t> loads(owners);
  auto const all = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}));
  loads.front() = static_cast<uint64_t>(kShareOfAnswers * all);

  for (size_t const item : order) {
    // The last one, where several have least.
    uint32_t least = candidates[item].front();
    for (uint32_t const owner : candidates[item])
      if (loads[owner] <= loads[least]) least = owner;
    result[item] = least;
    loads[least] += sizes[item] + 1;
  }
  return result;
}

TeamFiles::TeamFiles(Team& team) : team_(team) {}

Expected<import::RunFiles> TeamFiles::find(std::string const& path) {
  std::vector<std::optional<Expected<FoundFiles>>> found(team_.size());
  std::vector<uint32_t> owners(team_.size());
  std::iota(owners.begin(), owners.end(), uint32_t{0});
  team_.spread(owners, [&](size_t rank) {
    found[rank].emplace(rank == 0 ? find_here(path) : find_there(owners[rank], path));
  });

  if (auto const why = team_.failure()) return base::fail("{}", *why);

  import::RunFiles run;
  bool is_first = true, are_alike = true;
  for (uint32_t rank = 0; rank < team_.size(); ++rank) {
    if (!*found[rank] || (*found[rank])->files.empty()) continue;
    std::vector<std::string> names, new_names;
    for (FoundFiles::File const& file : (*found[rank])->files) {
      Seen& seen = seen_[file.path];
      if (!seen.by.empty() && seen.head != file.head)
        return base::fail(
            "{}: is another file for process {} than for process {}, give the files of each "
            "machine "
            "names of their own",
            file.path, rank, seen.by.front());

      names.push_back(file.path);
      if (seen.by.empty()) new_names.push_back(file.path);
      seen.bytes = std::max(seen.bytes, file.bytes);
      seen.head = file.head;
      seen.by.push_back(rank);
    }

    are_alike = are_alike && (is_first || names == run.files);
    is_first = false;
    run.files.insert(run.files.end(), new_names.begin(), new_names.end());
    for (std::string const& note : (*found[rank])->notes)
      if (std::find(run.notes.begin(), run.notes.end(), note) == run.notes.end())
        run.notes.push_back(note);
  }

  if (!are_alike) std::sort(run.files.begin(), run.files.end(), import::natural_less);
  if (!is_first) return run;
  if (!*found[0]) return base::fail_with(*found[0]);
  return import::find_run_files(path);
}

Expected<FoundFiles> TeamFiles::find_there(uint32_t rank, std::string const& path) {
  auto const answer = team_.ask(rank, packed_fields(Asks::kFind, path));
  if (!answer) return base::fail_with(answer);
  FoundFiles found;
  if (!unpack_fields(*answer, found))
    return base::fail("an answer of rank {} cannot be read", rank);
  return found;
}

std::vector<OpenedFile> TeamFiles::open(std::vector<std::string> const& files) {
  std::vector<uint64_t> sizes;
  std::vector<std::vector<uint32_t>> seen_by;
  for (std::string const& file : files) {
    Seen const& seen = seen_[file];
    sizes.push_back(seen.bytes);
    // A file that no process sees is opened here, for its error.
    seen_by.push_back(seen.by.empty() ? std::vector<uint32_t>{0} : seen.by);
  }

  std::vector<uint32_t> const owners = divide(sizes, seen_by, team_.size());
  std::vector<std::optional<OpenedFile>> opened(files.size());
  team_.spread(owners, [&](size_t i) {
    if (owners[i] == 0)
      opened[i].emplace(std::move(import::open_files({files[i]}, {0, 0}).front()));
    else
      opened[i].emplace(open_there(owners[i], files[i]));
  });

  std::vector<OpenedFile> result;
  for (auto& file : opened) result.push_back(std::move(*file));
  return result;
}

OpenedFile TeamFiles::open_there(uint32_t rank, std::string const& path) {
  auto const answer = team_.ask(rank, packed_fields(Asks::kOpen, path));
  if (!answer) return base::fail_with(answer);
  std::vector<OpenedThere> opened;
  if (!unpack_fields(*answer, opened))
    return base::fail("an answer of rank {} cannot be read", rank);

  std::vector<uint32_t> const& seen_by = seen_.at(path).by;
  bool const is_seen_here = !seen_by.empty() && seen_by.front() == 0;
  std::vector<import::TraceSource> sources;
  for (OpenedThere& each : opened)
    sources.emplace_back(std::make_shared<OpenedByHelper const>(
        team_, rank, std::move(each), is_seen_here ? path : std::string()));
  return sources;
}

SourceOwner owner_of(import::TraceSource const& source) {
  auto const* const remote = dynamic_cast<OpenedByHelper const*>(source.remote());
  return remote == nullptr ? SourceOwner() : remote->owner();
}

std::vector<uint32_t> owners_of(std::vector<import::RankSource> const& ranks) {
  std::vector<uint32_t> owners;
  for (import::RankSource const& rank : ranks) owners.push_back(owner_of(rank.source).rank);
  return owners;
}

}  // namespace stepscope::run_loading
