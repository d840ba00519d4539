// Self-contained completion scripts: they need no completion library and do not run this program.
#include "completion_words.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::cli {

namespace {

using Kind = CompletionWord::Kind;

std::string in_quotes(const std::string& text) { // valid in bash, zsh and fish
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The first clause of a description, for the one-line lists of completions.
std::string brief(const CompletionWord& word) {
  const size_t end = word.meaning.find_first_of(";\n");
  return word.meaning.substr(0, end);
}

// --- bash

// The command that completes an argument of this kind; `cur` is the text so far.
std::string bash_action(const CompletionWord& word) {
  switch (word.kind) {
  case Kind::values:
    return "_xaas_words " + in_quotes(join(word.values, " "));
  case Kind::files:
    return "_xaas_files -f";
  case Kind::directories:
    return "_xaas_files -d";
  case Kind::images:
    return "_xaas_images " + in_quotes(join(word.transports, " "));
  case Kind::machines:
    return "_xaas_machines";
  case Kind::any:
    break;
  }
  return ":";
}

// Bash breaks words at ":" and "=", which our words contain. So the script splits the line itself and removes
// the part before the last break from each answer.
constexpr const char* bash_head = R"(# Completions of xaas for bash.
_xaas_words() {
  COMPREPLY+=($(compgen -W "$1" -- "$cur"))
}
_xaas_files() {
  compopt -o filenames 2>/dev/null
  local found
  while IFS= read -r found; do
    COMPREPLY+=("$2$found")
  done < <(compgen "$1" -- "${cur#"$2"}")
}
_xaas_images() {
  local transport
  for transport in $1; do
    if [[ $cur == "$transport"* ]]; then
      [[ $transport == docker:* ]] || _xaas_files -f "$transport"
      return
    fi
  done
  _xaas_words "$1"
  compopt -o nospace 2>/dev/null
  _xaas_files -f
}
_xaas_machines() {
  local user=${XDG_CONFIG_HOME:-$HOME/.config}/xaas site=${XAAS_SITE_CONFIG:-/etc/xaas/config.json} file
  for file in "$user"/machines/*.json "${site%/*}"/machines/*.json; do
    file=${file##*/}
    [[ $file == '*.json' ]] || _xaas_words "${file%.json}"
  done
  _xaas_files -f
}
_xaas() {
  local line=${COMP_LINE:0:COMP_POINT} cur prev command typed words i place=0 takes=' ' options=
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  cur=${words[${#words[@]} - 1]}
  prev=${words[${#words[@]} - 2]}
  typed=$cur
  if ((${#words[@]} <= 2)); then
    _xaas_words ')";

constexpr const char* bash_tail = R"(  if [[ $cur == --*=* ]]; then
    prev=${cur%%=*}
    cur=${cur#*=}
  fi
  if [[ $takes == *" $prev "* ]]; then
    _xaas_option
  elif [[ $cur == -* ]]; then
    _xaas_words "$options"
  else
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
      if [[ $takes == *" ${words[i]} "* ]]; then
        ((i++))
      elif [[ ${words[i]} != -* ]]; then
        ((place++))
      fi
    done
    _xaas_argument
  fi
  local break=${typed%"${typed##*[:=]}"} own=${typed%"$cur"}
  [[ $COMP_WORDBREAKS == *:* ]] || break=${typed%"${typed##*=}"}
  break=${break#"$own"}
  for i in "${!COMPREPLY[@]}"; do
    COMPREPLY[i]=${COMPREPLY[i]#"$break"}
  done
}
complete -F _xaas xaas
)";

std::string bash_script() {
  std::string names, tables, of_options, of_arguments;
  for (const CompletionCommand& command : completion_commands()) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string options, takes = " ", values, arguments;
    size_t place = 0;
    for (const CompletionWord& word : command.words) {
      if (word.positional()) {
        arguments += "      " + std::to_string(place++) + ") " + bash_action(word) + " ;;\n";
        continue;
      }
      options += join(word.names, " ") + " ";
      if (word.label.empty())
        continue;
      takes += join(word.names, " ") + " ";
      values += "      " + join(word.names, " | ") + ") " + bash_action(word) + " ;;\n";
    }
    tables += "  " + command.name + ")\n    options=" + in_quotes(options) +
              "\n    takes=" + in_quotes(takes) + "\n    _xaas_option() {\n      case $prev in\n" + values +
              "      esac\n    }\n    _xaas_argument() {\n      case $place in\n" + arguments +
              "      *) : ;;\n      esac\n    }\n    ;;\n";
  }
  return bash_head + names + "'\n    return\n  fi\n  command=${words[1]}\n  case $command in\n" + tables +
         "  *) return ;;\n  esac\n" + bash_tail;
}

// --- zsh

std::string zsh_escape(const std::string& text, const std::string& special) {
  std::string escaped;
  for (const char c : text)
    escaped += special.find(c) == std::string::npos ? std::string(1, c) : std::string("\\") + c;
  return escaped;
}

std::string zsh_action(const CompletionWord& word) {
  switch (word.kind) {
  case Kind::values:
    return "(" + join(word.values, " ") + ")";
  case Kind::files:
    return "_files";
  case Kind::directories:
    return "_files -/";
  case Kind::images:
    return "_xaas_images " + join(word.transports, " ");
  case Kind::machines:
    return "_xaas_machines";
  case Kind::any:
    break;
  }
  return "";
}

std::string zsh_specification(const CompletionWord& word) {
  const std::string value = ":" + zsh_escape(word.label, ":") + ":" + zsh_escape(zsh_action(word), ":");
  if (word.positional())
    return in_quotes(value);
  const std::string text = "[" + zsh_escape(brief(word), "[]:\\") + "]" + (word.label.empty() ? "" : value);
  std::string all;
  for (const std::string& name : word.names) {
    const char* equals = !word.label.empty() && name.starts_with("--") ? "=" : "";
    all += (all.empty() ? "" : " ") + in_quotes("*" + name + equals + text);
  }
  return all;
}

std::string zsh_script() {
  std::string script =
      "#compdef xaas\n# Completions of xaas for zsh.\n"
      "_xaas_images() {\n"
      "  local transport\n"
      "  for transport in $@; do\n"
      "    if compset -P \"$transport\"; then\n"
      "      [[ $transport == docker:* ]] || _files\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  compadd -S '' -- $@\n"
      "  _files\n"
      "}\n"
      "_xaas_machines() {\n"
      "  local user=${XDG_CONFIG_HOME:-$HOME/.config}/xaas site=${XAAS_SITE_CONFIG:-/etc/xaas/config.json}\n"
      "  compadd -- $user/machines/*.json(N:t:r) ${site:h}/machines/*.json(N:t:r)\n"
      "  _files\n"
      "}\n"
      "_xaas() {\n"
      "  local -a subcommands\n"
      "  subcommands=(\n";
  std::string cases;
  for (const CompletionCommand& command : completion_commands()) {
    script += "    " + in_quotes(command.name + ":" + zsh_escape(command.summary, ":")) + "\n";
    cases += "  " + command.name + ")\n    _arguments -s";
    for (const CompletionWord& word : command.words)
      cases += " \\\n      " + zsh_specification(word);
    cases += "\n    ;;\n";
  }
  return script +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command subcommands\n"
         "    return\n"
         "  fi\n"
         "  local subcommand=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $subcommand in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _xaas ]]; then\n"
         "  _xaas \"$@\"\n"
         "else\n"
         "  compdef _xaas xaas\n"
         "fi\n";
}

// --- fish

std::string fish_quotes(const std::string& text) {
  return "'" + zsh_escape(text, "\\'") + "'";
}

std::string fish_action(const CompletionWord& word) {
  switch (word.kind) {
  case Kind::values:
    return " -x -a " + fish_quotes(join(word.values, " "));
  case Kind::files:
    return " -r -F";
  case Kind::directories:
    return " -x -a '(__fish_complete_directories (commandline -ct))'";
  case Kind::images:
    return " -x -a " + fish_quotes("(__xaas_images " + join(word.transports, " ") + ")");
  case Kind::machines:
    return " -r -F -a '(__xaas_machines)'";
  case Kind::any:
    break;
  }
  return " -x";
}

std::string fish_script() {
  std::string script =
      "# Completions of xaas for fish.\n"
      "function __xaas_images\n"
      "    set -l word (commandline -ct)\n"
      "    for transport in $argv\n"
      "        if string match -q -- \"$transport*\" \"$word\"\n"
      "            set -l path (string sub -s (math (string length -- $transport) + 1) -- $word)\n"
      "            for found in (__fish_complete_path \"$path\")\n"
      "                echo $transport$found\n"
      "            end\n"
      "            return\n"
      "        end\n"
      "    end\n"
      "    printf '%s\\n' $argv\n"
      "    __fish_complete_path \"$word\"\n"
      "end\n"
      "function __xaas_machines\n"
      "    set -l user $HOME/.config\n"
      "    set -q XDG_CONFIG_HOME; and set user $XDG_CONFIG_HOME\n"
      "    set -l site /etc/xaas/config.json\n"
      "    set -q XAAS_SITE_CONFIG; and set site $XAAS_SITE_CONFIG\n"
      "    for file in $user/xaas/machines/*.json (string replace -r '[^/]*$' '' -- $site)machines/*.json\n"
      "        string replace -r '^.*/(.*)\\\\.json$' '$1' -- $file\n"
      "    end\n"
      "end\n"
      "complete -c xaas -f\n";
  for (const CompletionCommand& command : completion_commands()) {
    script += "complete -c xaas -n __fish_use_subcommand -a " + command.name + " -d " +
              fish_quotes(command.summary) + "\n";
    for (const CompletionWord& word : command.words) {
      std::string line = "complete -c xaas -n '__fish_seen_subcommand_from " + command.name + "'";
      for (const std::string& name : word.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!word.label.empty())
        line += fish_action(word);
      if (word.positional() && word.kind == Kind::any)
        continue;
      script += line + (word.positional() ? "" : " -d " + fish_quotes(brief(word))) + "\n";
    }
  }
  return script;
}

} // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script();
}

} // namespace xaas::cli
