// stepscope completion SHELL: prints what makes a shell complete commands and options, made of the
// commands' own definitions.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/help/suggestions.h"

namespace stepscope::cli {
namespace {

struct CompletedOption {
  std::string name;  ///< with its dashes
  std::string meaning;
};

struct CompletedCommand {
  std::string name, meaning;
  std::vector<CompletedOption> options;
};

/// A text between single quotes: for all three shells, which differ in how they write a quote.
std::string quoted(std::string const& text, char const* quote) {
  std::string result = "'";
  for (char const c : text) result += c == '\'' ? std::string(quote) : std::string(1, c);
  return result + "'";
}

std::vector<CompletedCommand> completed_commands() {
  std::vector<CompletedCommand> all;
  for (Command const& command : commands()) {
    CLI::App app("", command.name);
    [[maybe_unused]] Action const action = command.add(app);

    CompletedCommand& shown = all.emplace_back(CompletedCommand{command.name, command.summary, {}});
    for (CLI::Option const* const option : app.get_options())
      for (std::string const& name : option->get_lnames())
        shown.options.push_back({"--" + name, option->get_description()});
  }
  return all;
}

std::string names_of(std::vector<CompletedOption> const& options) {
  std::string names;
  for (CompletedOption const& option : options) names += (names.empty() ? "" : " ") + option.name;
  return names;
}

/// A colon stands between a word and its meaning.
std::string for_zsh(std::string const& word, std::string const& meaning) {
  return quoted(word + ":" + meaning, R"('\'')");
}

std::string bash_script(std::vector<CompletedCommand> const& all) {
  std::string names, cases;
  for (CompletedCommand const& command : all) {
    names += command.name + " ";
    cases += fmt::format("      {}) words='{}' ;;\n", command.name, names_of(command.options));
  }

  return fmt::format(R"(# bash completion of stepscope
_stepscope() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words='{}help'
  elif [[ $word == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{}    esac
  elif ((COMP_CWORD == 2)) && [[ ${{COMP_WORDS[1]}} == help ]]; then
    words='{}'
  fi
  if [[ $words ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
}}
complete -o default -o bashdefault -F _stepscope stepscope
)",
                     names, cases, names);
}

std::string zsh_script(std::vector<CompletedCommand> const& all) {
  std::string names, cases;
  for (CompletedCommand const& command : all) {
    names += "    " + for_zsh(command.name, command.meaning) + "\n";
    cases += fmt::format("    {})\n      words_of=(\n", command.name);
    for (CompletedOption const& option : command.options)
      cases += "        " + for_zsh(option.name, option.meaning) + "\n";
    cases += "      ) ;;\n";
  }

  return fmt::format(R"(#compdef stepscope
_stepscope() {{
  local -a commands words_of
  commands=(
{}    'help:show the help of a command'
  )
  if (( CURRENT == 2 )) || [[ ${{words[2]}} == help && CURRENT -eq 3 ]]; then
    _describe command commands
    return
  fi
  case ${{words[2]}} in
{}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then _describe option words_of; else _files; fi
}}
if [[ ${{funcstack[1]-}} == _stepscope ]]; then _stepscope "$@"; else compdef _stepscope stepscope; fi
)",
                     names, cases);
}

std::string fish_script(std::vector<CompletedCommand> const& all) {
  std::string script = "# fish completion of stepscope\n";
  for (CompletedCommand const& command : all) {
    script += fmt::format("complete -c stepscope -n __fish_use_subcommand -f -a {} -d {}\n",
                          command.name, quoted(command.meaning, R"(\')"));

    for (CompletedOption const& option : command.options)
      script +=
          fmt::format("complete -c stepscope -n '__fish_seen_subcommand_from {}' -l {} -d {}\n",
                      command.name, option.name.substr(2), quoted(option.meaning, R"(\')"));
  }
  return script;
}

using Script = std::string (*)(std::vector<CompletedCommand> const&);
std::vector<std::pair<std::string, Script>> const& scripts() {
  static std::vector<std::pair<std::string, Script>> const all = {
      {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  return all;
}

int print_script(std::string const& shell) {
  for (auto const& [name, script] : scripts()) {
    if (name != shell) continue;
    std::fputs(script(completed_commands()).c_str(), stdout);
    return kGood;
  }
  return report_error({"completion: name a shell, bash, zsh or fish"});
}

}  // namespace

Action add_completion(CLI::App& app) {
  auto const shell = std::make_shared<std::string>();
  app.footer(
      "bash: source <(stepscope completion bash) in ~/.bashrc\n"
      "zsh:  source <(stepscope completion zsh) in ~/.zshrc, behind compinit\n"
      "fish: stepscope completion fish > ~/.config/fish/completions/stepscope.fish");
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  return [shell] { return print_script(*shell); };
}

}  // namespace stepscope::cli
