// Every output of a run in which every name is hostile: terminals, spreadsheets, pages, CI systems
// and dashboards must show it as a name. The list of commands and the list of names are the test's
// only differences.
#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/e2e/report/hostile_run.h"
#include "trace/base/format.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

namespace fs = std::filesystem;

struct Name {
  char const* what;
  std::string text;

  friend void PrintTo(Name const& name, std::ostream* out) { *out << name.what; }
};

/// The length of a name that no screen shows whole.
constexpr size_t kLongBytes = 1 << 16;
/// An output that cuts long names is below this.
constexpr size_t kMostCutBytes = 200'000;

/// What each must not do is in the checks below; "pwned" must never stand where a reader obeys it.
std::vector<Name> hostile_names() {
  return {{"formula", "=HYPERLINK(\"http://pwned\",\"x\")"},
          {"plus", "+pwned"},
          {"minus", "-2+3+cmd|' /C pwned'!A0"},
          {"at", "@SUM(pwned)"},
          {"wide_formula", "\xEF\xBC\x9Dpwned"},
          {"tab", "\t=pwned"},
          {"carriage_return", "\r=pwned"},
          {"escape", "\x1b[31m\x1b]0;pwned\x07\x1b]8;;http://pwned\x1b\\x\xC2\x9Bm"},
          {"workflow_command", "x\n::error::pwned\r\n##[error]pwned%0A::set-output name=a::pwned"},
          {"table", "| pwned | `pwned` |\n| --- |"},
          {"markup", "<img src=x onerror=pwned()></script><script>pwned()</script><!-- \"'&"},
          {"link", "[x](javascript:pwned) ![x](http://pwned) http://pwned www.pwned @pwned #1"},
          {"xml", "]]></system-out><failure>pwned</failure>&pwned;<![CDATA["},
          {"openmetrics", "x\"} 1\nstepscope_pwned 1\n# EOF\\"},
          {"bidi", "a\xE2\x80\xAE pwned \xE2\x81\xA6"},
          {"from_the_right", "שלום 5 עולם العربية"},
          {"emoji", "👩‍🚀 🚀 🇩🇪 e\u0301"},
          {"invalid", std::string("\xFF\xC0\x80\xED\xA0\x80 \xF8 a\0b", 14)},
          {"noncharacters", "\xEF\xBF\xBE\xEF\xBF\xBF"},
          {"format", "%s%n%999999d{}{0}"},
          {"long", std::string(kLongBytes, 'n')}};
}

/// kWholeText: not cut where it goes to no terminal.
enum class Is : uint8_t { kText, kWholeText, kMarkdown, kJson, kXml, kOpenMetrics, kHtml, kCsv };

/// One thing that a command writes.
struct Output {
  Is is;
  char const* file = "";  ///< nothing: the standard output
};

struct Command {
  char const* arguments;  ///< HOSTILE is the run, LABEL its name
  std::vector<Output> outputs;
};

