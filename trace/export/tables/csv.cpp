#include "trace/export/tables/csv.h"

#include <string>
#include <utility>

#include "trace/base/csv.h"
#include "trace/export/tables/table_files.h"

namespace stepscope::exporting {
namespace {

using base::Expected;

/// Written in large pieces.
class CsvFile final : public TableFileWriter {
 public:
  CsvFile(base::PartialFile file, model::TraceTable const& table)
      : file_(std::move(file)), table_(&table) {
    for (model::TableColumn const& column : table_->columns) {
      separate(column);
      base::append_csv_text(text_, column.name);
    }
    text_ += "\r\n";
  }

  Expected<void> add(model::TableSource const& source) override {
    constexpr size_t kLarge = 1U << 18U;
    uint32_t const rows = table_->row_count(source.trace());
    for (uint32_t row = 0; row < rows; ++row) {
      if (!table_->has(source.trace(), row)) continue;
      add_row(source, row);
      if (text_.size() < kLarge) continue;
      if (auto const written = write(); !written) return written;
    }
    return {};
  }
  Expected<void> finish() override {
    if (auto const written = write(); !written) return written;
    return file_.finish();
  }

 private:
  void separate(model::TableColumn const& column) {
    if (&column != &table_->columns.front()) text_ += ',';
  }
  void add_row(model::TableSource const& source, uint32_t row) {
    for (model::TableColumn const& column : table_->columns) {
      separate(column);
      model::Cell const cell = column.read(source, row);
      if (cell.type == model::Cell::Type::kText)
        base::append_csv_text(text_, cell.text);
      else
        model::append_text(text_, cell);
    }
    text_ += "\r\n";
  }
  Expected<void> write() {
    auto written = file_.write(text_);
    text_.clear();
    return written;
  }

  base::PartialFile file_;
  model::TraceTable const* table_;
  std::string text_;
};

std::unique_ptr<TableFileWriter> open_csv_file(base::PartialFile file,
                                               model::TraceTable const& table) {
  return std::make_unique<CsvFile>(std::move(file), table);
}

}  // namespace

Expected<std::unique_ptr<Exporter>> open_csv(std::string const& path) {
  return open_table_files(path, ".csv", open_csv_file);
}

}  // namespace stepscope::exporting
