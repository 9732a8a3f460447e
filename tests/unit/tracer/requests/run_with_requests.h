// A run's folder with requests, and processes that answer them as a test wants.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <gtest/gtest.h>

#include "trace/base/host_name.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {

/// On a machine that has much else to do.
inline constexpr std::chrono::seconds kPlenty{60};

class RunWithRequests : public ::testing::Test {
 protected:
  RunWithRequests() {
    std::string name = (std::filesystem::temp_directory_path() / "stepscope-asked-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    run = name;
    std::filesystem::create_directory(requests_folder(run));
  }
  ~RunWithRequests() override { std::filesystem::remove_all(run); }

  /// Rank `rank` of `world`, at this step, on this machine and alive.
  static ProcessState process(int32_t rank, int64_t step, int32_t world = 2) {
    ProcessState state;
    state.host = "node-" + std::to_string(rank);
    state.process_id = 1000 + rank;
    state.rank = rank;
    state.world_size = world;
    state.step = step;
    state.step_ns = 100'000'000;
    return state;
  }
  void put(ProcessState const& state) const {
    ASSERT_TRUE(write_message(requests_folder(run), state_file_name(state), to_text(state)));
  }

  std::string run;
};

/// Answers each request as `answer` says, until it goes.
class AnsweringProcess {
 public:
  template <class Answer>
  AnsweringProcess(std::string run, ProcessState state, Answer answer)
      : thread_([this, run = std::move(run), state = std::move(state), answer]() mutable {
          while (!ends_) {
            auto const request = read_request(run);

            if (request && request->id != state.request) {
              state.request = request->id;
              state.answer = answer(*request, state);
              EXPECT_TRUE(
                  write_message(requests_folder(run), state_file_name(state), to_text(state)));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~AnsweringProcess() {
    ends_ = true;
    thread_.join();
  }
  AnsweringProcess(AnsweringProcess const&) = delete;
  AnsweringProcess& operator=(AnsweringProcess const&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace stepscope::tracer
