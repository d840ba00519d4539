#include "ir/testing.h"

#include <xaas/ir/packed.h>

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Bitstream/BitCodes.h>
#include <llvm/Bitstream/BitstreamWriter.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/raw_ostream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace xaas::ir {

namespace {

using Operand = llvm::BitCodeAbbrevOp;
using Writer = llvm::BitstreamWriter;

constexpr unsigned some_block = 8;
constexpr uint64_t no_limit = uint64_t(1) << 30;

std::string bitcode_of(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = module_of(text, context);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream, true);
  return bitcode;
}

// A file with one block, of which `content` writes the items.
std::string stream_of(const std::function<void(Writer&)>& content, unsigned width = 4,
                      const std::function<void(Writer&)>& before = {}) {
  llvm::SmallVector<char, 0> bits;
  {
    Writer writer(bits);
    for (const unsigned char byte : {'B', 'C', '\xC0', '\xDE'})
      writer.Emit(byte, 8);
    if (before)
      before(writer);
    writer.EnterSubblock(some_block, width);
    content(writer);
    writer.ExitBlock();
  }
  return {bits.data(), bits.size()};
}

void expect_the_same(const std::string& bitcode) {
  const std::optional<std::string> packed = pack(bitcode);
  ASSERT_TRUE(packed);
  EXPECT_TRUE(is_packed(*packed));
  const Result<std::string> unpacked = unpack(*packed, bitcode.size());
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_TRUE(*unpacked == bitcode);
}

const char* const program_with_debug_information = R"(
@greeting = private constant [6 x i8] c"hello\00"
@numbers = global [3 x i64] [i64 -9223372036854775808, i64 -1, i64 4611686018427387904]
@bits = global i128 170141183460469231731687303715884105727
declare i32 @puts(ptr)
define i32 @sum(ptr %p, i32 %n) !dbg !5 {
entry:
  %none = icmp eq i32 %n, 0, !dbg !8
  br i1 %none, label %done, label %loop, !dbg !8
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %at, align 4, !dbg !8
  %t = add nsw i32 %s, %v
  %next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  %r = phi i32 [ 0, %entry ], [ %t, %loop ]
  %ignored = call i32 @puts(ptr @greeting)
  ret i32 %r
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "p", emissionKind: FullDebug)
!1 = !DIFile(filename: "a file.c", directory: "/src")
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "sum", file: !1, line: 3, type: !6, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !7)
!7 = !{null}
!8 = !DILocation(line: 4, column: 2, scope: !5)
)";

TEST(Packed, ModulesOfLlvm) {
  expect_the_same(bitcode_of(""));
  expect_the_same(bitcode_of(program_with_debug_information));
}

TEST(Packed, CompressesBetter) {
  std::string text = "declare void @g(i32, ptr)\n";
  for (int i = 0; i < 100; ++i)
    text += "define void @f" + std::to_string(i) + "(ptr %p, i32 %a) {\n  %b = add i32 %a, " +
            std::to_string(i * 7) +
            "\n  store i32 %b, ptr %p\n  call void @g(i32 %b, ptr %p)\n  ret void\n}\n";
  const std::string bitcode = bitcode_of(text);
  const auto compressed = [](const std::string& bytes) {
    llvm::SmallVector<uint8_t, 0> out;
    llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(bytes), out, 10);
    return out.size();
  };
  ASSERT_TRUE(llvm::compression::zstd::isAvailable());
  EXPECT_LT(compressed(pack(bitcode).value()) * 4, compressed(bitcode) * 3);
}

TEST(Packed, TheSameBytesGiveTheSame) {
  const std::string bitcode = bitcode_of(program_with_debug_information);
  EXPECT_EQ(pack(bitcode), pack(bitcode));
}

