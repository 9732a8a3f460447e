#include "agent/serve.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "agent/line_reader.h"
#include "agent/server.h"

namespace stepscope::agent {
namespace {

/// Whole lines, from several threads.
class LineWriter {
 public:
  explicit LineWriter(int descriptor) : descriptor_(descriptor) {}

  void write(std::string line) {
    line += '\n';
    std::lock_guard const lock(mutex_);
    for (size_t done = 0; done < line.size() && error_ == 0;) {
      ssize_t const wrote = ::write(descriptor_, line.data() + done, line.size() - done);
      if (wrote >= 0) done += static_cast<size_t>(wrote);
      if (wrote < 0 && errno != EINTR) error_ = errno;
    }
  }
  /// 0: all was written.
  [[nodiscard]] int error() {
    std::lock_guard const lock(mutex_);
    return error_;
  }

 private:
  int descriptor_, error_ = 0;
  std::mutex mutex_;
};

/// Work that waits, and the calls that may still be cancelled.
class WorkQueue {
 public:
  /// False: too much waits already.
  bool push(Work work) {
    std::lock_guard const lock(mutex_);
    if (waiting_.size() == kMostWaiting) return false;
    for (auto const& part : work.parts)
      if (auto const* const call = std::get_if<ToolCall>(&part))
        calls_.emplace_back(call->id, call->stop);
    waiting_.push_back(std::move(work));
    changed_.notify_one();
    return true;
  }
  /// Waits for work; nothing after close() when all is done.
  std::optional<Work> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    return work;
  }
  void finish(std::vector<Json> const& ids) {
    std::lock_guard const lock(mutex_);
    for (Json const& id : ids) {
      auto const call = std::find_if(calls_.begin(), calls_.end(),
                                     [&](auto const& each) { return each.first == id; });
      if (call != calls_.end()) calls_.erase(call);
    }
  }
  void cancel(Json const& id) {
    std::lock_guard const lock(mutex_);
    for (auto& [of, stop] : calls_)
      if (of == id) stop.request_stop();
  }
  void close(bool is_dropped) {
    std::lock_guard const lock(mutex_);
    is_closed_ = true;
    if (is_dropped) {
      waiting_.clear();
      for (auto& [id, stop] : calls_) stop.request_stop();
    }
    changed_.notify_all();
  }

 private:
  static constexpr size_t kMostWaiting = 256;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::vector<std::pair<Json, std::stop_source>> calls_;
  bool is_closed_ = false;
};

std::vector<Json> ids_of(Work const& work) {
  std::vector<Json> ids;
  for (auto const& part : work.parts)
    if (auto const* const call = std::get_if<ToolCall>(&part)) ids.push_back(call->id);
  return ids;
}

void answer_all(Server& server, WorkQueue& queue, LineWriter& writer) {
  while (std::optional<Work> work = queue.pop()) {
    std::vector<Json> const ids = ids_of(*work);
    std::string answer = server.run(std::move(*work));
    queue.finish(ids);
    if (!answer.empty()) writer.write(std::move(answer));
  }
}

void refuse(Work const& work, LineWriter& writer) {
  for (Json const& id : ids_of(work))
    writer.write(line_of(error_message(
        id, {kInvalidRequest, "too many requests wait, send this one again later", {}})));
}

}  // namespace

base::Expected<void> serve(RunStore& runs, std::string const& version, int input, int output) {
  Server server(runs, version);
  LineWriter writer(output);
  WorkQueue queue;
  std::thread worker([&] { answer_all(server, queue, writer); });

  LineReader reader(input, kLongestLine);
  while (writer.error() == 0) {
    std::optional<std::string> const line = reader.next();
    if (!line) break;
    Server::Received received = server.receive(*line);
    for (Json const& id : received.cancelled) queue.cancel(id);
    for (std::string& answer : received.lines) writer.write(std::move(answer));
    if (received.work && !queue.push(*received.work)) refuse(*received.work, writer);
  }

  queue.close(writer.error() != 0);
  worker.join();
  if (int const error = writer.error(); error != 0)
    return base::fail("the client reads no more ({})", std::strerror(error));
  return {};
}

}  // namespace stepscope::agent
