// Translations of nvcc's command lines for Clang, and command lines that are refused.
#include "cuda/second_try.h"
#include "cuda/words.h"
#include "frontdoor/nvcc_testing.h"

#include <algorithm>

namespace xaas::frontdoor {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string exact_square_root = "-mllvm=-nvvm-reflect-add=__CUDA_PREC_SQRT=1";

// The command line of clang++ without the parts that are common to all, or to all with device code.
std::string line(const NvccTranslation& translation) {
  Words words = translation.arguments;
  std::erase(words, "--start-no-unused-arguments");
  std::erase(words, "--end-no-unused-arguments");
  const auto root = std::find(words.begin(), words.end(), exact_square_root);
  if (root != words.end())
    words.erase(root - 1, root + 1);
  std::erase(words, "-Werror=ignored-attributes");
  return join(words, " ");
}

std::string line(const std::string& command) {
  return line(translated(split(command, ' ')));
}

std::string refusal(const Words& words) {
  const auto translation = translate(words);
  EXPECT_FALSE(translation) << join(words, " ");
  if (translation)
    return "";
  EXPECT_EQ(translation.error().kind, ErrorKind::failed) << translation.error().message;
  return translation.error().message;
}

std::string refusal(const std::string& command) {
  return refusal(split(command, ' '));
}

Words parts(Result<Words> words) {
  EXPECT_TRUE(words) << words.error().message;
  return words ? *std::move(words) : Words();
}

} // namespace

// All expected values were observed with nvcc 13.0 and a host compiler that prints its arguments.
TEST(NvccWords, Lists) {
  EXPECT_THAT(parts(nvcc_list("-fPIC,-Wall")), ElementsAre("-fPIC", "-Wall"));
  EXPECT_THAT(parts(nvcc_list(",-DX,,-DY,")), ElementsAre("-DX", "-DY"));
  EXPECT_THAT(parts(nvcc_list("\"-Wl,-rpath,/x\",-Wall")), ElementsAre("\"-Wl,-rpath,/x\"", "-Wall"));
  EXPECT_THAT(parts(nvcc_list("-Wa\\,-x")), ElementsAre("-Wa,-x"));
  EXPECT_THAT(parts(nvcc_list("A=x\\\\,y")), ElementsAre("A=x\\", "y"));
  EXPECT_THAT(parts(nvcc_list("S=\\\"x,y\\\"")), ElementsAre("S=\"x", "y\""));
  EXPECT_THAT(parts(nvcc_list(" a b , ,\t\"c \"")), ElementsAre("a b", "\"c \""));
  EXPECT_THAT(parts(nvcc_list("")), IsEmpty());
  EXPECT_FALSE(nvcc_list("A\\"));
  EXPECT_THAT(nvcc_list("A=\"x,y").error().message, HasSubstr("A=\"x,y"));
}

TEST(NvccWords, Paths) {
  EXPECT_THAT(parts(nvcc_paths("foo,bar")), ElementsAre("foo", "bar"));
  EXPECT_THAT(parts(nvcc_paths("\"a b,c\"")), ElementsAre("a b,c"));
  EXPECT_THAT(parts(nvcc_paths("\"a\\,b\"")), ElementsAre("a\\,b"));
}

TEST(NvccWords, Shell) {
  EXPECT_THAT(parts(shell_words("-DA=b c -Wall")), ElementsAre("-DA=b", "c", "-Wall"));
  EXPECT_THAT(parts(shell_words("-DA='b c'")), ElementsAre("-DA=b c"));
  EXPECT_THAT(parts(shell_words("\"-DA=b c,d\"")), ElementsAre("-DA=b c,d"));
  EXPECT_THAT(parts(shell_words("-DA=\\\"q\\\"")), ElementsAre("-DA=\"q\""));
  EXPECT_THAT(parts(shell_words("'' \"\" a#b")), ElementsAre("", "", "a#b"));
  for (const char* text : {"-DA=$HOME", "`id`", "a;b", "a&b", "a|b", "\"$X\"", "(a)", "a>b", "# a", "a\\"})
    EXPECT_FALSE(shell_words(text)) << text;
  EXPECT_FALSE(shell_words("'a"));
  EXPECT_FALSE(shell_words("\"a"));
}

TEST(NvccWords, Macros) {
  const std::map<std::string, std::string> cases = {
      {"S=\"x,y\"", "S=\"x,y\""},     {"B=x y", "B=x y"},         {"D='x'", "D='x'"}, {"G=a\\b", "G=a\\b"},
      {"H=\"\"z\"\"", "H=\"\"z\"\""}, {"A=\\\"x\\\"", "A=\\x\\"},
  };
  for (const auto& [given, expected] : cases) {
    const auto macro = nvcc_macro(given);
    ASSERT_TRUE(macro) << given;
    EXPECT_EQ(*macro, expected);
  }
  EXPECT_FALSE(nvcc_macro("C=$HOME"));
}

