#include <xaas/link/note.h>

#include "link/testing.h"

#include <cstring>
#include <elf.h>
#include <set>

namespace xaas::link {
namespace {

const Digest origin = digest_of("a unit");

class NoteTest : public LinkTest {
protected:
  void SetUp() override {
    LinkTest::SetUp();
    write("lib.c", "#include <stdio.h>\n"
                   "int table[4] = {1, 2, 3, 4};\n"
                   "static const char *text(void) { return \"hello\"; }\n"
                   "int twice(int x) { return 2 * x + table[x & 3]; }\n"
                   "int unused_function(void) { return puts(text()); }\n");
    write("main.c", "int twice(int); int main(void) { return twice(1) - 4; }\n");
    sh("clang-22 -O1 -g -fPIC -ffunction-sections -c lib.c main.c");
  }

  // An object of the directory with an origin note.
  void note(const std::string& name, const Digest& unit = origin) {
    std::string elf = read(name);
    const auto added = add_note(elf, Note::Kind::unit, unit);
    ASSERT_TRUE(added) << added.error().message;
    write(name, elf);
  }

  std::vector<Note> notes(const std::string& name) {
    auto found = read_notes(read(name));
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<Note>();
  }

  Digest content(const std::string& name) {
    const auto digest = content_digest(read(name));
    EXPECT_TRUE(digest) << name << ": " << digest.error().message;
    return digest ? *digest : Digest();
  }

