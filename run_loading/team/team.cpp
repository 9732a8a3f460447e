// Questions and answers over the messages of the processes; see team.h. A channel carries one
// question at a time, under two tags of its own.
#include "run_loading/team/team.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <optional>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "analyzer/analyze.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;
using mpi::Processes;

constexpr uint32_t kMostChannels = 64;
/// One message carries at most INT_MAX bytes.
constexpr size_t kMostAtOnce = size_t{1} << 30;

int question_tag(uint32_t channel) { return static_cast<int>(2 * channel); }
int answer_tag(uint32_t channel) { return static_cast<int>(2 * channel + 1); }

/// What goes ahead of a text.
struct Head {
  uint64_t bytes = 0;
  uint64_t is_good = 1;  ///< else the text of an answer is an error
};

void send_text(Processes& processes, uint32_t to, int tag, std::string const& text,
               bool is_good = true) {
  Head const head{text.size(), is_good ? uint64_t{1} : 0};
  processes.send(to, tag, &head, sizeof head);
  for (size_t at = 0; at < text.size(); at += kMostAtOnce)
    processes.send(to, tag, text.data() + at, std::min(kMostAtOnce, text.size() - at));
}

struct Received {
  std::string text;
  bool is_good = true;
};
/// Nothing after a failure of the processes.
std::optional<Received> receive_text(Processes& processes, uint32_t from, int tag) {
  Head head;
  if (!processes.receive(from, tag, &head, sizeof head)) return std::nullopt;
  Received received{std::string(head.bytes, '\0'), head.is_good != 0};
  std::string& text = received.text;
  for (size_t at = 0; at < text.size(); at += kMostAtOnce)
    if (!processes.receive(from, tag, text.data() + at, std::min(kMostAtOnce, text.size() - at)))
      return std::nullopt;
  return received;
}

/// At most so many threads work at once.
class Turns {
 public:
  explicit Turns(size_t at_once) : free_(static_cast<std::ptrdiff_t>(at_once)) {}
  class Own {
   public:
    explicit Own(Turns& turns) : turns_(turns) { turns_.free_.acquire(); }
    ~Own() { turns_.free_.release(); }
    Own(Own const&) = delete;
    Own& operator=(Own const&) = delete;

   private:
    Turns& turns_;
  };

 private:
  std::counting_semaphore<> free_;
};

std::string why_gone(Processes const& processes) {
  return processes.failure().value_or("another process of the analysis is gone");
}

using Work = std::function<void(size_t)>;
/// The next item, and what is to be done with it; nothing where nothing is left.
struct NextWork {
  size_t item = 0;
  Work const* work = nullptr;
};

/// Does all work that `take` gives, as much at once as this process analyzes processes. `take` is
/// called by one thread at a time.
void on_all_cores(std::function<NextWork()> const& take) {
  auto const next = [&](tbb::flow_control& control) -> NextWork {
    NextWork const taken = take();
    if (taken.work == nullptr) control.stop();
    return taken;
  };
  auto const work = [](NextWork const& taken) { (*taken.work)(taken.item); };
  tbb::parallel_pipeline(analyzer::processes_at_once(),
                         tbb::make_filter<void, NextWork>(tbb::filter_mode::serial_in_order, next) &
                             tbb::make_filter<NextWork, void>(tbb::filter_mode::parallel, work));
}

}  // namespace

uint32_t channels_of_this_process() {
  // One more than cores: while an answer is on its way, the next question is worked on.
  return static_cast<uint32_t>(analyzer::processes_at_once()) + 1;
}

Team::Team(std::shared_ptr<mpi::Processes> processes, size_t own_cores)
    : processes_(std::move(processes)),
      own_cores_(own_cores),
      helpers_(processes_->size()),
      channels_(processes_->size()) {
  processes_->watch();
  std::vector<std::string> const all =
      processes_->all_gather(std::to_string(channels_of_this_process()));

  for (uint32_t rank = 1; rank < size(); ++rank) {
    uint32_t const channels = static_cast<uint32_t>(std::strtoul(all[rank].c_str(), nullptr, 10));
    for (uint32_t channel = 0; channel < std::clamp(channels, 1U, kMostChannels); ++channel)
      helpers_[rank].free.push_back(channel);
    channels_[rank] = helpers_[rank].free.size();
  }
}

Team::~Team() {
  for (uint32_t rank = 1; rank < size(); ++rank)
    for (uint32_t const channel : helpers_[rank].free)
      send_text(*processes_, rank, question_tag(channel), "");
}

void Team::forget(uint32_t helper, std::string question) {
  std::lock_guard const lock(mutex_);
  helpers_[helper].forgotten.push_back(std::move(question));
}