TEST(NvccWords, OptionsFiles) {
  EXPECT_THAT(parts(options_file_words("-DA\t-DB\n\n-DC ")), ElementsAre("-DA", "-DB", "-DC"));
  EXPECT_THAT(parts(options_file_words("\"-DX=a,b\" -D\"A\"=1 -I \"my dir\"")),
              ElementsAre("-DX=a,b", "-DA=1", "-I", "my dir"));
  EXPECT_THAT(parts(options_file_words("-DK=a\\ b -Ia\\\\b -Ia\\b")),
              ElementsAre("-DK=a b", "-Ia\\b", "-Iab"));
  EXPECT_THAT(parts(options_file_words("-DK=\"\\\"x y\\\"\" -I\"a\\\"b\"")), ElementsAre("-DK=x y", "-Iab"));
  EXPECT_THAT(parts(options_file_words("-DS=\\\\\\\"str\\\\\\\"")), ElementsAre("-DS=\\\"str\\\""));
  EXPECT_THAT(parts(options_file_words("-DK='a b' # c")), ElementsAre("-DK='a", "b'", "#", "c"));
  EXPECT_THAT(parts(options_file_words("\"\"")), ElementsAre(""));
  EXPECT_FALSE(options_file_words("-DA=\"unclosed"));
}

TEST(Nvcc, HostAndDeviceHaveLevelsOfTheirOwn) {
  EXPECT_EQ(line("-c a.cu"), "-Xarch_device -O3 -c -x cuda a.cu");
  EXPECT_EQ(line("-O2 -c a.cu -o a.o"), "-O2 -Xarch_device -O3 -c -o a.o -x cuda a.cu");
  EXPECT_EQ(line("-O 2 -c a.cu"), line("-O2 -c a.cu"));
  EXPECT_EQ(line("--optimize=2 --compile a.cu"), line("-O2 -c a.cu"));
  EXPECT_EQ(line("-O1 -O=7 -c a.cu"), "-O3 -Xarch_device -O3 -c -x cuda a.cu");
  // nvcc passes -Xcompiler before its own level, wherever it stands.
  EXPECT_EQ(line("-O2 -Xcompiler=-O0 -c a.cu"), "-Xarch_host -O0 -O2 -Xarch_device -O3 -c -x cuda a.cu");
}

TEST(Nvcc, HostSourcesHaveNoDevice) {
  EXPECT_EQ(line("-O2 -g -Xcompiler -fPIC,-ffast-math -use_fast_math -c a.cpp"),
            "-fPIC -ffast-math -O2 -g -c -x c++ a.cpp");
  EXPECT_EQ(line("-std=c++17 -c a.c"), "-c -x c a.c"); // like nvcc: no C++ standard for C
  EXPECT_EQ(line("-std c++14 -c a.cc"), "-std=c++14 -c -x c++ a.cc");
}

TEST(Nvcc, Languages) {
  EXPECT_EQ(line("-c a.cu b.cpp c.cxx d.c e.ii f.S"),
            "-Xarch_device -O3 -c -x cuda a.cu -x c++ b.cpp c.cxx -x c d.c -x c++-cpp-output e.ii -x "
            "assembler-with-cpp f.S");
  EXPECT_EQ(line("-x cu -c a.cpp"), line("-x=cu -c a.cpp"));
  EXPECT_THAT(line("-x cu -c a.cpp"), HasSubstr("-x cuda a.cpp"));
  EXPECT_THAT(line("--x c++ -c a.cu"), HasSubstr("-x c++ a.cu"));
  for (const char* unknown : {"a.C", "a.c++", "a.hpp", "a.so.1", "a.lo", "a"})
    EXPECT_EQ(refusal(std::string("-c ") + unknown),
              std::string("nvcc does not know what to do with ") + unknown);
  EXPECT_THAT(refusal("a.ptx -o a"), HasSubstr("a.ptx: clang cannot"));
  EXPECT_THAT(refusal("-x fortran -c a.cu"), HasSubstr("-x fortran"));
}

