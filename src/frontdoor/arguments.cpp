#include "arguments.h"
#include "driver_words.h"
#include "hip/hip_arguments.h"
#include "openmp/openmp_arguments.h"

#include <xaas/target/cpu.h>

#include <clang/Options/Options.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

using namespace clang::options;

bool is_optimization(const DriverOption& option) {
  return option.id == OPT_O || option.id == OPT_O0 || option.id == OPT_O4 || option.id == OPT_Ofast;
}

bool changes_triple(const DriverOption& option) {
  return option.id == OPT_m32 || option.id == OPT_mx32 || option.id == OPT_m16 || option.id == OPT_target;
}

// Words that tools, not users, pass to flang, and that it can do without.
bool is_foreign_word(const std::string& argument) {
  // Meson before 1.5 mistakes every flang for the older compiler of that name, with its libraries, and asks
  // it for dependency files.
  for (const char* word : {"-MD", "-lflang", "-lpgmath"})
    if (argument == word)
      return true;
  // The wrappers of an MPI library that was configured with gfortran add the options of its distribution.
  return argument == "-fstack-protector-strong" || argument.starts_with("-ffile-prefix-map=") ||
         argument.starts_with("-Minform=");
}

std::vector<std::string> in_flangs_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "-MQ" || arguments[i] == "-MF")
      ++i;
    else if (arguments[i] == "-module")
      words.push_back("-module-dir");
    else if (!is_foreign_word(arguments[i]))
      words.push_back(arguments[i]);
  return words;
}

// Options before the project's own. Clang must not warn if an invocation does not use them (a link and a
// prefix map).
std::vector<std::string> first_options(const session::Session& session, bool other_triple,
                                       Compiler compiler) {
  std::vector<std::string> options;
  if (session.arch != target::host_arch() && !other_triple)
    options.push_back("--target=" + target::triple(session.arch));
  if (!session.sysroot.empty() && !other_triple)
    options.push_back("--sysroot=" + session.sysroot.string());
  if (!session.level.empty() && !other_triple)
    options.push_back("-march=" + session.level);
  if (compiler == Compiler::flang)
    return options;
  options.insert(options.begin(), "--start-no-unused-arguments");
  for (const auto& [prefix, name] : session.prefixes)
    options.push_back("-ffile-prefix-map=" + prefix.string() + "=" + name);
  options.push_back("--end-no-unused-arguments");
  return options;
}

// The session's GPUs that a source can be compiled for. They replace those on the command line.
std::vector<std::string> gpus_for(const session::Session& session, bool cuda, bool hip, bool openmp) {
  if (cuda)
    return gpus_of(session, target::GpuArch::Vendor::nvidia);
  if (hip)
    return gpus_of(session, target::GpuArch::Vendor::amd);
  return openmp ? session.gpus : std::vector<std::string>();
}

// Options for device code besides the project's own. By default, Clang derives the names of a source's own
// device variables from its path and the whole command line, so these options set them.
std::vector<std::string> cuda_options(const session::Session& session, const std::vector<DriverOption>& given,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> options;
  // LLVM's new driver links relocatable code beside the host's, and only it can write one assembly file for
  // both sides. Code that is not relocatable has a place in the host's module, which only the old driver
  // provides.
  if (!is_relocatable(arguments) && !has_option(given, OPT_S))
    options.emplace_back("--no-offload-new-driver");
  // One toolkit, whichever of its names the build uses; by its canonical path, which is the same in every
  // build.
  if (!session.cuda.empty()) {
    options.push_back("--cuda-path=" + session.cuda.string());
    // CUDA 13 has Thrust, CUB and libcu++ here, and its own headers include them; nvcc finds them by itself.
    std::error_code code;
    if (const fs::path libraries = session.cuda / "include" / "cccl"; fs::is_directory(libraries, code))
      options.insert(options.end(), {"-isystem", libraries.string()});
  }
  // The limits of the toolkit's assembler do not apply: Clang still generates PTX for older GPUs.
  if (!gpus_of(session, target::GpuArch::Vendor::nvidia).empty())
    for (const char* word :
         {"--start-no-unused-arguments", "--no-cuda-version-check", "--end-no-unused-arguments"})
      options.emplace_back(word);
  for (const std::string& input : inputs_of(given))
    if (input.ends_with(".cu"))
      options.push_back("-cuid=" + digest_of(portable_name(session, input)).hex().substr(0, 16));
  return options;
}

} // namespace

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::string> word_after(const std::vector<std::string>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() || found + 1 == words.end() ? std::nullopt : std::optional(*(found + 1));
}

bool is_relocatable(const std::vector<std::string>& arguments) {
  bool result = false;
  for (const DriverOption& option : parse_driver(arguments))
    if (option.id == OPT_fgpu_rdc || option.id == OPT_fno_gpu_rdc)
      result = option.id == OPT_fgpu_rdc;
  return result;
}

bool is_dropped_by_front_door(const std::string& argument) {
  for (const char* prefix :
       {"-flto", "-fno-lto", "-fuse-ld=", "-save-temps", "--save-temps", "-ffat-lto-objects",
        "-fno-fat-lto-objects", "-fwhole-program-vtables", "-fuse-linker-plugin", "-fno-use-linker-plugin"})
    if (argument.starts_with(prefix))
      return true;
  // The command line names the level and the session.
  for (const char* recorded : {"record-command-line", "record-gcc-switches"})
    if (argument == std::string("-f") + recorded || argument == std::string("-g") + recorded)
      return true;
  // These make gfortran accept calls that flang accepts anyway. The wrappers of an MPI library that was
  // configured with gfortran add them, and CMake's FindMPI then passes them to C, too.
  if (argument == "-fallow-argument-mismatch" || argument == "-fallow-invalid-boz")
    return true;
  return argument.starts_with("-gsplit-dwarf");
}

