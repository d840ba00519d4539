// Is lowered machine code that of clang? For each compile of a project, two objects: one by clang from the
// source with -march=<target> before the project's own flags, and one lowered for the target from the IR that
// the front door captured without it. They are equal or not by link::content_digest: bytes, names and flags
// of allocated sections, relocations with what they name, symbols that are not local.
//
// Where they differ the source is captured once more, with -march=<target> as the command line's own. If the
// canonical IR differs, too, the source asks what it is compiled for, and there is nothing to compare; else
// something was lost in lowering.
//
// With --prepared, an equal object is also lowered from the module's prepared form. That object may differ in
// what the first half of the optimizer decides by the costs of instructions, which are those of the level
// that the module is prepared for (src/ir/prepared.cpp). The last line then has the CPU seconds of these
// sources: Clang's compile, lowering, preparing, and lowering the prepared form.
//
//   parity [--arch ARCH] --cpu NAME [--prepared] [--part I/N] [--keep DIR] ROOT COMPILE_COMMANDS.json
//
// ROOT: the project's directory, whose files get names independent of the place. Each command of the
// compilation database has `arguments`. Prints a line for each, and the sums; exit status 1 if any object is
// different, and both are then kept in DIR.
#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/stopwatch.h>
#include <xaas/frontdoor/toolchains.h>
#include <xaas/ir/options.h>
#include <xaas/link/note.h>
#include <xaas/lower/lower.h>
#include <xaas/session/session.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas {
namespace {

struct Compile {
  fs::path directory;
  std::string compiler; // as it was called
  std::string file;
  std::vector<std::string> arguments; // without compiler, output and dependency files
};

Result<std::vector<Compile>> read_commands(const fs::path& path) {
  XAAS_TRY(const Json json, read_json(path));
  XAAS_TRY(const std::vector<JsonReader> entries, JsonReader(json, path.string()).items());
  std::vector<Compile> compiles;
  for (const JsonReader& entry : entries) {
    Compile compile;
    XAAS_TRY(compile.directory, entry.string_at("directory"));
    XAAS_TRY(compile.file, entry.string_at("file"));
    XAAS_TRY(const JsonReader list, entry.at("arguments"));
    XAAS_TRY(const std::vector<std::string> words, list.strings());
    for (size_t i = 0; i < words.size(); ++i) {
      if (i == 0)
        compile.compiler = words[i];
      else if (words[i] == "-o" || words[i] == "-MF" || words[i] == "-MT" || words[i] == "-MQ")
        ++i;
      else if (words[i] != "-MD" && words[i] != "-MMD" && words[i] != "-MP")
        compile.arguments.push_back(words[i]);
    }
    compiles.push_back(std::move(compile));
  }
  return compiles;
}

// CPU seconds of sources that have a prepared form.
struct Times {
  size_t sources = 0;
  double native = 0, lowered = 0, prepare = 0, from_prepared = 0;
};

enum class Outcome { identical, other_prepared, not_prepared, different, not_comparable, native, fails };
constexpr const char* names[] = {"identical",       "identical from raw", "identical not prepared",
                                 "different",       "not comparable",     "native object",
                                 "does not compile"};

class Parity {
public:
  // `name`: the target as requested; an AArch64 level such as armv8-a is not the name of a CPU.
  Parity(fs::path root, target::Cpu target, const std::string& name, bool prepared, fs::path work,
         fs::path keep)
      : root_(std::move(root)), target_(std::move(target)), name_(name), prepared_(prepared),
        for_target_((target_.arch == "aarch64" && !name.starts_with("armv") ? "-mcpu=" : "-march=") + name),
        work_(std::move(work)), keep_(std::move(keep)) {}

  Result<void> open() {
    session_.directory = work_ / "session";
    session_.store = work_ / "store";
    session_.arch = target_.arch;
    session_.prefixes = {{root_, "."}};
    session_.roots = {root_};
    XAAS_TRY(session_.clang, frontdoor::find_clang());
    std::error_code code;
    const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path() / "xaas";
    return frontdoor::create_session(session_, program);
  }

  const Times& times() const { return times_; }