TEST(Nvcc, HostOptionsStayOnTheHost) {
  EXPECT_EQ(line("-Xcompiler -ffast-math,-fPIC,-Wall,-g,-fvisibility=hidden -c a.cu"),
            "-Xarch_host -ffast-math -Xarch_host -fPIC -Xarch_host -Wall -Xarch_host -g -Xarch_host "
            "-fvisibility=hidden -Xarch_device -O3 -c -x cuda a.cu");
  EXPECT_EQ(line("-g -noeh -pg -w -c a.cu"),
            "-Xarch_host -g -Xarch_host -fno-exceptions -Xarch_host -pg -Wno-everything "
            "-Xarch_device -O3 -c -x cuda a.cu");
  // Options on which both sides must agree, or which Clang itself does not pass to the device.
  EXPECT_EQ(line("-Xcompiler -DA=1,-I/i,-fopenmp,-mavx2,-march=native,-pthread -c a.cu"),
            "-DA=1 -I/i -fopenmp -mavx2 -march=native -pthread -Xarch_device -O3 -c -x cuda a.cu");
  EXPECT_EQ(line("-Xcompiler -include,x.h -Xcompiler -isystem -Xcompiler /s -c a.cu"),
            "-include x.h -isystem /s -Xarch_device -O3 -c -x cuda a.cu");
}

TEST(Nvcc, QuotedHostOptions) {
  const auto host = [](const Words& words) {
    Words all = {"-c", "a.cpp"};
    all.insert(all.end(), words.begin(), words.end());
    Words arguments = translated(all).arguments;
    std::erase_if(arguments, [](const std::string& word) { return !word.starts_with("-DA"); });
    return join(arguments, "|");
  };
  EXPECT_EQ(host({"-Xcompiler", "\"-DA=b c,d\""}), "-DA=b c,d");
  EXPECT_EQ(host({"-Xcompiler", "-DA='b c'"}), "-DA=b c");
  EXPECT_EQ(host({"-Xcompiler", "-DA='b", "-Xcompiler=c'"}), "-DA=b c");
  EXPECT_EQ(host({"-Xcompiler=-DA=\\\"x\\,y\\\""}), "-DA=x,y");
  EXPECT_EQ(host({"-Xcompiler", "-DA=\\\\\\\"q\\\\\\\""}), "-DA=\"q\"");
  EXPECT_EQ(host({"-DA=1,B", "-D", "AB", "-D=AC", "--define-macro=AD"}), "-DA=1|-DAB|-DAC|-DAD");
  EXPECT_EQ(host({"-DA=\"x y\"", "-DAB=\\\"x\\\"", "-DAC=a\\,b"}), "-DA=\"x y\"|-DAB=\"x\"|-DAC=a,b");
  EXPECT_THAT(refusal({"-c", "a.cu", "-Xcompiler", "-DA=$HOME"}), HasSubstr("nvcc -Xcompiler"));
  EXPECT_THAT(refusal({"-c", "a.cu", "-DA=$HOME"}), HasSubstr("nvcc -DA=$HOME"));
}

TEST(Nvcc, MacrosAndDirectories) {
  EXPECT_EQ(line("-c a.cpp -DX -UX -DX=2"), "-DX -UX -DX=2 -c -x c++ a.cpp");
  EXPECT_EQ(
      line("-c a.cpp -Ia,b -I c -I=d --include-path e -isystem=/s -isystem t,u -include p.h,q.h"),
      "-include p.h -include q.h -Ia -Ib -Ic -Id -Ie -isystem /s -isystem t -isystem u -c -x c++ a.cpp");
}

TEST(Nvcc, UnknownOptions) {
  EXPECT_EQ(refusal("-fPIC -c a.cu"), "nvcc does not know -fPIC");
  EXPECT_EQ(refusal("--gencode arch=compute_80,code=sm_80 -c a.cu"), "nvcc does not know --gencode");
  EXPECT_EQ(
      line("-forward-unknown-to-host-compiler -c a.cu -fPIC -Xcompiler -Wall -ggdb3 -mavx2"),
      "-Xarch_host -Wall -Xarch_host -fPIC -Xarch_host -ggdb3 -mavx2 -Xarch_device -O3 -c -x cuda a.cu");
  // A compile drops only the options that a link reads.
  EXPECT_EQ(line("-forward-unknown-to-host-compiler -c a.cpp -Wl,-rpath,/x -pthread"),
            "-pthread -c -x c++ a.cpp");
  EXPECT_EQ(line("-forward-unknown-to-host-linker a.o --no-undefined -cudart none"),
            "--offload-link a.o -Xlinker --no-undefined");
  EXPECT_THAT(refusal("-forward-unknown-to-host-compiler -foo=bar -c a.cu"), HasSubstr("-foo=bar"));
  EXPECT_THAT(refusal("-Xcompiler -fno-such-thing -c a.cu"), HasSubstr("-fno-such-thing"));
  EXPECT_THAT(refusal("-Xcompiler -include -c a.cu"), HasSubstr("-include"));
  EXPECT_THAT(refusal("-forward-unknown-to-host-compiler -foo bar -c a.cu"), HasSubstr("bar"));
}

