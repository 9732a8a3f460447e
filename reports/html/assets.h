// The files of reports/web that are built into the program.
#pragma once

#include <string_view>

namespace stepscope::reports {

std::string_view report_style();
/// The bundled script; empty when the program was built without npm.
std::string_view report_script();
/// "sha256-…" of the script, as a Content-Security-Policy takes it; empty with an empty script.
std::string_view report_script_hash();

}  // namespace stepscope::reports