  Result<Outcome> check(const Compile& compile) {
    const fs::path ours = work_ / "ours.o", theirs = work_ / "theirs.o";
    std::vector<std::string> there = {for_target_};
    if (target_.arch != target::host_arch())
      there.push_back("--target=" + target::triple(target_.arch));
    const Stopwatch native_watch;
    XAAS_TRY(const bool compiled, run_compiler(on_target(compile), clang_for(compile), there, theirs));
    const double native_seconds = native_watch.seconds().cpu;
    if (!compiled)
      return Outcome::fails;
    XAAS_TRY(const bool captured, run_compiler(compile, front_door_for(compile), {}, ours));
    if (!captured) // what only compiles for the target
      return Outcome::not_comparable;
    XAAS_TRY(const std::optional<ir::Unit> unit, unit_of(ours));
    if (!unit)
      return Outcome::native;
    XAAS_TRY(lower::Job job, job_of(*unit));
    const Stopwatch lower_watch;
    XAAS_TRY(const lower::Object object, lower::lower(job));
    const double lower_seconds = lower_watch.seconds().cpu;
    const std::string& lowered = object.bytes;
    XAAS_TRY(const std::string native, read_file(theirs));
    XAAS_TRY(const bool equal, are_equal(lowered, native));
    if (equal && !prepared_)
      return Outcome::identical;
    if (equal)
      return check_prepared(compile, std::move(job), native, native_seconds, lower_seconds);
    XAAS_TRY(const bool again, run_compiler(compile, front_door_for(compile), {for_target_}, ours));
    XAAS_TRY(const std::optional<ir::Unit> fixed, again ? unit_of(ours) : std::optional<ir::Unit>());
    if (!fixed || fixed->module != unit->module)
      return Outcome::not_comparable;
    XAAS_CHECK(keep(compile, lowered, native));
    return Outcome::different;
  }

private:
  // As on the target itself, where `native` is the target and not this machine.
  Compile on_target(Compile compile) const {
    for (std::string& argument : compile.arguments)
      if (argument == "-march=native" || argument == "-mtune=native" || argument == "-mcpu=native")
        argument.replace(argument.find('=') + 1, std::string::npos, name_);
    return compile;
  }
  static bool is_cxx(const Compile& compile) {
    return fs::path(compile.compiler).filename().string().find("++") != std::string::npos;
  }
  fs::path front_door_for(const Compile& compile) const {
    return session_.directory / "tools" / (is_cxx(compile) ? "clang++" : "clang");
  }
  fs::path clang_for(const Compile& compile) const {
    return is_cxx(compile) ? session_.clang.parent_path() / "clang++" : session_.clang;
  }

  // True if it compiled.
  Result<bool> run_compiler(const Compile& compile, const fs::path& compiler,
                            const std::vector<std::string>& first, const fs::path& output) {
    Command command;
    command.arguments = {compiler.string(), "-ffile-prefix-map=" + root_.string() + "=."};
    command.arguments.insert(command.arguments.end(), first.begin(), first.end());
    command.arguments.insert(command.arguments.end(), compile.arguments.begin(), compile.arguments.end());
    command.arguments.insert(command.arguments.end(), {"-w", "-o", output.string()});
    command.directory = compile.directory;
    command.environment = {{"SOURCE_DATE_EPOCH", "0"}}; // __DATE__
    XAAS_TRY(const ProcessResult result, run_process(command));
    return result.exit_code == 0;
  }

  Result<std::optional<ir::Unit>> unit_of(const fs::path& object) const {
    XAAS_TRY(const std::string content, read_file(object));
    XAAS_TRY(const std::vector<link::Note> notes, link::read_notes(content));
    if (notes.empty())
      return std::optional<ir::Unit>();
    XAAS_TRY(const std::string text, session_.content().get(notes.front().origin));
    XAAS_TRY(const Json json, parse_json(text, "unit"));
    XAAS_TRY(ir::Unit unit, ir::parse_unit(JsonReader(json, "unit")));
    return std::optional(std::move(unit));
  }

  static Result<bool> are_equal(const std::string& one, const std::string& two) {
    XAAS_TRY(const Digest first, link::content_digest(one));
    XAAS_TRY(const Digest second, link::content_digest(two));
    return first == second;
  }

  Result<Outcome> check_prepared(const Compile& compile, lower::Job job, const std::string& native,
                                 double native_seconds, double lower_seconds) {
    if (ir::preparation_obstacle(job.options))
      return Outcome::not_prepared;
    const Stopwatch prepare_watch;
    job.form = lower::Form::prepared;
    XAAS_TRY(lower::Object prepared, lower::lower(job));
    times_.prepare += prepare_watch.seconds().cpu;
    job.form = lower::Form::object;
    job.bitcode = std::move(prepared.bytes);
    job.prepared = true;
    const Stopwatch watch;
    XAAS_TRY(const lower::Object lowered, lower::lower(job));
    times_.from_prepared += watch.seconds().cpu;
    times_.native += native_seconds;
    times_.lowered += lower_seconds;
    ++times_.sources;
    XAAS_TRY(const bool equal, are_equal(lowered.bytes, native));
    if (equal)
      return Outcome::identical;
    XAAS_CHECK(keep(compile, lowered.bytes, native));
    return Outcome::other_prepared;
  }