TEST(Nvcc, WhatIsMalformed) {
  EXPECT_EQ(refusal("a.cu -o"), "nvcc -o: the value is missing");
  EXPECT_EQ(refusal("-c"), "nvcc: there is no input file");
  EXPECT_THAT(refusal("-Ofast -c a.cu"), HasSubstr("`fast` is not a number"));
  EXPECT_THAT(refusal("-rdc=1 -c a.cu"), HasSubstr("`1` is neither true nor false"));
  EXPECT_THAT(refusal("--use_fast_math=true -c a.cu"), HasSubstr("takes no value"));
  EXPECT_THAT(refusal("-std=gnu++17 -c a.cu"), HasSubstr("-std=gnu++17"));
  EXPECT_THAT(refusal("-cudart=dynamic a.cu"), HasSubstr("-cudart=dynamic"));
  EXPECT_THAT(refusal(Words{"-c", ""}), HasSubstr("not a file"));
  EXPECT_THAT(refusal("-dc -dw a.cu"), HasSubstr("exclude each other"));
}

TEST(Nvcc, ForDebuggers) {
  EXPECT_EQ(line("-G -c a.cu"),
            "--cuda-noopt-device-debug -Xarch_device -g -Xarch_device -O0 -c -x cuda a.cu");
  EXPECT_EQ(line("-lineinfo -c a.cu"), "-Xarch_device -O3 -Xarch_device -gline-tables-only -c -x cuda a.cu");
  EXPECT_EQ(line("-G -dopt=on -c a.cu"), line("-lineinfo -c a.cu"));
  EXPECT_EQ(line("-G -lineinfo -c a.cu"), line("-G -c a.cu"));
}

TEST(Nvcc, DeviceArithmetic) {
  const auto math = [](const std::string& options) {
    const std::string all = join(translated(split(trim(options + " -c a.cu"), ' ')).arguments, " ");
    const std::string before = "--start-no-unused-arguments -Xarch_device -O3 ";
    const std::string after = "-Werror=ignored-attributes -c --end-no-unused-arguments -x cuda a.cu";
    EXPECT_THAT(all, testing::StartsWith(before));
    EXPECT_THAT(all, testing::EndsWith(after));
    return trim(all.substr(before.size(), all.size() - before.size() - after.size()));
  };
  const std::string exact_root = "-Xarch_device " + exact_square_root;
  const std::string fast = "-fgpu-flush-denormals-to-zero -fgpu-approx-transcendentals";
  const std::string approximate = " -Xarch_device -fapprox-func";
  EXPECT_EQ(math(""), exact_root);
  EXPECT_EQ(math("--use_fast_math"), fast + approximate);
  EXPECT_EQ(math("-use_fast_math -fmad=true"), fast + approximate);
  EXPECT_EQ(math("-ftz=true"), "-fgpu-flush-denormals-to-zero " + exact_root);
  // Explicit values override those of --use_fast_math, even before it.
  EXPECT_EQ(math("-ftz=false -use_fast_math"), "-fgpu-approx-transcendentals" + approximate);
  EXPECT_EQ(math("-use_fast_math -prec-div=true"), fast + " -Xarch_device -mllvm=-nvptx-prec-sqrtf32=0");
  EXPECT_EQ(math("-use_fast_math -prec-sqrt=true"),
            fast + " -Xarch_device -mllvm=-nvptx-prec-divf32=0 " + exact_root);
  EXPECT_EQ(math("-fmad=false"), exact_root + " -Xarch_device -ffp-contract=off");
  EXPECT_EQ(math("-prec-div=false"), "-Xarch_device -mllvm=-nvptx-prec-divf32=1 " + exact_root);
  EXPECT_EQ(math("-prec-div=false -prec-sqrt=false"),
            "-Xarch_device -mllvm=-nvptx-prec-divf32=1 -Xarch_device -mllvm=-nvptx-prec-sqrtf32=0");

  const NvccMath exact = translated({"-c", "a.cu"}).math;
  EXPECT_FALSE(exact.flush_denormals);
  EXPECT_TRUE(exact.exact_division && exact.exact_square_root && exact.contract);
  const NvccMath loose = translated({"-prec-div=false", "-fmad", "false", "-c", "a.cu"}).math;
  EXPECT_FALSE(loose.exact_division);
  EXPECT_TRUE(loose.exact_square_root);
  EXPECT_FALSE(loose.contract);
  const NvccMath fastest = translated({"-use_fast_math", "-prec-sqrt=true", "-c", "a.cu"}).math;
  EXPECT_TRUE(fastest.flush_denormals && fastest.exact_square_root);
  EXPECT_FALSE(fastest.exact_division);
}

