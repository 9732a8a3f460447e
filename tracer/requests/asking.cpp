#include "tracer/requests/asking.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/types.h>

#include "trace/base/format.h"
#include "trace/base/host_name.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;
using Clock = std::chrono::steady_clock;
using States = std::vector<ProcessState>;

/// Two who ask at once: the second one comes when the first has its answers.
constexpr std::chrono::seconds kPatience{5};
/// How often files are looked at while somebody waits.
constexpr std::chrono::milliseconds kLookPeriod{50};

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

bool is_same(ProcessState const& a, ProcessState const& b) {
  return a.host == b.host && a.process_id == b.process_id;
}

bool has_steps(ProcessState const& process) { return process.step >= 0; }

/// "rank 1 (…), rank 2 (…) and 6 more".
std::string list(States const& processes) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + describe(processes[i]);
  if (processes.size() > kMost) text += fmt::format(" and {} more", processes.size() - kMost);
  return text;
}

tl::unexpected<base::Error> silent(States const& processes, std::chrono::nanoseconds timeout) {
  return fail(
      "{} did not answer within {}: it may be stopped, or its machine does not see this folder; "
      "wait longer with --timeout",
      list(processes), base::format_duration(timeout.count()));
}

/// Ranks of the job that no process speaks for.
std::vector<int32_t> missing_ranks(States const& processes) {
  std::set<int32_t> there;
  int32_t ranks = 0;
  for (ProcessState const& process : processes) {
    if (process.rank < 0) continue;
    there.insert(process.rank);
    ranks = std::max(ranks, process.world_size);
  }

  constexpr size_t kMostNamed = 8;
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < ranks && missing.size() < kMostNamed; ++rank)
    if (!there.contains(rank)) missing.push_back(rank);
  return missing;
}

}  // namespace

std::string describe(ProcessState const& process) {
  std::string const where = fmt::format("process {} on {}", process.process_id, process.host);
  return process.rank < 0 ? where : fmt::format("rank {} ({})", process.rank, where);
}

bool may_live(ProcessState const& process) {
  if (process.phase == ProcessState::Phase::kEnded) return false;
  if (process.host != base::host_name()) return true;
  if (process.process_id <= 0 || !std::in_range<pid_t>(process.process_id)) return false;
  return ::kill(static_cast<pid_t>(process.process_id), 0) == 0 || errno == EPERM;
}

Expected<StepRange> choose_steps(States const& processes, AskedWindow const& asked) {
  States busy, with_steps;
  for (ProcessState const& process : processes) {
    if (has_steps(process)) with_steps.push_back(process);
    if (process.phase != ProcessState::Phase::kWaiting) busy.push_back(process);
  }

  if (!busy.empty())
    return fail("{}: a window of steps {} to {} is asked for already, ask again when it is written",
                list(busy), busy.front().window.first, busy.front().window.last);
  if (with_steps.empty())
    return fail(
        "no process has marked a step yet: wait for the first one, or mark steps as "
        "docs/guide/ANNOTATIONS.md says");
  if (auto const missing = missing_ranks(with_steps); !missing.empty())
    return fail("rank {} of the job has marked no step yet, or has ended: wait for it",
                fmt::join(missing, ", "));

  int64_t furthest = 0, shortest_ns = INT64_MAX;
  for (ProcessState const& process : with_steps) {
    furthest = std::max(furthest, process.step);
    if (process.step_ns > 0) shortest_ns = std::min(shortest_ns, process.step_ns);
  }
  if (!asked.ahead && shortest_ns == INT64_MAX)
    return fail(
        "how long a step takes is not known yet: ask again when the next one has begun, or say how "
        "many steps ahead with --in");

  constexpr int64_t kLeastAhead = 3;  // the step under way, the one that may begin now, one more
  int64_t const by_time = kLeadNs / shortest_ns + 1;
  int64_t const ahead = asked.ahead.value_or(std::max(by_time, kLeastAhead));

  StepRange steps;
  if (asked.steps < 1 || ahead < 1 || __builtin_add_overflow(furthest, ahead, &steps.first) ||
      __builtin_add_overflow(steps.first, asked.steps - 1, &steps.last) || steps.last == INT64_MAX)
    return fail("--steps {} --in {}: that is further than steps can be counted", asked.steps,
                ahead);
  return steps;
}