std::vector<Command> const& commands() {
  static std::vector<Command> const kCommands = {
      {"analyze HOSTILE", {{Is::kText}}},
      {"analyze HOSTILE --stream", {{Is::kText}}},
      {"analyze HOSTILE --json", {{Is::kJson}}},
      {"analyze HOSTILE --markdown", {{Is::kMarkdown}}},
      {"analyze HOSTILE --openmetrics", {{Is::kOpenMetrics}}},

      {"whatif HOSTILE --change class:compute=/2 --change overlap", {{Is::kText}}},
      {"whatif HOSTILE --change class:compute=/2 --change overlap --json", {{Is::kJson}}},
      {"whatif HOSTILE --change class:compute=/2 --change overlap --markdown", {{Is::kMarkdown}}},

      {"info HOSTILE", {{Is::kText}}},
      {"info HOSTILE --json", {{Is::kJson}}},
      {"doctor HOSTILE", {{Is::kText}}},
      {"doctor HOSTILE --json", {{Is::kJson}}},

      {"top HOSTILE --of ops --limit 30", {{Is::kText}}},
      {"top HOSTILE --of ranges --format csv", {{Is::kCsv}}},
      {"query HOSTILE 'select * from events limit 30'", {{Is::kWholeText}}},
      {"query HOSTILE 'select * from events limit 30' --format csv", {{Is::kCsv}}},
      {"query HOSTILE 'select * from tracks' --format csv", {{Is::kCsv}}},
      {"query HOSTILE 'select * from events limit 30' --format json", {{Is::kJson}}},

      {"report HOSTILE -o out.html", {{Is::kText}, {Is::kHtml, "out.html"}}},
      {"report HOSTILE --lang zh -o out.html", {{Is::kHtml, "out.html"}}},
      {"report --series HOSTILE four_hostile -o out.html --json out.json --markdown out.md",
       {{Is::kText}, {Is::kHtml, "out.html"}, {Is::kJson, "out.json"}, {Is::kMarkdown, "out.md"}}},

      {"compare HOSTILE --vs HOSTILE --markdown out.md", {{Is::kText}, {Is::kMarkdown, "out.md"}}},
      {"compare HOSTILE --vs HOSTILE --json", {{Is::kJson}}},

      {"check HOSTILE --baseline HOSTILE --budget budget.toml --github --markdown out.md "
       "--junit out.xml --sarif out.sarif",
       {{Is::kText}, {Is::kMarkdown, "out.md"}, {Is::kXml, "out.xml"}, {Is::kJson, "out.sarif"}}},
      {"check HOSTILE --baseline HOSTILE --budget budget.toml --json", {{Is::kJson}}},
      {"check HOSTILE --append-history h.json --label LABEL --markdown out.md",
       {{Is::kText}, {Is::kJson, "h.json"}, {Is::kMarkdown, "out.md"}}},
      {"check HOSTILE --update-baseline b.json", {{Is::kJson, "b.json"}}},

      {"export HOSTILE -o out.csv --force", {{Is::kCsv, "out.csv"}}},
      {"export HOSTILE --format csv -o tables --force",
       {{Is::kCsv, "tables/tracks.csv"}, {Is::kCsv, "tables/processes.csv"}}},
      {"export HOSTILE -o out.json --force", {{Is::kText}, {Is::kJson, "out.json"}}},
      {"import HOSTILE -o again --force", {{Is::kText}}},
      {"slice HOSTILE --steps 1:1 -o part --force", {{Is::kText}}}};
  return kCommands;
}

/// What a file or a terminal must never get: control signs, signs that turn the direction of text,
/// bytes that are no text.
std::string first_bad_sign(std::string_view text, bool is_csv) {
  std::string kept;
  kept.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' || (is_csv && text.substr(at, 2) == "\r\n")) continue;
    kept += text[at];
  }

  std::string const clean = base::printable(kept);
  auto const [bad, good] = std::mismatch(kept.begin(), kept.end(), clean.begin(), clean.end());
  if (bad == kept.end()) return {};
  auto const at = static_cast<size_t>(bad - kept.begin());
  return fmt::format("byte {:#04x} behind '{}'", static_cast<unsigned char>(*bad),
                     base::printable(kept.substr(at > 60 ? at - 60 : 0, 60)));
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(std::string const& csv) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (size_t at = 0; at < csv.size(); ++at) {
    if (csv[at] == '"' && is_quoted && csv.compare(at, 2, "\"\"") == 0) {
      cells.back() += csv[at++];
    } else if (csv[at] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (csv[at] == ',' || csv[at] == '\n' || csv[at] == '\r')) {
      cells.emplace_back();
    } else {
      cells.back() += csv[at];
    }
  }

  EXPECT_FALSE(is_quoted);
  return cells;
}

bool is_number(std::string const& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

void expect_csv(std::string const& text) {
  for (std::string const& cell : cells_of(text)) {
    bool const is_formula =
        !cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos;
    EXPECT_TRUE(!is_formula || is_number(cell)) << cell.substr(0, 100);
    EXPECT_FALSE(cell.starts_with("\xEF\xBC\x9D")) << cell.substr(0, 100);
  }
}

/// Without what a backslash protects.
std::string without_escaped(std::string const& text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else {
      result += text[at];
    }
  }
  return result;
}

