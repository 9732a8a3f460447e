#include "trace/import/open/file_advice.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trace/import/formats/importers.h"

namespace stepscope::import {
namespace {

using namespace std::string_view_literals;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Compressed files and archives that Stepscope does not unpack.
Advice advice_for_archive(std::string_view head, std::string const& name) {
  constexpr size_t kTarMagicAt = 257;
  if (head.starts_with("BZh"))
    return may_be_trace(
        fmt::format("is packed with bzip2, run bunzip2 {} and name what it leaves", name));
  if (head.starts_with("\xFD\x37zXZ\0"sv))
    return may_be_trace(
        fmt::format("is packed with xz, run unxz {} and name what it leaves", name));
  if (head.starts_with("\x04\x22\x4D\x18"sv))
    return may_be_trace(
        fmt::format("is packed with lz4, run unlz4 {} and name what it leaves", name));
  if (head.starts_with("\x1F\x9D"sv) || head.starts_with("\x1F\xA0"sv))
    return may_be_trace(
        fmt::format("is packed with compress, run uncompress {} and name what it leaves", name));
  if (name.ends_with(".br"))
    return may_be_trace(
        fmt::format("is packed with brotli, run brotli -d {} and name what it leaves", name));

  if (head.starts_with("7z\xBC\xAF\x27\x1C"sv))
    return may_be_trace(fmt::format("is a 7z archive, run 7z x {} and name the trace in it", name));
  if (head.starts_with("Rar!\x1A\x07"sv))
    return may_be_trace(
        fmt::format("is a RAR archive, run unrar x {} and name the trace in it", name));
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) {
    if (holds(head, "/data.pkl") || name.ends_with(".pt") || name.ends_with(".pth") ||
        name.ends_with(".npz"))
      return no_trace(
          "holds tensors, as torch.save or NumPy write them (a zip archive), and no trace: name a "
          "trace");
    return may_be_trace(
        fmt::format("is a zip archive, run unzip {} and name the trace in it", name));
  }

  bool const is_tar = head.size() > kTarMagicAt && head.substr(kTarMagicAt).starts_with("ustar");
  if (is_tar || name.ends_with(".tar"))
    return may_be_trace(fmt::format(
        "is a tar archive, run tar xf {} and name the trace, or the folder of traces, in it",
        name));
  return std::nullopt;
}

Advice advice_for_text_encoding(std::string_view head, std::string const& name) {
  bool const is_wide = head.starts_with("\xFF\xFE\0\0"sv) || head.starts_with("\0\0\xFE\xFF"sv) ||
                       (head.size() >= 8 && (head.substr(1, 3) == "\0\0\0"sv) &&
                        (head.substr(5, 3) == "\0\0\0"sv) && (head[0] == '{' || head[0] == '['));
  if (is_wide)
    return may_be_trace(fmt::format(
        "is text in UTF-32: run iconv -f UTF-32 -t UTF-8 {} > trace.json and name that", name));

  bool const has_mark = head.starts_with("\xFF\xFE"sv) || head.starts_with("\xFE\xFF"sv);
  bool const is_wide_ascii = head.size() >= 8 &&
                             (head[0] == '{' || head[0] == '[' || head[0] == 0) &&
                             ((head[1] == 0 && head[3] == 0 && head[5] == 0) ||
                              (head[0] == 0 && head[2] == 0 && head[4] == 0)) &&
                             (head[0] != 0 || head[1] != 0);
  if (!has_mark && !is_wide_ascii) return std::nullopt;
  return may_be_trace(
      fmt::format("is text in UTF-16, as PowerShell redirects it: run iconv -f UTF-16 -t UTF-8 {} "
                  "> trace.json and name that",
                  name));
}

/// Files in the place of the real one: pointers of Git LFS, pages of errors.
Advice advice_for_stand_in(std::string_view head) {
  if (head.starts_with("version https://git-lfs") || head.starts_with("version https://hawser"))
    return may_be_trace(
        "is a pointer of Git LFS in place of the file, run git lfs pull in its repository");
  if (head.starts_with("/annex/objects/") ||
      (head.size() < 4096 && holds(head, ".git/annex/objects")))
    return may_be_trace(
        "is a pointer of git-annex in place of the file, run git annex get in its repository");

  size_t const first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  std::string const begin = lower(head.substr(std::min(first, head.size()), 64));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html") ||
      begin.starts_with("<head")) {
    if (holds(lower(head), "stepscope"))
      return no_trace("is a report that Stepscope wrote, name the run that it is of");
    return may_be_trace(
        "is a web page (HTML), often a page to log in or of an error that was saved in place of a "
        "trace: download it again");
  }
  if (begin.starts_with("<?xml") || begin.starts_with("<error"))
    return no_trace(
        "is an XML document, often an error that a server sent in place of a file: download it "
        "again, or name a trace");
  return std::nullopt;
}