  void expect_noted(const std::string& name) {
    const std::vector<Note> found = notes(name);
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(found[0].kind, Note::Kind::unit);
    EXPECT_EQ(found[0].origin, origin);
    EXPECT_NE(found[0].content, Digest());
  }
};

TEST_F(NoteTest, AddsANoteThatLeavesTheContentAsItIs) {
  EXPECT_TRUE(notes("lib.o").empty());
  const Digest before = content("lib.o");
  note("lib.o");
  expect_noted("lib.o");
  EXPECT_EQ(notes("lib.o")[0].content, before);
  EXPECT_EQ(content("lib.o"), before);
  sh("readelf -aW lib.o 2>&1 | grep -i warning", 1);
  std::string again = read("lib.o");
  EXPECT_FALSE(add_note(again, Note::Kind::unit, origin));
}

TEST_F(NoteTest, NotesSurviveWhatBuildsDoToObjects) {
  note("lib.o");
  const Digest before = content("lib.o");
  for (const char* tool : {"objcopy --strip-debug", "llvm-objcopy-22 --strip-debug", "strip --strip-debug",
                           "llvm-strip-22 --strip-unneeded", "strip --strip-unneeded", "objcopy"}) {
    sh("cp lib.o copy.o && " + std::string(tool) + " copy.o");
    expect_noted("copy.o");
    EXPECT_EQ(content("copy.o"), before) << tool;
  }
  sh("ar rcs lib.a lib.o && ranlib lib.a && mkdir x && cd x && ar x ../lib.a");
  expect_noted("x/lib.o");
}

TEST_F(NoteTest, ChangedObjectsAreSeen) {
  note("lib.o");
  const Digest before = content("lib.o");
  for (const char* tool :
       {"objcopy --redefine-sym twice=thrice", "objcopy --localize-symbol=twice",
        "objcopy --weaken-symbol=twice", "objcopy --rename-section .text.twice=.text.other",
        "objcopy --set-section-alignment .data=64"}) {
    sh("cp lib.o copy.o && " + std::string(tool) + " copy.o");
    EXPECT_NE(content("copy.o"), before) << tool;
  }
}

TEST_F(NoteTest, LinkedFilesHaveTheNotesOfAllUnits) {
  note("lib.o");
  note("main.o", digest_of("main"));
  sh("clang-22 -fuse-ld=lld lib.o main.o -Wl,--gc-sections -o program && ./program");
  ASSERT_EQ(notes("program").size(), 2u);
  EXPECT_EQ(notes("program")[1].origin, digest_of("main"));
  const Digest before = content("program");
  for (const char* tool :
       {"strip --strip-all", "strip -g", "llvm-strip-22", "strip --remove-section=.comment"}) {
    sh("cp program copy && " + std::string(tool) + " copy && ./copy");
    EXPECT_EQ(notes("copy").size(), 2u) << tool;
    EXPECT_EQ(content("copy"), before) << tool;
  }
  sh("patchelf --set-rpath /opt/lib program && ./program");
  EXPECT_EQ(content("program"), before);
  sh("clang-22 -fuse-ld=lld -nostdlib -r lib.o main.o -o both.o");
  EXPECT_EQ(notes("both.o").size(), 2u);
}

TEST_F(NoteTest, RpathAndStripKeepTheContentOfALibrary) {
  const std::string link = "clang-22 -fuse-ld=lld -shared lib.o -Wl,-soname,libx.so.1 ";
  sh(link + "-o one.so -Wl,-rpath,/build/lib/dir && " + link + "-o two.so -s -Wl,-rpath,/other/lib/dir");
  EXPECT_EQ(content("one.so"), content("two.so"));
  const Digest before = content("one.so");
  sh("patchelf --set-rpath /a/much/longer/path/that/does/not/fit/where/the/old/one/was one.so");
  EXPECT_EQ(content("one.so"), before);
  sh("patchelf --remove-rpath two.so");
  EXPECT_EQ(content("two.so"), before);
  sh("cp two.so three.so && patchelf --set-soname libother.so three.so");
  EXPECT_NE(content("three.so"), before);
  sh("cp two.so four.so && patchelf --add-needed libm.so.6 four.so");
  EXPECT_NE(content("four.so"), before);
  sh("cp two.so five.so && printf payload >>five.so");
  EXPECT_NE(content("five.so"), before);
}

// A program with everything that has made tools treat segments differently.
constexpr const char* rich_source =
    "#include <stdio.h>\n"
    "_Thread_local int counter = 3; _Thread_local char buffer[77];\n"
    "static char large[100000]; const char *const names[] = {\"a\", \"b\"};\n"
    "static int one(void) { return 1; }\n"
    "static int (*choose(void))(void) { return one; }\n"
    "int chosen(void) __attribute__((ifunc(\"choose\")));\n"
    "__attribute__((constructor)) static void start(void) { large[5] = 1; }\n"
    "int f(int i) { return chosen() + counter++ + buffer[i] + large[i] + *names[i & 1]; }\n"
    "int main(void) { return printf(\"%d\\n\", f(1)) < 0; }\n";

TEST_F(NoteTest, StripAndRpathKeepTheContentOfEveryKindOfProgram) {
  write("rich.c", rich_source);
  const std::string rpath = " -Wl,-rpath,/build/lib -o ";
  sh("clang-22 -O1 -g -fPIC -c rich.c");
  for (const std::string link :
       {"-pie", "-no-pie", "-shared", "-pie -Wl,-z,now -Wl,-z,separate-loadable-segments",
        "-no-pie -Wl,-z,norelro", "-pie -Wl,-z,execstack", "-pie -Wl,--no-rosegment",
        "-shared -Wl,--pack-dyn-relocs=relr", "-pie -Wl,-z,stack-size=65536", "-static"}) {
    sh("clang-22 -fuse-ld=lld rich.o " + link + rpath + "program");
    const Digest before = content("program");
    for (const char* tool : {"strip", "strip -g", "llvm-strip-22", "llvm-strip-22 -g", "objcopy",
                             "strip --remove-section=.comment"}) {
      sh("cp program copy && " + std::string(tool) + " copy");
      EXPECT_EQ(content("copy"), before) << link << ": " << tool;
    }
    if (link == "-static")
      continue;
    for (const char* change :
         {"--set-rpath /x", "--remove-rpath", "--force-rpath --set-rpath /x",
          "--set-rpath /a/much/longer/path/that/does/not/fit/where/the/old/one/was/and/needs/a/segment"}) {
      sh("cp program copy && patchelf " + std::string(change) + " copy && strip copy");
      EXPECT_EQ(content("copy"), before) << link << ": patchelf " << change;
    }
  }
}

// Changes each part of a program outside its sections' bytes, one at a time.
class HeaderTest : public NoteTest {
protected:
  void SetUp() override {
    NoteTest::SetUp();
    write("rich.c", rich_source);
    sh("clang-22 -O1 -fPIC -c rich.c && clang-22 -fuse-ld=lld -pie rich.o -o program");
    program = read("program");
    const auto digest = content_digest(program);
    ASSERT_TRUE(digest);
    before = *digest;
    header = at<Elf64_Ehdr>(0);
  }

