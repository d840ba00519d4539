#include "compile.h"
#include "frontend.h"
#include "identify.h"
#include "output.h"

#include <xaas/base/json.h>
#include <xaas/ir/options.h>
#include <xaas/link/note.h>
#include <xaas/lower/lower.h>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>

#include <algorithm>
#include <iostream>

namespace xaas::capture {

namespace {

// The invocation that a cc1 command asks for; null if Clang refuses its arguments. `messages` gets what Clang
// says of them.
std::shared_ptr<clang::CompilerInvocation> parse_command(const std::vector<std::string>& command,
                                                         clang::TextDiagnosticBuffer& messages) {
  std::vector<const char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(argument.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options, &messages,
                                       false);
  return clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics) ? invocation
                                                                                        : nullptr;
}

bool makes_object_from_source(const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& options = invocation.getFrontendOpts();
  if (options.ProgramAction != clang::frontend::EmitObj || options.Inputs.size() != 1 ||
      options.OutputFile.empty() || options.OutputFile == "-")
    return false;
  const clang::Language language = options.Inputs[0].getKind().getLanguage();
  return language == clang::Language::C || language == clang::Language::CXX;
}

std::string refusal_of(const clang::CompilerInvocation& invocation, const WrittenMachine& written) {
  if (written.other_triple)
    return "another target than the image's (-m32, --target)";
  if (!invocation.getFrontendOpts().LLVMArgs.empty())
    return "-mllvm options";
  if (!invocation.getFrontendOpts().Plugins.empty())
    return "a Clang plugin";
  if (!invocation.getFrontendOpts().ModuleOutputPath.empty())
    return "the interface of a C++ module";
  return {};
}

// -march and -mtune as the unit keeps them: what was not written stays open, `native` stays a symbol.
ir::MachineFlags machine_flags(const clang::TargetOptions& options, const WrittenMachine& written) {
  ir::MachineFlags flags;
  const bool open = written.march.empty() || written.march == "native";
  flags.cpu = open ? written.march : options.CPU;
  if (written.mtune == "native")
    flags.tune = "native";
  else if (!written.mtune.empty() || !open)
    flags.tune = options.TuneCPU;
  flags.features = options.FeaturesAsWritten;
  return flags;
}

// The level that working objects are made for: they must run on the build machine, which may lack the
// configuration's level.
std::string working_level(const Session& session) {
  const std::vector<std::string> levels = target::isa_levels(session.arch);
  const std::string wanted = session.level.empty() && !levels.empty() ? levels.front() : session.level;
  const std::string own = target::isa_level(session.arch, target::host_cpu().features);
  const auto weaker = std::find_if(levels.begin(), levels.end(),
                                   [&](const std::string& level) { return level == wanted || level == own; });
  return weaker == levels.end() ? wanted : *weaker;
}

// Where the IR of a unit for the build machine's own level is kept.
fs::path lesser_path(const Session& session, const Digest& unit) {
  return session.directory / "lesser" / unit.hex();
}

Result<Digest> store_unit(const Session& session, const std::string& bitcode, const ir::UnitOptions& options,
                          ir::Unit& unit) {
  const store::ContentStore content = session.content();
  XAAS_TRY(unit.module, content.put(bitcode));
  XAAS_TRY(unit.options, content.put(ir::to_json(options).dump()));
  return content.put(ir::to_json(unit).dump());
}

// A second pass of the front end, for the build machine's own level where the configuration's is above it. It
// prints and writes nothing: the first pass did. Empty if the source compiles only for the configuration's
// level.
std::string lesser_bitcode(std::vector<std::string> command, const Session& session,
                           const std::string& level) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-target-cpu" && command[i + 1] == session.level)
      command[i + 1] = level;
  clang::TextDiagnosticBuffer messages;
  std::shared_ptr<clang::CompilerInvocation> invocation = parse_command(command, messages);
  if (!invocation)
    return {};
  invocation->getDependencyOutputOpts() = clang::DependencyOutputOptions();
  FrontendResult frontend = run_frontend(invocation, nullptr, session.strip_debug);
  const bool usable = frontend.compiled && frontend.refusal.empty();
  return usable ? std::move(frontend.module.bitcode) : std::string();
}

// Lowers without optimisation; what does not lower so (operands of inline assembly that must become
// constants) as the project asks for.
Result<std::string> lower_working(lower::Job& job) {
  Result<std::string> object = lower::lower(job);
  if (!object && object.error().kind == ErrorKind::failed && job.working) {
    job.working = false;
    object = lower::lower(job);
  }
  return object;
}

// Why the object is left to Clang; empty if it was written.
struct Written {
  std::string refusal;
};

