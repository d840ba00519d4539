#include "oci/testing.h"

#include <xaas/base/file.h>
#include <xaas/check/check.h>
#include <xaas/image/application_image.h>
#include <xaas/image/deployed.h>
#include <xaas/image/kernels.h>
#include <xaas/oci/layer.h>

#include <gmock/gmock.h>

namespace xaas::check {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A program that needs a versioned library, with images that contain both.
class VerifyTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made);
    directory_.emplace(*std::move(made));
    write("one.c", "int one(void) { return 1; }");
    write("one.map", "V1 { global: one; local: *; };");
    write("two.map", "V1 { local: *; }; V2 { global: one; } V1;");
    write("main.c", "int one(void); void _start(void) { for (;;) one(); }");
    const std::string link = "clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -fPIC -O1 ";
    sh(link + "-shared -Wl,-soname,libone.so.1 -Wl,--version-script=two.map one.c -o new.so");
    sh(link + "-shared -Wl,-soname,libone.so.1 -Wl,--version-script=one.map one.c -o old.so");
    sh(link + "-Wl,--dynamic-linker=/lib64/ld.so main.c new.so -o main");
    sh(link + "-shared one.c -o ld.so");
    files = {{"usr/bin/main", read("main")},
             {"usr/lib/libone.so.1", read("new.so")},
             {"lib64/ld.so", read("ld.so")}};
  }

  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(directory_->path() / name, text));
  }
  std::string read(const std::string& name) {
    const auto content = read_file(directory_->path() / name);
    EXPECT_TRUE(content) << name;
    return content ? *content : std::string();
  }
  void sh(const std::string& command) {
    ASSERT_EQ(std::system(("cd '" + directory_->path().string() + "' && " + command).c_str()), 0) << command;
  }

  Result<Report> check(const std::string& on = "", bool all_kernels = false) {
    oci::LayerBuilder builder;
    for (const auto& [path, content] : files)
      XAAS_CHECK(builder.add_file(path, content, 0755));
    for (const auto& [path, destination] : symlinks)
      XAAS_CHECK(builder.add_symlink(path, destination));
    XAAS_TRY(oci::NewLayer layer, builder.finish(oci::Compression::gzip, "test"));
    oci::NewImage image;
    for (const auto& add : layers) {
      oci::LayerBuilder lower;
      XAAS_CHECK(add(lower));
      XAAS_TRY(oci::NewLayer made, lower.finish(oci::Compression::gzip, "test"));
      image.layers.push_back(std::move(made));
    }
    image.layers.push_back(std::move(layer));
    for (const auto& members : above)
      image.layers.push_back(raw_layer(members));
    image.config.entrypoint = entrypoint;
    image.config.env = environment;
    image.annotations = {{image::annotation::kind, kind},
                         {"dev.xaas.cpu", "haswell"},
                         {"dev.xaas.features", "avx2,bmi2,fma"},
                         {"dev.xaas.code", code}};
    if (!needs.empty())
      image.annotations[image::annotation::needs] = needs;
    if (!kernels.empty())
      image.annotations[image::annotation::kernels] = kernels;
    const auto reference =
        oci::parse_reference("oci:" + (directory_->path() / ("image" + std::to_string(++images_))).string());
    XAAS_CHECK(oci::write_image(*reference, image));
    std::optional<system::SystemDescription> system;
    if (!on.empty()) {
      XAAS_TRY(system, system::any_system("x86_64", on));
      system->kernel = "5.4.0-1";
      system->mpi = mpi;
    }
    return xaas::check::check(*reference, system, no_progress(), {}, {}, all_kernels);
  }

  static oci::NewLayer raw_layer(const std::vector<oci::testing::RawMember>& members) {
    oci::Layer layer = oci::testing::raw_layer(members);
    return {layer.descriptor,
            layer.diff_id,
            "test",
            [blob = std::move(layer.blob)] { return Result<oci::BlobPtr>(blob); },
            {}};
  }

  static std::vector<std::string> messages(const Result<Report>& report) {
    if (!report)
      return {"error: " + report.error().message};
    std::vector<std::string> list;
    for (const Problem& problem : report->problems)
      list.push_back(std::string(name_of(problem.kind)) + ": " + problem.file + ": " + problem.message);
    return list;
  }

  std::map<std::string, std::string> files, symlinks;
  std::vector<std::function<Result<void>(oci::LayerBuilder&)>> layers; // below the files'
  std::vector<std::vector<oci::testing::RawMember>> above; // on top of the files', as tar has them
  std::vector<std::string> environment, entrypoint;
  std::string kind = "deployed", code = "{}", needs, kernels;
  std::vector<system::Mpi> mpi; // of the system