void expect_markdown(std::string const& text) {
  size_t columns = 0;
  for (std::string const& line : lines_of(without_escaped(text))) {
    bool const is_row = line.starts_with('|');
    auto const bars = static_cast<size_t>(std::count(line.begin(), line.end(), '|'));
    EXPECT_TRUE(!is_row || columns == 0 || bars == columns) << line.substr(0, 200);
    columns = is_row ? bars : 0;

    for (char const* const sign :
         {"<img", "<script", "<!--", "</script", "</system", "](javascript", "](http://pwned",
          "@pwned", "http://pwned", "#1"})
      EXPECT_EQ(line.find(sign), std::string::npos) << sign << " in " << line.substr(0, 200);
  }
}

void expect_openmetrics(std::string const& text) {
  std::vector<std::string> const lines = lines_of(text);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "# EOF");

  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    std::string const& line = lines[i];
    if (line.starts_with("# TYPE stepscope_") || line.starts_with("# HELP stepscope_") ||
        line.starts_with("# UNIT stepscope_"))
      continue;

    std::string const plain = without_escaped(line);
    size_t const space = plain.rfind(' ');
    ASSERT_NE(space, std::string::npos) << line;
    EXPECT_TRUE(is_number(plain.substr(space + 1))) << line;
    EXPECT_EQ(std::count(plain.begin(), plain.end(), '"') % 2, 0) << line;
    EXPECT_TRUE(line.starts_with("stepscope_") && !line.starts_with("stepscope_pwned")) << line;
  }
}

/// A runner obeys lines that begin with :: or ##[, wherever they come from.
void expect_no_commands(std::string const& text) {
  std::string token;
  for (std::string const& line : lines_of(text)) {
    constexpr std::string_view kStop = "::stop-commands::";
    if (line.starts_with(kStop)) token = line.substr(kStop.size());

    bool const is_ours =
        line.starts_with(kStop) || (!token.empty() && line == "::" + token + "::") ||
        line.starts_with("::error title=") || line.starts_with("::warning title=") ||
        line.starts_with("::notice title=");
    EXPECT_TRUE(is_ours || !(line.starts_with("::") || line.starts_with("##[")))
        << line.substr(0, 200);
  }
}

void expect_html(std::string const& text) {
  for (char const* const sign :
       {"<img src=x", "<script>pwned", "</script><script>pwned", "<!-- \"", "<failure>"})
    EXPECT_EQ(text.find(sign), std::string::npos) << sign;
}

class HostileNames : public Program, public testing::WithParamInterface<Name> {
 protected:
  void SetUp() override {
    ASSERT_EQ(stepscope("synth --ranks 2 --steps 4 -o made").code, 0);
    ASSERT_EQ(stepscope("synth --ranks 4 --steps 4 -o four").code, 0);
    // Names of files can be hostile, too, as far as the system lets them.
    folder_name_ = GetParam().text.substr(0, 100);
    std::erase_if(folder_name_,
                  [](char byte) { return byte == '/' || byte == '\0' || byte == '\''; });
    folder_name_ = "./" + folder_name_ + "hostile";
    write_hostile("made", folder_name_);
    write_hostile("four", "four_hostile");
    // A limit that nothing keeps: the gate has to say something.
    std::ofstream(path("budget.toml")) << "[default]\nstep_time_ms = \"<= 0.001\"\n";
  }
  void write_hostile(std::string const& from, std::string const& to) const {
    auto const made = import::open_run(std::vector<std::string>{path(from)});
    ASSERT_TRUE(made);
    model::Run const run = support::with_hostile_texts(*made, GetParam().text);
    fs::create_directories(folder_ / to);
    for (size_t r = 0; r < run.ranks.size(); ++r)
      ASSERT_TRUE(file::write_trace(run.ranks[r].trace,
                                    (folder_ / to / fmt::format("rank-{}.stepscope", r)).string()));
  }
  [[nodiscard]] std::string arguments_of(Command const& command) const {
    std::string arguments = command.arguments;
    auto const replace = [&](std::string const& word, std::string const& by) {
      for (size_t at = arguments.find(word); at != std::string::npos;
           at = arguments.find(word, at + by.size()))
        arguments.replace(at, word.size(), by);
    };
    replace("HOSTILE", "'" + folder_name_ + "'");
    replace("LABEL", "'" + folder_name_.substr(2) + "'");
    return arguments;
  }
  void expect_xml(std::string const& file) const {
    Outcome const parsed = shell(
        "python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); "
        "sys.exit(0 if all(\"pwned\" not in e.tagName for e in d.getElementsByTagName(\"*\")) and "
        "len(d.getElementsByTagName(\"system-out\")) == 1 else 1)' " +
        file);
    EXPECT_EQ(parsed.code, 0) << parsed.output.substr(0, 1000);
  }

