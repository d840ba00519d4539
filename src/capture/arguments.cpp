#include "arguments.h"
#include "hip_arguments.h"
#include "openmp_arguments.h"

#include <xaas/target/cpu.h>

#include <algorithm>
#include <set>

namespace xaas::capture {

namespace {

// Options whose value is the next argument: that value is not an option, whatever it looks like.
const std::set<std::string>& options_with_value() {
  static const std::set<std::string> options = {"-o",
                                                "-I",
                                                "-D",
                                                "-U",
                                                "-include",
                                                "-imacros",
                                                "-x",
                                                "-Xclang",
                                                "-Xlinker",
                                                "-Xassembler",
                                                "-MF",
                                                "-MT",
                                                "-MQ",
                                                "-isystem",
                                                "-iquote",
                                                "-idirafter",
                                                "-isysroot",
                                                "-L",
                                                "-l",
                                                "-mllvm",
                                                "-e",
                                                "-u",
                                                "-T",
                                                "-z",
                                                "-Xpreprocessor",
                                                "-iprefix",
                                                "-iwithprefix",
                                                "-target",
                                                "-arch",
                                                "-rpath",
                                                "-G",
                                                "-A",
                                                "-B",
                                                "-F",
                                                "-framework",
                                                "-dumpdir",
                                                "-dumpbase",
                                                "-J",
                                                "-module-dir",
                                                "-module",
                                                "-Xflang",
                                                "-mmlir",
                                                "-fintrinsic-modules-path"};
  return options;
}

bool changes_triple(const std::string& argument) {
  return argument == "-m32" || argument == "-mx32" || argument == "-m16" || argument == "-target" ||
         argument.starts_with("--target");
}

// What flang is told by others than its own users, and does without.
bool is_foreign_word(const std::string& argument) {
  // Meson before 1.5 takes every flang for the older compiler of that name, with its libraries, and asks it
  // for dependency files.
  for (const char* word : {"-MD", "-lflang", "-lpgmath"})
    if (argument == word)
      return true;
  // The wrappers of an MPI library that was configured with gfortran add its distribution's options of then.
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

// Options before the project's own. Those that an invocation does not use (a link has no use for a prefix
// map) must not be warned about.
std::vector<std::string> first_options(const Session& session, bool other_triple, Compiler compiler) {
  std::vector<std::string> options;
  if (session.arch != target::host_arch() && !other_triple)
    options.push_back("--target=" + target::triple(session.arch));
  if (!session.level.empty() && !other_triple)
    options.push_back("-march=" + session.level);
  if (compiler == Compiler::flang)
    return options;
  options.insert(options.begin(), "--start-no-unused-arguments");
  for (const auto& [prefix, name] : session.prefixes)
    options.push_back("-ffile-prefix-map=" + prefix.string() + "=" + name);
  options.push_back("-fno-record-command-line");
  options.push_back("--end-no-unused-arguments");
  return options;
}

bool is_cuda(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].ends_with(".cu") || arguments[i] == "-xcuda" ||
        (arguments[i] == "-x" && i + 1 < arguments.size() && arguments[i + 1] == "cuda"))
      return true;
  return false;
}

bool is_for_device_only(const std::string& argument) {
  return argument == "--cuda-device-only" || argument == "--offload-device-only";
}

bool names_gpu(const std::string& argument) {
  for (const char* prefix :
       {"--cuda-gpu-arch=", "--offload-arch=", "--no-cuda-gpu-arch=", "--no-offload-arch="})
    if (argument.starts_with(prefix))
      return true;
  return false;
}

// Those of the session that a source can be compiled for, in place of its own words.
std::vector<std::string> gpus_for(const Session& session, bool cuda, bool hip, bool openmp) {
  if (cuda)
    return gpus_of(session, target::GpuArch::Vendor::nvidia);
  if (hip)
    return gpus_of(session, target::GpuArch::Vendor::amd);
  return openmp ? session.gpus : std::vector<std::string>();
}

// What is said of device code beside the project's own words. The name that Clang makes for a source's own
// device variables comes from its place and the whole command line, unless it is given.
std::vector<std::string> cuda_options(const Session& session, const std::vector<std::string>& arguments) {
  std::vector<std::string> options;
  // Relocatable code is linked beside the host's, as LLVM's own scheme has it, and one file of assembly for
  // both sides is something that only that can write. What is not relocatable has a place in the host's
  // module, which only the old one gives it.
  const bool assembly = std::find(arguments.begin(), arguments.end(), "-S") != arguments.end();
  if (!is_relocatable(arguments) && !assembly)
    options.emplace_back("--no-offload-new-driver");
  // One toolkit, whichever of its names the build has; by its own name, which is in no two builds another.
  if (!session.cuda.empty()) {
    options.push_back("--cuda-path=" + session.cuda.string());
    // Where CUDA 13 has Thrust, CUB and libcu++, which its own headers include; nvcc finds them by itself.
    std::error_code code;
    if (const fs::path libraries = session.cuda / "include" / "cccl"; fs::is_directory(libraries, code))
      options.insert(options.end(), {"-isystem", libraries.string()});
  }
  // An assembler's limits are none of ours: PTX for older GPUs can still be made.
  if (!gpus_of(session, target::GpuArch::Vendor::nvidia).empty())
    for (const char* word :
         {"--start-no-unused-arguments", "--no-cuda-version-check", "--end-no-unused-arguments"})
      options.emplace_back(word);
  for (const std::string& argument : arguments)
    if (argument.ends_with(".cu"))
      options.push_back("-cuid=" + digest_of(portable_name(session, argument)).hex().substr(0, 16));
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

bool takes_next_word(const std::string& option) {
  return options_with_value().count(option) != 0;
}

bool is_relocatable(const std::vector<std::string>& arguments) {
  bool result = false;
  for (const std::string& argument : arguments)
    if (argument == "-fgpu-rdc" || argument == "-fcuda-rdc" || argument == "-fno-gpu-rdc" ||
        argument == "-fno-cuda-rdc")
      result = !argument.starts_with("-fno-");
  return result;
}

bool is_dropped_by_front_door(const std::string& argument) {
  for (const char* prefix :
       {"-flto", "-fno-lto", "-fuse-ld=", "-save-temps", "--save-temps", "-ffat-lto-objects",
        "-fno-fat-lto-objects", "-fwhole-program-vtables", "-fuse-linker-plugin", "-fno-use-linker-plugin"})
    if (argument.starts_with(prefix))
      return true;
  // What makes gfortran accept calls that flang accepts anyway. The wrappers of an MPI library that was
  // configured with gfortran add it, and CMake's FindMPI then gives it to C, too.
  if (argument == "-fallow-argument-mismatch" || argument == "-fallow-invalid-boz")
    return true;
  return argument.starts_with("-gsplit-dwarf");
}

Arguments front_door_arguments(const Session& session, const std::vector<std::string>& given,
                               Compiler compiler) {
  const std::vector<std::string> arguments = compiler == Compiler::flang ? in_flangs_words(given) : given;
  Arguments result;
  const bool hip = compiler != Compiler::flang && is_hip(arguments);
  const bool cuda = compiler != Compiler::flang && !hip && is_cuda(arguments);
  const bool openmp = compiler != Compiler::flang && names_gpus_for_openmp(arguments);
  std::vector<std::string> gpus = gpus_for(session, cuda, hip, openmp);
  // A file with device code alone keeps the architecture that the build names, and is for one: a build that
  // was told several (CUDAARCHS) names all of them.
  const bool for_device_only = cuda && std::any_of(arguments.begin(), arguments.end(), is_for_device_only);
  const bool for_one_gpu =
      for_device_only && std::find(arguments.begin(), arguments.end(), "-o") != arguments.end();
  const bool replaces = !gpus.empty() && !for_device_only;
  if (for_device_only)
    gpus.resize(std::none_of(arguments.begin(), arguments.end(), names_gpu) ? std::min<size_t>(gpus.size(), 1)
                                                                            : 0);
  size_t gpus_named = 0;
  std::vector<std::string> own;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    result.written.other_triple |= changes_triple(argument);
    // HIP's package for CMake, where it belongs to the system: the C library's headers would come before
    // C++'s.
    if (hip && argument == "-isystem" && i + 1 < arguments.size() && arguments[i + 1] == "/usr/include") {
      ++i;
      continue;
    }
    if (takes_next_word(argument) && i + 1 < arguments.size()) {
      own.push_back(argument);
      own.push_back(arguments[++i]);
      continue;
    }
    if (is_dropped_by_front_door(argument) ||
        (names_gpu(argument) && (replaces || (for_one_gpu && !session.gpus.empty() && gpus_named++ > 0))))
      continue;
    if (argument.starts_with("-march="))
      result.written.march = argument.substr(7);
    if (argument.starts_with("-mtune="))
      result.written.mtune = argument.substr(7);
    if (argument == "-march=native") {
      own.push_back("-march=" +
                    (session.level.empty() ? target::isa_levels(session.arch).front() : session.level));
      continue;
    }
    if (argument == "-mtune=native")
      continue;
    own.push_back(argument);
  }

  result.all = first_options(session, result.written.other_triple, compiler);
  result.all.insert(result.all.end(), own.begin(), own.end());
  for (const std::string& gpu : gpus)
    result.all.push_back("--offload-arch=" + gpu);
  if (compiler != Compiler::flang && is_relocatable(arguments)) // links, too
    for (const char* word :
         {"--start-no-unused-arguments", "--offload-new-driver", "--end-no-unused-arguments"})
      result.all.emplace_back(word);
  if (cuda) {
    const std::vector<std::string> options = cuda_options(session, arguments);
    result.all.insert(result.all.end(), options.begin(), options.end());
  }
  if (openmp && !hip) {
    const std::vector<std::string> options = openmp_options(session, arguments);
    result.all.insert(result.all.end(), options.begin(), options.end());
  }
  if (hip) {
    const std::vector<std::string> options = hip_options(session, arguments);
    result.all.insert(result.all.end(), options.begin(), options.end());
  }
  return result;
}

} // namespace xaas::capture