TEST(Nvcc, Architectures) {
  const auto archs = [](const std::string& options) {
    const NvccTranslation translation = translated(split("-c a.cu" + options, ' '));
    return join(translation.gpu_archs, ",") + " " + join(translation.gpu_codes, ",");
  };
  EXPECT_EQ(archs(""), " ");
  EXPECT_EQ(archs(" -arch=sm_80"), "sm_80 sm_80,compute_80");
  EXPECT_EQ(archs(" -arch sm_90a"), "sm_90a sm_90a,compute_90a");
  EXPECT_EQ(archs(" --gpu-architecture=compute_75"), "sm_75 compute_75");
  EXPECT_EQ(archs(" -arch sm_80 -arch sm_90"), "sm_90 sm_90,compute_90");
  EXPECT_EQ(archs(" -arch=compute_80 -code=sm_80,sm_86"), "sm_80 sm_80,sm_86");
  EXPECT_EQ(archs(" -arch=compute_80 -code sm_80 --gpu-code [sm_86,compute_80]"),
            "sm_80 sm_80,sm_86,compute_80");
  EXPECT_EQ(archs(" -arch=native"), "native ");
  EXPECT_EQ(archs(" -arch=all-major"), "all-major ");
  EXPECT_EQ(archs(" -gencode arch=compute_80,code=[sm_80,compute_80]"), "sm_80 sm_80,compute_80");
  EXPECT_EQ(archs(" -gencode arch=compute_80,code=\"sm_80,compute_80\""), "sm_80 sm_80,compute_80");
  EXPECT_EQ(archs(" -gencode=arch=compute_80,\"code=sm_80,compute_80\""), "sm_80 sm_80,compute_80");
  EXPECT_EQ(archs(" --generate-code code=sm_86,arch=compute_80"), "sm_80 sm_86");
  EXPECT_EQ(archs(" -gencode arch=compute_75,code=sm_75 -gencode=arch=compute_90,code=sm_90 "
                  "--generate-code=arch=compute_90,code=compute_90"),
            "sm_75,sm_90 sm_75,sm_90,compute_90");
  EXPECT_EQ(archs(" -arch=sm_80 -gencode arch=compute_90,code=sm_90"), "sm_80,sm_90 sm_80,compute_80,sm_90");
  EXPECT_TRUE(translated(split("-arch=lto_80 -rdc=true -c a.cu", ' ')).device_lto);
  EXPECT_TRUE(translated(split("-dlto -rdc=true -c a.cu", ' ')).device_lto);
  EXPECT_FALSE(translated(split("-arch=sm_80 -c a.cu", ' ')).device_lto);
}

TEST(Nvcc, ArchitecturesThatAreNone) {
  EXPECT_THAT(refusal("-arch=80 -c a.cu"), HasSubstr("nvcc -arch=80: `80` is not a GPU architecture"));
  EXPECT_THAT(refusal("-arch=sm_4711 -c a.cu"), HasSubstr("clang cannot compile for sm_4711"));
  EXPECT_THAT(refusal("-arch=sm_100f -c a.cu"), HasSubstr("clang cannot compile for sm_100f"));
  EXPECT_THAT(refusal("-arch=sm_80 -code=sm_80 -c a.cu"), HasSubstr("sm_80 is not virtual"));
  EXPECT_THAT(refusal("-code=sm_80 -c a.cu"), HasSubstr("there is no -arch"));
  for (const char* malformed : {"arch=compute_80", "code=sm_80", "arch=compute_80,code=sm_80,code=compute_80",
                                "arch=compute_80,code=sm_80,compute_80", "compute_80"})
    EXPECT_THAT(refusal(std::string("-c a.cu -gencode ") + malformed),
                HasSubstr(std::string(malformed) + ": not of the form"));
  EXPECT_THAT(refusal("-gencode arch=sm_80,code=sm_80 -c a.cu"), HasSubstr("sm_80 is not virtual"));
}

TEST(Nvcc, ArchitecturesAreAddedWhereThereIsDeviceCode) {
  const auto added = [](const std::string& command) {
    Words words = with_architectures(translated(split(command, ' ')), {"sm_80", "sm_90"});
    std::erase_if(words, [](const std::string& word) { return !word.starts_with("--offload-arch="); });
    return words.size();
  };
  EXPECT_EQ(added("-c a.cu"), 2u);
  EXPECT_EQ(added("a.o -o a"), 2u);
  EXPECT_EQ(added("-c a.cpp"), 0u);
  EXPECT_EQ(added("-E a.cu"), 1u);
}

