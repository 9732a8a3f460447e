// How fast dumps of PyTorch's flight recorder and logs of NCCL's inspector are read: synthetic ones
// of kCalls collectives each, in memory. Medians of kRepeats. For comparison it times adding up as
// many bytes on one core.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/median.h"
#include "trace/base/format.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"
#include "trace/import/formats/nccl_inspector/inspector_importer.h"

namespace {

using namespace stepscope;

constexpr int kRepeats = 5;
constexpr int kCalls = 1'000'000;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

double median_s(std::function<void()> const& work) { return bench::median_s(kRepeats, work); }

std::string json_dump() {
  std::string text =
      R"json({"version":"2.4","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"entries":[)json";
  for (int i = 0; i < kCalls; ++i) {
    int64_t const at = kEpoch + int64_t{i} * 1'000'000;
    text += fmt::format(
        R"json({}{{"record_id":{},"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":{},"p2p_seq_id":0,"op_id":{},)json"
        R"json("profiling_name":"nccl:all_reduce","time_created_ns":{},"duration_ms":0.5,"input_sizes":[[1024,1024]],)json"
        R"json("input_dtypes":["Float"],"output_sizes":[[1024,1024]],"output_dtypes":["Float"],"state":"completed",)json"
        R"json("time_discovered_started_ns":{},"time_discovered_completed_ns":{},"retired":true,"timeout_ms":600000,"is_p2p":false}})json",
        i > 0 ? "," : "", i, i + 1, i + 1, at, at + 1000, at + 50'000'000);
  }

  return text + "]}";
}

/// Pickle protocol 2, with keys and names from the memo as PyTorch writes them.
class PickleWriter {
 public:
  void opcodes(std::string_view codes) { bytes_ += codes; }
  void text(std::string const& characters) {
    auto const id =
        static_cast<size_t>(std::find(memo_.begin(), memo_.end(), characters) - memo_.begin());
    bool const is_new = id == memo_.size();
    if (is_new) {
      bytes_ += 'X';
      raw(static_cast<uint32_t>(characters.size()));
      bytes_ += characters;
      memo_.push_back(characters);
    }

    bytes_ += is_new ? 'q' : 'h';
    raw(static_cast<uint8_t>(id));
  }
  void number(int64_t value) {
    bytes_ += '\x8A';
    raw(uint8_t{8});
    raw(value);
  }
  void texts(char const* key, std::string const& value) {
    text(key);
    text(value);
  }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  template <class Number>
  void raw(Number number) {
    char of[sizeof number];
    std::memcpy(of, &number, sizeof number);
    bytes_.append(of, sizeof number);
  }

  std::string bytes_ = "\x80\x02";
  std::vector<std::string> memo_;
};

/// Sizes and types of the call's inputs and outputs.
void add_tensors(PickleWriter& to) {
  for (char const* const of : {"input", "output"}) {
    to.text(std::string(of) + "_sizes");
    to.opcodes("](](");
    to.number(1024);
    to.number(1024);
    to.opcodes("ee");

    to.text(std::string(of) + "_dtypes");
    to.opcodes("](");
    to.text("Float");
    to.opcodes("e");
  }
}

void add_call(PickleWriter& to, int call) {
  int64_t const at = kEpoch + int64_t{call} * 1'000'000;
  to.opcodes("}(");
  to.text("process_group");
  to.opcodes("(");
  to.text("0");
  to.text("default_pg");
  to.opcodes("t");

  for (char const* const key : {"record_id", "collective_seq_id", "op_id"}) {
    to.text(key);
    to.number(call);
  }
  to.texts("profiling_name", "nccl:all_reduce");
  to.texts("state", "completed");
  to.text("time_created_ns");
  to.number(at);
  to.text("time_discovered_completed_ns");
  to.number(at + 50'000'000);

  add_tensors(to);
  to.opcodes("u");
}

std::string pickled_dump() {
  PickleWriter dump;
  dump.opcodes("}(");
  dump.texts("version", "2.4");
  dump.text("entries");
  dump.opcodes("](");
  for (int i = 0; i < kCalls; ++i) add_call(dump, i);
  dump.opcodes("eu.");
  return std::move(dump).take();
}

std::string inspector_log() {
  std::string text;
  for (int i = 0; i < kCalls; ++i)
    text += fmt::format(
        R"json({{"header":{{"id":"0x7f8c496ae9f661","comm_name":"DP","rank":2,"n_ranks":8,"nnodes":1}},)json"
        R"json("metadata":{{"inspector_output_format_version":"v4.2","git_rev":"","rec_mechanism":"nccl_profiler_interface",)json"
        R"json("dump_timestamp_us":{},"hostname":"node7","pid":77}},"coll_perf":{{"coll":"AllReduce","coll_algo":"RING",)json"
        R"json("coll_proto":"LL","coll_sn":{},"coll_msg_size_bytes":4194304,"coll_exec_time_us":61,)json"
        R"json("coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.21,"coll_busbw_gbs":485.11}}}})json"
        "\n",
        kEpoch / 1000 + int64_t{i} * 100, i);

  return text;
}

void measure(char const* what, std::string const& bytes,
             std::function<uint64_t(import::Input const&)> const& read) {
  import::Input const input(std::as_bytes(std::span(bytes)), "nccl_trace_rank_0");
  uint64_t sum = 0, events = 0;

  double const adding = median_s([&] {
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      sum += word;
    }
  });
  double const reading = median_s([&] { events = read(input); });

  fmt::print(
      "{:<24} {:>10}: {:.2f} s, {:.0f} MB/s, {:.2f} M calls/s, {} events; adding the bytes up "
      "{:.3f} s ({:x})\n",
      what, base::format_bytes(bytes.size()), reading,
      static_cast<double>(bytes.size()) / reading / 1e6, kCalls / reading / 1e6,
      base::format_count(events), adding, sum & 0xFU);
}

}  // namespace

int main() {
  auto const dump = [](import::Input const& input) {
    auto const trace = import::read_flight_recorder_dump(input);
    return trace ? uint64_t{trace->event_count()} : 0;
  };

  measure("flight recorder, JSON", json_dump(), dump);
  measure("flight recorder, pickle", pickled_dump(), dump);
  measure("NCCL inspector", inspector_log(), [](import::Input const& input) {
    auto const traces = import::read_inspector_log(input);
    return traces ? uint64_t{traces->front().event_count()} : 0;
  });

  return 0;
}