  template <typename T> T at(size_t offset) const {
    T value;
    std::memcpy(&value, program.data() + offset, sizeof(value));
    return value;
  }

  // True if a change of `size` bytes at `offset` is detected, or makes a file that nothing can load.
  bool seen(size_t offset, size_t size) const {
    std::string changed = program;
    changed[offset] = char(changed[offset] ^ 1);
    const auto low = content_digest(changed);
    changed = program;
    changed[offset + size - 1] = char(changed[offset + size - 1] ^ 0x40);
    const auto high = content_digest(changed);
    return (!low || *low != before) && (!high || *high != before);
  }

  // A segment may extend beyond its sections, because it ends at a page boundary in any case.
  bool shorter_is_seen(size_t offset) const {
    std::string changed = program;
    const uint64_t size = at<uint64_t>(offset) - 1;
    std::memcpy(changed.data() + offset, &size, sizeof(size));
    const auto digest = content_digest(changed);
    return !digest || *digest != before;
  }

  std::string program;
  Digest before;
  Elf64_Ehdr header;
};

TEST_F(HeaderTest, EveryFieldOfTheFileHeaderCounts) {
  for (size_t i = 0; i < EI_NIDENT; ++i)
    EXPECT_TRUE(seen(i, 1)) << "e_ident[" << i << "]";
#define FIELD(name) EXPECT_TRUE(seen(offsetof(Elf64_Ehdr, name), sizeof(header.name))) << #name
  FIELD(e_type);
  FIELD(e_machine);
  FIELD(e_version);
  FIELD(e_entry);
  FIELD(e_phoff);
  FIELD(e_shoff);
  FIELD(e_flags);
  FIELD(e_ehsize);
  FIELD(e_phentsize);
  FIELD(e_phnum);
  FIELD(e_shentsize);
  FIELD(e_shnum);
  FIELD(e_shstrndx);
#undef FIELD
  // GNU's tools write this for a file with an ifunc.
  program[EI_OSABI] = ELFOSABI_GNU;
  EXPECT_EQ(*content_digest(program), before);
}

TEST_F(HeaderTest, EveryFieldOfTheProgramHeadersCounts) {
  std::set<uint32_t> types;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const size_t start = header.e_phoff + i * sizeof(Elf64_Phdr);
    const auto segment = at<Elf64_Phdr>(start);
    types.insert(segment.p_type);
    // These describe the file to tools. patchelf sorts notes, and a process sees neither. GNU
    // objcopy loses the third.
    if (segment.p_type == PT_NOTE || segment.p_type == PT_PHDR || segment.p_type == PT_GNU_RELRO)
      continue;
    const std::string name =
        "segment " + std::to_string(i) + ", type " + std::to_string(segment.p_type) + ": ";
#define FIELD(name_)                                                                                         \
  EXPECT_TRUE(seen(start + offsetof(Elf64_Phdr, name_), sizeof(segment.name_))) << name << #name_
    FIELD(p_type);
    FIELD(p_flags);
    FIELD(p_offset);
    FIELD(p_vaddr);
    if (segment.p_type == PT_TLS)
      FIELD(p_align); // for others it is the page size, which older versions of strip rewrite
#undef FIELD
    // Nothing reads the sizes of these two: one ends with DT_NULL, the other with NUL.
    if (segment.p_type == PT_DYNAMIC || segment.p_type == PT_INTERP)
      continue;
    for (const size_t field : {offsetof(Elf64_Phdr, p_filesz), offsetof(Elf64_Phdr, p_memsz)})
      EXPECT_TRUE(segment.p_type == PT_GNU_STACK ? seen(start + field, 8) : shorter_is_seen(start + field))
          << name << "size at " << field;
  }
  for (const uint32_t type :
       {PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_TLS, PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_EH_FRAME})
    EXPECT_TRUE(types.contains(type)) << type;
}

TEST_F(HeaderTest, EveryEntryOfTheDynamicSectionCounts) {
  size_t entries = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_DYNAMIC)
      continue;
    for (size_t offset = segment.p_offset;; offset += sizeof(Elf64_Dyn), ++entries) {
      const auto entry = at<Elf64_Dyn>(offset);
      if (entry.d_tag == DT_NULL)
        break;
      EXPECT_TRUE(seen(offset, 8)) << "tag of entry " << entries << ", " << entry.d_tag;
      if (entry.d_tag != DT_STRSZ) // the string table is read through it
        EXPECT_TRUE(seen(offset + 8, 8)) << "value of entry " << entries << ", tag " << entry.d_tag;
    }
  }
  EXPECT_GT(entries, 15u);
}