TEST(Nvcc, SeparateCompilation) {
  EXPECT_EQ(line("-dc a.cu -o a.o"), "-Xarch_device -O3 -c -fgpu-rdc -o a.o -x cuda a.cu");
  EXPECT_EQ(line("--device-c a.cu -o a.o"), line("-rdc=true -c a.cu -o a.o"));
  EXPECT_EQ(line("--relocatable-device-code true -c a.cu"), line("-dc a.cu"));
  EXPECT_EQ(line("-rdc=true -rdc=false -c a.cu"), line("-c a.cu"));
  EXPECT_EQ(line("-rdc=true -dw a.cu"), line("-c a.cu"));
  EXPECT_TRUE(translated({"-dc", "a.cu"}).relocatable_device_code);

  const NvccTranslation device_link = translated({"-shared", "-dlink", "a.o", "b.o", "-o", "dlink.o", "-lz"});
  EXPECT_EQ(device_link.phase, NvccPhase::device_link);
  EXPECT_THAT(device_link.arguments, IsEmpty());
  EXPECT_THAT(device_link.inputs, ElementsAre("a.o", "b.o"));
  EXPECT_EQ(device_link.output, "dlink.o");
}

TEST(Nvcc, Dependencies) {
  EXPECT_EQ(line("-MD -MT a.o -MF a.d -MP -c a.cu -o a.o"),
            "-Xarch_device -O3 -MD -MP -MF a.d -MT a.o -c -o a.o -x cuda a.cu");
  EXPECT_EQ(line("--generate-dependencies-with-compile --dependency-output a.d --dependency-target-name a.o "
                 "--generate-dependency-targets --compile a.cu --output-file a.o"),
            line("-MD -MT a.o -MF a.d -MP -c a.cu -o a.o"));
  EXPECT_EQ(line("-M a.cu -o a.d -MT a.o"),
            "-Xarch_device -O3 -M -MT a.o --cuda-host-only -o a.d -x cuda a.cu");
  EXPECT_EQ(line("-MM a.cpp"), "-MM -x c++ a.cpp");
  EXPECT_EQ(line("-M src/a.cpp -odir out"), "-M -MT out/a.o -x c++ src/a.cpp");
  EXPECT_EQ(line("-c src/a.cpp --output-directory out"), "-c -o out/a.o -x c++ src/a.cpp");
  EXPECT_THAT(refusal("-c a.cpp b.cpp -odir out"), HasSubstr("-odir out"));
  EXPECT_EQ(line("-E a.cu"), "-Xarch_device -O3 -E --cuda-device-only -x cuda a.cu");
  EXPECT_EQ(line("-E a.cpp -o a.ii"), "-E -o a.ii -x c++ a.cpp");
}

TEST(Nvcc, Links) {
  const std::string runtime = "-lcudart_static -lrt -lpthread -ldl";
  EXPECT_EQ(line("a.o b.a -o p"), "--offload-link -o p a.o b.a " + runtime);
  EXPECT_EQ(line("a.cu b.o -o p"),
            "-Xarch_device -O3 --offload-link -o p -x cuda a.cu -x none b.o " + runtime);
  EXPECT_EQ(line("a.o -cudart shared -L. -L=/l -lfoo -l bar --library=baz,qux"),
            "--offload-link a.o -L. -L/l -lfoo -lbar -lbaz -lqux -lcudart");
  EXPECT_EQ(line("-shared a.o -o a.so --cudart none -nodlink"), "-o a.so a.o -shared");
  EXPECT_EQ(line("-r a.o -o r.o"), "--offload-link -o r.o a.o -r -nostdlib");
  EXPECT_EQ(line("-lib a.o b.o -o c.a"), "--emit-static-lib -o c.a a.o b.o");
  EXPECT_EQ(line("a.o -cudart none -Xlinker -rpath,/x -Xlinker=--no-undefined -Xcompiler -fopenmp"),
            "-fopenmp --offload-link a.o -Xlinker -rpath -Xlinker /x -Xlinker --no-undefined");
  EXPECT_EQ(line("a.o -cudart none -Xlinker -rpath -Xlinker $ORIGIN -Xlinker \\$ORIGIN/lib"),
            "--offload-link a.o -Xlinker -rpath -Xlinker $ORIGIN -Xlinker $ORIGIN/lib");
  EXPECT_EQ(line("a.o -cudart none -Xlinker \"a,b\",c"), "--offload-link a.o -Xlinker a,b -Xlinker c");
  EXPECT_EQ(line("-forward-unknown-to-host-compiler a.o -cudart none -Wl,-rpath,/x -pthread"),
            "-Wl,-rpath,/x -pthread --offload-link a.o");
}

