#include "cli/line/completion.hpp"

#include <vector>

namespace plimsoll::cli {
namespace {

// A command as it is typed, " plugins lint" for one below another, and the words that may follow.
struct Level {
  std::string path;
  std::string words;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Level>& levels) {
  Level level{path, {}};
  const auto offer = [&level](const std::string& word) {
    level.words += (level.words.empty() ? "" : " ") + word;
  };
  for (const CLI::App* command : app.get_subcommands({})) offer(command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) offer("--" + name);
  }
  levels.push_back(std::move(level));
  for (const CLI::App* command : app.get_subcommands({})) {
    collect(*command, path + " " + command->get_name(), levels);
  }
}

// Finds the command that the words before the cursor name, and puts what may follow into $offered.
// `words_before`: the shell's expression for these words.
std::string choose_words(const std::vector<Level>& levels, const std::string& words_before) {
  std::string script = "  local command='' offered='' word\n  for word in " + words_before +
                       "; do\n    case \"$command $word\" in\n      ";
  for (size_t i = 1; i < levels.size(); ++i) {
    script += (i == 1 ? "'" : "|'") + levels[i].path + "'";
  }
  script += ") command=\"$command $word\" ;;\n    esac\n  done\n  case \"$command\" in\n";
  for (const Level& level : levels) {
    script += "    '" + level.path + "') offered='" + level.words + "' ;;\n";
  }
  return script + "  esac\n";
}

std::string fish_script(const std::vector<Level>& levels, const std::string& name) {
  const std::string function = "__" + name + "_offered";
  std::string script = "function " + function +
                       "\n  set -l command ''\n  for word in (commandline -opc)[2..-1]\n"
                       "    switch \"$command $word\"\n      case";
  for (size_t i = 1; i < levels.size(); ++i) script += " '" + levels[i].path + "'";
  script += "\n        set command \"$command $word\"\n    end\n  end\n  switch \"$command\"\n";
  for (const Level& level : levels) {
    script += "    case '" + level.path + "'\n      string split ' ' -- '" + level.words + "'\n";
  }
  return script + "  end\nend\ncomplete -c " + name + " -a '(" + function + ")'\n";
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  std::vector<Level> levels;
  collect(app, "", levels);
  const std::string& name = app.get_name();
  const std::string function = "_" + name;
  if (shell == "zsh") {
    return "#compdef " + name + "\n" + function + "() {\n" +
           choose_words(levels, "\"${(@)words[2,CURRENT-1]}\"") +
           "  compadd -- ${=offered}\n  _files\n}\n" + function + " \"$@\"\n";
  }
  if (shell == "fish") return fish_script(levels, name);
  return function + "() {\n" + choose_words(levels, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"") +
         "  local current=${COMP_WORDS[COMP_CWORD]}\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\"; compgen -f -- "
         "\"$current\")\n"
         "}\n"
         "complete -o filenames -F " +
         function + " " + name + "\n";
}

}  // namespace plimsoll::cli
