// Problem: one command of a build may compile several sources, for the host and for GPUs, and link them. Only
// Clang's driver knows the jobs that this takes.
//
// Example: the jobs of two commands, and what becomes of them.
//
//     clang -O2 a.c b.s -o ab    -cc1 for a.c       captured: a unit and its working object
//                                -cc1as for b.s     run as it is: a native object
//                                ld                 recorded, and linked by lld
//     clang -E a.c               -cc1 -E            run as it is
//
// Approach: Clang's driver plans the jobs in this process. Jobs that compile or link are captured, all others
// are run. If a source cannot be carried as IR, its job is run as well, and the reason is recorded. The jobs
// of one source with device code belong together (device/jobs.h).
//
// Rejected: reading the command line ourselves, because languages, output names and device jobs follow from
// dozens of options; `clang -###`, because its text would have to be parsed.
#include "driver_run.h"
#include "c/compile.h"
#include "device/compile.h"
#include "device/jobs.h"
#include "foreign_modules.h"
#include "fortran/compile.h"
#include "hip/hip_arguments.h"
#include "link.h"
#include "openmp/openmp_arguments.h"
#include "other_levels.h"
#include "standard_input.h"

#include <xaas/ir/back_ends.h>
#include <xaas/known/include_names.h>
#include <xaas/session/log.h>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Driver/Tool.h>
#include <clang/Driver/ToolChain.h>
#include <clang/Frontend/ChainedDiagnosticConsumer.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Options/Options.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <iostream>
#include <set>

namespace xaas::frontdoor {

namespace {

bool is_question_for_back_ends(const std::string& argument) {
  return argument.ends_with("-print-targets");
}

std::vector<std::string> strings(const llvm::opt::ArgStringList& arguments) {
  return {arguments.begin(), arguments.end()};
}

class DriverRun {
public:
  DriverRun(const session::Session& session, const std::vector<std::string>& arguments, Compiler compiler)
      : session_(session), fortran_(compiler == Compiler::flang),
        program_((fortran_ ? session.flang : session.clang).string()),
        prepared_(front_door_arguments(session, expand(arguments), compiler)) {
    strings_.push_back(program_);
    if (compiler == Compiler::clangxx)
      strings_.push_back("--driver-mode=g++");
    if (fortran_)
      strings_.push_back("--driver-mode=flang");
    strings_.insert(strings_.end(), prepared_.all.begin(), prepared_.all.end());
  }

  int run() {
    std::vector<const char*> arguments;
    for (const std::string& text : strings_)
      arguments.push_back(text.c_str());
    std::unique_ptr<clang::DiagnosticOptions> options = clang::CreateAndPopulateDiagOpts(arguments);
    auto printer = std::make_unique<clang::TextDiagnosticPrinter>(llvm::errs(), *options);
    printer->setPrefix(fortran_ ? "flang" : "clang");
    auto kept = std::make_unique<clang::TextDiagnosticBuffer>();
    const clang::TextDiagnosticBuffer& messages = *kept;
    clang::DiagnosticsEngine diagnostics(
        llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), *options,
        new clang::ChainedDiagnosticConsumer(std::move(printer), std::move(kept)));
    clang::ProcessWarningOptions(diagnostics, *options, *llvm::vfs::getRealFileSystem(), false);
    clang::driver::Driver driver(program_, llvm::sys::getDefaultTargetTriple(), diagnostics);
    driver.setCheckInputsExist(!links_);
    // -print-targets lists the back ends that are registered. A compile registers them when it runs, and one
    // with a known outcome may not need them.
    if (std::any_of(strings_.begin(), strings_.end(), is_question_for_back_ends))
      ir::initialize_back_ends();
    std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(arguments));
    const bool prints = compilation && prints_level(compilation->getArgs());
    if (prints || names_level(messages))
      if (const Result<void> noted = differs_at_levels(
              session_, "clang", prints ? "it prints its arguments" : "its message names the level");
          !noted)
        return print_error(noted.error());
    if (!compilation || compilation->containsError())
      return 1;
    if (compilation->getArgs().hasArg(clang::options::OPT__HASH_HASH_HASH)) {
      compilation->getJobs().Print(llvm::errs(), "\n", true);
      return diagnostics.hasErrorOccurred() ? 1 : 0;
    }
    if (diagnostics.hasErrorOccurred())
      return 1;
    if (compilation->getArgs().hasArg(clang::options::OPT_v)) // as clang does; CMake reads it
      compilation->getJobs().Print(llvm::errs(), "\n", false);
    if (listed_)
      *listed_ = device_commands(compilation->getJobs());
    if (links_)
      *links_ = links(compilation->getJobs());
    const bool runs = !listed_ && !links_;
    const std::vector<std::string> inputs = compilation->getArgs().getAllArgValues(clang::options::OPT_INPUT);
    if (runs && std::any_of(inputs.begin(), inputs.end(), is_standard_input))
      if (const Result<void> input = keep_standard_input(); !input)
        return print_error(input.error());
    const int code = runs ? run_jobs(*compilation) : 0;
    compilation->CleanupFileList(compilation->getTempFiles());
    return code;
  }