TEST_F(HeaderTest, AnExecutableStackIsSeen) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const size_t start = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (at<Elf64_Phdr>(start).p_type != PT_GNU_STACK)
      continue;
    program[start + offsetof(Elf64_Phdr, p_flags)] |= PF_X; // like execstack -s
    EXPECT_NE(*content_digest(program), before);
  }
  // In an object, a section that is not loaded controls this; without it the stack is not executable.
  const Digest object = content("lib.o");
  sh("cp lib.o copy.o && objcopy --set-section-flags .note.GNU-stack=code,readonly copy.o");
  EXPECT_NE(content("copy.o"), object);
  sh("cp lib.o copy.o && objcopy -R .note.GNU-stack copy.o");
  EXPECT_EQ(content("copy.o"), object);
}

TEST_F(NoteTest, AFlippedByteOfCodeIsSeen) {
  sh("clang-22 -fuse-ld=lld -shared lib.o -o lib.so && objcopy -O binary -j .text lib.so text");
  std::string library = read("lib.so");
  const size_t at = library.find(read("text"));
  ASSERT_NE(at, std::string::npos);
  const auto before = content_digest(library);
  library[at + 5] ^= 1;
  const auto after = content_digest(library);
  ASSERT_TRUE(before && after);
  EXPECT_NE(*before, *after);
}

TEST_F(NoteTest, SealCompletesTheNoteOfALink) {
  write("note.o", note_object("x86_64", Note::Kind::link, origin));
  sh("clang-22 -fuse-ld=lld -shared lib.o note.o -o lib.so");
  std::string library = read("lib.so");
  ASSERT_TRUE(seal(library, Note::Kind::link));
  const auto found = read_notes(library);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].kind, Note::Kind::link);
  EXPECT_EQ((*found)[0].origin, origin);
  EXPECT_EQ((*found)[0].content, *content_digest(library));
  EXPECT_FALSE(seal(library, Note::Kind::link)) << "nothing is left to complete";
  EXPECT_FALSE(seal(library, Note::Kind::unit));
}

TEST_F(NoteTest, TheNoteObjectTakesNoFeaturesFromALink) {
  write("f.c", "int f(void) { return 1; }\n");
  write("note.o", note_object("x86_64", Note::Kind::link, origin));
  sh("clang-22 -fcf-protection=full -c f.c && ld.lld-22 -shared f.o note.o -o lib.so");
  EXPECT_NE(sh("readelf -n lib.so").find("x86 feature: IBT, SHSTK"), std::string::npos);
  write("arm.o", note_object("aarch64", Note::Kind::link, origin));
  EXPECT_NE(sh("llvm-readelf-22 -h arm.o").find("AArch64"), std::string::npos);
}

