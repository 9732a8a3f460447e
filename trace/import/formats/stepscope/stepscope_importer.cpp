#include "trace/import/formats/stepscope/stepscope_importer.h"

#include "trace/base/files/run_folder.h"
#include "trace/file/reader.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import {

Importer stepscope_importer() {
  return {.name = "stepscope",
          .file_suffix = base::kTraceSuffix,
          .sniff = [](Input const& input) { return file::is_stepscope_file(input.bytes()); },
          .read =
              [](Input const& input) {
                return one_trace(file::read_trace(input.bytes(), input.name()));
              },
          .open_indexed = [](std::string const& path) { return file::TraceFile::open(path); },
          .is_self_describing = true};
}

}  // namespace stepscope::import
