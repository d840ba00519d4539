#include "compile.h"
#include "frontend.h"

#include <xaas/base/json.h>
#include <xaas/ir/options.h>
#include <xaas/link/note.h>
#include <xaas/lower/lower.h>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <iostream>

namespace xaas::capture {

namespace {

std::shared_ptr<clang::CompilerInvocation> parse_command(const std::vector<std::string>& command) {
  std::vector<const char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(argument.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                       new clang::IgnoringDiagConsumer, true);
  // What is wrong with the arguments is reported by the command as it is.
  return clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics) ? invocation : nullptr;
}

bool makes_object_from_source(const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& options = invocation.getFrontendOpts();
  if (options.ProgramAction != clang::frontend::EmitObj || options.Inputs.size() != 1 || options.OutputFile.empty() ||
      options.OutputFile == "-")
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

// The working object must run on the build machine, which may lack the configuration's level.
target::Cpu working_cpu(const Session& session) {
  const target::Cpu host = target::host_cpu();
  const std::vector<std::string> levels = target::isa_levels(session.arch);
  const std::string own = target::isa_level(session.arch, host.features);
  const std::string wanted = session.level.empty() ? levels.front() : session.level;
  const auto position = [&](const std::string& level) { return std::find(levels.begin(), levels.end(), level); };
  Result<target::Cpu> cpu = target::cpu_by_name(session.arch, std::min(position(own), position(wanted)) == levels.end()
                                                                  ? wanted
                                                                  : *std::min(position(own), position(wanted)));
  return cpu ? *cpu : host;
}

Result<Digest> store_unit(const Session& session, const std::string& bitcode, const ir::UnitOptions& options,
                          ir::Unit& unit) {
  const store::ContentStore content = session.content();
  XAAS_TRY(unit.module, content.put(bitcode));
  XAAS_TRY(unit.options, content.put(ir::to_json(options).dump()));
  return content.put(ir::to_json(unit).dump());
}

// A second pass of the front end for the build machine's own level, where the configuration's level is above it.
Result<std::string> lesser_bitcode(std::vector<std::string> command, const Session& session, const target::Cpu& cpu) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-target-cpu" && command[i + 1] == session.level)
      command[i + 1] = cpu.name;
  std::shared_ptr<clang::CompilerInvocation> invocation = parse_command(command);
  if (!invocation)
    return make_error(ErrorKind::failed, "the compiler does not accept " + cpu.name);
  invocation->getDiagnosticOpts().IgnoreWarnings = true; // they were printed by the first pass
  FrontendResult frontend = run_frontend(invocation, session.strip_debug);
  if (!frontend.compiled || !frontend.refusal.empty())
    return make_error(ErrorKind::failed, "the source does not compile for the build machine's own level, " + cpu.name);
  return std::move(frontend.module.bitcode);
}

Result<void> write_captured(const Session& session, const std::vector<std::string>& command, const fs::path& output,
                            FrontendResult& frontend, const ir::UnitOptions& options, ir::Unit unit) {
  XAAS_TRY(const Digest id, store_unit(session, frontend.module.bitcode, options, unit));
  lower::Job job{std::move(frontend.module.bitcode), unit, options, working_cpu(session), !frontend.needs_optimisation};
  if (!session.level.empty() && job.target.name != session.level) {
    XAAS_TRY(job.bitcode, lesser_bitcode(command, session, job.target));
  }
  XAAS_TRY(std::string object, lower::lower(job));
  XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, id));
  return write_file(output, object, 0644, false);
}

} // namespace

CompileOutcome capture_compile(const Session& session, const WrittenMachine& written,
                               const std::vector<std::string>& command) {
  const std::shared_ptr<clang::CompilerInvocation> invocation = parse_command(command);
  if (!invocation || !makes_object_from_source(*invocation))
    return CompileOutcome::not_ours;
  const fs::path output = invocation->getFrontendOpts().OutputFile;
  const std::string source = invocation->getFrontendOpts().Inputs[0].getFile().str();

  Result<ir::UnitOptions> options = ir::options_of(*invocation);
  std::string refusal = refusal_of(*invocation, written);
  if (refusal.empty() && !options)
    refusal = options.error().message;
  if (!refusal.empty()) {
    note_native_object(session, output, refusal);
    return CompileOutcome::carried;
  }
  ir::Unit unit;
  unit.source = source == "-" ? "-" : portable_name(session, source);
  unit.machine = machine_flags(invocation->getTargetOpts(), written);

  FrontendResult frontend = run_frontend(invocation, session.strip_debug);
  if (!frontend.compiled)
    return CompileOutcome::failed;
  if (!frontend.refusal.empty()) {
    note_native_object(session, output, frontend.refusal);
    return CompileOutcome::carried;
  }
  if (const Result<void> wrote = write_captured(session, command, output, frontend, *options, unit); !wrote) {
    std::cerr << "xaas: error: compiling " << source << ": " << wrote.error().message << "\n";
    return CompileOutcome::failed;
  }
  return CompileOutcome::captured;
}

void note_native_object(const Session& session, const fs::path& object, const std::string& reason) {
  // Keyed by the object's path: its content is not there yet. Harvest matches it by name for the report only.
  const std::string path = fs::absolute(object).lexically_normal().string();
  const Json note{{"path", path}, {"name", portable_name(session, object)}, {"reason", reason}};
  static_cast<void>(write_file(session.directory / "native" / digest_of(path).hex(), note.dump(), 0644, false));
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
  XAAS_TRY(job.bitcode, content.get(job.unit.module));
  job.target = working_cpu(session);
  job.working = !optimised;
  XAAS_TRY(std::string object, lower::lower(job));
  XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, unit_id));
  return object;
}

} // namespace xaas::capture