namespace {

// Rewrites the words of one command line for the front door.
class Rewriter {
public:
  explicit Rewriter(const session::Session& session) : session_(session) {}

  bool hip = false;            // a source is HIP
  bool replaces_gpus = false;  // with those of the session
  bool first_gpu_only = false; // keep only the first GPU that is named

  void rewrite(const DriverOption& option) {
    if (option.id == OPT_INPUT || option.id == OPT__DASH_DASH)
      return keep(option.words);
    written.other_triple |= changes_triple(option);
    written.optimization |= is_optimization(option);
    // HIP's CMake package adds this option for an installation below /usr; the C library's headers would then
    // precede C++'s.
    if (hip && option.id == OPT_isystem && option.value() == "/usr/include")
      return;
    if (is_gpu(option) && (replaces_gpus || (first_gpu_only && gpus_named_++ > 0)))
      return;
    if (option.id == OPT_Xclang)
      read_cc1_word(option.value());
    const bool passed_on =
        option.id == OPT_Xarch_host || (option.id == OPT_Xarch__ && option.values.front() == session_.arch);
    if (option.words.size() > 1 && !passed_on)
      return keep(option.words);
    if (const std::optional<std::string> own = host_word(option.words.back()))
      keep(passed_on ? std::vector<std::string>{option.word(), *own} : std::vector<std::string>{*own});
  }

  std::vector<std::string> words;
  WrittenMachine written;

private:
  static bool is_gpu(const DriverOption& option) {
    return option.id == OPT_offload_arch_EQ || option.id == OPT_no_offload_arch_EQ;
  }

  // Rewrites an option for the host that is one word; nothing if it is dropped.
  std::optional<std::string> host_word(const std::string& word) {
    if (word == "-flto" || word.starts_with("-flto="))
      written.lto = word == "-flto=thin" ? "thin" : "full";
    if (word == "-fno-lto")
      written.lto.clear();
    if (is_dropped_by_front_door(word))
      return std::nullopt;
    const bool cpu = session_.arch == "aarch64" && word.starts_with("-mcpu="); // refused on x86
    if (word.starts_with("-march=") || cpu)
      written.march = word.substr(word.find('=') + 1);
    if (word.starts_with("-mtune="))
      written.mtune = word.substr(7);
    if (word == "-mtune=native" || (cpu && word == "-mcpu=native"))
      return std::nullopt;
    if (word == "-march=native")
      return "-march=" +
             (session_.level.empty() ? target::isa_levels(session_.arch).front() : session_.level);
    return word;
  }

  // `-Xclang -target-cpu -Xclang haswell` fixes the CPU, too.
  void read_cc1_word(const std::string& word) {
    if (cc1_option_ == "-target-cpu")
      written.march = word;
    if (cc1_option_ == "-tune-cpu")
      written.mtune = word;
    cc1_option_ = word;
  }

  void keep(const std::vector<std::string>& more) { words.insert(words.end(), more.begin(), more.end()); }

  const session::Session& session_;
  size_t gpus_named_ = 0;
  std::string cc1_option_;
};

} // namespace

Arguments front_door_arguments(const session::Session& session, const std::vector<std::string>& given,
                               Compiler compiler) {
  const bool clang = compiler != Compiler::flang;
  const std::vector<std::string> arguments = clang ? given : in_flangs_words(given);
  const std::vector<DriverOption> options = parse_driver(arguments, clang ? Driver::clang : Driver::flang);
  const bool hip = clang && is_hip(arguments);
  const bool cuda = clang && !hip && has_language(options, "cuda", ".cu");
  const bool openmp = clang && names_gpus_for_openmp(arguments);
  std::vector<std::string> gpus = gpus_for(session, cuda, hip, openmp);
  // A file of device code alone is for one architecture, and keeps the one that the build names. A build that
  // was given several (CUDAARCHS) names all of them.
  const bool for_device_only = cuda && has_option(options, OPT_offload_device_only);
  Rewriter rewriter(session);
  rewriter.hip = hip;
  rewriter.replaces_gpus = !gpus.empty() && !for_device_only;
  rewriter.first_gpu_only = for_device_only && has_option(options, OPT_o) && !session.gpus.empty();
  if (for_device_only) {
    const bool names_gpu =
        has_option(options, OPT_offload_arch_EQ) || has_option(options, OPT_no_offload_arch_EQ);
    gpus.resize(names_gpu ? 0 : std::min<size_t>(gpus.size(), 1));
  }
  for (const DriverOption& option : options)
    rewriter.rewrite(option);

  Arguments result;
  result.written = rewriter.written;
  result.all = first_options(session, result.written.other_triple, compiler);
  // Only inputs follow `--`.
  const auto inputs = std::find(rewriter.words.begin(), rewriter.words.end(), "--");
  const auto add = [&](const std::vector<std::string>& words) {
    result.all.insert(result.all.end(), words.begin(), words.end());
  };
  add({rewriter.words.begin(), inputs});
  for (const std::string& gpu : gpus)
    add({"--offload-arch=" + gpu});
  if (clang && is_relocatable(arguments)) // for links, too
    add({"--start-no-unused-arguments", "--offload-new-driver", "--end-no-unused-arguments"});
  if (cuda)
    add(cuda_options(session, options, arguments));
  if (openmp && !hip)
    add(openmp_options(session, arguments));
  if (hip)
    add(hip_options(session, arguments));
  add({inputs, rewriter.words.end()});
  return result;
}

} // namespace xaas::frontdoor