TEST_F(NoteTest, ObjectsWithVeryManySections) {
  std::string source;
  for (int i = 0; i < 66000; ++i)
    source += ".section .data.s" + std::to_string(i) + ",\"aw\",@progbits\n.byte 1\n";
  write("many.s", source + ".globl last\nlast:\n.quad last\n");
  sh("clang-22 -c many.s");
  note("many.o");
  expect_noted("many.o");
  sh("ld.lld-22 -shared many.o -o many.so");
  expect_noted("many.so");
}

TEST_F(NoteTest, HiddenNotesAreFound) {
  note("lib.o");
  const std::string object = read("lib.o");
  EXPECT_TRUE(find_note_bytes(object).empty());
  const std::string data = "some data" + object;
  EXPECT_EQ(find_note_bytes(data).size(), 1u);
  write("inner.s", ".data\n.incbin \"lib.o\"\n");
  sh("clang-22 -c inner.s");
  EXPECT_EQ(find_note_bytes(read("inner.o")).size(), 1u);
}

TEST_F(NoteTest, FinishIsReadFromTheFile) {
  sh("clang-22 -fuse-ld=lld -shared lib.o -o lib.so");
  EXPECT_EQ(read_finish(read("lib.so"))->strip, Finish::Strip::none);
  EXPECT_EQ(read_finish(read("lib.so"))->runpath, std::nullopt);
  sh("strip -g lib.so && patchelf --set-rpath '$ORIGIN/../lib' lib.so");
  EXPECT_EQ(read_finish(read("lib.so"))->strip, Finish::Strip::debug);
  EXPECT_EQ(read_finish(read("lib.so"))->runpath, "$ORIGIN/../lib");
  EXPECT_EQ(read_finish(read("lib.so"))->tag, Finish::Tag::runpath);
  sh("strip lib.so && patchelf --force-rpath --set-rpath /x lib.so");
  EXPECT_EQ(read_finish(read("lib.so"))->strip, Finish::Strip::all);
  EXPECT_EQ(read_finish(read("lib.so"))->runpath, "/x");
  EXPECT_EQ(read_finish(read("lib.so"))->tag, Finish::Tag::rpath);
}

// Runs every ELF reader on damaged files: no crash, and errors of the right kind.
void read_all(std::string elf) {
  const auto check = [](const auto& result) {
    if (!result) {
      EXPECT_NE(result.error().message, "");
    }
  };
  check(read_notes(elf));
  check(content_digest(elf));
  check(read_finish(elf));
  find_note_bytes(elf);
  check(seal(elf, Note::Kind::unit));
  check(add_note(elf, Note::Kind::unit, origin));
}

TEST_F(NoteTest, DamagedFilesAreErrors) {
  note("lib.o");
  sh("clang-22 -fuse-ld=lld -shared lib.o -o lib.so");
  for (const char* name : {"lib.o", "lib.so"}) {
    const std::string good = read(name);
    for (size_t size = 0; size < good.size(); size += 1 + good.size() / 100)
      read_all(good.substr(0, size));
    uint32_t state = 12345;
    for (int i = 0; i < 1500; ++i) {
      std::string bad = good;
      for (int flips = 0; flips < 4; ++flips) {
        state = state * 1664525 + 1013904223;
        // Half of the changes hit the headers, where they do most harm.
        uint64_t table = 0;
        std::memcpy(&table, good.data() + 40, sizeof(table));
        const size_t at =
            i % 2 ? state % bad.size() : (i % 4 ? table + state % (bad.size() - table) : state % 64);
        bad[at] = char(state >> 24);
      }
      read_all(bad);
    }
    EXPECT_EQ(read_notes(good.substr(0, 100)).error().kind, ErrorKind::integrity);
  }
  EXPECT_EQ(content_digest("no ELF").error().kind, ErrorKind::integrity);
}

} // namespace
} // namespace xaas::link