// Stores the unit and writes its working object, unless the back end cannot make an object of it, or it
// cannot be written.
Result<Written> write_captured(const Session& session, const std::vector<std::string>& command,
                               const fs::path& output, FrontendResult& frontend,
                               const ir::UnitOptions& options, const ir::Unit& draft) {
  lower::Job job;
  job.unit = draft;
  job.unit.module = frontend.module.digest;
  job.unit.options = options.digest();
  job.options = options;
  job.working = !frontend.needs_optimisation;
  std::string level = working_level(session);
  if (!session.level.empty() && level != session.level)
    job.bitcode = lesser_bitcode(command, session, level);
  if (!job.bitcode.empty()) {
    XAAS_CHECK(write_file(lesser_path(session, job.unit.id()), job.bitcode, 0644, false));
  } else {
    // Where the source compiles for nothing less, its object may not run here, and need not.
    job.bitcode = frontend.module.bitcode;
    level = session.level.empty() ? level : session.level;
  }
  XAAS_TRY(job.target, target::cpu_by_name(session.arch, level));
  Result<std::string> object = lower_working(job);
  if (!object && object.error().kind == ErrorKind::failed)
    return Written{object.error().message};
  if (!object)
    return std::move(object).error();
  XAAS_TRY(const Digest id, store_unit(session, frontend.module.bitcode, options, job.unit));
  XAAS_CHECK(link::add_note(*object, link::Note::Kind::unit, id));
  XAAS_TRY(const Digest content, link::content_digest(*object));
  XAAS_CHECK(remember_output(session, content, link::Note::Kind::unit, id));
  // Where the file cannot be written, Clang says so in its own words.
  if (const Result<void> wrote = write_output(output, *object, 0644); !wrote)
    return Written{wrote.error().message};
  return Written{};
}

} // namespace

CompileResult capture_compile(const Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command) {
  clang::TextDiagnosticBuffer messages;
  const std::shared_ptr<clang::CompilerInvocation> invocation = parse_command(command, messages);
  if (!invocation || !makes_object_from_source(*invocation))
    return {CompileOutcome::not_ours, {}, {}};
  const fs::path output = invocation->getFrontendOpts().OutputFile;
  const std::string source = invocation->getFrontendOpts().Inputs[0].getFile().str();

  Result<ir::UnitOptions> options = ir::options_of(*invocation);
  std::string refusal = refusal_of(*invocation, written);
  if (refusal.empty() && !options)
    refusal = options.error().message;
  if (!refusal.empty())
    return {CompileOutcome::carried, output, refusal};
  ir::Unit unit;
  unit.source = source == "-" ? "-" : portable_name(session, source);
  unit.machine = machine_flags(invocation->getTargetOpts(), written);

  FrontendResult frontend = run_frontend(invocation, &messages, session.strip_debug);
  if (!frontend.compiled)
    return {CompileOutcome::failed, {}, {}};
  if (!frontend.refusal.empty())
    return {CompileOutcome::carried, output, frontend.refusal};
  const Result<Written> done = write_captured(session, command, output, frontend, *options, unit);
  if (!done) {
    std::cerr << "xaas: error: compiling " << source << ": " << done.error().message << "\n";
    return {CompileOutcome::failed, {}, {}};
  }
  // Where there is a refusal, Clang makes the object, or says in its own words why it cannot.
  return {done->refusal.empty() ? CompileOutcome::captured : CompileOutcome::carried, output, done->refusal};
}

void note_native_object(const Session& session, const fs::path& object, const std::string& reason) {
  std::error_code code;
  if (!fs::is_regular_file(object, code)) // not a pipe, nor /dev/null
    return;
  if (const Result<Digest> content = digest_of_file(object))
    static_cast<void>(write_file(session.directory / "native" / content->hex(), reason, 0644, false));
}

Result<std::string> working_object(const Session& session, const Digest& unit_id, bool optimised) {
  const store::ContentStore content = session.content();
  XAAS_TRY(const std::string unit_text, content.get(unit_id));
  XAAS_TRY(const Json unit_json, parse_json(unit_text, "unit"));
  lower::Job job;
  XAAS_TRY(job.unit, ir::parse_unit(JsonReader(unit_json, "unit")));
  XAAS_TRY(const std::string options_text, content.get(job.unit.options));
  XAAS_TRY(const Json options_json, parse_json(options_text, "options"));
  XAAS_TRY(job.options, ir::parse_unit_options(JsonReader(options_json, "options")));
  const bool lesser = fs::exists(lesser_path(session, unit_id));
  const std::string level = lesser || session.level.empty() ? working_level(session) : session.level;
  XAAS_TRY(job.target, target::cpu_by_name(session.arch, level));
  XAAS_TRY(job.bitcode, lesser ? read_file(lesser_path(session, unit_id)) : content.get(job.unit.module));
  job.working = !optimised;
  XAAS_TRY(std::string object, lower::lower(job));
  XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, unit_id));
  return object;
}

} // namespace xaas::capture
