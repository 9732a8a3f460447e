// An MPI whose processes are threads of one: messages in memory, so that what is built on MPI can
// be tested without it.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "mpi/processes.h"

namespace stepscope::mpi::testing {

class FakeMpi {
 public:
  static constexpr int kMaxRanks = 4;
  /// For rank `rank` of all.
  static MpiModule const& module(uint32_t rank);
  /// Forgets messages that no rank received in an earlier test.
  static void clear() {
    std::lock_guard const lock(mutex());
    messages().clear();
    requests().clear();
    finished() = 0;
  }
  /// How many processes have ended in good order, with no message on its way.
  static std::atomic<uint32_t>& finished() {
    static std::atomic<uint32_t> count = 0;
    return count;
  }

 private:
  struct Request {
    std::tuple<int, int, int> key;  ///< from, to, tag
    void* data;                     ///< null = sent, which is over at once
    size_t bytes;
  };
  using Messages = std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>>;
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static Messages& messages() {
    static Messages all;
    return all;
  }
  /// Requests that are not over. After a failure no rank tests them again, as with MPI.
  static std::map<void*, std::unique_ptr<Request>>& requests() {
    static std::map<void*, std::unique_ptr<Request>> all;
    return all;
  }
  static void* keep(Request const& made) {
    auto request = std::make_unique<Request>(made);
    void* const key = request.get();
    requests().emplace(key, std::move(request));
    return key;
  }
  template <int Rank>
  static char const* send(void const* data, size_t bytes, int to, int tag, void** request) {
    auto const* const first = static_cast<std::byte const*>(data);
    std::lock_guard const lock(mutex());
    messages()[{Rank, to, tag}].emplace_back(first, first + bytes);
    *request = keep({{Rank, to, tag}, nullptr, bytes});
    return nullptr;
  }
  template <int Rank>
  static char const* receive(void* data, size_t bytes, int from, int tag, void** request) {
    std::lock_guard const lock(mutex());
    *request = keep({{from, Rank, tag}, data, bytes});
    return nullptr;
  }
  static char const* test(void* request, bool* over) {
    std::lock_guard const lock(mutex());
    auto const kept = requests().find(request);
    auto& waiting = messages()[kept->second->key];
    *over = kept->second->data == nullptr || !waiting.empty();
    if (!*over) return nullptr;

    std::unique_ptr<Request> const asked = std::move(kept->second);
    requests().erase(kept);
    if (asked->data == nullptr) return nullptr;

    if (waiting.front().size() != asked->bytes) return "a message of another size";
    if (asked->bytes > 0) std::memcpy(asked->data, waiting.front().data(), asked->bytes);
    waiting.pop_front();
    return nullptr;
  }
  template <int Rank>
  static constexpr MpiModule make() {
    return {nullptr, send<Rank>, receive<Rank>, test, [] { ++finished(); }};
  }
};

inline MpiModule const& FakeMpi::module(uint32_t rank) {
  static constexpr std::array<MpiModule, kMaxRanks> kModules = {make<0>(), make<1>(), make<2>(),
                                                                make<3>()};
  return kModules[rank];
}

/// Runs `work` as each of `size` processes.
template <class Work>
void as_processes(uint32_t size, std::chrono::milliseconds timeout, Work const& work) {
  FakeMpi::clear();

  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([=, &work] {
      auto processes =
          Processes::meet({rank, size, rank, size}, {.timeout = timeout}, FakeMpi::module(rank));
      work(processes.value());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace stepscope::mpi::testing
