// Tables of rocpd that describe: texts, processes, agents, kernels, and what rows have in common.
// Each capture of a database has a set of tables of its own, whose names end alike.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/common/database/database.h"
#include "trace/import/formats/rocprofv3/process.h"

namespace stepscope::import::rocpd {

/// The ends of the names of each set: "" or "_0198…".
std::vector<std::string> endings_of_tables(Database const& database);

/// A row of rocpd_event, which each row with a time refers to.
struct EventOfRow {
  uint64_t correlation = 0;
  int64_t category = -1;  ///< a text
};

/// Rows of rocpd_event by id, packed where ids count on.
class EventsOfRows {
 public:
  void add(int64_t id, EventOfRow const& event);
  [[nodiscard]] EventOfRow of(int64_t id) const;

 private:
  std::vector<EventOfRow> packed_;
  std::unordered_map<int64_t, EventOfRow, base::HashNumber> others_;
  uint64_t count_ = 0;
};

/// The descriptions of one set of tables.
class Descriptions {
 public:
  Descriptions(Database& database, std::string ending, std::deque<rocm::Process>& processes);

  /// The name of a table of this set.
  [[nodiscard]] std::string table(std::string_view name) const;
  /// Null: no such text.
  [[nodiscard]] std::string const* text(int64_t id) const;
  [[nodiscard]] EventOfRow event(int64_t id) const { return events_.of(id); }
  /// The text of a range of ROCTX; null where there is none.
  [[nodiscard]] std::string const* message(int64_t event) const;
  /// The process of a row, also one that is not described.
  rocm::Process& process(int64_t id);
  /// The system's number of a thread.
  [[nodiscard]] uint64_t thread(int64_t id) const;

  Database& database;

 private:
  void read_texts();
  void read_processes();
  void read_agents();
  void read_symbols();
  void read_events();

  std::string ending_;
  std::deque<rocm::Process>& processes_;
  std::unordered_map<int64_t, std::string, base::HashNumber> texts_, messages_;
  std::unordered_map<int64_t, uint64_t, base::HashNumber> threads_;
  std::map<int64_t, rocm::Process*> process_of_;
  EventsOfRows events_;
  bool packed_texts_ = false;  ///< some texts of ranges are packed
};

}  // namespace stepscope::import::rocpd
