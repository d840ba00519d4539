#include <xaas/link/command_line.h>
#include <xaas/link/installed.h>
#include <xaas/link/replay.h>

#include "link/testing.h"

#include <gmock/gmock.h>

namespace xaas::link {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReplayTest : public LinkTest {
protected:
  void SetUp() override {
    LinkTest::SetUp();
    write("x.c", "#include <math.h>\n#include <stdio.h>\n"
                 "int main(int argc, char **argv) { printf(\"%.3f\\n\", sqrt(1.0 + argc)); return 0; }\n");
    write("lib.c", "int twice(int x) { return 2 * x; }\n");
    sh("clang-22 -O1 -fPIC -g -c x.c lib.c");
  }

  FileProvider provider() {
    return [this](const FileRef& file) -> Result<fs::path> {
      const auto found = files_.find(file.digest);
      if (found == files_.end())
        return make_error(ErrorKind::not_found, "no such file");
      return found->second;
    };
  }

  FileRef kit(const fs::path& file) {
    const Digest digest = digest_of(file.string());
    files_[digest] = file;
    return {FileRef::Kind::kit, digest, file.filename()};
  }

  LinkRecord record_of(const std::vector<std::string>& arguments) {
    auto parsed = parse_command_line(arguments, directory_->path());
    EXPECT_TRUE(parsed) << parsed.error().message;
    LinkRecord record;
    if (!parsed)
      return record;
    record.kind = parsed->kind;
    record.name = parsed->output.filename();
    for (const ParsedItem& item : parsed->items)
      record.items.push_back(
          {item.kind, item.option, item.value, item.file.empty() ? FileRef() : kit(item.file)});
    return record;
  }