TEST(Nvcc, OptionsOfTools) {
  const NvccTranslation translation = translated(
      {"-c", "a.cu", "-Xptxas", "-v,-O2", "-Xptxas=-dlcm=ca", "-maxrregcount=32", "-Xnvlink", "-v"});
  EXPECT_THAT(translation.ptxas_options, ElementsAre("-v", "-O2", "-dlcm=ca", "-maxrregcount=32"));
  EXPECT_THAT(translation.nvlink_options, ElementsAre("-v"));
  EXPECT_EQ(line(translation), "-Xarch_device -O3 -Xcuda-ptxas -v -Xcuda-ptxas -O2 -Xcuda-ptxas -dlcm=ca "
                               "-Xcuda-ptxas -maxrregcount=32 -c -x cuda a.cu");
  EXPECT_EQ(line("a.o -cudart none -Xnvlink -v"), "--offload-link a.o -Xoffload-linker -v");
  EXPECT_EQ(line({translated({"-c", "a.cu", "-Xcudafe", "--diag_suppress=20 --display_error_number"})}),
            line("-c a.cu"));
  EXPECT_THAT(refusal("-c a.cu -Xcudafe --gnu_version=40000"), HasSubstr("-Xcudafe --gnu_version=40000"));
  EXPECT_EQ(translated({"-c", "a.cu", "-ccbin", "mpicxx"}).host_compiler, "mpicxx");
}

TEST(Nvcc, WhatChangesNothing) {
  for (const char* option : {"--expt-relaxed-constexpr",
                             "--expt-extended-lambda",
                             "--extended-lambda",
                             "-m64",
                             "-m=64",
                             "--keep",
                             "--keep-dir x",
                             "-save-temps",
                             "-t4",
                             "--threads=0",
                             "-split-compile 2",
                             "-res-usage",
                             "-time x",
                             "-extra-device-vectorization",
                             "-allow-unsupported-compiler",
                             "-Wno-deprecated-gpu-targets",
                             "-Werror all-warnings",
                             "-diag-suppress=20,30",
                             "-Xfatbin -compress-all",
                             "--default-stream legacy",
                             "-restrict",
                             "-objtemp",
                             "-ccbin g++",
                             "-Xcompiler -Werror",
                             "-Xcompiler -Werror=vla",
                             "-Xcompiler -flto",
                             "-src-in-ptx",
                             "--device-stack-protector=false",
                             "--cudadevrt=none"})
    EXPECT_EQ(line(std::string(option) + " -c a.cu"), line("-c a.cu")) << option;
  EXPECT_THAT(line("-default-stream=per-thread -c a.cu"), HasSubstr("-fgpu-default-stream=per-thread"));
  EXPECT_THAT(line("-ftemplate-depth 99 -c a.cpp"), HasSubstr("-ftemplate-depth=99"));
}

TEST(Nvcc, WhatClangCannotExpress) {
  for (const char* option : {"-ptx", "--cubin", "-fatbin", "--optix-ir", "-ltoir", "-cuda", "-run", "-clean",
                             "-ewp", "-m32", "-Xcicc -O1", "-sanitize=memcheck", "-hls=gen-lcs", "-noprof",
                             "-fdevice-syntax-only", "--device-stack-protector=true"})
    EXPECT_THAT(refusal(std::string(option) + " a.cu"), HasSubstr(std::string(option) + ": clang cannot"));
}

TEST(Nvcc, Queries) {
  for (const char* command :
       {"--version", "-V", "--help", "-h", "--list-gpu-arch", "-code-ls", "-dryrun -c a.cu"})
    EXPECT_TRUE(translated(split(command, ' ')).is_query) << command;
  EXPECT_FALSE(translated({"-c", "a.cu"}).is_query);
  const NvccTranslation verbose = translated({"-v", "--keep", "--keep-dir", "tmp", "Id.cu"});
  EXPECT_TRUE(verbose.is_verbose);
  EXPECT_FALSE(verbose.is_query);
}