// Fields of every encoding and width, alone and in arrays, with the smallest and the largest value.
TEST(Packed, EveryEncoding) {
  const auto record_of = [](std::initializer_list<Operand> fields, const std::function<void(Writer&)>& emit) {
    expect_the_same(stream_of([&](Writer& writer) {
      auto abbreviation = std::make_shared<llvm::BitCodeAbbrev>();
      for (const Operand& field : fields)
        abbreviation->Add(field);
      ASSERT_EQ(writer.EmitAbbrev(std::move(abbreviation)), 4U);
      emit(writer);
    }));
  };
  const auto values = [&](std::initializer_list<Operand> fields, std::vector<uint64_t> record) {
    record_of(fields, [&](Writer& writer) { writer.EmitRecord(7, record, 4); });
  };
  unsigned seen = 0;
  for (unsigned encoding = 1; Operand::isValidEncoding(encoding); ++encoding, ++seen) {
    const auto kind = static_cast<Operand::Encoding>(encoding);
    if (!Operand::hasEncodingData(kind))
      continue;
    for (const unsigned width : {1, 2, 3, 7, 8, 31, 32}) {
      if (kind == Operand::VBR && width == 1)
        continue; // LLVM's writer would not end
      const uint64_t largest = kind == Operand::VBR ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
      values({Operand(7), Operand(kind, width), Operand(kind, width)}, {0, largest});
      values({Operand(7), Operand(Operand::Array), Operand(kind, width)}, {largest, 0, largest});
    }
  }
  EXPECT_EQ(seen, 5U); // the others:
  values({Operand(7), Operand(99), Operand(Operand::VBR, 6)}, {99, 1});
  values({Operand(7), Operand(Operand::Array), Operand(Operand::Char6)}, {'a', 'Z', '_', '.', '0'});
  values({Operand(7), Operand(Operand::Char6)}, {'x'});
  values({Operand(Operand::Fixed, 3), Operand(Operand::VBR, 6)}, {1}); // the code is a field, too
  values({Operand(7), Operand(Operand::Array), Operand(Operand::VBR, 6)}, {});
  for (const char* blob : {"", "1", "12", "123", "1234", "12345", "\x80\xff"})
    record_of({Operand(7), Operand(Operand::Fixed, 5), Operand(Operand::Blob)}, [&](Writer& writer) {
      writer.EmitRecordWithBlob(4, std::vector<uint64_t>{7, 21}, blob);
      writer.EmitRecordWithBlob(4, std::vector<uint64_t>{7, 3}, blob);
    });
}

TEST(Packed, EveryItem) {
  expect_the_same("BC\xC0\xDE");
  expect_the_same(stream_of([](Writer&) {}));
  for (const unsigned width : {2, 3, 8, 31, 32})
    expect_the_same(stream_of(
        [&](Writer& writer) {
          writer.EmitRecord(1, std::vector<uint64_t>{});
          writer.EmitRecord(1000, std::vector<uint64_t>{0, 63, 64, ~uint64_t(0), uint64_t(1) << 63});
          writer.EnterSubblock(9, width == 2 ? 5 : width - 1);
          writer.EmitRecord(1, std::vector<uint64_t>(40, 5));
          writer.ExitBlock();
        },
        width));
  // An abbreviation for all blocks with an id, and one of a block.
  const auto one_field = [](unsigned width) {
    auto abbreviation = std::make_shared<llvm::BitCodeAbbrev>();
    abbreviation->Add(Operand(5));
    abbreviation->Add(Operand(Operand::Fixed, width));
    return abbreviation;
  };
  expect_the_same(stream_of(
      [&](Writer& writer) {
        EXPECT_EQ(writer.EmitAbbrev(one_field(9)), 5U);
        writer.EmitRecord(5, std::vector<uint64_t>{3}, 4);
        writer.EmitRecord(5, std::vector<uint64_t>{300}, 5);
      },
      4,
      [&](Writer& writer) {
        writer.EnterBlockInfoBlock();
        writer.EmitBlockInfoAbbrev(some_block, one_field(2));
        writer.ExitBlock();
      }));
}

