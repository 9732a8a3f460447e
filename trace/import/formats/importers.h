// THE list of trace formats. A new format is one folder, whose function returns its row, and one
// line in importers.cpp. Everything that opening treats differently for one format is a field.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/trace_file.h"
#include "trace/import/common/advice.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

using ImportedTraces = base::Expected<std::vector<model::Trace>>;

/// One format. The first four fields are required. A null function or empty text adds no rule.
struct Importer {
  std::string_view name;
  /// Files of a folder with this suffix are tried, packed (.gz, .zst) or not. The content decides.
  std::string_view file_suffix;
  bool (*sniff)(Input const& input) = nullptr;
  /// One trace per process; a file may hold several. Never an empty list.
  ImportedTraces (*read)(Input const& input) = nullptr;

  // How files are opened.

  /// Opens a file by its index and reads no events. Replaces read() where a path is opened.
  base::Expected<file::TraceFile> (*open_indexed)(std::string const& path) = nullptr;
  /// Each file states its rank and job, and no other kind of file has this suffix. Stepscope then
  /// draws no conclusion from names, folders or times of such files.
  bool is_self_describing = false;
  /// A process writes the file when it ends or hangs: the last event says nothing about the end of
  /// the capture. Holds for traces whose TraceInfo::tool is this importer's name.
  bool is_dump = false;

  // Which files of a folder are tried.

  /// Further names than those with the suffix. Gets the name without .gz and .zst.
  bool (*has_name)(std::string_view file_name) = nullptr;
  /// Whether a file that no importer knows by name is of this format. May read the file.
  bool (*is_renamed)(std::string const& path) = nullptr;
  /// Whether a file with this format's name, which no importer could read, is whole and of another
  /// kind. Null: it is if it is text. Gets the name without .gz and .zst.
  bool (*is_other_kind)(Input const& input, std::string_view file_name) = nullptr;
  /// The names of JSON members that a trace begins with, each with a space before and after.
  std::string_view first_members;
  /// JSON text that only traces hold.
  std::string_view events_member;

  // Rules for folders.

  /// The subfolder that holds a capture's trace. Stepscope ignores the other files of the capture.
  std::string_view output_folder;
  /// The newest capture in a folder for logs.
  std::optional<std::string> (*newest_capture)(std::string const& folder) = nullptr;
  /// Removes from the files of one folder those that repeat the content of others.
  void (*drop_copies)(std::vector<std::string>& files) = nullptr;

  // Advice about files that Stepscope cannot read.

  /// For names of files that have to be converted into this format: the sentence with the command.
  std::optional<std::string> (*conversion_advice)(std::string_view path) = nullptr;
  /// For files that look like this format but hold something else.
  Advice (*advice)(std::string_view head, std::string_view file_name) = nullptr;
};

std::span<Importer const> importers();
/// "stepscope, …" for messages.
std::string importer_names();
/// Whether a file of this name in a run folder may be a trace.
bool has_trace_name(std::string_view file_name);
/// The importer for these bytes; null if no importer knows them.
Importer const* find_importer(Input const& input);

/// Importer::is_self_describing of the format that this file's suffix names.
bool is_self_describing(std::string_view path);
/// Importer::is_dump of the format that a trace was read from.
bool is_dump(model::TraceInfo const& info);
/// The answer of the first importer that has one.
std::optional<std::string> newest_capture(std::string const& folder);
std::optional<std::string> conversion_advice(std::string_view path);

/// The result of read() for a format with one trace per file.
ImportedTraces one_trace(base::Expected<model::Trace> trace);

}  // namespace stepscope::import
