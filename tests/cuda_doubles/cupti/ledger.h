// What CUPTI's double has handed over, record by record: a test compares the rows of a trace with
// it. Written anew at each hand-over, so that it is whole whatever end the program takes.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stepscope::cuda_doubles {

class Ledger {
 public:
  /// `subscriber`: whose records they are. Only the classic one and Stepscope fill the JSON file.
  explicit Ledger(std::string subscriber = {}) : subscriber_(std::move(subscriber)) {}
  /// A readable record; a call counts under its function's plain name.
  void count(CUpti_Activity const& record);
  /// Records behind a hole, which no reader reaches.
  void count_unreadable(uint64_t records) { counts_["unreadable"] += records; }
  /// Records in buffers smaller than others: a tool that has no room gives such, and counts what is
  /// in them as lost.
  void count_in_small_buffers(uint64_t records) { counts_["in small buffers"] += records; }
  void count_dropped() { ++counts_["dropped"]; }
  /// As one JSON object in the folder that DOUBLE_CUPTI_LEDGER names, a file each process.
  void write() const;

 private:
  std::string subscriber_;
  std::map<std::string, uint64_t> counts_;
};

}  // namespace stepscope::cuda_doubles