  // Like run(), but compiles nothing.
  int list(std::vector<DeviceCommand>& commands) {
    listed_ = &commands;
    return run();
  }

  // Like run(), but runs nothing, so that the inputs need not exist.
  int list(std::vector<LinkerArguments>& arguments) {
    links_ = &arguments;
    return run();
  }

private:
  static std::vector<std::string> expand(const std::vector<std::string>& arguments) {
    llvm::BumpPtrAllocator allocator;
    llvm::SmallVector<const char*, 64> expanded;
    for (const std::string& argument : arguments)
      expanded.push_back(argument.c_str());
    if (llvm::Error error = clang::driver::expandResponseFiles(expanded, false, allocator))
      llvm::consumeError(std::move(error)); // the driver reports what is wrong with the argument
    return {expanded.begin(), expanded.end()};
  }

  // Of the driver itself: "unsupported argument 'x86-64-v3' to option '-march='".
  bool names_level(const clang::TextDiagnosticBuffer& messages) const {
    const auto names = [this](const auto& message) {
      return message.second.find(session_.level) != std::string::npos;
    };
    return !session_.level.empty() && (std::any_of(messages.err_begin(), messages.err_end(), names) ||
                                       std::any_of(messages.warn_begin(), messages.warn_end(), names));
  }

  // True if the command tells the level. `-v` counts unless it is beside a plain compile or link: build
  // systems look there for libraries and directories.
  bool prints_level(const llvm::opt::ArgList& arguments) const {
    using namespace clang::options;
    const bool asks = arguments.hasArg(OPT_E, OPT_fsyntax_only) || !prepared_.written.march.empty() ||
                      !prepared_.written.mtune.empty();
    return arguments.hasArg(OPT__HASH_HASH_HASH, OPT_print_enabled_extensions, OPT_MJ,
                            OPT_gen_cdb_fragment_path) ||
           (arguments.hasArg(OPT_v) && asks);
  }

  int run_jobs(clang::driver::Compilation& compilation) {
    int result = 0;
    std::vector<const clang::driver::Action*> failed;
    const std::map<const clang::driver::Command*, OffloadJobs> groups = offload_jobs(compilation);
    std::set<const clang::driver::Command*> parts; // run together with the last job of their source
    std::vector<clang::driver::Command*> for_devices;
    for (const auto& [host, jobs] : groups)
      parts.insert(jobs.parts.begin(), jobs.parts.end());
    for (clang::driver::Command& job : compilation.getJobs()) {
      // As in clang, jobs that need the result of a failed job are skipped, and other sources are still
      // compiled.
      if (parts.contains(&job) || needs_any(job.getSource(), failed))
        continue;
      const auto group = groups.find(&job);
      const bool alone = is_for_device(job); // device code only (--cuda-device-only)
      if (alone)
        for_devices.push_back(&job);
      if (group != groups.end() || alone)
        if (const Result<void> noted = differs_at_levels(session_, "device code", "it is compiled again");
            !noted)
          return print_error(noted.error());
      const int code = group != groups.end() ? run_with_devices(compilation, group->second)
                       : alone               ? execute(compilation, job)
                                             : run_job(compilation, job);
      if (code == 0)
        continue;
      result = result ? result : code;
      failed.push_back(&job.getSource());
      if (const auto* action = llvm::dyn_cast<clang::driver::JobAction>(&job.getSource()))
        compilation.CleanupFileMap(compilation.getResultFiles(), action, false);
    }
    if (result == 0)
      for (const DeviceCommand& command : device_commands(for_devices))
        if (makes_ptx(command.compile))
          capture_file(command);
    return result;
  }

