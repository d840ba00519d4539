#include "compile.h"
#include "frontend.h"
#include "identify.h"
#include "known.h"
#include "log.h"
#include "output.h"
#include "places.h"

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
  FrontendResult frontend = run_frontend(session, invocation, nullptr);
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

// Working objects of units that do not read the instruction set are made for the architecture's first level:
// they are then the same for every configuration, and run everywhere.
fs::path plain_mark(const Session& session, const Digest& unit) {
  return session.directory / "plain" / unit.hex();
}

Result<void> make_plain(lower::Job& job, const std::string& arch) {
  job.unit.machine = {{}, {}, features_of_meaning(job.unit.machine.features)};
  XAAS_TRY(job.target, target::cpu_by_name(arch, target::isa_levels(arch).front()));
  return {};
}

// Why the object is left to Clang; empty if it was written.
struct Written {
  std::string refusal;
};

// One compile of C or C++: known already, or done by the front end.
class Capture {
public:
  Capture(const Session& session, const std::vector<std::string>& command,
          std::shared_ptr<clang::CompilerInvocation> invocation, ir::UnitOptions options, ir::Unit draft)
      : session_(session), command_(command), invocation_(std::move(invocation)),
        output_(invocation_->getFrontendOpts().OutputFile), options_(std::move(options)),
        unit_(std::move(draft)) {
    unit_.options = options_.digest();
  }

  Result<CompileResult> run(const clang::TextDiagnosticBuffer& messages) {
    look_up();
    if (known_ && !session_.check_sharing)
      return use(*known_, true);
    FrontendResult frontend = run_frontend(session_, invocation_, &messages);
    std::cerr << frontend.messages;
    if (!frontend.compiled)
      return CompileResult{CompileOutcome::failed, {}, {}};
    frontend.plain &= preprocessed_ && !preprocessed_->reads_instruction_set;
    if (known_)
      XAAS_CHECK(compare(frontend));
    if (!frontend.refusal.empty())
      return CompileResult{CompileOutcome::carried, output_, frontend.refusal};
    KnownUnit unit;
    unit.plain = frontend.plain;
    unit.needs_optimisation = frontend.needs_optimisation;
    unit.names_places = frontend.names_places;
    unit.messages = without_places(session_, frontend.messages);
    unit.bitcode = std::move(frontend.module.bitcode);
    XAAS_TRY(const Written made, make_object(unit));
    if (!made.refusal.empty())
      return CompileResult{CompileOutcome::carried, output_, made.refusal};
    if (keys_ && !known_)
      remember(session_, *keys_, unit);
    return use(unit, false);
  }

private:
  void look_up() {
    if (session_.cache.empty() || !may_be_known(*invocation_))
      return;
    preprocessed_ = preprocess(session_, *invocation_);
    if (!preprocessed_)
      return;
    // The preprocessor has written them.
    invocation_->getDependencyOutputOpts() = clang::DependencyOutputOptions();
    keys_ = keys_of(session_, *invocation_, unit_.source, *preprocessed_, working_level(session_));
    known_ = find_known(session_, *keys_);
  }

  Result<void> compare(const FrontendResult& frontend) {
    const Digest known = digest_of(known_->bitcode);
    if (frontend.refusal.empty() && frontend.module.digest == known &&
        frontend.needs_optimisation == known_->needs_optimisation && (frontend.plain || !known_->plain))
      return {};
    const std::string compiled =
        frontend.refusal.empty() ? "module " + frontend.module.digest.to_string() : frontend.refusal;
    return log_difference(session_, unit_.source + ": known as module " + known.to_string() +
                                        (known_->plain ? " for every instruction set" : "") +
                                        ", but compiling it gives " + compiled);
  }

