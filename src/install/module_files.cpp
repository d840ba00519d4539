// Sources: "Writing Modules" in Lmod's user guide; modulefile(5) of Environment Modules.
#include "module_files.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::install {

namespace {

constexpr const char* magic = "#%Module1.0\n";

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Lua 5.1 manual, 2.1.
std::string lua_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    const std::string number = std::to_string(static_cast<unsigned char>(c));
    quoted += is_control(c) ? "\\" + std::string(3 - number.size(), '0') + number : std::string(1, c);
  }
  return quoted + "\"";
}

// Tcl(n): rules 4 and 7 to 9.
std::string tcl_text(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$[]{}").find(c) != std::string_view::npos)
      quoted += '\\';
    quoted += is_control(c) ? std::string("\\u00") + digits[c >> 4] + digits[c & 15] : std::string(1, c);
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

// The prefix has only characters that end no comment.
std::string comment(const char* mark, const fs::path& prefix) {
  return std::string(mark) + " Written by `xaas install`, removed by `xaas uninstall " + prefix.string() +
         "`\n";
}

bool is_word(const std::string& word) {
  return !word.empty() && word.front() != '.' && word.front() != '-' &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return is_word_character(c) || c == '.' || c == '+' || c == '-'; });
}

} // namespace

std::string lua_module(const Module& module) {
  std::string text = comment("--", module.prefix) + "help(" + lua_text(help_of(module)) + ")\n";
  for (const auto& [name, value] : facts(module))
    text += "whatis(" + lua_text(name + ": " + value) + ")\n";
  text += "conflict(" + lua_text(module.name) + ")\n";
  for (const auto& [name, directory] : module.paths)
    text += "prepend_path(" + lua_text(name) + ", " + lua_text(directory) + ")\n";
  return text + "setenv(" + lua_text(root_variable(module.name)) + ", " + lua_text(module.prefix) + ")\n";
}

std::string tcl_module(const Module& module) {
  std::string text = magic + comment("#", module.prefix) + "proc ModulesHelp { } {\n  puts stderr " +
                     tcl_text(help_of(module)) + "\n}\n";
  for (const auto& [name, value] : facts(module))
    text += "module-whatis " + tcl_text(name + ": " + value) + "\n";
  text += "conflict " + tcl_text(module.name) + "\n";
  for (const auto& [name, directory] : module.paths)
    text += "prepend-path " + tcl_text(name) + " " + tcl_text(directory) + "\n";
  return text + "setenv " + tcl_text(root_variable(module.name)) + " " + tcl_text(module.prefix) + "\n";
}

bool is_module_of(const std::string& text, const fs::path& prefix) {
  return text.starts_with(comment("--", prefix)) || text.starts_with(magic + comment("#", prefix));
}

std::string root_variable(const std::string& name) {
  std::string root = to_upper(fs::path(name).filename().string());
  std::replace_if(root.begin(), root.end(), [](char c) { return !is_word_character(c); }, '_');
  return (is_digit(root.front()) ? "_" : "") + root + "_ROOT";
}

bool is_module_name(const std::string& name) {
  const std::vector<std::string> words = split(name, '/');
  return !words.empty() && join(words, "/") == name && std::all_of(words.begin(), words.end(), is_word);
}

bool is_module_version(const std::string& version) {
  return is_word(version);
}

} // namespace xaas::install