TEST(Nvcc, OptionsFilesAndEnvironment) {
  const NvccContext context = {{},
                               files({{"outer", "-DIN1 -optf inner\n-Xcompiler \"-fPIC,-DK=1\""},
                                      {"inner", "-DIN2"},
                                      {"loop", "-optf loop"}}),
                               "-DFIRST=\"a b\" -O1",
                               "-DLAST"};
  EXPECT_EQ(line(translated({"-c", "a.cpp", "--options-file", "outer", "-DOUT"}, context)),
            "-fPIC -DK=1 -O1 -DFIRST=\"a b\" -DIN1 -DIN2 -DOUT -DLAST -c -x c++ a.cpp");
  EXPECT_EQ(line(translated({"-c", "a.cpp", "-optf=inner,outer"}, context)),
            "-fPIC -DK=1 -O1 -DFIRST=\"a b\" -DIN2 -DIN1 -DIN2 -DLAST -c -x c++ a.cpp");
  const auto loop = translate({"-c", "a.cpp", "-optf", "loop"}, context);
  ASSERT_FALSE(loop);
  EXPECT_THAT(loop.error().message, HasSubstr("loop reads itself"));
  const auto missing = translate({"-c", "a.cpp", "-optf", "none"}, context);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("nvcc -optf none: none: no such file"));
}

// Only brackets of launches move, and nothing in text.
TEST(NvccSecondTry, BracketsAreJoined) {
  EXPECT_EQ(with_joined_brackets("k << <1, n >> 2>> >(a);\nf<<< 1, 2 >>>();\n"),
            "k <<< 1, n >> 2>>> (a);\nf<<< 1, 2 >>>();\n");
  EXPECT_EQ(with_joined_brackets("k <<  <1, 2>>\t>();"), "k <<<  1, 2>>>\t();");
  for (const char* source : {"puts(\"k << <1>> >\");", "// k << <1>> >\nint a;", "/* << < */ int a = 1 << 2;",
                             "R\"(<< <)\"", "a <\n< b", "std::cout << a << b;", ""})
    EXPECT_EQ(with_joined_brackets(source), source);
}

TEST(NvccSecondTry, OptionsNameTheVersionAndTheCopies) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  const std::string path = directory->path().string();
  ASSERT_TRUE(write_file(directory->path() / "a.cu", "k << <1, 1>> >();"));
  ASSERT_TRUE(write_file(directory->path() / "b.cu", "k<<<1, 1>>>();"));
  const auto options =
      second_try(12040, {path + "/a.cu", path + "/b.cu", path + "/none.o"}, directory->path());
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(*options, testing::ElementsAre("-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=4",
                                             "-D__CUDACC_VER_BUILD__=0", "-Xclang", "-remap-file", "-Xclang",
                                             path + "/a.cu;" + path + "/3.cu"));
  EXPECT_EQ(*read_file(directory->path() / "3.cu"), "k <<< 1, 1>>> ();");
  const auto missing = second_try(std::nullopt, {path + "/none.cu"}, directory->path());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none.cu"));
}

TEST(Nvcc, Toolkit) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  const fs::path toolkit = directory->path();
  const std::string path = toolkit.string();
  const NvccContext context = {toolkit, files({}), "", ""};
  EXPECT_EQ(line(translated({"-c", "a.cu"}, context)),
            "--cuda-path=" + path + " -Xarch_device -O3 -c -x cuda a.cu");
  ASSERT_TRUE(make_directories(toolkit / "include" / "cccl"));
  EXPECT_EQ(line(translated({"-c", "a.cu"}, context)),
            "--cuda-path=" + path + " -Xarch_device -O3 -isystem " + path + "/include/cccl -c -x cuda a.cu");
  EXPECT_EQ(line(translated({"-c", "a.cpp"}, context)),
            "--cuda-path=" + path + " -isystem " + path +
                "/include -D__NV_NO_HOST_COMPILER_CHECK=1 -isystem " + path +
                "/include/cccl -c -x c++ a.cpp");
  NvccContext with_headers = context;
  with_headers.first_headers = "/first";
  EXPECT_THAT(line(translated({"-c", "a.cu", "-Ib"}, with_headers)), HasSubstr(" -iquote /first -Ib "));
  EXPECT_THAT(line(translated({"-c", "a.cpp", "-Ib"}, with_headers)), testing::Not(HasSubstr("-iquote")));
  EXPECT_THAT(line(translated({"a.o", "-cudart=shared"}, context)),
              HasSubstr("a.o -L" + path + "/lib64/stubs -L" + path + "/lib64 -Xoffload-linker " + path +
                        "/lib64/libcudadevrt.a -lcudart"));
  for (const char* option : {"-nodlink", "-cudadevrt=none"})
    EXPECT_THAT(line(translated({"a.o", option}, context)), testing::Not(HasSubstr("cudadevrt")));
}

} // namespace xaas::frontdoor
