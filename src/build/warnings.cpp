#include "warnings.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/link/note.h>

#include <algorithm>
#include <cctype>

namespace xaas::build {

namespace {

using FileKind = link::InstalledFile::Kind;

bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

// The position where `path` stands in the text as a whole path or the beginning of one.
size_t find_path(std::string_view text, const std::string& path) {
  for (size_t at = text.find(path); at != std::string_view::npos; at = text.find(path, at + 1))
    if (const size_t end = at + path.size(); end == text.size() || !continues_name(text[end]))
      return at;
  return std::string_view::npos;
}

// The line of a position in a text file; 0 for other files.
uint64_t line_of(std::string_view content, size_t position) {
  const std::string_view before = content.substr(0, position);
  if (before.find('\0') != std::string_view::npos)
    return 0;
  return 1 + static_cast<uint64_t>(std::count(before.begin(), before.end(), '\n'));
}

// RUNPATH entries in the build's directories do not reach the image: deploying writes the RUNPATH that was
// harvested.
void blank_runpath(std::string& content) {
  const Result<link::Finish> finish = link::read_finish(content);
  if (!finish || !finish->runpath || finish->runpath->empty())
    return;
  for (size_t at = content.find(*finish->runpath); at != std::string::npos;
       at = content.find(*finish->runpath, at + 1))
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at), finish->runpath->size(), '\0');
}

std::string probe_message(const project::Finding& finding) {
  return "configuring ran a program" + std::string(finding.asks_cpu ? " that asks this machine's CPU" : "") +
         (finding.what.empty() ? "" : " (" + finding.what + ")") + "; the image is built for its answer";
}

// The flag is named by the only place that writes it. Of several, some may be in a branch that this build did
// not take, so they are only candidates.
Warning native_warning(const std::string& flag, const std::vector<project::Finding>& places,
                       const std::set<std::string>& sources) {
  Warning warning{
      "native", "", 0,
      flag + " for " + image::sources_text(sources) +
          ": it stands for the configuration's ISA level while building, and for the target when deploying"};
  if (places.size() == 1) {
    warning.file = places.front().file;
    warning.line = places.front().line;
    return warning;
  }
  std::vector<std::string> names;
  for (const project::Finding& place : places)
    if (!place.file.empty())
      names.push_back(place.file + ":" + std::to_string(place.line));
  if (!names.empty())
    warning.message += "; it may come from " + join(names, " or ");
  return warning;
}

// Whether a compiler for this architecture accepts the flag. Clang refuses -mcpu on x86.
bool can_be_compiled(const std::string& flag, const std::string& arch) {
  return flag != "-mcpu=native" || arch != "x86_64";
}

} // namespace

void WarningCollector::add_findings(const std::vector<project::Finding>& findings) {
  using Kind = project::Finding::Kind;
  for (const project::Finding& finding : findings) {
    if (finding.kind == Kind::native)
      native_.insert(finding);
    else if (finding.kind == Kind::debug)
      warnings_.insert(
          {"optimization", finding.file, finding.line,
           "the build type is the build system's default, which does not optimize; the argument " +
               finding.what + " does"});
    else if (finding.kind == Kind::machine)
      warnings_.insert(
          {"machine", finding.file, finding.line,
           "asks what machine this is (" + finding.what + "); the image is built for the answer"});
    else
      warnings_.insert({"probe", finding.file, finding.line, probe_message(finding)});
  }
}

void WarningCollector::add_installed(const fs::path& destination,
                                     const std::vector<link::InstalledFile>& files,
                                     const std::vector<Place>& places) {
  for (const link::InstalledFile& file : files) {
    std::string content;
    if (file.kind == FileKind::directory)
      continue;
    if (file.kind == FileKind::symlink) {
      content = file.destination;
    } else {
      Result<std::string> read = read_file(destination / file.path);
      if (!read)
        continue; // it was harvested just now
      content = *std::move(read);
    }
    if (file.kind == FileKind::link)
      blank_runpath(content);
    for (const Place& place : places)
      if (const size_t at = find_path(content, place.path.string()); at != std::string::npos) {
        const bool link = file.kind == FileKind::symlink;
        warnings_.insert({"path", "/" + file.path, link ? 0 : line_of(content, at),
                          (link ? "is a link into the " : "has the path of the ") + place.name});
      }
  }
}

void WarningCollector::add_leaks(const std::set<std::string>& leaking, const std::set<std::string>& sources) {
  for (const std::string& source : leaking)
    if (sources.count(source))
      warnings_.insert({"path", source, 0, "its code has the path of a directory of this build"});
}

void WarningCollector::add_vector_returns(const std::map<std::string, unsigned>& counts,
                                          const std::set<std::string>& sources) {
  for (const auto& [source, count] : counts)
    if (sources.count(source))
      warnings_.insert(
          {"vectors", source, 0,
           std::to_string(count) + (count == 1 ? " function returns" : " functions return") +
               " wide vectors in the registers of the configuration's ISA level on every target"});
}

std::vector<Warning> WarningCollector::finish(const image::Coverage& coverage,
                                              const std::string& arch) const {
  std::set<std::string> cpu, tune;
  for (const image::MachineFlagSource& each : coverage.machine_sources) {
    if (each.machine.cpu == "native")
      cpu.insert(each.source);
    else if (each.machine.tune == "native")
      tune.insert(each.source);
  }
  std::set<Warning> all = warnings_;
  for (const auto& [sources, tuning] : {std::pair(&cpu, false), std::pair(&tune, true)}) {
    if (sources->empty())
      continue;
    std::vector<project::Finding> places;
    for (const project::Finding& place : native_)
      if ((place.what == "-mtune=native") == tuning && can_be_compiled(place.what, arch))
        places.push_back(place);
    const std::string flag = places.size() == 1 ? places.front().what
                             : tuning           ? "-mtune=native"
                                                : "-march=native";
    all.insert(native_warning(flag, places, *sources));
  }
  if (const std::optional<Warning> slow = image::unoptimized_warning(coverage.unoptimized))
    all.insert(*slow);
  return {all.begin(), all.end()};
}

} // namespace xaas::build