  /// An output has names where the run has names, and nothing that its reader would obey.
  void expect_names_only(Output const& output, std::string const& printed) const {
    SCOPED_TRACE(output.file);
    bool const is_file = *output.file != '\0';
    std::string text = printed;
    if (is_file) {
      std::ifstream file(path(output.file), std::ios::binary);
      ASSERT_TRUE(file.good());
      text.assign(std::istreambuf_iterator<char>(file), {});
    }

    // Data files keep names as they are; JSON itself forbids raw control signs in them.
    bool const is_data = is_file && output.is == Is::kJson;
    EXPECT_EQ(is_data ? "" : first_bad_sign(text, output.is == Is::kCsv), "");
    bool const has_whole_names = output.is == Is::kWholeText || output.is == Is::kJson ||
                                 output.is == Is::kCsv || output.is == Is::kHtml;
    if (GetParam().text.size() == kLongBytes && !has_whole_names) {
      EXPECT_LT(text.size(), kMostCutBytes) << "long names are cut";
      EXPECT_EQ(text.find(GetParam().text), std::string::npos) << "each of them";
    }

    switch (output.is) {
      case Is::kText:
      case Is::kWholeText:
        return expect_no_commands(text);
      case Is::kMarkdown:
        return expect_markdown(text);
      case Is::kJson:
        EXPECT_TRUE(nlohmann::json::accept(text));
        return;
      case Is::kXml:
        return expect_xml(output.file);
      case Is::kOpenMetrics:
        return expect_openmetrics(text);
      case Is::kHtml:
        return expect_html(text);
      case Is::kCsv:
        return expect_csv(text);
    }
  }

  std::string folder_name_;
};

INSTANTIATE_TEST_SUITE_P(Names, HostileNames, testing::ValuesIn(hostile_names()),
                         [](auto const& of) { return std::string(of.param.what); });

TEST_P(HostileNames, AreNamesInEveryOutput) {
  for (Command const& command : commands()) {
    // Data files hold every name of every event: with long ones, gigabytes.
    bool const is_export = std::string_view(command.arguments).starts_with("export");
    if (is_export && GetParam().text.size() > 10'000) continue;

    SCOPED_TRACE(command.arguments);
    // What people read is both streams; what programs read is one.
    bool const is_for_people =
        std::any_of(command.outputs.begin(), command.outputs.end(), [](Output const& output) {
          return *output.file == '\0' && (output.is == Is::kText || output.is == Is::kWholeText);
        });
    Outcome const outcome =
        stepscope(arguments_of(command) + (is_for_people ? "" : " 2> /dev/null"));
    ASSERT_TRUE(outcome.code == 0 || outcome.code == 1 || outcome.code == 3)
        << outcome.code << "\n"
        << outcome.output.substr(0, 1000);
    for (Output const& output : command.outputs) expect_names_only(output, outcome.output);
  }
}

}  // namespace
}  // namespace stepscope::e2e
