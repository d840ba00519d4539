#include "cuda/options.h"
#include "cuda/words.h"

#include <algorithm>
#include <array>

namespace xaas::frontdoor {

namespace {

constexpr std::string_view device_only = "stop at device code that a program loads as a file";
constexpr std::string_view other_toolkit = "compile with another part of the toolkit than --cuda-path names";

// Every option in the help of nvcc 13.0, in its order, which includes those of 11.2's reference, and -m32,
// which was removed since. The last three are not in the help, but nvcc knows them and projects use them.
// Dropped options without a comment concern messages, the speed or size of compiling, temporary files, or
// Windows.
namespace nvcc {
using enum NvccValue;
using enum NvccUse;

const NvccOption options[] = {
    {"--cuda", "-cuda", none, refused, false, "stop at the C++ that nvcc's own front end writes"},
    {"--cubin", "-cubin", none, refused, false, device_only},
    {"--fatbin", "-fatbin", none, refused, false, device_only},
    {"--ptx", "-ptx", none, refused, false, device_only},
    {"--optix-ir", "-optix-ir", none, refused, false, device_only},
    {"--ltoir", "-ltoir", none, refused, false, device_only},
    {"--preprocess", "-E"},
    {"--generate-dependencies", "-M"},
    {"--generate-nonsystem-dependencies", "-MM"},
    {"--generate-dependencies-with-compile", "-MD"},
    {"--generate-nonsystem-dependencies-with-compile", "-MMD"},
    {"--dependency-output", "-MF", text},
    {"--generate-dependency-targets", "-MP"},
    {"--compile", "-c"},
    {"--device-c", "-dc"},
    {"--device-w", "-dw"},
    {"--device-link", "-dlink"},
    {"--link", "-link"},
    {"--lib", "-lib"},
    {"--run", "-run", none, refused, false, "run the program after linking it"},
    {"--output-file", "-o", text},
    {"--pre-include", "-include", paths},
    {"--objdir-as-tempdir", "-objtemp", none, dropped},
    {"--library", "-l", paths, translated, true},
    {"--define-macro", "-D", list, translated, true},
    {"--undefine-macro", "-U", list, translated, true},
    {"--include-path", "-I", paths, translated, true},
    {"--system-include", "-isystem", paths},
    {"--library-path", "-L", paths, translated, true},
    {"--output-directory", "-odir", text},
    {"--compiler-bindir", "-ccbin", text},
    {"--allow-unsupported-compiler", "-allow-unsupported-compiler", none, dropped},
    {"--archiver-binary", "-arbin", text, dropped},
    {"--cudart", "-cudart", text},
    {"--cudadevrt", "-cudadevrt", text},
    {"--libdevice-directory", "-ldir", text, refused, false, other_toolkit},
    {"--target-directory", "-target-dir", text, refused, false, other_toolkit},
    {"--use-local-env", "-use-local-env", none, dropped},
    {"--force-cl-env-setup", "-force-cl-env-setup", none, dropped},

    {"--profile", "-pg"},
    {"--debug", "-g"},
    {"--device-debug", "-G"},
    {"--generate-line-info", "-lineinfo"},
    {"--optimization-info", "-opt-info", list, dropped},
    {"--optimize", "-O", number, translated, true},
    {"--Ofast-compile", "-Ofc", text, dropped},
    {"--dopt", "-dopt", text},
    {"--dlink-time-opt", "-dlto"},
    {"--lto", "-lto"},
    {"--gen-opt-lto", "-gen-opt-lto", none, dropped},
    {"--ftemplate-backtrace-limit", "-ftemplate-backtrace-limit", number},
    {"--ftemplate-depth", "-ftemplate-depth", number},
    {"--no-exceptions", "-noeh"},
    {"--shared", "-shared"},
    {"--x", "-x", text},
    {"--std", "-std", text},
    // These forbid what Clang allows, or allow what Clang allows anyway.
    {"--no-host-device-initializer-list", "-nohdinitlist", none, dropped},
    {"--no-host-device-move-forward", "-nohdmoveforward", none, dropped},
    {"--expt-relaxed-constexpr", "-expt-relaxed-constexpr", none, dropped},
    {"--extended-lambda", "-extended-lambda", none, dropped},
    {"--expt-extended-lambda", "-expt-extended-lambda", none, dropped},
    {"--machine", "-m", text},
    {"--m64", "-m64", none, dropped},
    {"--m32", "-m32", none, refused, false, "compile 32-bit CUDA"},

    {"--compiler-options", "-Xcompiler", list},
    {"--linker-options", "-Xlinker", list},
    {"--archive-options", "-Xarchive", list, refused, false, "pass options to the archiver"},
    {"--ptxas-options", "-Xptxas", list},
    {"--nvlink-options", "-Xnvlink", list},

    // The visibility of kernels in other libraries. Clang's stubs of kernels are visible, those of templates
    // weak.
    {"--static-global-template-stub", "-static-global-template-stub", boolean, dropped},
    {"--device-entity-has-hidden-visibility", "-device-entity-has-hidden-visibility", boolean, dropped},
    {"--forward-unknown-to-host-compiler", "-forward-unknown-to-host-compiler"},
    {"--forward-unknown-to-host-linker", "-forward-unknown-to-host-linker"},
    {"--forward-unknown-opts", "-forward-unknown-opts"},
    {"--dont-use-profile", "-noprof", none, refused, false, other_toolkit},
    {"--dryrun", "-dryrun"},
    {"--verbose", "-v"},
    {"--threads", "-t", number, dropped, true},
    {"--split-compile", "-split-compile", number, dropped},
    {"--split-compile-extended", "-split-compile-extended", number, dropped},
    {"--fdevice-syntax-only", "-fdevice-syntax-only", none, refused, false, "only check device code"},
    {"--fdevice-time-trace", "-fdevice-time-trace", text, dropped},
    {"--keep", "-keep", none, dropped},
    {"--keep-dir", "-keep-dir", text, dropped},
    {"--save-temps", "-save-temps", none, dropped},
    {"--clean-targets", "-clean", none, refused, false, "delete the files that nvcc would have written"},
    {"--time", "-time", text, dropped},
    {"--run-args", "-run-args", list, dropped},
    {"--input-drive-prefix", "-idp", text, dropped},
    {"--dependency-drive-prefix", "-ddp", text, dropped},
    {"--drive-prefix", "-dp", text, dropped},
    {"--dependency-target-name", "-MT", text},
    {"--no-align-double", "--no-align-double", none, dropped},
    {"--no-device-link", "-nodlink"},

    {"--gpu-architecture", "-arch", text},
    {"--gpu-code", "-code", text},
    {"--generate-code", "-gencode", text},
    {"--relocatable-device-code", "-rdc", boolean},
    // Without it there are more kernels than asked for, which a program cannot notice.
    {"--entries", "-e", list, dropped},
    {"--maxrregcount", "-maxrregcount", number},
    {"--use_fast_math", "-use_fast_math"},
    {"--ftz", "-ftz", boolean},
    {"--prec-div", "-prec-div", boolean},
    {"--prec-sqrt", "-prec-sqrt", boolean},
    {"--fmad", "-fmad", boolean},
    {"--extra-device-vectorization", "-extra-device-vectorization", none, dropped},

    {"--default-stream", "-default-stream", text},

    {"--disable-warnings", "-w"},
    {"--keep-device-functions", "-keep-device-functions", none, dropped},
    {"--source-in-ptx", "-src-in-ptx", none, dropped},
    // A promise that a compiler may ignore.
    {"--restrict", "-restrict", none, dropped},
    {"--Wreorder", "-Wreorder", none, dropped},
    {"--Wdefault-stream-launch", "-Wdefault-stream-launch", none, dropped},
    {"--Wmissing-launch-bounds", "-Wmissing-launch-bounds", none, dropped},
    {"--Wext-lambda-captures-this", "-Wext-lambda-captures-this", none, dropped},
    {"--Wno-deprecated-declarations", "-Wno-deprecated-declarations", none, dropped},
    {"--Wno-deprecated-gpu-targets", "-Wno-deprecated-gpu-targets", none, dropped},
    // Clang's warnings differ from nvcc's, and must not stop a build that passes with nvcc.
    {"--Werror", "-Werror", list, dropped},
    {"--resource-usage", "-res-usage", none, dropped},
    {"--extensible-whole-program", "-ewp", none, refused, false,
     "compile a whole program that others extend"},
    {"--no-compress", "-no-compress", none, dropped},
    {"--qpp-config", "-qpp-config", text, refused, false, "stand in for q++"},
    {"--compile-as-tools-patch", "-astoolspatch", none, refused, false, "compile patches for CUDA's tools"},
    {"--list-gpu-code", "-code-ls"},
    {"--list-gpu-arch", "-arch-ls"},
    {"--display-error-number", "-err-no", none, dropped},
    {"--no-display-error-number", "-no-err-no", none, dropped},
    {"--diag-error", "-diag-error", list, dropped},
    {"--diag-suppress", "-diag-suppress", list, dropped},
    {"--diag-warn", "-diag-warn", list, dropped},
    {"--host-linker-script", "-hls", text, refused, false, "write linker scripts"},
    {"--augment-host-linker-script", "-aug-hls", none, refused, false, "write linker scripts"},
    {"--relocatable-link", "-r"},
    {"--brief-diagnostics", "-brief-diag", boolean, dropped},
    {"--jump-table-density", "-jtd", number, dropped},
    // PTX of other objects besides their machine code, from which the image takes nothing.
    {"--relocatable-ptx", "-reloc-ptx", none, dropped},
    {"--device-stack-protector", "-device-stack-protector", boolean},
    {"--compress-mode", "-compress-mode", text, dropped},
    {"--frandom-seed", "-frandom-seed", text, dropped},
    {"--sanitize", "-sanitize", text, refused, false, "instrument device code"},
    {"--jobserver", "-jobserver", none, dropped},
    {"--help", "-h"},
    {"--version", "-V"},
    {"--options-file", "-optf", paths},

    {"--cudafe-options", "-Xcudafe", list},
    {"--fatbin-options", "-Xfatbin", list, dropped},
    {"--cicc-options", "-Xcicc", list, refused, false, "give nvcc's device compiler options"},
};

} // namespace nvcc

const NvccOption* named(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(nvcc::options), std::end(nvcc::options), [&](const NvccOption& option) {
        return option.name == name || option.short_name == name;
      });
  return found == std::end(nvcc::options) ? nullptr : found;
}

const NvccOption* joined_to(std::string_view word) {
  const NvccOption* option = word.size() > 2 && word[1] != '-' ? named(word.substr(0, 2)) : nullptr;
  return option && option->joined ? option : nullptr;
}

Result<std::vector<std::string>> parts_of(NvccValue kind, const std::string& value) {
  switch (kind) {
  case NvccValue::number:
    if (value.empty() ||
        !std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return make_error(ErrorKind::failed, "`" + value + "` is not a number");
    return std::vector<std::string>{value};
  case NvccValue::boolean:
    if (value != "true" && value != "false")
      return make_error(ErrorKind::failed, "`" + value + "` is neither true nor false");
    return std::vector<std::string>{value};
  case NvccValue::list:
    return nvcc_list(value);
  case NvccValue::paths:
    return nvcc_paths(value);
  case NvccValue::none:
  case NvccValue::text:
    break;
  }
  return std::vector<std::string>{value};
}

class Parser {
public:
  explicit Parser(const OptionsFileReader& reader) : reader_(reader) {}

  Result<void> read(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i)
      XAAS_CHECK(read_word(words, i));
    return {};
  }

  NvccCommand take() { return std::move(command_); }

private:
  // Reads the word at `i`, and moves `i` to its value if that is a separate word.
  Result<void> read_word(const std::vector<std::string>& words, size_t& i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      if (word.empty() || word == "-")
        return make_error(ErrorKind::failed, "nvcc: `" + word + "` is not a file");
      command_.inputs.push_back(word);
      return {};
    }
    const size_t equals = word.find('=');
    if (const NvccOption* option = named(word.substr(0, equals))) {
      if (equals != std::string::npos && option->value == NvccValue::none)
        return make_error(ErrorKind::failed, "nvcc " + word + ": this option takes no value");
      if (equals != std::string::npos)
        return give(*option, word, word.substr(equals + 1));
      if (option->value == NvccValue::none)
        return give(*option, word, "");
      if (i + 1 == words.size())
        return make_error(ErrorKind::failed, "nvcc " + word + ": the value is missing");
      ++i;
      return give(*option, word + " " + words[i], words[i]);
    }
    if (const NvccOption* option = joined_to(word))
      return give(*option, word, word.substr(2));
    command_.options.push_back({nullptr, word, {word}});
    return {};
  }

