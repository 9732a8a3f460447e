// A trace as tables with named columns, defined once: what queries see and what CSV and SQLite
// files hold. The columns of a kind's details come from `detail_fields` (details.h) alone: a field
// that is added there is a column everywhere. Times are run time.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trace/model/kinds.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// What stands in one place of a table.
struct Cell {
  enum class Type : uint8_t {
    kNull,      ///< not known, or there is none; never 0 instead
    kInteger,   ///< of 64 bits with a sign
    kUnsigned,  ///< what is greater than that
    kReal,      ///< finite or infinite
    kText,      ///< UTF-8 without control characters, where it comes from a trace
    kAddress    ///< 64 bits that are no quantity: an address, a hash
  };
  Type type = Type::kNull;
  uint64_t bits = 0;  ///< of the number, whatever its type
  std::string_view text;

  static Cell of(int64_t value) { return {Type::kInteger, static_cast<uint64_t>(value), {}}; }
  static Cell of(uint64_t value) {
    return {value > INT64_MAX ? Type::kUnsigned : Type::kInteger, value, {}};
  }
  /// NaN is no number.
  static Cell of(double value) {
    return value == value ? Cell{Type::kReal, std::bit_cast<uint64_t>(value), {}} : Cell{};
  }
  static Cell of(std::string_view value) { return {Type::kText, 0, value}; }
  static Cell address(uint64_t value) { return {Type::kAddress, value, {}}; }

  [[nodiscard]] bool is_null() const { return type == Type::kNull; }
  [[nodiscard]] int64_t integer() const { return static_cast<int64_t>(bits); }
  [[nodiscard]] double real() const { return std::bit_cast<double>(bits); }
  friend bool operator==(Cell const&, Cell const&) = default;
};

/// As files hold it: nothing for NULL, numbers in digits so that they are read back as they were,
/// addresses as "0x" and 16 digits.
void append_text(std::string& line, Cell const& cell);
std::string to_text(Cell const& cell);

/// One process as its tables are read. The trace outlives it.
class TableSource {
 public:
  TableSource(Trace const& trace, int64_t offset_ns);
  TableSource(TableSource&&) = default;
  TableSource& operator=(TableSource&&) = default;
  TableSource(TableSource const&) = delete;
  TableSource& operator=(TableSource const&) = delete;

  [[nodiscard]] Trace const& trace() const { return *trace_; }
  /// Run time = trace time + this.
  [[nodiscard]] int64_t offset_ns() const { return offset_ns_; }
  /// Texts of the trace without what is hostile in them (base::printable). They stay where they are
  /// as long as this.
  [[nodiscard]] std::string_view text(StringId id) const { return texts_[id.value]; }
  [[nodiscard]] std::string_view track_name(uint32_t track) const { return track_names_[track]; }
  [[nodiscard]] std::string_view device_name(uint32_t device) const {
    return device_names_[device];
  }
  [[nodiscard]] std::string_view host() const { return host_; }
  [[nodiscard]] std::string_view command() const { return command_; }
  [[nodiscard]] std::string_view tool() const { return tool_; }
  /// Whether its sequence number is known. 0 is one only where others of its communicator have
  /// greater ones: some count from 0. The same rule as in matching (collective_match.h).
  [[nodiscard]] bool is_numbered(CollectiveDetail const& collective) const;

 private:
  /// The text itself where nothing is to be replaced.
  std::string_view clean(std::string_view text);

  Trace const* trace_;
  int64_t offset_ns_;
  std::deque<std::string> replaced_;
  std::vector<std::string_view> texts_, track_names_, device_names_;
  std::string_view host_, command_, tool_;
  std::unordered_set<uint64_t>
      numbered_communicators_;  ///< with an event that has a sequence number
};

/// Whose a column's value is: all events of the same one have the same.
enum class ColumnOf : uint8_t { kProcess, kTrack, kEvent, kDetail };
/// What its cells are, if not NULL. kText: addresses too. kNumber: integers and reals.
enum class ColumnType : uint8_t { kInteger, kReal, kText, kNumber };

/// Reads the cells of a column, one or many at a time. Made of a lambda without captures.
class CellReader {
 public:
  template <class Read>
  CellReader(Read read) : one_(read), numbers_(read_numbers<Read>) {}

  /// `row`: of the table's sort, see TableRows.
  Cell operator()(TableSource const& source, uint32_t row) const { return one_(source, row); }
  /// The cells of a column without texts: Cell::bits and Cell::type of each row.
  void numbers(TableSource const& source, std::span<uint32_t const> rows, uint64_t* bits,
               Cell::Type* types) const {
    numbers_(source, rows, bits, types);
  }

 private:
  /// One call for many rows: the compiler reads a cell in place then.
  template <class Read>
  static void read_numbers(TableSource const& source, std::span<uint32_t const> rows,
                           uint64_t* bits, Cell::Type* types) {
    for (size_t i = 0; i < rows.size(); ++i) {
      Cell const cell = Read{}(source, rows[i]);
      bits[i] = cell.bits;
      types[i] = cell.type;
    }
  }

  Cell (*one_)(TableSource const& source, uint32_t row);
  void (*numbers_)(TableSource const& source, std::span<uint32_t const> rows, uint64_t* bits,
                   Cell::Type* types);
};

struct TableColumn {
  std::string_view name;
  ColumnType type;
  ColumnOf of;
  std::string_view meaning;  ///< a few words, with what NULL says
  CellReader read;
};

/// What a row of a table is: the process, a device of Trace::devices(), a track, an event.
enum class TableRows : uint8_t { kProcess, kDevices, kTracks, kEvents };

struct TraceTable {
  std::string_view name;
  std::string_view meaning;
  TableRows rows;
  DetailTable detail;  ///< of kEvents: which events; kNone = all
  std::vector<TableColumn> columns;

  /// Rows to look at; of events, only those that has() names are in the table.
  [[nodiscard]] uint32_t row_count(Trace const& trace) const;
  [[nodiscard]] bool has(Trace const& trace, uint32_t row) const {
    return detail == DetailTable::kNone || kind_info(trace.kind(row)).table == detail;
  }
};

/// Every table there is: processes, devices, tracks, events, and one a detail table.
std::span<TraceTable const> trace_tables();

}  // namespace stepscope::model
