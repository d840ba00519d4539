// Sources: "Writing Modules" in Lmod's user guide; modulefile(5) of Environment Modules.
#include "module_files.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::install {

namespace {

// Lua 5.1 manual, 2.1.
std::string lua_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "\"";
}

// Tcl(n): rules 4 and 7 to 9.
std::string tcl_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$[]{}").find(c) != std::string_view::npos)
      quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "\"";
}

std::vector<std::pair<std::string, std::string>> facts(const Module& module) {
  std::vector<std::pair<std::string, std::string>> facts = {{"Name", module.name},
                                                            {"Version", module.version}};
  for (const auto& [name, value] : {std::pair("Description", &module.description),
                                    std::pair("License", &module.license), std::pair("URL", &module.home)})
    if (!value->empty())
      facts.emplace_back(name, *value);
  return facts;
}

std::string help_of(const Module& module) {
  return module.name + " " + module.version + ", installed in " + module.prefix.string() + " from " +
         module.origin;
}

// One line of a comment.
std::string comment(const char* mark, const Module& module) {
  return std::string(mark) +
         " Written by `xaas install`, removed by `xaas uninstall`: " + replaced(module.prefix, "\n", " ") +
         "\n";
}

bool is_word(const std::string& word) {
  return !word.empty() && word.front() != '.' && word.front() != '-' &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return is_word_character(c) || c == '.' || c == '+' || c == '-'; });
}

} // namespace

std::string lua_module(const Module& module) {
  std::string text = comment("--", module) + "help(" + lua_text(help_of(module)) + ")\n";
  for (const auto& [name, value] : facts(module))
    text += "whatis(" + lua_text(name + ": " + value) + ")\n";
  text += "conflict(" + lua_text(module.name) + ")\n";
  for (const auto& [name, directory] : module.paths)
    text += "prepend_path(" + lua_text(name) + ", " + lua_text(directory) + ")\n";
  for (const auto& [name, value] : module.variables)
    text += "setenv(" + lua_text(name) + ", " + lua_text(value) + ")\n";
  return text;
}

std::string tcl_module(const Module& module) {
  std::string text = "#%Module1.0\n" + comment("#", module) + "proc ModulesHelp { } {\n  puts stderr " +
                     tcl_text(help_of(module)) + "\n}\n";
  for (const auto& [name, value] : facts(module))
    text += "module-whatis " + tcl_text(name + ": " + value) + "\n";
  text += "conflict " + tcl_text(module.name) + "\n";
  for (const auto& [name, directory] : module.paths)
    text += "prepend-path " + tcl_text(name) + " " + tcl_text(directory) + "\n";
  for (const auto& [name, value] : module.variables)
    text += "setenv " + tcl_text(name) + " " + tcl_text(value) + "\n";
  return text;
}

bool is_module_name(const std::string& name) {
  const std::vector<std::string> words = split(name, '/');
  return !words.empty() && join(words, "/") == name && std::all_of(words.begin(), words.end(), is_word);
}

bool is_module_version(const std::string& version) {
  return is_word(version);
}

} // namespace xaas::install