  Result<void> give(const NvccOption& option, const std::string& spelling, const std::string& value) {
    auto parts = option.value == NvccValue::none
                     ? Result<std::vector<std::string>>(std::vector<std::string>())
                     : parts_of(option.value, value);
    if (!parts)
      return std::move(parts).error().in("nvcc " + spelling);
    if (option.short_name == "-optf")
      return read_files(*parts).in("nvcc " + spelling);
    command_.options.push_back({&option, spelling, *std::move(parts)});
    return {};
  }

  Result<void> read_files(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::find(open_.begin(), open_.end(), name) != open_.end())
        return make_error(ErrorKind::failed, name + " reads itself");
      XAAS_TRY(const std::string content, reader_(name));
      XAAS_TRY(const std::vector<std::string> words, options_file_words(content).in(name));
      open_.push_back(name);
      XAAS_CHECK(read(words));
      open_.pop_back();
    }
    return {};
  }

  const OptionsFileReader& reader_;
  NvccCommand command_;
  std::vector<std::string> open_; // options files being read
};

} // namespace

Result<NvccCommand> parse_nvcc(const std::vector<std::string>& words, const OptionsFileReader& reader) {
  Parser parser(reader);
  XAAS_CHECK(parser.read(words));
  return parser.take();
}

} // namespace xaas::frontdoor