Expected<Asking> Asking::begin(std::string run) {
  std::string const folder = requests_folder(run);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return fail(
        "{}: nothing there can be asked, record the program with stepscope record --on-request",
        run);

  // Another command that asks is done within its timeout.
  auto lock = base::LockFile::take(folder + "/" + base::LockFile::kNameInFolder, run,
                                   base::LockFile::Share::kAlone, kPatience);
  if (!lock)
    return fail("{}: its processes cannot be asked just now, ask again in a moment ({})", run,
                lock.error().message);
  return Asking(std::move(run), std::move(*lock));
}

Expected<States> Asking::answers_to(Request request, std::chrono::nanoseconds timeout) {
  request.id = new_id();
  if (auto const written = write_request(run_, request); !written) return base::fail_with(written);

  auto const end = Clock::now() + timeout;
  for (;;) {
    States answered, unanswered;
    for (ProcessState& process : read_process_states(run_)) {
      bool const has_answered =
          process.request == request.id && (process.answer != ProcessState::Answer::kNone);
      if (has_answered)
        answered.push_back(std::move(process));
      else if (may_live(process))
        unanswered.push_back(std::move(process));
    }

    if (unanswered.empty()) return answered;
    if (Clock::now() >= end) return silent(unanswered, timeout);
    std::this_thread::sleep_for(kLookPeriod);
  }
}

Expected<States> Asking::ask(std::chrono::nanoseconds timeout) {
  auto states = answers_to({.kind = Request::Kind::kState}, timeout);
  if (!states) return states;

  auto const other = std::find_if(states->begin(), states->end(), [](ProcessState const& state) {
    return state.version != kRequestVersion || state.answer == ProcessState::Answer::kOtherVersion;
  });
  if (other != states->end())
    return fail("{}: is recorded by another version of Stepscope, ask it with that one",
                describe(*other));
  std::erase_if(*states, [](ProcessState const& state) {
    return state.phase == ProcessState::Phase::kEnded;
  });
  if (states->empty()) return fail("{}: no process is being recorded there any more", run_);
  return states;
}

Expected<States> Asking::ask_for_window(States const& processes, StepRange steps,
                                        std::chrono::nanoseconds timeout) {
  auto answers = answers_to({.kind = Request::Kind::kWindow, .steps = steps}, timeout);
  if (!answers) return answers;

  States recording, late;
  for (ProcessState const& process : processes) {
    if (!has_steps(process)) continue;
    auto const now = std::find_if(answers->begin(), answers->end(),
                                  [&](ProcessState const& each) { return is_same(each, process); });
    bool const is_good = now != answers->end() && now->answer == ProcessState::Answer::kDone;
    (is_good ? recording : late).push_back(now != answers->end() ? *now : process);
  }

  if (!late.empty())
    return fail(
        "{} cannot record the steps {} to {}: it was past them or has ended; ask again with a "
        "larger --in",
        list(late), steps.first, steps.last);
  return recording;
}

Expected<States> Asking::ask_to_stop(std::chrono::nanoseconds timeout) {
  return answers_to({.kind = Request::Kind::kStop}, timeout);
}

WrittenWindow wait_for_window(std::string const& run, States const& recording,
                              std::chrono::nanoseconds timeout) {
  auto const end = Clock::now() + timeout;
  for (;;) {
    WrittenWindow result;
    States const now = read_process_states(run);
    for (ProcessState const& before : recording) {
      auto const found = std::find_if(
          now.begin(), now.end(), [&](ProcessState const& each) { return is_same(each, before); });
      ProcessState const& process = found == now.end() ? before : *found;
      bool const is_past =
          process.phase == ProcessState::Phase::kWaiting && process.step > before.window.last;
      if (process.written > before.written)
        result.written.push_back(process);
      else
        (may_live(process) && !is_past ? result.waiting : result.without).push_back(process);
    }

    if (result.waiting.empty() || Clock::now() >= end) return result;
    std::this_thread::sleep_for(kLookPeriod);
  }
}

}  // namespace stepscope::tracer
