#include "trace/export/chrome/chrome_exporter.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/base/files/output_folder.h"
#include "trace/export/chrome/chrome_document.h"

namespace stepscope::exporting {
namespace {

namespace fs = std::filesystem;
using base::Expected;

class ChromeFile final : public Exporter {
 public:
  explicit ChromeFile(base::PartialFile file) : document_(std::move(file), true) {}
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    ++processes_;
    return document_.add(trace, offset_ns);
  }
  Expected<void> finish() override {
    auto file = std::move(document_).close();
    return file ? file->finish() : base::fail_with(file);
  }
  /// Readers of PyTorch's traces, ours among them, take a file for one rank.
  [[nodiscard]] std::string note() const override {
    if (processes_ < 2) return {};
    return fmt::format(
        "{} ranks in one file: for viewing; -o FOLDER/ makes one that can be analyzed", processes_);
  }

 private:
  ChromeDocument document_;
  size_t processes_ = 0;
};

bool skip_digits(std::string_view& text) {
  size_t const length = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(length);
  return length > 0;
}

/// Such a name as ranks get here: rank-N.json, rank-N-COPY.json.
bool is_name_of_rank(std::string_view name) {
  constexpr std::string_view kBegin = "rank-", kEnd = ".json";
  if (!name.starts_with(kBegin)) return false;
  name.remove_prefix(kBegin.size());
  if (!skip_digits(name)) return false;
  if (name.starts_with('-')) {
    name.remove_prefix(1);
    if (!skip_digits(name)) return false;
  }
  return name == kEnd;
}

class ChromeFolder final : public Exporter {
 public:
  ChromeFolder(base::OutputFolder folder, std::string staging)
      : folder_(std::move(folder)), staging_(std::move(staging)) {}

  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    std::string name = fmt::format("rank-{}.json", trace.info().rank);
    for (int copy = 2; !names_.insert(name).second; ++copy)
      name = fmt::format("rank-{}-{}.json", trace.info().rank, copy);
    auto const written = write(fmt::format("{}/{}", staging_, name), trace, offset_ns);
    return written ? written : tl::unexpected(folder_.in_place(written.error()));
  }

  Expected<void> finish() override { return folder_.publish(); }

  size_t remove_leftovers() override {
    std::error_code ignored;
    std::vector<fs::path> old;
    for (auto const& entry : fs::directory_iterator(folder_.path(), ignored)) {
      std::string const name = entry.path().filename().string();
      if (is_name_of_rank(name) && !names_.contains(name) &&
          entry.symlink_status(ignored).type() == fs::file_type::regular)
        old.push_back(entry.path());
    }

    return static_cast<size_t>(std::count_if(
        old.begin(), old.end(), [&](fs::path const& path) { return fs::remove(path, ignored); }));
  }

 private:
  static Expected<void> write(std::string const& path, model::Trace const& trace,
                              int64_t offset_ns) {
    auto file = base::PartialFile::create(path);
    if (!file) return base::fail_with(file);
    ChromeDocument document(std::move(*file), false);
    if (auto const added = document.add(trace, offset_ns); !added) return added;
    auto written = std::move(document).close();
    return written ? written->finish() : base::fail_with(written);
  }

  base::OutputFolder folder_;
  std::string staging_;
  std::set<std::string> names_;
};

}  // namespace

Expected<std::unique_ptr<Exporter>> open_chrome(std::string const& path) {
  std::error_code error;
  bool const is_there = fs::is_directory(path, error);
  if (is_there || path.ends_with('/')) {
    auto folder = base::OutputFolder::take(path);
    if (!folder) return base::fail_with(folder);
    auto const staging = folder->staging();
    if (!staging) return base::fail_with(staging);
    return std::make_unique<ChromeFolder>(std::move(*folder), *staging);
  }

  auto file = base::PartialFile::create(path);
  if (!file) return base::fail_with(file);
  return std::make_unique<ChromeFile>(std::move(*file));
}

}  // namespace stepscope::exporting