  // The working object of a unit that the front end has just made.
  Result<Written> make_object(KnownUnit& unit) {
    lower::Job job;
    job.unit = unit_;
    job.unit.module = digest_of(unit.bitcode);
    job.options = options_;
    job.working = !unit.needs_optimisation;
    std::string level = working_level(session_);
    if (unit.plain) {
      XAAS_CHECK(make_plain(job, session_.arch));
    } else {
      if (!session_.level.empty() && level != session_.level)
        unit.lesser = lesser_bitcode(command_, session_, level);
      // Where the source compiles for nothing less, its object may not run here, and need not.
      if (unit.lesser.empty() && !session_.level.empty())
        level = session_.level;
      XAAS_TRY(job.target, target::cpu_by_name(session_.arch, level));
    }
    job.bitcode = unit.lesser.empty() ? unit.bitcode : unit.lesser;
    Result<std::string> object = lower_working(job);
    if (!object && object.error().kind == ErrorKind::failed)
      return Written{object.error().message};
    if (!object)
      return std::move(object).error();
    unit.object = *std::move(object);
    return Written{};
  }

  // Stores the unit and writes its working object.
  Result<CompileResult> use(const KnownUnit& known, bool reused) {
    const store::ContentStore content = session_.content();
    XAAS_TRY(unit_.module, content.put(known.bitcode));
    XAAS_CHECK(checked(content.put(ir::to_json(options_).dump())));
    XAAS_TRY(const Digest id, content.put(ir::to_json(unit_).dump()));
    if (!known.lesser.empty())
      XAAS_CHECK(write_file(lesser_path(session_, id), known.lesser, 0644, false));
    if (known.plain)
      XAAS_CHECK(write_file(plain_mark(session_, id), "", 0644, false));
    std::string object = known.object;
    XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, id));
    XAAS_TRY(const Digest contents, link::content_digest(object));
    XAAS_CHECK(remember_output(session_, contents, link::Note::Kind::unit, id));
    XAAS_CHECK(log_compile(session_, {id, text_of_unit(), reused, known.names_places ? unit_.source : ""}));
    if (reused)
      std::cerr << with_places(session_, known.messages);
    // Where the file cannot be written, Clang says so in its own words.
    if (const Result<void> wrote = write_output(output_, object, 0644); !wrote)
      return CompileResult{CompileOutcome::carried, output_, wrote.error().message};
    return CompileResult{CompileOutcome::captured, output_, {}};
  }

  std::optional<Digest> text_of_unit() const {
    return preprocessed_ ? std::optional(preprocessed_->text) : std::nullopt;
  }

  static Result<void> checked(const Result<Digest>& stored) {
    if (!stored)
      return stored.error();
    return {};
  }

  const Session& session_;
  const std::vector<std::string>& command_;
  std::shared_ptr<clang::CompilerInvocation> invocation_;
  fs::path output_;
  ir::UnitOptions options_;
  ir::Unit unit_;
  std::optional<Preprocessed> preprocessed_;
  std::optional<Keys> keys_;
  std::optional<KnownUnit> known_;
};

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
  // Where the result is `carried`, Clang makes the object, or says in its own words why it cannot.
  Result<CompileResult> result =
      Capture(session, command, invocation, *std::move(options), unit).run(messages);
  if (result)
    return *result;
  std::cerr << "xaas: error: compiling " << source << ": " << result.error().message << "\n";
  return {CompileOutcome::failed, {}, {}};
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
  if (fs::exists(plain_mark(session, unit_id))) {
    XAAS_CHECK(make_plain(job, session.arch));
  } else {
    const std::string level = lesser || session.level.empty() ? working_level(session) : session.level;
    XAAS_TRY(job.target, target::cpu_by_name(session.arch, level));
  }
  XAAS_TRY(job.bitcode, lesser ? read_file(lesser_path(session, unit_id)) : content.get(job.unit.module));
  job.working = !optimised;
  XAAS_TRY(std::string object, lower::lower(job));
  XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, unit_id));
  return object;
}

} // namespace xaas::capture