  // Captures a finished file of the build that holds the code of one compile.
  void capture_file(const DeviceCommand& command) {
    const auto arch = std::find(command.compile.begin(), command.compile.end(), "-target-cpu");
    std::vector<std::string> archs;
    if (arch != command.compile.end() && arch + 1 != command.compile.end())
      archs.push_back(arch[1]);
    const auto form = command.assembler.empty() ? link::DeviceFile::Form::ptx : link::DeviceFile::Form::cubin;
    capture_device_file(session_, command, archs, form, command.output);
  }

  static std::vector<DeviceCommand> device_commands(clang::driver::JobList& jobs) {
    std::vector<clang::driver::Command*> commands;
    for (clang::driver::Command& job : jobs)
      commands.push_back(&job);
    return device_commands(commands);
  }

  static std::vector<LinkerArguments> links(const clang::driver::JobList& jobs) {
    std::vector<LinkerArguments> found;
    for (const clang::driver::Command& job : jobs)
      if (job.getCreator().isLinkJob() && !is_of_device(job))
        found.push_back(linker_arguments(strings(job.getArguments())));
    return found;
  }

  // The compiles for GPUs among the jobs, each with the assembler job that follows it.
  static std::vector<DeviceCommand> device_commands(const std::vector<clang::driver::Command*>& jobs) {
    std::vector<DeviceCommand> commands;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const std::vector<std::string> arguments = strings(jobs[i]->getArguments());
      if (!is_device_compile(arguments))
        continue;
      DeviceCommand command{{arguments.begin() + 1, arguments.end()}, {}, output_of(*jobs[i])};
      if (i + 1 < jobs.size() && fs::path(jobs[i + 1]->getExecutable()).filename() == "ptxas") {
        command.assembler = strings(jobs[i + 1]->getArguments());
        command.output = output_of(*jobs[i + 1]);
      }
      commands.push_back(std::move(command));
    }
    return commands;
  }

  static bool needs_any(const clang::driver::Action& action,
                        const std::vector<const clang::driver::Action*>& failed) {
    return std::any_of(action.input_begin(), action.input_end(), [&](const clang::driver::Action* input) {
      return std::find(failed.begin(), failed.end(), input) != failed.end() || needs_any(*input, failed);
    });
  }

  // Runs the jobs of a source with device code. If the source is captured, only the front end runs.
  int run_with_devices(clang::driver::Compilation& compilation, const OffloadJobs& jobs) {
    if (const Result<void> added = add_libraries(compilation, jobs); !added)
      return print_error(added.error());
    const Result<fs::path> placeholder = device_image_placeholder(session_, runtime_of(jobs));
    if (!placeholder)
      return print_error(placeholder.error());
    DeviceCode device;
    device.offload = offload_of(jobs);
    CompileResult result = {CompileOutcome::not_ours, {}, {}};
    if (const std::vector<std::string> command = host_command(jobs, placeholder->string());
        !command.empty()) {
      if (device.offload == "openmp")
        device.capture = [&](const std::string& host_bitcode) { return capture_regions(jobs, host_bitcode); };
      else
        result = capture_units(jobs, device);
      if (result.outcome == CompileOutcome::not_ours)
        result = capture_compile(session_, prepared_.written, command, device);
    }
    if (result.outcome == CompileOutcome::captured)
      return 0;
    if (result.outcome == CompileOutcome::failed)
      return 1;
    if (!device.offload.empty() && makes_object(jobs)) {
      std::cerr << "xaas: error: device code that is linked must be IR, and this source's cannot: "
                << (result.reason.empty() ? "not C, C++ or CUDA" : result.reason) << "\n";
      return 1;
    }
    return run_natively(compilation, jobs, result);
  }

  // Adds libraries that device code is linked with and that Clang's driver leaves out.
  Result<void> add_libraries(clang::driver::Compilation& compilation, const OffloadJobs& jobs) {
    for (clang::driver::Command* part : jobs.parts) {
      std::vector<std::string> words = strings(part->getArguments());
      if (!is_device_compile(words))
        continue;
      if (runtime_of(jobs) == ir::DeviceRuntime::hip)
        words = with_hip_library(session_, words);
      XAAS_TRY(words, with_openmp_libraries(session_, prepared_.all, std::move(words)));
      replace_arguments(compilation, *part, words);
    }
    return {};
  }

  // Returns `not_ours` if it has put the units into `device`.
  CompileResult capture_units(const OffloadJobs& jobs, DeviceCode& device) {
    DeviceUnits captured = capture_devices(session_, prepared_.written, jobs, {});
    if (captured.outcome != CompileOutcome::captured)
      return {captured.outcome, output_of(*jobs.host), captured.reason};
    device.units = std::move(captured.units);
    return {CompileOutcome::not_ours, {}, {}};
  }

  DeviceUnits capture_regions(const OffloadJobs& jobs, const std::string& host_bitcode) {
    const Result<TemporaryDirectory> directory = TemporaryDirectory::create();
    const fs::path module = directory ? directory->path() / "host.bc" : fs::path();
    const Result<void> wrote =
        directory ? write_file(module, host_bitcode, 0644, false) : Result<void>(directory.error());
    if (wrote)
      return capture_devices(session_, prepared_.written, jobs, module.string());
    print_error(wrote.error());
    return {CompileOutcome::failed, {}, {}};
  }

  static fs::path output_of(const clang::driver::Command& job) {
    const std::vector<std::string>& outputs = job.getOutputFilenames();
    return outputs.empty() ? fs::path() : fs::path(outputs.front());
  }

  int run_natively(clang::driver::Compilation& compilation, const OffloadJobs& jobs,
                   const CompileResult& result) {
    for (const clang::driver::Command* job : jobs.parts)
      if (const int code = execute(compilation, *job); code != 0)
        return code;
    const int code = execute(compilation, *jobs.host);
    if (code == 0 && result.outcome == CompileOutcome::carried)
      note_native_object(session_, result.output, result.reason);
    return code;
  }

  static int execute(clang::driver::Compilation& compilation, const clang::driver::Command& job) {
    const clang::driver::Command* failing = nullptr;
    rewind_standard_input();
    return compilation.ExecuteCommand(job, failing);
  }

  // Clang itself looks for `#include __FILE__` under the name with replaced prefixes, and does not find the
  // file.
  Result<int> run_compile(clang::driver::Compilation& compilation, clang::driver::Command& job,
                          const std::vector<std::string>& arguments) {
    const auto run = [&] {
      return run_compared(session_, words_of(job), [&] { return execute(compilation, job); });
    };
    XAAS_TRY(const int code, run());
    if (code != 1 || arguments.empty() || arguments[0] != "-cc1" ||
        !known::includes_by_own_name({arguments.begin() + 1, arguments.end()}))
      return code;
    std::cerr << "xaas: compiling again with file names unchanged\n";
    replace_arguments(compilation, job, known::with_names_in_macros(arguments));
    return run();
  }

  // Changes the command for every later use, including flang's own run.
  void add_modules(clang::driver::Compilation& compilation, clang::driver::Command& job) {
    replace_arguments(compilation, job,
                      with_mpi_module(session_, session_.flang, strings(job.getArguments())));
  }

  static void replace_arguments(clang::driver::Compilation& compilation, clang::driver::Command& job,
                                const std::vector<std::string>& words) {
    llvm::opt::ArgStringList arguments;
    for (const std::string& argument : words)
      arguments.push_back(compilation.getArgs().MakeArgString(argument));
    job.replaceArguments(arguments);
  }

  int run_job(clang::driver::Compilation& compilation, clang::driver::Command& job) {
    if (!job.getArguments().empty() && job.getArguments()[0] == llvm::StringRef("-fc1"))
      add_modules(compilation, job);
    const std::vector<std::string> arguments = strings(job.getArguments());
    if (job.getCreator().isLinkJob())
      return is_of_device(job) ? execute(compilation, job) : run_link(compilation.getArgs(), arguments);
    CompileResult result = {CompileOutcome::not_ours, {}, {}};
    if (!arguments.empty() && arguments[0] == "-cc1")
      result = capture_compile(session_, prepared_.written, {arguments.begin() + 1, arguments.end()}, {});
    else if (!arguments.empty() && arguments[0] == "-fc1")
      result = capture_fortran(session_, prepared_.written, job.getExecutable(), arguments);
    if (!arguments.empty() && arguments[0] == "-fc1")
      if (const Result<void> noted = differs_at_levels(session_, output_of(job).string(), "it is Fortran");
          !noted)
        return print_error(noted.error());
    if (result.outcome == CompileOutcome::captured)
      return 0;
    if (result.outcome == CompileOutcome::failed)
      return 1;
    if (result.outcome == CompileOutcome::carried)
      if (const Result<void> noted =
              differs_at_levels(session_, result.output.string(), "it is a native object");
          !noted)
        return print_error(noted.error());
    const Result<int> ran = run_compile(compilation, job, arguments);
    if (!ran)
      return print_error(ran.error());
    const int code = *ran;
    if (code == 0 && result.outcome == CompileOutcome::carried)
      note_native_object(session_, result.output, result.reason);
    if (code == 0 && result.outcome == CompileOutcome::not_ours && makes_ptx(arguments) &&
        !is_temporary(compilation, output_of(job)))
      capture_file({{arguments.begin() + 1, arguments.end()}, {}, output_of(job)});
    return code;
  }

  static std::vector<std::string> words_of(const clang::driver::Command& job) {
    std::vector<std::string> words = strings(job.getArguments());
    words.insert(words.begin(), job.getExecutable());
    return words;
  }

  // The level of a link with LTO, as Clang's driver passes it on (tools::addLTOOptions()).
  static std::string lto_level(const llvm::opt::ArgList& arguments) {
    using namespace clang::options;
    const llvm::opt::Arg* const option = arguments.getLastArg(OPT_O_Group);
    if (!option)
      return {};
    if (option->getOption().matches(OPT_O4) || option->getOption().matches(OPT_Ofast))
      return "3";
    if (option->getOption().matches(OPT_O0))
      return "0";
    const std::string value = option->getValue();
    return value == "g" ? "1" : value == "s" || value == "z" ? "2" : value;
  }

  int run_link(const llvm::opt::ArgList& driver_arguments, std::vector<std::string> arguments) {
    // In front of what the project itself passes to the linker. Only a link with pass plugins reads it.
    if (const std::string level = lto_level(driver_arguments); !level.empty())
      arguments.insert(arguments.begin(), "-plugin-opt=O" + level);
    const auto names_level = [this](const std::string& word) {
      return !session_.level.empty() && word.ends_with("=" + session_.level);
    };
    if (std::any_of(arguments.begin(), arguments.end(), names_level)) // -plugin-opt=mcpu=
      if (const Result<void> noted = differs_at_levels(session_, "ld", "it optimizes"); !noted)
        return print_error(noted.error());
    return capture_link(session_, linker_arguments(arguments));
  }

  static bool is_for_device(const clang::driver::Command& job) {
    const clang::driver::Action& action = job.getSource();
    return action.getOffloadingDeviceKind() != clang::driver::Action::OFK_None;
  }

  // A whole program for a GPU (--target=amdgcn-amd-amdhsa, spirv64).
  static bool is_of_device(const clang::driver::Command& job) {
    const llvm::Triple& triple = job.getCreator().getToolChain().getTriple();
    return triple.isGPU() || triple.isSPIRV();
  }

  static bool is_temporary(const clang::driver::Compilation& compilation, const fs::path& file) {
    return llvm::is_contained(compilation.getTempFiles(), file.string());
  }

  const session::Session& session_;
  bool fortran_;
  std::string program_;
  Arguments prepared_;
  std::vector<std::string> strings_;
  std::vector<DeviceCommand>* listed_ = nullptr;
  std::vector<LinkerArguments>* links_ = nullptr;
};

} // namespace

int run_driver(const session::Session& session, const std::vector<std::string>& arguments,
               Compiler compiler) {
  if (const std::optional<Error> obstacle = hip_obstacle(session, arguments))
    return print_error(*obstacle);
  return DriverRun(session, arguments, compiler).run();
}

std::vector<DeviceCommand> list_device_commands(const session::Session& session,
                                                const std::vector<std::string>& arguments) {
  std::vector<DeviceCommand> commands;
  return DriverRun(session, arguments, Compiler::clangxx).list(commands) == 0 ? commands
                                                                              : std::vector<DeviceCommand>();
}

std::vector<LinkerArguments> list_links(const session::Session& session,
                                        const std::vector<std::string>& arguments) {
  std::vector<LinkerArguments> links;
  return DriverRun(session, arguments, Compiler::clang).list(links) == 0 ? links
                                                                         : std::vector<LinkerArguments>();
}

int print_error(const Error& error) {
  std::cerr << "xaas: error: " << error.message << "\n";
  if (!error.hint.empty())
    std::cerr << "hint: " << error.hint << "\n";
  return exit_code(error.kind);
}

} // namespace xaas::frontdoor