// Files that are no bitcode, or not as LLVM writes it.
TEST(Packed, OtherFilesStay) {
  EXPECT_FALSE(pack(""));
  EXPECT_FALSE(pack("\x7f"
                    "ELF"));
  EXPECT_FALSE(pack("\xde\xc0\x17\x0b" + std::string(16, '\0'))); // a wrapper
  const std::string bitcode = bitcode_of(program_with_debug_information);
  EXPECT_FALSE(pack(bitcode.substr(0, bitcode.size() / 2)));
  EXPECT_FALSE(pack(bitcode + "x"));
  // A number in more bits than it needs, and padding with bits.
  EXPECT_FALSE(pack(stream_of([](Writer& writer) {
    writer.Emit(llvm::bitc::UNABBREV_RECORD, 4);
    writer.Emit(32 | 1, 6);
    writer.Emit(0, 6);
    writer.EmitVBR(0, 6);
  })));
  std::string padded = stream_of([](Writer&) {});
  padded.back() = '\x40';
  EXPECT_FALSE(pack(padded));
  // Abbreviations that have no meaning.
  const auto described = [](std::initializer_list<std::pair<unsigned, unsigned>> fields) { // value, width
    return stream_of([&](Writer& writer) {
      writer.Emit(llvm::bitc::DEFINE_ABBREV, 4);
      for (const auto& [value, width] : fields)
        writer.Emit(value, width); // smaller than where a second chunk begins
      writer.Emit(4, 4);
      writer.EmitVBR(0, 6);
    });
  };
  EXPECT_FALSE(pack(described({{0, 5}})));                                              // without fields
  EXPECT_FALSE(pack(described({{1, 5}, {0, 1}, {6, 3}})));                              // an unknown encoding
  EXPECT_FALSE(pack(described({{1, 5}, {0, 1}, {Operand::Array, 3}})));                 // no code
  EXPECT_FALSE(pack(described({{2, 5}, {1, 1}, {7, 8}, {0, 1}, {Operand::Array, 3}}))); // of nothing
}

TEST(Packed, DamagedFilesAreErrors) {
  const std::string packed = pack(bitcode_of(program_with_debug_information)).value();
  for (const std::string& damaged :
       {std::string(), std::string("XBC1"), std::string("XBC2") + packed.substr(4), packed + "x",
        std::string("XBC1\xff\xff\xff\xff\x0f"), std::string("XBC1\x01\xff\xff\xff\xff\x0f")}) {
    const Result<std::string> unpacked = unpack(damaged, no_limit);
    ASSERT_FALSE(unpacked);
    EXPECT_EQ(unpacked.error().kind, ErrorKind::integrity);
  }
  for (size_t size = 0; size < packed.size(); ++size)
    EXPECT_FALSE(unpack(packed.substr(0, size), no_limit)) << size;
  // Other values in the columns give other bits, or none.
  const std::string bitcode = *unpack(packed, no_limit);
  for (size_t at = 4; at < packed.size(); ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    const Result<std::string> unpacked = unpack(damaged, no_limit);
    EXPECT_FALSE(unpacked && *unpacked == bitcode) << at;
  }
}

TEST(Packed, UnpackedFilesHaveALimit) {
  const std::string bitcode = bitcode_of(program_with_debug_information), packed = pack(bitcode).value();
  EXPECT_TRUE(unpack(packed, bitcode.size()));
  for (const size_t limit : {bitcode.size() / 2, bitcode.size() / 10, size_t(1)})
    EXPECT_FALSE(unpack(packed, limit)) << limit;
}

// Blocks within blocks without end, records of a hundred thousand kinds, and abbreviations with a hundred
// thousand literals, of which a record takes none of the input.
TEST(Packed, DeepAndWideFiles) {
  expect_the_same(stream_of([](Writer& writer) {
    auto abbreviation = std::make_shared<llvm::BitCodeAbbrev>();
    for (uint64_t i = 0; i < 100; ++i)
      abbreviation->Add(Operand(i));
    writer.EmitAbbrev(std::move(abbreviation));
    writer.EmitCode(4);
  }));
  EXPECT_FALSE(pack(stream_of([](Writer& writer) {
    auto abbreviation = std::make_shared<llvm::BitCodeAbbrev>();
    for (int i = 0; i < 100'000; ++i)
      abbreviation->Add(Operand(7));
    writer.EmitAbbrev(std::move(abbreviation));
    for (int i = 0; i < 100'000; ++i)
      writer.EmitCode(4);
  })));
  EXPECT_FALSE(pack(stream_of([](Writer& writer) {
    for (int i = 0; i < 100; ++i)
      writer.EnterSubblock(9, 4);
    for (int i = 0; i < 100; ++i)
      writer.ExitBlock();
  })));
  expect_the_same(stream_of([](Writer& writer) {
    for (int i = 0; i < 30; ++i)
      writer.EnterSubblock(9, 4);
    for (int i = 0; i < 30; ++i)
      writer.ExitBlock();
  }));
  EXPECT_FALSE(pack(stream_of([](Writer& writer) {
    for (unsigned code = 0; code < 100'000; ++code)
      writer.EmitRecord(code, std::vector<uint64_t>{1});
  })));
}

} // namespace

} // namespace xaas::ir
