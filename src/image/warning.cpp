#include <xaas/image/warning.h>

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace xaas::image {

namespace {

bool is_in(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> words_of(const std::string& argument) {
  std::vector<std::string> words(1);
  for (const char c : to_lower(argument))
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  return words;
}

bool asks_for_debugging(const std::string& argument) {
  const std::vector<std::string> words = words_of(argument);
  const bool names_it = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return is_in(word, {"debug", "ddebug"}); // -DDEBUG=1
  });
  const bool denied = is_in(words.front(), {"disable", "without", "no"}) ||
                      is_in(words.back(), {"off", "no", "false", "0", "none", "n"});
  return names_it && !denied;
}

using FileKind = link::InstalledFile::Kind;

bool is_program(const Bundle& bundle, const link::InstalledFile& file) {
  if (file.kind == FileKind::link) {
    const auto record = bundle.links.find(file.digest);
    return record != bundle.links.end() && record->second.kind == link::OutputKind::executable;
  }
  const std::string directory = fs::path(file.path).parent_path().filename();
  return file.kind == FileKind::file && (file.mode & 0111) != 0 && is_in(directory, {"bin", "sbin"});
}

} // namespace

std::string few(std::vector<std::string> names, size_t shown) {
  const size_t more = names.size() > shown + 1 ? names.size() - shown : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more ? " and " + std::to_string(more) + " more" : "");
}

std::string sources_text(const std::set<std::string>& sources) {
  return std::to_string(sources.size()) + (sources.size() == 1 ? " source (" : " sources (") +
         few({sources.begin(), sources.end()}, 3) + ")";
}

std::set<std::string> unoptimized_sources(const Bundle& bundle, const BundleConfiguration& configuration,
                                          const Usage& usage) {
  std::set<std::string> sources;
  if (std::any_of(configuration.arguments.begin(), configuration.arguments.end(), asks_for_debugging))
    return sources;
  for (const Digest& id : usage.units)
    if (const ir::Unit& unit = bundle.units.at(id); unit.unoptimized)
      sources.insert(unit.source);
  return sources;
}

std::optional<Warning> unoptimized_warning(const std::set<std::string>& sources) {
  if (sources.empty())
    return std::nullopt;
  return Warning{"optimization", "", 0,
                 sources_text(sources) + (sources.size() == 1 ? " is " : " are ") +
                     "compiled without an -O option, and deploying does not optimize what the build did not"};
}

std::string path_of(const Bundle& bundle) {
  const std::map<std::string, std::string>& wanted = bundle.image.env;
  if (const auto own = wanted.find("PATH"); own != wanted.end())
    return own->second;
  std::string usual = "/usr/local/bin:/usr/bin:/bin";
  if (bundle.base)
    if (const std::string path = variables_of(bundle.base->config.env)["PATH"]; !path.empty())
      usual = path;
  const std::string programs = bundle.image.prefix + "/bin";
  const std::vector<std::string> known = split(usual, ':');
  const bool is_there = bundle.base && std::find(known.begin(), known.end(), programs) != known.end();
  return is_there ? usual : programs + ":" + usual;
}

std::vector<std::string> programs_of(const Bundle& bundle, const BundleConfiguration& configuration) {
  const std::vector<std::string> path = split(path_of(bundle), ':');
  std::vector<std::string> names;
  for (const link::InstalledFile& file : configuration.installed) {
    if (!is_program(bundle, file))
      continue;
    const fs::path place = "/" + file.path;
    const bool on_path = std::find(path.begin(), path.end(), place.parent_path().string()) != path.end();
    names.push_back(on_path ? place.filename().string() : place.string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<Warning> entrypoint_warning(const spec::Image& image,
                                          const std::vector<std::string>& programs) {
  if (!image.entrypoint.empty() || programs.empty())
    return std::nullopt;
  return Warning{"entrypoint", "", 0,
                 "the image has no entry point (`image.entrypoint` of the spec); `xaas run IMAGE PROGRAM` "
                 "starts a program: " +
                     few(programs, 8)};
}

} // namespace xaas::image
