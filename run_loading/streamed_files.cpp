#include "run_loading/streamed_files.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "run_loading/team/team_files.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;

/// Takes answers as they come and hands them on in the order of their places; from several threads.
class InOrder {
 public:
  using Answer = Expected<analyzer::ObservedProcess>;
  explicit InOrder(std::function<void(analyzer::ObservedProcess)> const& keep) : keep_(keep) {}

  void take(size_t place, Answer answer) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(place, std::move(answer));
    if (is_handing_on_) return;

    is_handing_on_ = true;
    for (auto next = waiting_.find(next_); next != waiting_.end() && !error_;
         next = waiting_.find(++next_)) {
      Answer first = std::move(next->second);
      waiting_.erase(next);
      if (!first) {
        error_ = first.error();
        break;
      }
      lock.unlock();
      keep_(std::move(*first));
      lock.lock();
    }
    is_handing_on_ = false;
  }
  /// The error of the first place that has one, once all answers before it have come.
  [[nodiscard]] std::optional<base::Error> error() {
    std::lock_guard const lock(mutex_);
    return error_;
  }

 private:
  std::function<void(analyzer::ObservedProcess)> const& keep_;
  std::mutex mutex_;
  std::map<size_t, Answer> waiting_;  ///< by place
  size_t next_ = 0;
  bool is_handing_on_ = false;
  std::optional<base::Error> error_;
};

}  // namespace

StreamedFiles::StreamedFiles(Sources sources, StreamedOptions options)
    : sources_(std::move(sources)), options_(std::move(options)) {}

Expected<model::Trace> StreamedFiles::copy(size_t source, file::Selection const& selection,
                                           Reader reader) const {
  if (options_.progress && options_.progress->given_up) return base::fail("given up");
  import::TraceSource const& of = sources_->ranks[source].source;
  auto const here = reader == Reader::kHere ? opened_here(of) : std::nullopt;
  auto trace = here ? here->copy(selection) : of.copy(selection);
  // Its owner may have more memory, or a better way to its disk.
  if (here && !trace) trace = of.copy(selection);
  (here ? *here : of).release_pages();
  if (options_.progress) ++options_.progress->processes_read;
  return trace;
}

Expected<model::Trace> StreamedFiles::read_skeleton(size_t source) const {
  if (options_.progress && options_.progress->given_up) return base::fail("given up");
  import::RankSource const& of = sources_->ranks[source];
  SourceOwner const owner = owner_of(of.source);
  auto trace = owner.rank == 0 ? run_loading::read_skeleton(of.source, options_.is_all_analyzed)
                               : skeleton_there(owner, of, options_.is_all_analyzed);
  if (options_.progress) ++options_.progress->processes_read;
  return trace;
}

Expected<model::Trace> StreamedFiles::skeleton_there(SourceOwner owner,
                                                     import::RankSource const& of,
                                                     bool is_analyzed) const {
  PlaceInRun const place{of.source.info(), of.source.drift(), of.offset_ns, of.file, of.drift};
  auto const answer = options_.team->ask(
      owner.rank, packed_fields(Asks::kSkeleton, owner.number, place, is_analyzed));
  if (!answer) return base::fail_with(answer);
  auto trace = model::unpacked_trace(*answer);
  if (!trace) return base::fail("an answer of rank {} cannot be read", owner.rank);
  return std::move(*trace);
}

std::vector<uint32_t> StreamedFiles::owners_of(std::vector<size_t> const& processes) const {
  std::vector<uint32_t> owners;
  for (size_t const process : processes)
    owners.push_back(owner_of(sources_->ranks[source_of_[process]].source).rank);
  return owners;
}

Expected<StreamedFiles> StreamedFiles::open(Sources sources, StreamedOptions options) {
  StreamedFiles files(std::move(sources), std::move(options));
  import::RunSources const& of = *files.sources_;

  std::vector<std::optional<Expected<model::Trace>>> traces(of.ranks.size());
  spread(files.options_.team, run_loading::owners_of(of.ranks),
         [&](size_t i) { traces[i].emplace(files.read_skeleton(i)); });
  // What lies with a process that is gone cannot be left out as if it could not be read.
  if (Team* const team = files.options_.team)
    if (auto const why = team->failure()) return base::fail("{}", *why);
  if (files.options_.progress && files.options_.progress->given_up) return base::fail("given up");
  files.skeleton_ = {of.name, {}, of.clock, of.notes};

  bool any = false;
  for (size_t i = 0; i < traces.size(); ++i) {
    Expected<model::Trace>& trace = *traces[i];
    bool const is_readable = trace.has_value();
    any = any || is_readable;
    if (!is_readable) files.unreadable_.push_back(trace.error().message);
    if (!is_readable && files.options_.unreadable == Unreadable::kWithoutEvents)
      trace = without_events(of.ranks[i].source);
    if (!trace) continue;

    files.skeleton_.ranks.push_back(
        {std::move(*trace), of.ranks[i].offset_ns, of.ranks[i].file, of.ranks[i].drift});
    files.source_of_.push_back(i);
    files.has_no_events_.push_back(!is_readable);
  }

  if (!any) return base::fail("{}", files.unreadable_.front());
  files.skeleton_.notes.insert(files.skeleton_.notes.end(), files.unreadable_.begin(),
                               files.unreadable_.end());
  return files;
}

