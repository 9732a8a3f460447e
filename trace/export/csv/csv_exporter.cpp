#include "trace/export/csv/csv_exporter.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "trace/base/csv.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {
namespace {

namespace fs = std::filesystem;
using base::Expected;

/// One file, written in large pieces.
class CsvFile {
 public:
  CsvFile(std::string path, model::TraceTable const& table) : path_(std::move(path)), table_(&table) {}

  Expected<void> open() {
    file_.reset(std::fopen(path_.c_str(), "wbe"));
    if (file_ == nullptr) return failed();
    for (model::TableColumn const& column : table_->columns) {
      separate(column);
      base::append_csv_text(text_, column.name);
    }
    text_ += "\r\n";
    return {};
  }
  Expected<void> add(model::TableSource const& source) {
    constexpr size_t kLarge = 1U << 18U;
    uint32_t const rows = table_->row_count(source.trace());
    for (uint32_t row = 0; row < rows; ++row) {
      if (!table_->has(source.trace(), row)) continue;
      add_row(source, row);
      if (text_.size() >= kLarge && !write()) return failed();
    }
    return {};
  }
  Expected<void> close() {
    bool const written = write() && std::fflush(file_.get()) == 0;
    if (!written || std::fclose(file_.release()) != 0) return failed();
    return {};
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

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
  bool write() {
    bool const written = std::fwrite(text_.data(), 1, text_.size(), file_.get()) == text_.size();
    text_.clear();
    return written;
  }
  [[nodiscard]] Expected<void> failed() const {
    return base::fail("{}: cannot write ({}), free disk space or choose another place with -o", path_, std::strerror(errno));
  }

  std::string path_;
  model::TraceTable const* table_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string text_;
};

class CsvExporter final : public Exporter {
 public:
  CsvExporter(std::string path, bool one_file)
      : path_(std::move(path)), one_file_(one_file), partial_(fmt::format("{}.{}.tmp", path_, ::getpid())) {}
  ~CsvExporter() override {
    files_.clear();
    std::error_code ignored;
    if (!finished_) fs::remove_all(partial_, ignored);
  }

  Expected<void> open() {
    std::error_code error;
    if (!one_file_) {
      if (fs::exists(path_, error) && !fs::is_directory(path_, error))
        return base::fail("{}: is a file, choose a folder, or a file whose name ends in .csv, with -o", path_);
      fs::create_directory(partial_, error);
      if (error) return base::fail("{}: cannot make a folder there ({}), choose another place with -o", path_, error.message());
    }
    for (model::TraceTable const& table : model::trace_tables())
      if (!one_file_ || table.name == "events")
        files_.emplace_back(one_file_ ? partial_ : fmt::format("{}/{}.csv", partial_, table.name), table);
    for (CsvFile& file : files_)
      if (auto const opened = file.open(); !opened) return opened;
    return {};
  }
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    model::TableSource const source(trace, offset_ns);
    for (CsvFile& file : files_)
      if (auto const added = file.add(source); !added) return added;
    return {};
  }
  Expected<void> finish() override {
    for (CsvFile& file : files_)
      if (auto const closed = file.close(); !closed) return closed;
    // Into a folder that is there each file goes by itself, over an old one of its name.
    std::error_code error;
    bool const into_folder = !one_file_ && fs::is_directory(path_, error);
    if (into_folder) {
      for (model::TraceTable const& table : model::trace_tables())
        if (!error)
          fs::rename(fmt::format("{}/{}.csv", partial_, table.name), fmt::format("{}/{}.csv", path_, table.name), error);
      if (!error) fs::remove(partial_, error);
    } else {
      fs::rename(partial_, path_, error);
    }
    if (error) return base::fail("{}: cannot write ({}), choose another place with -o", path_, error.message());
    finished_ = true;
    return {};
  }

 private:
  std::string path_;
  bool one_file_;
  std::string partial_;
  std::vector<CsvFile> files_;
  bool finished_ = false;
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
  auto exporter = std::make_unique<CsvExporter>(place.empty() ? path : place, !names_folder(path));
  if (auto const opened = exporter->open(); !opened) return base::fail_with(opened);
  return exporter;
}

}  // namespace stepscope::exporting
