#include "trace/import/formats/nccl_inspector/inspector_importer.h"

#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/file/trace_file.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/nccl_inspector/process_log.h"

namespace stepscope::import {
namespace {

/// A log has one process; logs that were put together have more.
constexpr size_t kMostProcesses = 4096;
constexpr size_t kMostHostBytes = 256;

/// Where the next record begins behind `from`: records begin lines, and nothing else does so.
size_t next_record(std::string_view text, size_t from) {
  size_t const at = text.find("\n{", from);
  return at == std::string_view::npos ? text.size() : at + 1;
}

class LogReader {
 public:
  base::Expected<std::vector<model::Trace>> read(std::string_view text, std::string const& file,
                                                 std::optional<std::string> const& damage) {
    for (size_t begin = 0, end = 0; begin < text.size() && !is_full(); begin = end) {
      end = next_record(text, begin);
      read_records(text.substr(begin, end - begin), end == text.size());
    }

    if (is_full())
      return base::fail("{}: holds more operations than fit into this machine's memory, cut it",
                        file);
    if (order_.empty())
      return base::fail("{}: holds no whole record of NCCL's inspector, record it again", file);

    note_losses(damage);
    std::vector<model::Trace> traces;
    for (ProcessLog* const process : order_) traces.push_back(std::move(*process).finish());
    return traces;
  }

 private:
  [[nodiscard]] bool is_full() const { return operations_ > file::events_that_fit() / 2; }

  /// Losses of the file as a whole stand in the notes of its first process.
  void note_losses(std::optional<std::string> const& damage) {
    model::ImportLog& log = order_.front()->log();
    log.dropped += broken_ + headless_;
    log.truncated = is_cut_ || damage.has_value();

    if (broken_ > 0)
      log.notes.push_back(base::count_sentence(broken_, "lines are no JSON and were left out"));
    if (headless_ > 0)
      log.notes.push_back(base::count_sentence(
          headless_, "records do not tell their communicator and were left out"));
    if (is_cut_)
      log.notes.emplace_back("the log ends in the middle of a record: what came before was read");
    if (damage) log.notes.push_back(*damage);
  }

  /// As a rule one.
  void read_records(std::string_view text, bool is_last) {
    JsonCursor cursor(text);
    while (cursor.peek() != '\0') {
      size_t const begin = cursor.offset();

      InspectorRecord record;
      if (!read_inspector_record(cursor, record)) {
        bool const is_cut = is_last && cursor.failure() == JsonCursor::Failure::kEnd;
        is_cut_ = is_cut_ || is_cut;
        broken_ += is_cut ? 0 : 1;
        return;
      }

      add(record, text.substr(begin, cursor.offset() - begin));
    }
  }

  void add(InspectorRecord& record, std::string_view text) {
    if (record.has_header) {
      header_ = record;
    } else {
      record.communicator = header_.communicator;
      record.communicator_name = header_.communicator_name;
      record.rank = header_.rank;
      record.ranks = header_.ranks;
    }

    if (record.has_metadata) {
      metadata_ = record;
    } else {
      record.version = metadata_.version;
      record.host = metadata_.host;
      record.process_id = metadata_.process_id;
      record.written_us = metadata_.written_us;
    }
    ProcessLog* const process = record.communicator.empty() ? nullptr : process_of(record);
    if (process == nullptr) {
      ++headless_;
      return;
    }
    ++operations_;

    process->add(record, text);
  }
  /// Nothing when there are too many.
  ProcessLog* process_of(InspectorRecord const& record) {
    auto const key = std::pair(record.host, record.process_id);

    if (last_ != nullptr && key == last_key_) return last_;
    auto const known = processes_.find(key);
    if (known == processes_.end() && processes_.size() >= kMostProcesses) return nullptr;

    last_key_ = key;
    if (known != processes_.end()) return last_ = known->second.get();

    auto process =
        std::make_unique<ProcessLog>(json_text(record.host, kMostHostBytes), record.process_id);
    order_.push_back(process.get());
    return last_ = processes_.emplace(key, std::move(process)).first->second.get();
  }

  InspectorRecord header_, metadata_;  ///< of the last record that had them
  std::map<std::pair<std::string_view, int64_t>, std::unique_ptr<ProcessLog>> processes_;
  std::vector<ProcessLog*> order_;
  std::pair<std::string_view, int64_t> last_key_;
  ProcessLog* last_ = nullptr;
  uint64_t operations_ = 0, broken_ = 0, headless_ = 0;
  bool is_cut_ = false;
};

}  // namespace

bool is_inspector_log(Input const& input) {
  std::string_view const head = input.head();
  auto const contains = [&](std::string_view part) {
    return head.find(part) != std::string_view::npos;
  };
  size_t const first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{' || contains("\"traceEvents\""))
    return false;
  return contains("\"inspector_output_format_version\"") || contains("\"coll_perf\"");
}

bool is_inspector_name(std::string_view file_name) {
  return file_name.ends_with(".log") || file_name.ends_with(".jsonl");
}

base::Expected<std::vector<model::Trace>> read_inspector_log(Input const& input) {
  auto const whole = WholeInput::read(input);
  if (!whole) return base::fail_with(whole);
  LogReader reader;
  return reader.read(whole->text(), input.name(), whole->damage());
}

Importer inspector_importer() {
  return {.name = "NCCL inspector",
          .file_suffix = ".jsonl",
          .sniff = is_inspector_log,
          .read = read_inspector_log,
          .has_name = is_inspector_name};
}

}  // namespace stepscope::import