Expected<model::RankTrace> StreamedFiles::read(size_t process, file::Selection const& selection,
                                               Reader reader) const {
  import::RankSource const& rank = sources_->ranks[source_of_[process]];
  auto trace = has_no_events_[process] ? Expected<model::Trace>(without_events(rank.source))
                                       : copy(source_of_[process], selection, reader);
  if (!trace) return base::fail_with(trace);
  return model::RankTrace{std::move(*trace), rank.offset_ns, rank.file, rank.drift};
}

std::vector<Expected<model::RankTrace>> StreamedFiles::read_windows(
    std::vector<size_t> const& processes, model::Interval window) const {
  std::vector<std::optional<Expected<model::RankTrace>>> parts(processes.size());
  auto const read_one = [&](size_t place, Reader reader) {
    size_t const process = processes[place];
    import::RankSource const& rank = sources_->ranks[source_of_[process]];
    parts[place].emplace(read(process, path_selection(rank, window), reader));
  };

  spread(
      options_.team, owners_of(processes), [&](size_t place) { read_one(place, Reader::kOwner); },
      [&](size_t place) { read_one(place, Reader::kHere); });
  std::vector<Expected<model::RankTrace>> result;
  for (auto& part : parts) result.push_back(std::move(*part));
  return result;
}

Expected<analyzer::ObservedProcess> StreamedFiles::observe(size_t process,
                                                           analyzer::ProcessQuestion question,
                                                           Reader reader) {
  import::RankSource const& source = sources_->ranks[source_of_[process]];
  SourceOwner const owner = owner_of(source.source);
  model::Trace& skeleton = skeleton_.ranks[process].trace;
  if (owner.rank == 0 || reader == Reader::kHere || has_no_events_[process]) {
    auto const whole = read(process, observed_selection(), reader);
    if (!whole) return base::fail_with(whole);
    model::complete_skeleton(skeleton, model::whole_of_skeleton(whole->trace));
    return analyzer::answer_question(std::move(question), skeleton_.ranks[process], *whole);
  }

  auto const answer = options_.team->ask(
      owner.rank, packed_fields(Asks::kObserve, owner.number, analyzer::packed_question(question)));
  if (!answer) return base::fail_with(answer);
  analyzer::ObservedProcess observed;
  model::WholeOfSkeleton facts;
  base::Unpacker at(*answer);
  analyzer::unpack_answer(at, observed);
  at(facts);
  if (!at.is_whole()) return base::fail("an answer of rank {} cannot be read", owner.rank);
  model::complete_skeleton(skeleton, facts);
  return observed;
}

Expected<analyzer::Analysis> StreamedFiles::analyze(analyzer::AnalyzeOptions const& analysis) {
  auto const read_whole = [this](size_t process) {
    auto rank = read(process, observed_selection());
    if (rank)
      model::complete_skeleton(skeleton_.ranks[process].trace,
                               model::whole_of_skeleton(rank->trace));
    return rank;
  };
  auto const read_window = [this](size_t process, model::Interval window) {
    return read(process, path_selection(sources_->ranks[source_of_[process]], window));
  };

  analyzer::StreamedRun run{skeleton_, read_whole, read_window};
  analyzer::ProcessObservers observers;
  if (options_.team != nullptr) {
    run.read_windows = [this](std::vector<size_t> const& processes, model::Interval window) {
      return read_windows(processes, window);
    };
    observers = [this](std::vector<size_t> const& processes, auto const& ask, auto const& keep) {
      InOrder in_order(keep);
      auto const observe_at = [&](size_t place, Reader reader) {
        if (in_order.error()) return;
        in_order.take(place, observe(processes[place], ask(processes[place]), reader));
      };
      spread(
          options_.team, owners_of(processes),
          [&](size_t place) { observe_at(place, Reader::kOwner); },
          [&](size_t place) { observe_at(place, Reader::kHere); });
      return in_order.error();
    };
  }

  return analyzer::analyze(run, analysis, observers);
}

}  // namespace stepscope::run_loading