Expected<std::string> Team::ask(uint32_t helper, std::string const& question) {
  uint32_t channel = 0;
  std::vector<std::string> forgotten;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !helpers_[helper].free.empty(); });
    channel = helpers_[helper].free.back();
    helpers_[helper].free.pop_back();
    forgotten.swap(helpers_[helper].forgotten);
  }

  for (std::string const& each : forgotten) {
    send_text(*processes_, helper, question_tag(channel), each);
    receive_text(*processes_, helper, answer_tag(channel));
  }

  send_text(*processes_, helper, question_tag(channel), question);
  auto answer = receive_text(*processes_, helper, answer_tag(channel));
  {
    std::lock_guard const lock(mutex_);
    helpers_[helper].free.push_back(channel);
  }
  freed_.notify_all();  // who waits may wait for another helper
  if (!answer) return base::fail("{}", why_gone(*processes_));
  if (!answer->is_good) return base::fail("{}", answer->text);
  return std::move(answer->text);
}

/// The items of each process in the order in which they are taken; from several threads.
class Team::Shares {
 public:
  Shares(std::vector<uint32_t> const& owner_of, uint32_t size) : items_(size), taken_(size) {
    for (size_t i = 0; i < owner_of.size(); ++i) items_[owner_of[i]].push_back(i);
  }

  std::optional<size_t> take(uint32_t rank) {
    size_t const place = taken_[rank]++;
    return place < items_[rank].size() ? std::optional(items_[rank][place]) : std::nullopt;
  }
  /// How many are still to be taken.
  [[nodiscard]] size_t left(uint32_t rank) const {
    return items_[rank].size() - std::min<size_t>(taken_[rank], items_[rank].size());
  }
  /// The helper with the most left.
  [[nodiscard]] uint32_t slowest_helper() const {
    uint32_t slowest = 0;
    for (uint32_t rank = 1; rank < items_.size(); ++rank)
      if (slowest == 0 || left(rank) > left(slowest)) slowest = rank;
    return slowest;
  }

 private:
  std::vector<std::vector<size_t>> items_;  ///< by rank
  std::vector<std::atomic<size_t>> taken_;  ///< by rank
};

void Team::spread(std::vector<uint32_t> const& owner_of, Work const& work, Work const& work_here) {
  Shares shares(owner_of, size());
  std::mutex mutex;
  std::exception_ptr thrown;
  auto const guard = [&](Work const& unguarded) -> Work {
    return [&](size_t i) {
      try {
        unguarded(i);
      } catch (...) {
        std::lock_guard const lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    };
  };

  Work const guarded = guard(work), guarded_here = guard(work_here);
  auto const work_of = [&](uint32_t rank) {
    while (auto const item = shares.take(rank)) guarded(*item);
  };
  auto const take_here = [&]() -> NextWork {
    if (auto const item = shares.take(0)) return {*item, &guarded};
    // A helper's last items are done sooner where they lie.
    uint32_t const slowest = shares.slowest_helper();
    if (!work_here || slowest == 0 || shares.left(slowest) <= channels_[slowest]) return {};
    auto const item = shares.take(slowest);
    return item ? NextWork{*item, &guarded_here} : NextWork{};
  };

  std::vector<std::thread> threads;
  try {
    for (uint32_t rank = 1; rank < size(); ++rank)
      for (size_t thread = 0; thread < std::min(channels_[rank], shares.left(rank)); ++thread)
        threads.emplace_back([&, rank] { work_of(rank); });
  } catch (std::system_error const&) {
    // So many threads are not allowed here: what they would do is done below.
  }

  tbb::task_arena(static_cast<int>(own_cores_)).execute([&] { on_all_cores(take_here); });
  for (uint32_t rank = 1; rank < size(); ++rank) work_of(rank);
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

void spread(Team* team, std::vector<uint32_t> const& owner_of, Work const& work,
            Work const& work_here) {
  if (team != nullptr) return team->spread(owner_of, work, work_here);
  size_t next = 0;
  on_all_cores([&] { return next < owner_of.size() ? NextWork{next++, &work} : NextWork{}; });
}

Expected<void> serve(Processes& processes,
                     std::function<Expected<std::string>(std::string_view)> const& answer) {
  processes.watch();
  uint32_t const channels = std::min(channels_of_this_process(), kMostChannels);
  processes.all_gather(std::to_string(channels));

  // Two processes of a run that take turns on a core would both lose its caches: the question of
  // the channel more waits for its turn.
  Turns turns(analyzer::processes_at_once());
  auto const in_turn = [&](std::string const& question) {
    Turns::Own const turn(turns);
    return answer(question);
  };

  auto const serve_channel = [&](uint32_t channel) {
    try {
      for (;;) {
        auto const question = receive_text(processes, 0, question_tag(channel));
        if (!question || question->text.empty()) return;
        auto const given = in_turn(question->text);
        send_text(processes, 0, answer_tag(channel), given ? *given : given.error().message,
                  given.has_value());
      }
    } catch (std::exception const& error) {
      processes.give_up(std::string("internal error: ") + error.what());
    }
  };

  std::vector<std::thread> threads;
  for (uint32_t channel = 0; channel < channels; ++channel)
    threads.emplace_back(serve_channel, channel);
  for (std::thread& thread : threads) thread.join();

  if (processes.failure()) return base::fail("{}", why_gone(processes));
  return {};
}

}  // namespace stepscope::run_loading
