#include "trace/export/csv/csv_exporter.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/csv.h"
#include "trace/base/files/output_folder.h"
#include "trace/base/files/partial_file.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {
namespace {

namespace fs = std::filesystem;
using base::Expected;

/// One file, written in large pieces.
class CsvFile {
 public:
  CsvFile(base::PartialFile file, model::TraceTable const& table)
      : file_(std::move(file)), table_(&table) {
    for (model::TableColumn const& column : table_->columns) {
      separate(column);
      base::append_csv_text(text_, column.name);
    }
    text_ += "\r\n";
  }
  Expected<void> add(model::TableSource const& source) {
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
  Expected<void> finish() {
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

class CsvExporter final : public Exporter {
 public:
  /// The events alone.
  Expected<void> open_file(std::string const& path) {
    for (model::TraceTable const& table : model::trace_tables())
      if (table.name == "events")
        if (auto const opened = open(path, table); !opened) return opened;
    return {};
  }
  /// Each file goes by itself, over an old one of its name.
  Expected<void> open_folder(std::string const& path) {
    auto folder = base::OutputFolder::take(path);
    if (!folder) return base::fail_with(folder);
    folder_.emplace(std::move(*folder));
    auto const staging = folder_->staging();
    if (!staging) return base::fail_with(staging);
    for (model::TraceTable const& table : model::trace_tables())
      if (auto const opened = open(fmt::format("{}/{}.csv", *staging, table.name), table); !opened)
        return in_place(opened);
    return {};
  }
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    model::TableSource const source(trace, offset_ns);
    for (CsvFile& file : files_)
      if (auto const added = file.add(source); !added) return in_place(added);
    return {};
  }
  Expected<void> finish() override {
    for (CsvFile& file : files_)
      if (auto const finished = file.finish(); !finished) return in_place(finished);
    return folder_ ? folder_->publish() : Expected<void>();
  }

 private:
  Expected<void> open(std::string const& path, model::TraceTable const& table) {
    auto file = base::PartialFile::create(path);
    if (!file) return base::fail_with(file);
    files_.emplace_back(std::move(*file), table);
    return {};
  }
  [[nodiscard]] Expected<void> in_place(Expected<void> const& failed) const {
    return tl::unexpected(folder_ ? folder_->in_place(failed.error()) : failed.error());
  }

  std::optional<base::OutputFolder> folder_;  ///< outlives the files in it
  std::vector<CsvFile> files_;
};

/// One that is there, a name that ends with "/", or one that no file of data would have.
bool names_folder(std::string const& path) {
  std::error_code ignored;
  return path.ends_with('/') || fs::is_directory(path, ignored) || !fs::path(path).has_extension();
}

}  // namespace

Expected<std::unique_ptr<Exporter>> open_csv(std::string const& path) {
  // "folder/" is the folder.
  std::string const place = path.substr(0, path.find_last_not_of('/') + 1);
  std::string const& target = place.empty() ? path : place;
  auto exporter = std::make_unique<CsvExporter>();
  auto const opened =
      names_folder(path) ? exporter->open_folder(target) : exporter->open_file(target);
  if (!opened) return base::fail_with(opened);
  return exporter;
}

}  // namespace stepscope::exporting
