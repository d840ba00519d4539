#include "step.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>

namespace xaas::project {

namespace {

constexpr size_t shown_lines = 20;
constexpr size_t shown_columns = 400;
constexpr size_t lines_before = 5;
constexpr const char* asked_hint =
    "did it ask a question? its standard input is empty: give the answers by arguments or `environment`";
constexpr const char* fetch_hint =
    "builds inside an image have no network; list the downloads in `fetch` of the spec";

// As a person would type it, so that the log can be replayed by hand.
std::string quoted(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("_-+=/.,:@%").find(char(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain))
    return word;
  std::string result = "'";
  for (const char c : word)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

Result<uint64_t> append(const fs::path& log, const std::string& text) {
  std::ofstream stream(log, std::ios::app | std::ios::binary);
  stream << text;
  stream.close();
  std::error_code code;
  const uint64_t size = fs::file_size(log, code);
  if (!stream || code)
    return make_error(ErrorKind::storage, "writing the build log " + log.string() + ": failed");
  return size;
}

// The log from `offset` on, at most 64 MiB.
std::string read_from(const fs::path& log, uint64_t offset) {
  constexpr uint64_t limit = 64u << 20;
  std::ifstream stream(log, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() < limit && (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0))
    text.append(buffer.data(), static_cast<size_t>(stream.gcount()));
  return text;
}

bool has(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

std::string lines_from(const std::vector<std::string>& lines, size_t first) {
  std::string result;
  for (size_t i = first; i < lines.size() && i < first + shown_lines; ++i)
    result += (result.empty() ? "" : "\n") + lines[i].substr(0, shown_columns);
  return result;
}

} // namespace

std::string lines_that_matter(const std::string& output) {
  std::vector<std::string> lines = split(output, '\n');
  for (std::string& line : lines)
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
      line.pop_back();
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  // Messages of the compiler and configure first, then of CMake and Meson, then of make.
  const std::array<bool (*)(std::string_view), 3> kinds = {
      [](std::string_view line) { return has(line, "error:") && !has(line, "0 error:"); },
      [](std::string_view line) {
        return has(line, "CMake Error") || has(line, "ERROR:") || has(line, "Error:");
      },
      [](std::string_view line) { return has(line, "*** "); }};
  for (const auto matches : kinds) {
    const auto found = std::find_if(lines.begin(), lines.end(), matches);
    if (found == lines.end())
      continue;
    // Make only reports which rule failed; a program or a shell reported the reason before.
    const auto first = static_cast<size_t>(found - lines.begin());
    return lines_from(lines, matches == kinds.back() ? first - std::min(first, lines_before) : first);
  }
  return lines_from(lines, lines.size() > shown_lines ? lines.size() - shown_lines : 0);
}

bool asks(const std::string& output) {
  std::string tail = output.substr(output.size() - std::min<size_t>(output.size(), 400));
  while (!tail.empty() && tail.back() == ' ')
    tail.pop_back();
  // A prompt is a last line without an end.
  if (!tail.empty() && std::string_view("?:]>").find(tail.back()) != std::string_view::npos)
    return true;
  std::transform(tail.begin(), tail.end(), tail.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* choice : {"[y/n]", "(y/n)", "[yes/no]", "(yes/no)", "yes or no?", "y or n?"})
    if (has(tail, choice))
      return true;
  return false;
}

bool misses_network(const std::string& output) {
  constexpr size_t looked_at = 16u << 10; // early checks that try a network may fail
  const std::string_view tail =
      std::string_view(output).substr(output.size() - std::min(output.size(), looked_at));
  // Messages of libcurl, the C library (getaddrinfo, connect), git and wget.
  static constexpr std::array words = {"ould not resolve host",     "ouldn't resolve host",
                                       "unable to resolve host",    "Temporary failure in name resolution",
                                       "Name or service not known", "Network is unreachable"};
  return std::any_of(words.begin(), words.end(), [&](const char* each) { return has(tail, each); });
}

bool repeats(const std::string& output) {
  constexpr size_t longest = 4096;
  if (output.size() < 2 * longest)
    return false;
  for (size_t period = 1; period <= longest; ++period)
    if (output.compare(period, std::string::npos, output, 0, output.size() - period) == 0)
      return true;
  return false;
}

Result<fs::path> need_tool(const std::string& name, const std::string& what, const BuildPlace* place) {
  const std::optional<fs::path> path = place ? place->find_program(name) : find_program(name);
  if (!path && place)
    return make_error(ErrorKind::missing_tool,
                      what + " needs " + name + ", which the toolchain does not have",
                      "add " + name + " to the spec's `toolchain`, and build the image again");
  if (!path)
    return make_error(ErrorKind::missing_tool, what + " needs " + name + ", which is not on PATH",
                      "install " + name + ", or put its directory on PATH");
  return *path;
}

// A step that asks a question gets no answer; one that asks again and again would fill the disk.
static Result<void> check_output(const Step& step, const fs::path& log, uint64_t start) {
  constexpr uint64_t suspicious = 16u << 20;
  constexpr uint64_t looked_at = 64u << 10;
  std::error_code code;
  const uint64_t size = fs::file_size(log, code);
  if (code || size < start + suspicious)
    return {};
  const std::string tail = read_from(log, size - looked_at).substr(0, looked_at);
  if (!repeats(tail))
    return {};
  return make_error(ErrorKind::failed,
                    "the " + step.name + " step prints the same text forever, after " +
                        std::to_string((size - start) >> 20) + " MiB of output",
                    asked_hint)
      .with_output(lines_that_matter(tail.substr(0, 1000)));
}

Result<void> run_step(const Step& step, const fs::path& log, const BuildPlace* place,
                      const std::function<Result<void>()>& watch) {
  std::string line = "\n$ cd " + quoted(step.directory.string()) + " &&";
  for (const std::string& argument : step.arguments)
    line += " " + quoted(argument);
  XAAS_TRY(const uint64_t start, append(log, line + "\n"));

  Command command;
  command.arguments = step.arguments;
  command.directory = step.directory;
  command.environment = step.environment;
  command.inherit_environment = false;
  command.output = log;
  command.watch = [&]() -> Result<void> {
    XAAS_CHECK(check_output(step, log, start));
    return watch ? watch() : Result<void>();
  };
  XAAS_TRY(const ProcessResult result,
           (place ? place->run(command) : run_process(command)).in(step.name + " step"));
  if (result.exit_code == 0)
    return {};
  const std::string output = read_from(log, start);
  const char* const hint = place && misses_network(output) ? fetch_hint : asks(output) ? asked_hint : "";
  return make_error(ErrorKind::failed,
                    "the " + step.name + " step failed with exit code " + std::to_string(result.exit_code),
                    hint)
      .with_output(lines_that_matter(output));
}

} // namespace xaas::project