  Result<lower::Job> job_of(const ir::Unit& unit) const {
    XAAS_TRY(const std::string text, session_.content().get(unit.options));
    XAAS_TRY(const Json json, parse_json(text, "options"));
    lower::Job job;
    XAAS_TRY(job.options, ir::parse_unit_options(JsonReader(json, "options")));
    XAAS_TRY(job.bitcode, session_.content().get(unit.module));
    job.unit = unit;
    job.target = target_;
    return job;
  }

  Result<void> keep(const Compile& compile, const std::string& lowered, const std::string& native) const {
    if (keep_.empty())
      return {};
    std::string name = fs::path(compile.file).lexically_relative(root_).string();
    for (char& c : name)
      c = c == '/' ? '_' : c;
    XAAS_CHECK(make_directories(keep_));
    XAAS_CHECK(write_file(keep_ / (name + ".lowered.o"), lowered));
    return write_file(keep_ / (name + ".native.o"), native);
  }

  fs::path root_;
  target::Cpu target_;
  std::string name_;
  bool prepared_;
  std::string for_target_;
  fs::path work_, keep_;
  session::Session session_;
  Times times_;
};

struct Options {
  std::string arch = target::host_arch(), cpu;
  bool prepared = false;
  unsigned part = 0, parts = 1;
  fs::path keep, root, commands;
};

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> names_of_files;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool more = i + 1 < arguments.size();
    if (arguments[i] == "--arch" && more)
      options.arch = arguments[++i];
    else if (arguments[i] == "--cpu" && more)
      options.cpu = arguments[++i];
    else if (arguments[i] == "--prepared")
      options.prepared = true;
    else if (arguments[i] == "--keep" && more)
      options.keep = fs::absolute(arguments[++i]);
    else if (arguments[i] == "--part" && more &&
             std::sscanf(arguments[++i].c_str(), "%u/%u", &options.part, &options.parts) == 2)
      continue;
    else
      names_of_files.push_back(arguments[i]);
  }
  if (options.cpu.empty() || names_of_files.size() != 2 || options.parts == 0)
    return std::nullopt;
  options.root = fs::weakly_canonical(names_of_files[0]);
  options.commands = names_of_files[1];
  return options;
}

Result<bool> compare_all(const Options& options) {
  XAAS_TRY(const target::Cpu target, target::cpu_by_name(options.arch, options.cpu));
  XAAS_TRY(const std::vector<Compile> compiles, read_commands(options.commands));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create());
  Parity parity(options.root, target, options.cpu, options.prepared, work.path(), options.keep);
  XAAS_CHECK(parity.open());
  std::map<Outcome, size_t> sums;
  for (size_t i = options.part; i < compiles.size(); i += options.parts) {
    XAAS_TRY(const Outcome outcome, parity.check(compiles[i]).in(compiles[i].file));
    ++sums[outcome];
    std::cout << names[static_cast<size_t>(outcome)] << ": " << compiles[i].file << std::endl;
  }
  std::cout << "sum for " << options.cpu << ":";
  for (const auto& [outcome, count] : sums)
    std::cout << " " << count << " " << names[static_cast<size_t>(outcome)] << ";";
  std::cout << "\n";
  if (const Times& times = parity.times(); options.prepared)
    std::cout << "seconds: " << times.sources << " " << times.native << " " << times.lowered << " "
              << times.prepare << " " << times.from_prepared << "\n";
  return sums.count(Outcome::different) == 0;
}

} // namespace
} // namespace xaas

int main(int argc, char** argv) {
  const auto options = xaas::parse({argv + 1, argv + argc});
  if (!options) {
    std::cerr << "usage: parity [--arch ARCH] --cpu NAME [--prepared] [--part I/N] [--keep DIR] ROOT "
                 "COMPILE_COMMANDS.json\n";
    return 2;
  }
  const xaas::Result<bool> equal = xaas::compare_all(*options);
  if (!equal) {
    std::cerr << "parity: " << equal.error().message << "\n";
    return 3;
  }
  return *equal ? 0 : 1;
}