private:
  std::optional<TemporaryDirectory> directory_;
  int images_ = 0;
};

TEST_F(VerifyTest, RefusedKernelsAreWarnings) {
  kernels =
      image::to_annotation(image::cpu_kernels({{"a.cu", "_Z4fastv", "loops", ""},
                                               {"a.cu", "_Z4slowv", "masked", "threads return early"},
                                               {"b.cu", "_Z4nonePi", "refused", "inline assembly: x"}}));
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(messages(report), IsEmpty());
  const image::Warning refused{"cuda-kernel", "b.cu", 0,
                               "kernel none(int*) cannot run on the CPU: inline assembly: x"};
  EXPECT_THAT(report->warnings, ::testing::ElementsAre(refused));
  const auto strict = check("", true);
  EXPECT_THAT(messages(strict), ::testing::ElementsAre("cuda-kernel: b.cu: " + refused.message));
  ASSERT_TRUE(strict);
  EXPECT_THAT(strict->warnings, IsEmpty());

  kernels = R"({"forms":{"refused":3},"kernels":[{"source":"b.cu","name":"k","form":"refused"}]})";
  EXPECT_THAT(
      messages(check("", true)),
      ::testing::ElementsAre(HasSubstr("kernel k "), HasSubstr("2 kernels that the image does not name")));
  kernels = R"({"forms":{"loops":3},"kernels":[]})";
  EXPECT_THAT(messages(check("", true)), IsEmpty());
  kernels = "{}";
  EXPECT_EQ(check().error().kind, ErrorKind::integrity);
}

TEST_F(VerifyTest, Runs) {
  const auto report = check();
  EXPECT_THAT(messages(report), IsEmpty());
  EXPECT_EQ(report->on, "haswell");
  EXPECT_EQ(report->files.size(), 3u);
  EXPECT_THAT(messages(check("haswell")), IsEmpty());
}

TEST_F(VerifyTest, TheLibraryIsMissingOrElsewhere) {
  const std::string library = files.extract("usr/lib/libone.so.1").mapped();
  EXPECT_THAT(
      messages(check()),
      ::testing::ElementsAre(
          "library: /usr/bin/main: needs libone.so.1, which is not in a directory that the loader searches"));
  files["opt/parts/libone.so.1"] = library;
  EXPECT_THAT(messages(check()), ::testing::SizeIs(1));
  environment = {"LD_LIBRARY_PATH=/nowhere:/opt/parts"};
  EXPECT_THAT(messages(check()), IsEmpty());
  environment = {};
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -Wl,--dynamic-linker=/lib64/ld.so "
     "'-Wl,-rpath,$ORIGIN/../../opt/parts' "
     "main.c new.so -o main");
  files["usr/bin/main"] = read("main");
  EXPECT_THAT(messages(check()), IsEmpty());
  // Through links, as in distributions.
  files["opt/parts/libone.so.1.0"] = files.extract("opt/parts/libone.so.1").mapped();
  symlinks["opt/parts/libone.so.1"] = "libone.so.1.0";
  EXPECT_THAT(messages(check()), IsEmpty());
  symlinks["opt/parts/libone.so.1"] = "libone.so.1";
  EXPECT_THAT(messages(check()), ::testing::SizeIs(1));
}

TEST_F(VerifyTest, ALibraryForAnotherMachineIsNone) {
  sh("clang-22 --target=aarch64-linux-gnu -fuse-ld=lld -nostdlib -shared -Wl,-soname,libone.so.1 one.c -o "
     "arm.so");
  files["usr/lib/libone.so.1"] = read("arm.so");
  EXPECT_THAT(messages(check()), ::testing::ElementsAre(HasSubstr("needs libone.so.1")));
}