Advice advice_for_report_of_others(std::string_view head, std::string const& name) {
  if (auto const advice = conversion_advice(name)) return may_be_trace(*advice);

  if (head.starts_with("NVR\0"sv) || name.ends_with(".ncu-rep"))
    return no_trace(
        "is a report of Nsight Compute: counters of single kernels, no timeline. Open it with "
        "ncu-ui, and record a timeline with stepscope record");

  if (holds(name, "tfevents") || (head.size() > 24 && holds(head.substr(0, 64), "brain.Event:")))
    return no_trace(
        "is an event file of TensorBoard, which holds no timeline: name the folder plugins/profile "
        "beside it");

  return std::nullopt;
}

/// Files that look like a format that Stepscope reads.
Advice advice_of_importers(std::string_view head, std::string const& name) {
  for (Importer const& importer : importers()) {
    if (importer.advice == nullptr) continue;
    if (auto advice = importer.advice(head, name)) return advice;
  }
  return std::nullopt;
}

/// The length of a header, then the header: JSON that describes tensors. Lengths such as 640 begin
/// like a pickle, so this is asked before the importers are.
Advice advice_for_safetensors(std::string_view head) {
  bool const is_header = head.size() > 16 && head[8] == '{' && head[9] == '"';
  if (!is_header || !holds(head.substr(0, 512), "data_offsets")) return std::nullopt;
  return no_trace("holds tensors (safetensors), no trace: name a trace");
}

/// Tables, known by the names of their columns.
Advice advice_for_table(std::string_view head, std::string const& name) {
  std::string_view const line = head.substr(0, head.find('\n'));
  bool const has_separators = std::count(line.begin(), line.end(), ',') >= 2;
  bool const is_json = line.find_first_not_of(" \t\r") != std::string_view::npos &&
                       holds("{[", line.substr(line.find_first_not_of(" \t\r"), 1));
  bool const is_named = name.ends_with(".csv") || name.ends_with(".tsv");
  if (is_json || holds(head, "\0"sv) || (!has_separators && !is_named)) return std::nullopt;

  struct Tool {
    std::string_view column, tool, advice;
  };
  static constexpr std::array<Tool, 15> kTools = {{
      {"Agent_Id", "rocprofv3 wrote", "run rocprofv3 again with --output-format json"},
      {"Correlation_Id", "rocprofv3 wrote", "run rocprofv3 again with --output-format json"},
      {"Agent_Type", "rocprofv3 wrote", "run rocprofv3 again with --output-format json"},
      {"TotalDurationNs", "rocprof wrote", "run rocprofv3 with --output-format json"},
      {"KernelName", "rocprof wrote", "run rocprofv3 with --output-format json"},
      {"gpu-id", "rocprof wrote", "run rocprofv3 with --output-format json"},
      {"Metric Name", "Nsight Compute wrote", "record a timeline with stepscope record"},
      {"Total Time (ns)", "nsys stats wrote",
       "name the report's database, which nsys export --type sqlite writes"},
      {"CorrId", "nsys stats wrote",
       "name the report's database, which nsys export --type sqlite writes"},
      {"Time (%)", "nsys stats wrote",
       "name the report's database, which nsys export --type sqlite writes"},
      {"Time(%)", "nvprof or nsys stats wrote",
       "name the report's database, which nsys export --type sqlite writes"},
      {"Task Duration(us)", "msprof wrote", "name trace_view.json of the same recording"},
      {"OP Type", "msprof wrote", "name trace_view.json of the same recording"},
      {"Op Name", "msprof wrote", "name trace_view.json of the same recording"},
      {"start_ns", "stepscope export wrote", "name the run that it is of"},
  }};

  for (Tool const& tool : kTools)
    if (holds(line, tool.column))
      return no_trace(
          fmt::format("is a CSV table that {}, no timeline: {}", tool.tool, tool.advice));
  if (!is_named) return std::nullopt;
  return no_trace(
      "is a CSV table of no profiler that Stepscope knows: name the trace that it was made from");
}