  // The linker arguments of a compiler's command, as `-###` prints them.
  std::vector<std::string> linker_arguments(const std::string& command) {
    const std::string printed = sh(command + " -### 2>&1 | tail -1");
    std::vector<std::string> arguments;
    size_t at = 0;
    while ((at = printed.find('"', at)) != std::string::npos) {
      const size_t end = printed.find('"', at + 1);
      arguments.push_back(printed.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    EXPECT_GT(arguments.size(), 1u) << printed;
    return {arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end()};
  }

  ReplayResult link(const LinkRecord& record, ReplayOptions options = {}) {
    options.arch = "x86_64";
    auto result = replay(record, provider(), options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : ReplayResult();
  }

  Error link_error(const LinkRecord& record) {
    auto result = replay(record, provider(), {.arch = "x86_64"});
    EXPECT_FALSE(result);
    return result ? Error() : std::move(result).error();
  }

  std::map<Digest, fs::path> files_;
};

TEST_F(ReplayTest, MakesWhatLldMakesOfTheSameCommandLine) {
  write(
      "y.cpp",
      "#include <iostream>\n#include <stdexcept>\nint main() { try { throw std::runtime_error(\"thrown\"); }"
      " catch (std::exception &e) { std::cout << e.what() << std::endl; } }\n");
  sh("clang++-22 -c y.cpp");
  const struct {
    const char *compiler, *output;
  } cases[] = {
      {"clang-22 x.o -lm", "1.414\n"},
      {"clang-22 x.o -lm -static", "1.414\n"},
      {"clang-22 x.o -lm -static-pie", "1.414\n"},
      {"clang-22 x.o -lm -no-pie -pthread -rdynamic -s", "1.414\n"},
      {"clang-22 x.o lib.o -lm -Wl,--gc-sections,-z,now,--as-needed,-O2,--hash-style=both,-Map,m", "1.414\n"},
      {"clang++-22 y.o", "thrown\n"},
      {"clang++-22 y.o -static -Wl,--icf=all", "thrown\n"},
      {"clang-22 -shared lib.o -lm -Wl,-soname,liblib.so.1,-rpath,/x/lib", nullptr},
      {"clang-22 -r x.o lib.o", nullptr},
  };
  for (const auto& each : cases) {
    const std::vector<std::string> arguments = linker_arguments(each.compiler + std::string(" -o out"));
    auto direct = run_process({.arguments =
                                   [&] {
                                     std::vector<std::string> command = {"ld.lld-22"};
                                     command.insert(command.end(), arguments.begin(), arguments.end());
                                     return command;
                                   }(),
                               .directory = directory_->path()});
    ASSERT_TRUE(direct);
    ASSERT_EQ(direct->exit_code, 0) << direct->output;
    const ReplayResult replayed = link(record_of(arguments), {.threads = 2});
    EXPECT_TRUE(replayed.output == read("out")) << each.compiler;
    EXPECT_EQ(replayed.messages, "");
    write("copy", replayed.output);
    if (each.output) {
      EXPECT_EQ(sh("chmod +x copy && ./copy"), each.output) << each.compiler;
    }
  }
}

TEST_F(ReplayTest, DoesNotDependOnThePrivateDirectoryOrThreads) {
  const LinkRecord record = record_of(linker_arguments("clang-22 x.o -lm -o x"));
  const std::string first = link(record).output;
  const std::string before = temporary_root();
  write("elsewhere/a/b/c", "");
  setenv("TMPDIR", path("elsewhere/a/b").c_str(), 1);
  setenv("LLD_REPRODUCE", path("repro.tar").c_str(), 1);
  const std::string second = link(record, {.threads = 3}).output;
  setenv("TMPDIR", before.c_str(), 1);
  unsetenv("LLD_REPRODUCE");
  EXPECT_TRUE(first == second);
  EXPECT_FALSE(fs::exists(path("repro.tar")));
}

TEST_F(ReplayTest, NotesAndFinish) {
  LinkRecord record =
      record_of({"-shared", "lib.o", "-o", "lib.so", "-rpath", "/build/dir", "-rpath", "/more"});
  const std::string noted = link(record, {.note = record.digest()}).output;
  const auto notes = read_notes(noted);
  ASSERT_TRUE(notes);
  ASSERT_EQ(notes->size(), 1u);
  EXPECT_EQ((*notes)[0].kind, Note::Kind::link);
  EXPECT_EQ((*notes)[0].origin, record.digest());
  EXPECT_EQ((*notes)[0].content, *content_digest(noted));
  EXPECT_EQ(read_finish(noted)->runpath, "/build/dir:/more");

  for (const auto strip : {Finish::Strip::none, Finish::Strip::debug, Finish::Strip::all})
    for (const std::optional<std::string>& runpath : {std::optional<std::string>(), {"$ORIGIN/../lib"}}) {
      const std::string output = link(record, {.finish = Finish{strip, runpath}}).output;
      EXPECT_EQ(read_finish(output)->strip, strip);
      EXPECT_EQ(read_finish(output)->runpath, runpath);
    }
  record.items.push_back({LinkItem::Kind::option, "--disable-new-dtags", "", {}});
  write("old.so", link(record, {.finish = Finish{Finish::Strip::none, "/x"}}).output);
  EXPECT_THAT(sh("readelf -d old.so"), HasSubstr("(RPATH)"));
  // patchelf turned it into a DT_RUNPATH, or the reverse, after the link.
  for (const auto tag : {Finish::Tag::runpath, Finish::Tag::rpath}) {
    InstalledFile file{
        .kind = InstalledFile::Kind::link, .path = "lib/x.so", .finish = Finish{{}, "/x", tag}};
    const Json json = to_json(file);
    const auto parsed = parse_installed_file(JsonReader(json, "file"));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(read_finish(link(record, {.finish = parsed->finish}).output)->tag, tag);
  }
}

TEST_F(ReplayTest, SharedLibrariesWithoutASonameAreNeededByFileName) {
  write("one/libsame.so", "");
  write("two/libsame.so", "");
  write("f.c", "int f(void) { return 1; }");
  write("g.c", "int g(void) { return 2; }");
  write("use.c", "int f(void), g(void); int use(void) { return f() + g(); }");
  sh("clang-22 -fPIC -c f.c g.c use.c && ld.lld-22 -shared f.o -o one/libsame.so && "
     "ld.lld-22 -shared g.o -soname libother.so -o two/libsame.so");
  write("use.so",
        link(record_of({"-shared", "use.o", "one/libsame.so", "two/libsame.so", "-z", "defs"})).output);
  EXPECT_THAT(sh("readelf -d use.so"), HasSubstr("[libsame.so]"));
  EXPECT_THAT(sh("readelf -d use.so"), HasSubstr("[libother.so]"));
  EXPECT_THAT(sh("readelf -d use.so"), Not(HasSubstr("in/")));
}

TEST_F(ReplayTest, AVersionScriptMayNameWhatIsNotThereUnlessTheProjectForbidsIt) {
  write("map", "V1 { global: twice; thrice; local: *; };\n");
  const std::string shared = "clang-22 -shared -Wl,--version-script=map lib.o -o libtwice.so";
  ReplayResult result = link(record_of(linker_arguments(shared)));
  write("libtwice.so", result.output);
  EXPECT_THAT(sh("llvm-nm-22 -D libtwice.so"), AllOf(HasSubstr("twice@@V1"), Not(HasSubstr("thrice"))));
  const Error error = link_error(record_of(linker_arguments(shared + " -Wl,--no-undefined-version")));
  EXPECT_THAT(error.message, HasSubstr("thrice"));
}

TEST_F(ReplayTest, ErrorsOfTheLink) {
  write("a.c",
        "int missing_one(int); extern int missing_two; int main(void) { return missing_one(missing_two); }");
  sh("clang-22 -c a.c");
  const Error error = link_error(record_of({"a.o", "-e", "main", "-o", "program"}));
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("linking program: "));
  EXPECT_THAT(error.message, HasSubstr("a.o:(main)"));
  EXPECT_THAT(error.message, Not(HasSubstr("in/")));
  EXPECT_THAT(undefined_symbols(error.message),
              ::testing::UnorderedElementsAre("missing_one", "missing_two"));
  const Error twice = link_error(record_of({"x.o", "x.o", "-o", "program"}));
  EXPECT_THAT(twice.message, HasSubstr("duplicate symbol: main"));
  EXPECT_TRUE(undefined_symbols(twice.message).empty());
}

TEST(UndefinedSymbolsTest, OnlyOfLinksThatFailForNothingElse) {
  EXPECT_THAT(undefined_symbols("x: ld.lld: error: undefined symbol: a\n>>> referenced by x.o\n\n"
                                "ld.lld: error: undefined hidden symbol: _Z1bi\n>>> referenced\n"
                                "ld.lld: error: undefined symbol: a\n"),
              ElementsAre("a", "_Z1bi"));
  EXPECT_TRUE(
      undefined_symbols("ld.lld: error: undefined symbol: a\nld.lld: error: unknown file type: x").empty());
  EXPECT_TRUE(undefined_symbols("").empty());
}

TEST_F(ReplayTest, ScriptsThatNameFilesAreRefused) {
  write("secret", "secret");
  for (const char* script :
       {"INPUT(/etc/passwd)", "GROUP ( secret )", "SECTIONS { .x : { INCLUDE secret } }",
        "INCLUDE \"secret\"", "SEARCH_DIR(\"/\")", "OUTPUT(/tmp/x)", "STARTUP(secret)", "TARGET(binary)",
        "/* x */INPUT(secret)", "MEMORY{}INCLUDE/*x*/secret", "\"a\"INPUT(secret)", "x=1;INPUT(secret)"}) {
    write("bad.ld", script);
    LinkRecord record = record_of({"x.o", "-T", "bad.ld", "-o", "program"});
    Error error = link_error(record);
    EXPECT_EQ(error.kind, ErrorKind::integrity) << script;
    EXPECT_THAT(error.message, HasSubstr("bad.ld: a linker script with the command")) << script;
    record = record_of({"x.o", "-o", "program"});
    record.items.push_back({LinkItem::Kind::input, "", "", kit(path("bad.ld"))});
    EXPECT_EQ(link_error(record).kind, ErrorKind::integrity) << script;
  }
  write("good.ld", "/* INPUT(x) */ OUTPUT_FORMAT(elf64-x86-64)\n# GROUP\nSECTIONS { .text : { *(.text*) } }");
  EXPECT_FALSE(link(record_of({"-shared", "lib.o", "-T", "good.ld"})).output.empty());
}

TEST_F(ReplayTest, HostileInputsAndOptions) {
  sh("clang-22 -c -emit-llvm lib.c -o lib.bc && llvm-ar-22 rcs bc.a lib.bc && ar rcsT thin.a lib.o");
  for (const char* name : {"lib.bc", "bc.a", "thin.a"}) {
    LinkRecord record = record_of({"-shared", "x.o"});
    record.items.push_back({LinkItem::Kind::input, "", "", kit(path(name))});
    const Error error = link_error(record);
    EXPECT_EQ(error.kind, ErrorKind::integrity) << name;
    EXPECT_THAT(error.message, HasSubstr(name));
  }
  for (const char* option : {"--Map", "--reproduce", "--mllvm", "--version-script", "@file", "--icf"}) {
    LinkRecord record = record_of({"-shared", "x.o"});
    record.items.push_back({LinkItem::Kind::option, option, "/x", {}});
    EXPECT_EQ(link_error(record).kind, ErrorKind::integrity) << option;
  }
  LinkRecord record = record_of({"-shared", "x.o"});
  record.items[0].file.name = "../../x.o";
  EXPECT_EQ(link_error(record).kind, ErrorKind::integrity);
  record.items[0].file.name = "x.o";
  record.items[0].file.digest = digest_of("nothing");
  EXPECT_EQ(link_error(record).kind, ErrorKind::not_found);
  // A value that looks like a response file is a value.
  write("args", "--Map=" + path("map").string());
  record = record_of({"-shared", "lib.o", "-soname", "@" + path("args").string()});
  link(record);
  EXPECT_FALSE(fs::exists(path("map")));
}

TEST_F(ReplayTest, AnOutputThatIsTooLargeIsAnErrorThatNamesLinkAndLimit) {
  write("huge.ld", "SECTIONS { .text : { *(.text*) BYTE(1) . = . + 0x400000000; BYTE(1) } }");
  const LinkRecord record = record_of({"-shared", "lib.o", "-T", "huge.ld"});
  for (const auto& [bytes, text] :
       {std::pair(ReplayOptions().max_bytes, "4294967296"), std::pair(uint64_t(100), "100")}) {
    const auto result = replay(record, provider(), {.arch = "x86_64", .max_bytes = bytes});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::failed);
    EXPECT_EQ(result.error().message,
              std::string("linking a.out: its output has more than the ") + text + " bytes allowed");
  }
}

TEST_F(ReplayTest, DamagedObjectsAreErrors) {
  const std::string good = read("x.o");
  uint32_t state = 7;
  for (int i = 0; i < 25; ++i) {
    std::string bad = good;
    for (int flips = 0; flips < 30; ++flips) {
      state = state * 1664525 + 1013904223;
      bad[16 + (state >> 8) % (bad.size() - 16)] = char(state);
    }
    write("bad.o", bad);
    const auto result = replay(record_of({"-shared", "bad.o"}), provider(), {.arch = "x86_64"});
    if (!result) {
      EXPECT_TRUE(result.error().kind == ErrorKind::failed || result.error().kind == ErrorKind::integrity);
      EXPECT_THAT(result.error().message, HasSubstr("linking a.out: "));
    }
  }
}

TEST_F(ReplayTest, ArchivesBothWays) {
  sh("mkdir sub && cp lib.o sub/x.o && ar rcs regular.a x.o && ar q regular.a sub/x.o && "
     "ar rcsT thin.a x.o sub/x.o");
  for (const char* name : {"regular.a", "thin.a"}) {
    const auto members = read_archive(path(name));
    ASSERT_TRUE(members) << members.error().message;
    ASSERT_EQ(members->size(), 2u) << name;
    EXPECT_EQ((*members)[0].name, "x.o");
    EXPECT_EQ((*members)[1].name, "x.o");
    EXPECT_EQ((*members)[0].content, read("x.o"));
    EXPECT_EQ((*members)[1].content, read("sub/x.o"));
  }
  const ArchiveRecord record{{{"x.o", kit(path("x.o"))}, {"x.o", kit(path("lib.o"))}}};
  const auto archive = write_archive(record, provider());
  ASSERT_TRUE(archive) << archive.error().message;
  write("again.a", *archive);
  EXPECT_THAT(sh("nm -s again.a"), HasSubstr("twice in x.o"));
  EXPECT_EQ(read_archive(path("again.a"))->at(1).content, read("lib.o"));
  write("use.c", "int twice(int); int main(void) { return twice(0); }");
  EXPECT_EQ(sh("ar t again.a && clang-22 -fuse-ld=lld use.c again.a -lm -o use 2>&1 | grep -c duplicate", 1),
            "x.o\nx.o\n0\n");
  sh("rm sub/x.o");
  EXPECT_EQ(read_archive(path("thin.a")).error().kind, ErrorKind::integrity);
  EXPECT_EQ(read_archive(path("x.o")).error().kind, ErrorKind::integrity);
  write("damaged.a", archive->substr(0, archive->size() - 100));
  EXPECT_EQ(read_archive(path("damaged.a")).error().kind, ErrorKind::integrity);
}

TEST_F(ReplayTest, LinksBitcodeOfUnitsAlone) {
  write("f.c", "int lib(void); int f(void) { return lib(); }");
  write("l.c", "int lib(void) { return 3; }");
  sh("clang-22 -O2 -fPIC -flto=thin -c f.c l.c");
  const auto unit = [&](const char* name) {
    FileRef file = kit(path(name));
    file.kind = FileRef::Kind::unit;
    return file;
  };
  const ArchiveRecord inner{{{"l.o", unit("l.o")}}};
  std::string cache;
  const auto archive = write_lto_archive(inner, provider());
  ASSERT_TRUE(archive) << archive.error().message;
  write("l.a", *archive);
  FileRef archive_file = kit(path("l.a"));
  archive_file.kind = FileRef::Kind::archive;
  const auto link = [&](const FileRef& first, const FileRef& second, unsigned lto_level) {
    LinkRecord record{OutputKind::shared, "lib.so", {}};
    record.items.push_back({LinkItem::Kind::input, "", "", first});
    record.items.push_back({LinkItem::Kind::input, "", "", second});
    ReplayOptions options;
    options.arch = "x86_64";
    if (lto_level > 0)
      options.lto_level = lto_level;
    options.lto_cache = cache;
    return replay(record, provider(), options);
  };
  const auto linked = link(unit("f.o"), archive_file, 2);
  ASSERT_TRUE(linked) << linked.error().message;
  write("lib.so", linked->output);
  EXPECT_EQ(sh("nm -D --defined-only lib.so | cut -d' ' -f3"), "f\nlib\n");

  for (const auto& refused : {link(unit("f.o"), archive_file, 0), link(kit(path("f.o")), archive_file, 2),
                              link(unit("f.o"), kit(path("l.a")), 2)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
    EXPECT_THAT(refused.error().message, HasSubstr("bitcode"));
  }
  const ArchiveRecord carried{{{"l.o", kit(path("l.o"))}}};
  EXPECT_EQ(write_lto_archive(carried, provider()).error().kind, ErrorKind::integrity);
  EXPECT_EQ(write_archive(inner, provider()).error().kind, ErrorKind::integrity);

  // The second link compiles nothing, and has the same result.
  cache = path("thinlto");
  ASSERT_TRUE(make_directories(cache));
  const std::string entries = "ls thinlto | grep -c '^llvmcache-[0-9A-F]'";
  for (int i = 0; i < 2; ++i) {
    const auto again = link(unit("f.o"), archive_file, 2);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->output, linked->output);
    EXPECT_EQ(sh(entries), "2\n");
  }
}

TEST_F(ReplayTest, LooksAtTheBitcodeOfUnits) {
  write("plain.c", "int plain(void) { __asm__ volatile(\"nop\"); return 1; }");
  write("file.c", "__asm__(\".incbin \\\"/etc/passwd\\\"\");\nint file(void) { return 1; }");
  sh("clang-22 -O2 -fPIC -flto=thin -c plain.c file.c -Wno-everything || true");
  sh("head -c 1000 plain.o >damaged.o; ar rc file.a plain.o file.o; ar rc damaged.a plain.o damaged.o");
  const auto link = [&](const char* name, FileRef::Kind kind) {
    FileRef file = kit(path(name));
    file.kind = kind;
    LinkRecord record{OutputKind::shared, "lib.so", {}};
    record.items.push_back({LinkItem::Kind::option, "--whole-archive", "", {}});
    record.items.push_back({LinkItem::Kind::input, "", "", file});
    ReplayOptions options;
    options.arch = "x86_64";
    options.lto_level = 2;
    return replay(record, provider(), options);
  };
  EXPECT_TRUE(link("plain.o", FileRef::Kind::unit));
  for (const auto& [refused, message] :
       {std::pair{link("file.o", FileRef::Kind::unit), "more than instructions"},
        std::pair{link("file.a", FileRef::Kind::archive), "more than instructions"},
        std::pair{link("damaged.o", FileRef::Kind::unit), "damaged LLVM bitcode"},
        std::pair{link("damaged.a", FileRef::Kind::archive), "damaged LLVM bitcode"}}) {
    ASSERT_FALSE(refused) << message;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
}

} // namespace
} // namespace xaas::link