TEST_F(VerifyTest, AnOlderLibrary) {
  files["usr/lib/libone.so.1"] = read("old.so");
  EXPECT_THAT(messages(check()),
              ::testing::ElementsAre("symbol-version: /usr/bin/main: needs version V2 of libone.so.1, which "
                                     "/usr/lib/libone.so.1 does not have"));
}

TEST_F(VerifyTest, NoLoader) {
  files.erase("lib64/ld.so");
  EXPECT_THAT(messages(check()),
              ::testing::ElementsAre("loader: /usr/bin/main: its loader /lib64/ld.so is not in the image"));
}

TEST_F(VerifyTest, AnotherCpu) {
  EXPECT_THAT(messages(check("nehalem")),
              AllOf(Contains(HasSubstr("nehalem lacks avx2")), Contains(HasSubstr("nehalem lacks fma"))));
  EXPECT_THAT(messages(check("znver3")), IsEmpty());
}

TEST_F(VerifyTest, InstructionsThatNobodyAskedFor) {
  write("main.c", "int one(void);\n"
                  "__attribute__((target(\"avx512f\"))) void wide(float *x) { for (int i = 0; i < 4096; ++i) "
                  "x[i] += 1; }\n"
                  "void _start(void) { static float x[4096]; for (;;) { one(); wide(x); } }");
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -O3 -mprefer-vector-width=512 "
     "-Wl,--dynamic-linker=/lib64/ld.so main.c new.so -o main");
  files["usr/bin/main"] = read("main");
  EXPECT_THAT(messages(check()), IsEmpty()); // carried unchanged, so not judged
  code = R"({"/usr/bin/main": {"own": [], "assembly": false, "native": false}})";
  EXPECT_THAT(
      messages(check()),
      Contains(AllOf(HasSubstr("instruction: /usr/bin/main: haswell lacks avx512f"), HasSubstr("wide"))));
  for (const char* chosen : {R"({"/usr/bin/main": {"own": ["avx512f"], "assembly": false, "native": false}})",
                             R"({"/usr/bin/main": {"own": [], "assembly": true, "native": false}})",
                             R"({"/usr/bin/main": {"own": [], "assembly": false, "native": true}})"}) {
    code = chosen;
    EXPECT_THAT(messages(check()), IsEmpty()) << chosen;
  }
  EXPECT_THAT(messages(check("x86-64-v2")), Not(IsEmpty()));
}

TEST_F(VerifyTest, AnOlderKernel) {
  write("note.c", "__asm__(\".section .note.ABI-tag,\\\"a\\\",@note\\n.long 4,16,1\\n.asciz "
                  "\\\"GNU\\\"\\n.long 0,6,1,0\\n.text\");");
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -shared note.c one.c -o ld.so");
  files["lib64/ld.so"] = read("ld.so");
  EXPECT_THAT(messages(check("haswell")),
              ::testing::ElementsAre("kernel: /lib64/ld.so: needs Linux 6.1.0, this system has 5.4.0-1"));
  EXPECT_THAT(messages(check()), IsEmpty()); // nothing is known about the system
}

TEST_F(VerifyTest, CodeForOthersIsData) {
  sh("clang-22 --target=aarch64-linux-gnu -fuse-ld=lld -nostdlib -shared one.c -o kernels.so");
  files["usr/share/kernels.bin"] = read("kernels.so");
  EXPECT_THAT(messages(check()), IsEmpty());
  code = R"({"/usr/share/kernels.bin": {"own": [], "assembly": false, "native": false}})";
  EXPECT_THAT(messages(check()),
              ::testing::ElementsAre(
                  HasSubstr("architecture: /usr/share/kernels.bin: is not a program or library for x86_64")));
}