Advice advice_for_binary(std::string_view head) {
  struct Magic {
    std::string_view bytes, what;
  };
  static constexpr std::array<Magic, 14> kMagics = {{
      {"\x7F"
       "ELF"sv,
       "is a program or a library, no trace: run it with stepscope record -- PROGRAM"},
      {"MZ"sv, "is a program of Windows, no trace: name a trace"},
      {"PAR1"sv,
       "is a Parquet table, which Stepscope does not read: open the run that it was made of, or "
       "export the report as SQLite"},
      {"ARROW1"sv,
       "is an Arrow table, which Stepscope does not read: open the run that it was made of, or "
       "export the report as SQLite"},
      {"\x89HDF"sv,
       "is an HDF5 file, which Stepscope does not read: open the run that it was made of, or "
       "export the report as SQLite"},
      {"\x89PNG"sv, "is a picture (PNG), no trace: name a trace"},
      {"\xFF\xD8\xFF"sv, "is a picture (JPEG), no trace: name a trace"},
      {"GIF8"sv, "is a picture (GIF), no trace: name a trace"},
      {"%PDF"sv, "is a PDF document, no trace: name a trace"},
      {"\x1A\x45\xDF\xA3"sv, "is a video, no trace: name a trace"},
      {"OggS"sv, "is a video or sound, no trace: name a trace"},
      {"\x93NUMPY"sv, "is an array of NumPy, no trace: name a trace"},
      {"GGUF"sv, "holds the weights of a model, no trace: name a trace"},
      {"{\\rtf"sv, "is a text document, no trace: name a trace"},
  }};

  constexpr size_t kElfType = 16;
  if (head.starts_with("\x7F"
                       "ELF"sv) &&
      head.size() > kElfType && head[kElfType] == 4)
    return no_trace(
        "is the memory of a program that crashed (a core dump), no trace: open it with gdb");
  if (head.find_first_not_of('\0') == std::string_view::npos && !head.empty())
    return no_trace(
        "holds nothing but zeros, as after a full disk or a broken copy: copy or record it again");

  for (Magic const& magic : kMagics)
    if (head.starts_with(magic.bytes)) return no_trace(std::string(magic.what));
  if (head.size() > 8 && head.substr(4, 4) == "ftyp")
    return no_trace("is a video, no trace: name a trace");
  return std::nullopt;
}

/// Lines that programs log: "[W1126 …", "[rank0]:[E1126 …", "[2026-11-26 …", "[INFO] …".
bool is_log(std::string_view text) {
  if (!text.starts_with('[') || text.size() < 3) return false;
  std::string_view const line = text.substr(0, text.find('\n'));
  size_t const close = line.find(']');
  if (close == std::string_view::npos)
    return text.size() > 2 && std::string_view("WEIF").find(text[1]) != std::string_view::npos &&
           std::isdigit(static_cast<unsigned char>(text[2])) != 0;

  std::string_view const inside = line.substr(1, close - 1), behind = line.substr(close + 1);
  bool const is_value = inside.find_first_of("{\"") != std::string_view::npos;
  bool const goes_on = behind.find_first_not_of(" \t\r,]}") != std::string_view::npos;
  return !is_value && !inside.empty() && goes_on &&
         std::isalnum(static_cast<unsigned char>(inside[0])) != 0;
}