TEST_F(VerifyTest, WhatTheValuesNeed) {
  needs =
      R"([{"point": "mpi", "value": "host", "requires": {"mpi": "mpich-12", "library": [{"name": "one", "from": "image"}]}}])";
  // Nothing is known about the system; the image has its own.
  auto report = check();
  EXPECT_THAT(messages(report), IsEmpty());
  ASSERT_EQ(report->needs.size(), 2u);
  EXPECT_FALSE(report->needs[0].checked);
  EXPECT_TRUE(report->needs[1].checked && report->needs[1].need.met);
  EXPECT_EQ(text_of(report->needs[1].need), "the library one: /usr/lib/libone.so.1");
  EXPECT_THAT(messages(check("haswell")),
              ::testing::ElementsAre(
                  "host: : mpi=host: this system has no MPI; one with the ABI mpich-12 is needed"));
  mpi = {{"mpich", "4.2", "mpich-12", "/opt/mpich/lib"}};
  report = check("haswell");
  EXPECT_THAT(messages(report), IsEmpty());
  EXPECT_EQ(text_of(report->needs.at(0).need), "an MPI with the ABI mpich-12: mpich 4.2 (/opt/mpich/lib)");
  for (const char* damaged :
       {"x", "{}", "[1]", R"([{"point": "a", "value": "b"}])",
        R"([{"point": "a", "value": "b", "requires": {"mpi": 1}}])",
        R"([{"point": "a", "value": "b", "requires": {"library": [{"name": "c", "from": "d"}]}}])"}) {
    needs = damaged;
    EXPECT_EQ(check().error().kind, ErrorKind::integrity) << damaged;
  }
}

TEST_F(VerifyTest, WhatStartsIsThere) {
  entrypoint = {"/usr/bin/main"};
  EXPECT_THAT(messages(check()), IsEmpty());
  entrypoint = {"main"};
  EXPECT_THAT(messages(check()), ::testing::ElementsAre("program: main: starts the image and is not in it"));
  environment = {"PATH=/bin:/usr/bin"};
  EXPECT_THAT(messages(check()), IsEmpty());
  files["usr/bin/start"] = "#!/bin/sh -e\nexec main\n";
  entrypoint = {"start"};
  EXPECT_THAT(messages(check()),
              ::testing::ElementsAre("program: /bin/sh: starts the image and is not in it"));
  files["bin/sh"] = read("main");
  EXPECT_THAT(messages(check()), IsEmpty());
  code = R"({"/usr/bin/other": {"own": [], "assembly": false, "native": false}})";
  EXPECT_THAT(messages(check()),
              ::testing::ElementsAre(HasSubstr("program: /usr/bin/other: was linked by deploying")));
}

TEST_F(VerifyTest, LaterLayers) {
  const std::string library = files["usr/lib/libone.so.1"];
  layers = {
      [&](oci::LayerBuilder& layer) -> Result<void> {
        XAAS_CHECK(layer.add_symlink("usr/lib/extra", "/opt/real"));
        return layer.add_file("opt/real/old.txt", "text", 0644);
      },
      [&](oci::LayerBuilder& layer) { return layer.add_file("usr/lib/extra/libone.so.1", library, 0755); },
  };
  environment = {"LD_LIBRARY_PATH=/usr/lib/extra"};
  files.erase("usr/lib/libone.so.1");
  EXPECT_THAT(messages(check()), IsEmpty());
}

TEST_F(VerifyTest, WhatALayerTakesAway) {
  const std::string missing =
      "library: /usr/bin/main: needs libone.so.1, which is not in a directory that the loader searches";
  above = {{{"usr/lib/.wh.libone.so.1"}}};
  EXPECT_THAT(messages(check()), ::testing::ElementsAre(missing));
  above = {{{"usr/lib/.wh..wh..opq"}}};
  EXPECT_THAT(messages(check()), ::testing::ElementsAre(missing));
  above = {{{"usr/.wh.lib"}}};
  EXPECT_THAT(messages(check()), ::testing::ElementsAre(missing));
  // Entries of the same layer stay, in any order.
  const std::string library = files["usr/lib/libone.so.1"];
  above = {{{"usr/lib/libone.so.1", '0', library}, {"usr/lib/.wh..wh..opq"}}};
  EXPECT_THAT(messages(check()), IsEmpty());
  above = {{{"usr/.wh.lib"}}, {{"usr/lib/libone.so.1", '0', library}}};
  EXPECT_THAT(messages(check()), IsEmpty());
  above = {{{"usr/bin/.wh.main"}}};
  EXPECT_THAT(messages(check()), IsEmpty());
  EXPECT_EQ(check()->files.size(), 2u);
}

TEST_F(VerifyTest, HardLinks) {
  files["opt/real.so"] = files.extract("usr/lib/libone.so.1").mapped();
  above = {{{"usr/lib/libone.so.1", '1', "", "opt/real.so"}}};
  EXPECT_THAT(messages(check()), IsEmpty());
  // It keeps its content when the other name gets a new file or is removed.
  above.push_back({{"opt/real.so", '0', "text"}});
  EXPECT_THAT(messages(check()), IsEmpty());
  above.back() = {{"opt/.wh.real.so"}};
  EXPECT_THAT(messages(check()), IsEmpty());
  above = {{{"usr/lib/libone.so.1", '1', "", "opt/other.so"}}};
  EXPECT_THAT(messages(check()), ::testing::ElementsAre(HasSubstr("needs libone.so.1")));
}

TEST_F(VerifyTest, TheLoaderIsNotSearched) {
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -shared -fPIC -Wl,-soname,ld.so one.c -o "
     "ld.so");
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -fPIC -Wl,--dynamic-linker=/opt/ld/ld.so "
     "main.c ld.so -o main");
  files = {{"usr/bin/main", read("main")}, {"opt/ld/ld.so", read("ld.so")}};
  EXPECT_THAT(messages(check()), IsEmpty());
}

TEST_F(VerifyTest, APluginHasWhatItsProgramLoaded) {
  files["opt/libs/libone.so.1"] = files.extract("usr/lib/libone.so.1").mapped();
  write("plugin.c", "int one(void); int plugin(void) { return one(); }");
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -shared -fPIC plugin.c new.so -o plugin.so");
  files["opt/plugins/plugin.so"] = read("plugin.so");
  EXPECT_THAT(messages(check()), Not(IsEmpty()));
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -Wl,--dynamic-linker=/lib64/ld.so "
     "-Wl,-rpath,/opt/libs main.c new.so -o main");
  files["usr/bin/main"] = read("main");
  EXPECT_THAT(messages(check()), IsEmpty());
}

// A small file may name the same long library ten thousand times.
TEST_F(VerifyTest, ADescriptionLargerThanAFileNeeds) {
  write("long.c", "int " + std::string(60000, 'a') + "(void) { return 1; }");
  sh("clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -shared -fPIC long.c -o long.so");
  write("many.py", "import struct\n"
                   "d = bytearray(open('long.so', 'rb').read())\n"
                   "u = lambda form, at: struct.unpack_from('<' + form, d, at)[0]\n"
                   "segments = [u('Q', 32) + 56 * i for i in range(u('H', 56))]\n"
                   "dynamic = next(s for s in segments if u('I', s) == 2)\n"
                   "entries = [d[at:at + 16] for at in range(u('Q', dynamic + 8), u('Q', dynamic + 8) + "
                   "u('Q', dynamic + 32), 16)]\n"
                   "strings = next(e for e in entries if e[0] == 5)\n"
                   "size = next(e for e in entries if e[0] == 10)\n"
                   "table = bytes(strings + size) + struct.pack('<QQ', 1, 1) * 10000 + bytes(16)\n"
                   "d += bytes(-len(d) % 8)\n"
                   "struct.pack_into('<Q', d, dynamic + 8, len(d))\n"
                   "struct.pack_into('<QQ', d, dynamic + 32, len(table), len(table))\n"
                   "d += table\n"
                   "open('many.so', 'wb').write(d)\n");
  sh("python3 many.py");
  files["usr/lib/libone.so.1"] = read("many.so");
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::integrity) << report.error().message;
  EXPECT_THAT(report.error().message, HasSubstr("/usr/lib/libone.so.1"));
}

TEST_F(VerifyTest, BadImages) {
  kind = "ir";
  EXPECT_EQ(check().error().kind, ErrorKind::usage);
  kind = "deployed";
  for (const char* damaged : {"", "[]", "{\"/a\": 1}"}) {
    code = damaged;
    EXPECT_EQ(check().error().kind, ErrorKind::integrity) << damaged;
  }
  code = "{}";
  const std::string whole = files["usr/lib/libone.so.1"];
  for (size_t i = 16; i < 64; ++i) { // the header's offsets
    std::string damaged = whole;
    damaged[i] = '\xff';
    files["usr/lib/libone.so.1"] = damaged;
    const auto report = check();
    if (!report) {
      EXPECT_EQ(report.error().kind, ErrorKind::integrity) << i;
      EXPECT_THAT(report.error().message, HasSubstr("/usr/lib/libone.so.1")) << i;
    }
  }
}

} // namespace
} // namespace xaas::check