/// JSON that no importer knows.
Advice advice_for_json(Input const& input) {
  std::string_view const head = input.head();
  size_t const first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos)
    return head.empty() ? std::nullopt
                        : may_be_trace("holds nothing but spaces, record the run again");
  if (head[first] != '{' && head[first] != '[') return std::nullopt;
  if (is_log(head.substr(first)))
    return no_trace(
        "is a log, no trace: name the trace that the run wrote, or record one with stepscope "
        "record");

  std::string content;
  for (char const c : head.substr(first, 16))
    if (std::isspace(static_cast<unsigned char>(c)) == 0) content += c;
  if (content == "[" || content == "{")
    return may_be_trace(
        "is JSON that was cut off before its first event and holds no events, record or copy it "
        "again");
  if (content == "[]" || content == "{}")
    return no_trace("is JSON that holds no events, record the run again");

  if (holds(head, "\"device_traces\""))
    return no_trace(
        "is a memory snapshot of PyTorch, no timeline: open it at pytorch.org/memory_viz");

  std::string_view const begin = head.substr(first, 64);
  if (holds(begin, "\"schema\"") &&
      (holds(begin, "\"run\"") || holds(begin, "\"kind\"") || holds(head, "\"findings\"")))
    return no_trace("is a result that Stepscope wrote, no trace: name the run that it is of");
  if (holds(head, "\"shared\"") && holds(head, "\"frames\"") && holds(head, "speedscope"))
    return no_trace("is a profile of speedscope, which Stepscope does not read: name a trace");
  if (holds(begin, "\"ph\"") ||
      (holds(head.substr(0, head.find('\n')), "\"ph\"") && holds(head, "\"ts\"")))
    return may_be_trace(
        fmt::format("holds events of a trace, one a line, which is no JSON: run jq -s . {} > "
                    "trace.json and name that",
                    std::filesystem::path(input.name()).filename().string()));
  return no_trace("is JSON, but holds no events of a trace (traceEvents): name a trace");
}

}  // namespace

Advice advice_for_file(Input const& input) {
  std::string name = std::filesystem::path(input.name()).filename().string();
  std::string_view const head = input.head();
  bool const is_packed = input.compression() != Compression::kNone;
  if (is_packed && head.empty() && input.head_damage()) return std::nullopt;
  if (is_packed && (head.starts_with("\x1F\x8B"sv) || head.starts_with("\x28\xB5\x2F\xFD"sv)))
    return may_be_trace(fmt::format("is packed twice: run {} {} once and name what it leaves",
                                    input.compression() == Compression::kGzip ? "gunzip" : "unzstd",
                                    name));

  std::string const packed_name = name;
  for (std::string_view const packed : {".gz", ".zst"})
    if (is_packed && name.ends_with(packed)) name.resize(name.size() - packed.size());

  if (auto advice = advice_for_archive(head, packed_name)) return advice;
  if (auto advice = advice_for_text_encoding(head, packed_name)) return advice;
  if (auto advice = advice_for_stand_in(head)) return advice;
  if (auto advice = advice_for_report_of_others(head, name)) return advice;
  if (auto advice = advice_for_safetensors(head)) return advice;
  if (auto advice = advice_of_importers(head, name)) return advice;
  if (auto advice = advice_for_binary(head)) return advice;

  if (input.head_damage()) return std::nullopt;
  if (auto advice = advice_for_json(input)) return advice;
  if (auto advice = advice_for_table(head, name)) return advice;

  bool const is_text = !head.empty() && std::none_of(head.begin(), head.end(), [](unsigned char c) {
    return c < 0x20 && std::isspace(c) == 0 && c != 0x1B;
  });
  if (is_text) return no_trace("is text, but none of a trace format: name a trace");
  return std::nullopt;
}

}  // namespace stepscope::import
