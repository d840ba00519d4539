#include "device/testing.h"

#include <xaas/base/process.h>
#include <xaas/device/fat_binary.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::device {
namespace {

using testing::HasSubstr;

using Kind = DeviceImage::Kind;
using Compression = StoredImage::Compression;

std::string from_hex(const std::string& text) {
  std::string bytes;
  std::string digits;
  for (const char c : text)
    if (std::isxdigit(static_cast<unsigned char>(c)))
      digits += c;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

void put(std::string& bytes, size_t offset, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

// An assembler's ELF file without any code. `compatibility`: its section .nv.compat, if not empty.
std::string small_cubin(unsigned number, const std::string& compatibility = {}) {
  constexpr size_t header = 64, section = 64;
  std::string elf(header, '\0');
  elf.replace(0, 4,
              "\x7f"
              "ELF");
  elf[4] = 2; // 64 bit
  elf[5] = 1; // little-endian
  elf[6] = 1;
  elf[7] = 0x41;
  elf[8] = 8; // ABI version
  put(elf, 16, 2, 2);
  put(elf, 18, 190, 2);
  put(elf, 20, 1, 4);
  put(elf, 48, 0x06000002 | number << 8, 4);
  put(elf, 52, header, 2);
  put(elf, 58, section, 2);
  if (compatibility.empty())
    return elf;
  const std::string names = std::string("\0.shstrtab\0.nv.compat\0", 22);
  const size_t names_at = elf.size(), compatibility_at = names_at + names.size();
  elf += names + compatibility;
  elf.resize((elf.size() + 7) / 8 * 8);
  put(elf, 40, elf.size(), 8);
  put(elf, 60, 3, 2);
  put(elf, 62, 1, 2);
  std::string table(3 * section, '\0');
  put(table, section, 1, 4);
  put(table, section + 4, 3, 4);
  put(table, section + 24, names_at, 8);
  put(table, section + 32, names.size(), 8);
  put(table, 2 * section, 11, 4);
  put(table, 2 * section + 4, 0x70000086, 4);
  put(table, 2 * section + 24, compatibility_at, 8);
  put(table, 2 * section + 32, compatibility.size(), 8);
  return elf + table;
}

std::string written(const std::vector<DeviceImage>& images) {
  Result<std::string> bytes = fat_binary(images);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *bytes : std::string();
}

// The output of `fatbinary --create=f.fatbin --compress=false --image3=kind=ptx,sm=90a,file=f.ptx` of CUDA
// 13.0.
const std::string ptx_text = ".version 7.8\n.target sm_90a\n.address_size 64\n";
const std::string ptx_file = from_hex("50ed55ba 0100 1000 8000000000000000"
                                      "0100 0101 50000000 3000000000000000"
                                      "00000000 40000000 0800 0700 5a000000"
                                      "00000000 00000000 1100100000000000"
                                      "0000000000000000 0000000000000000"
                                      "48000000 00000000 0000000000000000"
                                      "2e76657273696f6e20372e380a2e7461"
                                      "7267657420736d5f3930610a2e616464"
                                      "726573735f73697a652036340a000000");

// The same for images that begin so, compressed by Zstandard, and by LZ4 with a name.
const std::string compressed_file = from_hex("50ed55ba 0100 1000 a800000000000000"
                                             "0200 0101 40000000 1000000000000000"
                                             "0d000000 00000000 0800 0100 5a000000"
                                             "00000000 00000000 1180000000000000"
                                             "0000000000000000 700d000000000000"
                                             "28b52ffd60700c555c1c004600000000"
                                             "0100 0101 48000000 1000000000000000"
                                             "10000000 00000000 0800 0700 64000000"
                                             "40000000 06000000 1120200000000000"
                                             "0000000000000000 be00000000000000"
                                             "666f6f2e63750000"
                                             "f3522e76657273696f6e20372e380a2e");

TEST(FatBinary, OfPtxIsWhatCudaWrites) {
  EXPECT_EQ(written({{Kind::ptx, "sm_90a", ptx_text}}), ptx_file);
  EXPECT_EQ(written({}), from_hex("50ed55ba 0100 1000 0000000000000000"));
}

TEST(FatBinary, OfACubinIsWhatCudaWrites) {
  const std::string cubin = small_cubin(90);
  EXPECT_EQ(written({{Kind::cubin, "sm_90", cubin}}), from_hex("50ed55ba 0100 1000 8000000000000000"
                                                               "0200 0101 40000000 4000000000000000"
                                                               "00000000 00000000 0800 0100 5a000000"
                                                               "00000000 00000000 1100000000000000"
                                                               "0000000000000000 0000000000000000") +
                                                          cubin);
}

TEST(FatBinary, TellsFromSm100OnWhatACubinIsCompatibleWith) {
  const std::string compatibility = from_hex("02090000 02020100 09");
  const std::string cubin = small_cubin(100, compatibility);
  const std::string file = written({{Kind::cubin, "sm_100f", cubin}});
  EXPECT_EQ(file.substr(16, 96), from_hex("0200 0101 58000000 2001000000000000"
                                          "00000000 40000000 0800 0100 64000000"
                                          "00000000 00000000 1100200100000000"
                                          "0000000000000000 0000000000000000"
                                          "48000000 09000000 00020900 00020201"
                                          "0009000000000000") +
                                     cubin.substr(0, 8));
  // Without that section, only the flag remains.
  EXPECT_EQ(written({{Kind::cubin, "sm_100", small_cubin(100)}}).substr(16, 64),
            from_hex("0200 0101 40000000 4000000000000000"
                     "00000000 00000000 0800 0100 64000000"
                     "00000000 00000000 1100000100000000"
                     "0000000000000000 0000000000000000"));
}

TEST(FatBinary, IsReadAsItWasWritten) {
  const std::string cubin = small_cubin(100, "abc"),
                    comment = "// made by hand\n/* .version 1.0 */\n" + ptx_text;
  const std::vector<DeviceImage> images = {{Kind::cubin, "sm_100a", cubin},
                                           {Kind::ptx, "sm_90a", comment},
                                           {Kind::ptx, "sm_75", ".version 6.3\nabc"},
                                           {Kind::cubin, "sm_80", small_cubin(80)}};
  const std::string file = written(images);
  const Result<std::vector<StoredImage>> read = parse_fat_binary(file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const StoredImage& image = (*read)[i];
    EXPECT_EQ(image.kind, images[i].kind == Kind::ptx ? StoredImage::Kind::ptx : StoredImage::Kind::cubin);
    EXPECT_EQ(image.arch, images[i].arch);
    EXPECT_EQ(image.compression, Compression::none);
    EXPECT_EQ(image.bytes, images[i].bytes);
    EXPECT_EQ(image.size, images[i].bytes.size());
  }
  EXPECT_EQ(file.size() % 8, 0u);
}

TEST(FatBinary, HasNoImagesThatItCannotName) {
  const auto kind_of = [](const DeviceImage& image) {
    const Result<std::string> file = fat_binary({image});
    return file ? ErrorKind::failed : file.error().kind;
  };
  EXPECT_EQ(kind_of({Kind::ptx, "gfx90a", ptx_text}), ErrorKind::usage);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_133", ptx_text}), ErrorKind::usage);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", "// .version 7.8\n"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", "/* .version 7.8\n"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ".version\n7.8"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ".version 7"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ".version 7.x"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ".version 7.12345"}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ""}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::ptx, "sm_90", ptx_text + '\0' + ptx_text}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::cubin, "sm_90", ptx_text}), ErrorKind::integrity);
  EXPECT_EQ(kind_of({Kind::cubin, "sm_90", small_cubin(90).substr(0, 40)}), ErrorKind::integrity);
  std::string of_host = small_cubin(90);
  put(of_host, 18, 62, 2);
  EXPECT_EQ(kind_of({Kind::cubin, "sm_90", of_host}), ErrorKind::integrity);
  std::string outside = small_cubin(100, "abc");
  put(outside, outside.size() - 64 + 32, 1 << 20, 8);
  EXPECT_EQ(kind_of({Kind::cubin, "sm_100", outside}), ErrorKind::integrity);
  const Result<std::string> other = fat_binary({{Kind::cubin, "sm_80", small_cubin(90)}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::integrity);
  EXPECT_THAT(other.error().message, HasSubstr("cubin for sm_80: it is for sm_90"));
}

TEST(FatBinary, ThatIsCompressedTellsItsSizes) {
  const Result<std::vector<StoredImage>> read = parse_fat_binary(compressed_file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  const StoredImage &cubin = (*read)[0], &ptx = (*read)[1];
  EXPECT_EQ(cubin.kind, StoredImage::Kind::cubin);
  EXPECT_EQ(cubin.arch, "sm_90");
  EXPECT_EQ(cubin.compression, Compression::zstd);
  EXPECT_EQ(cubin.bytes.size(), 13u);
  EXPECT_EQ(cubin.size, 3440u);
  EXPECT_EQ(ptx.kind, StoredImage::Kind::ptx);
  EXPECT_EQ(ptx.arch, "sm_100f");
  EXPECT_EQ(ptx.compression, Compression::lz4);
  EXPECT_EQ(ptx.bytes.size(), 16u);
  EXPECT_EQ(ptx.size, 190u);
}

TEST(FatBinary, OfSeveralProgramsPartsIsReadWhole) {
  const Result<std::vector<StoredImage>> read = parse_fat_binary(ptx_file + compressed_file + ptx_file);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size(), 4u);
}

TEST(FatBinary, ThatIsDamagedIsRefused) {
  const std::string good = ptx_file;
  const auto is_damaged = [](const std::string& bytes) {
    const Result<std::vector<StoredImage>> read = parse_fat_binary(bytes);
    return !read && read.error().kind == ErrorKind::integrity;
  };
  const auto with = [&](size_t offset, uint64_t value, unsigned size, std::string bytes) {
    put(bytes, offset, value, size);
    return bytes;
  };
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(is_damaged(good.substr(0, size))) << size;
  EXPECT_TRUE(is_damaged(with(0, 0x466243b1, 4, good)));          // magic
  EXPECT_TRUE(is_damaged(with(4, 2, 2, good)));                   // version
  EXPECT_TRUE(is_damaged(with(6, 8, 2, good)));                   // the file's header
  EXPECT_TRUE(is_damaged(with(6, 0xffff, 2, good)));              //
  EXPECT_TRUE(is_damaged(with(8, ~uint64_t(0), 8, good)));        // its size
  EXPECT_TRUE(is_damaged(with(8, 64, 8, good)));                  //
  EXPECT_TRUE(is_damaged(with(16 + 4, 0, 4, good)));              // an image's header
  EXPECT_TRUE(is_damaged(with(16 + 4, 0xffffffff, 4, good)));     //
  EXPECT_TRUE(is_damaged(with(16 + 8, ~uint64_t(0), 8, good)));   // its payload
  EXPECT_TRUE(is_damaged(with(16 + 8, 49, 8, good)));             //
  EXPECT_TRUE(is_damaged(with(16 + 28, 0, 4, good)));             // its architecture
  EXPECT_TRUE(is_damaged(with(16 + 28, 0xffffffff, 4, good)));    //
  EXPECT_TRUE(is_damaged(with(16 + 40, 0x300011, 8, good)));      // specific and a family's
  EXPECT_TRUE(is_damaged(with(16 + 16, 17, 4, compressed_file))); // the compressed size
  EXPECT_TRUE(is_damaged(with(16 + 56, uint64_t(1) << 41, 8, compressed_file)));
  EXPECT_TRUE(is_damaged(good + "x"));
  EXPECT_TRUE(is_damaged(good + std::string(8, '\0')));
}

// --- with a CUDA toolkit

class Toolkit : public testing::Test {
protected:
  void SetUp() override {
    const std::optional<Assembler> assembler = machines_assembler();
    fatbinary_ = assembler ? assembler->program.parent_path() / "fatbinary" : fs::path();
    if (!assembler || !find_program(fatbinary_.string()))
      GTEST_SKIP() << "NO CUDA TOOLKIT on this machine: fat binaries are not compared with fatbinary's";
    assembler_ = *assembler;
  }

  // For each of `archs` that this assembler knows: machine code and PTX.
  std::vector<DeviceImage> images(const std::vector<std::string>& archs) {
    std::vector<DeviceImage> all;
    for (const std::string& arch : archs) {
      const std::string version = to_string(*first_ptx(*target::parse_gpu_arch(arch)));
      const std::string ptx = kernel(arch, version);
      const Result<std::string> cubin = assemble(assembler_, ptx, arch);
      if (!cubin && cubin.error().kind == ErrorKind::unsatisfied)
        continue;
      EXPECT_TRUE(cubin) << cubin.error().message;
      if (cubin)
        all.push_back({Kind::cubin, arch, *cubin});
      all.push_back({Kind::ptx, arch, ptx});
    }
    return all;
  }

  // The fat binary that fatbinary makes of the images.
  std::string theirs(const std::vector<DeviceImage>& images, const std::vector<std::string>& options) {
    const Result<TemporaryDirectory> directory = TemporaryDirectory::create();
    Command command{.arguments = {fatbinary_.string(), "--create=out"}, .directory = directory->path()};
    command.arguments.insert(command.arguments.end(), options.begin(), options.end());
    for (size_t i = 0; i < images.size(); ++i) {
      const std::string name = std::to_string(i);
      EXPECT_TRUE(write_file(directory->path() / name, images[i].bytes));
      command.arguments.push_back(std::string("--image3=kind=") +
                                  (images[i].kind == Kind::ptx ? "ptx" : "elf") +
                                  ",sm=" + images[i].arch.substr(3) + ",file=" + name);
    }
    const Result<ProcessResult> result = run_process(command);
    EXPECT_TRUE(result && result->exit_code == 0) << (result ? result->output : result.error().message);
    return *read_file(directory->path() / "out");
  }

  const std::vector<std::string> archs_ = {"sm_75",  "sm_80",  "sm_86",   "sm_89",   "sm_90",
                                           "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103",
                                           "sm_110", "sm_120", "sm_120f", "sm_121a"};
  fs::path fatbinary_;
  Assembler assembler_;
};

TEST_F(Toolkit, WritesTheSameBytes) {
  const std::vector<DeviceImage> all = images(archs_);
  ASSERT_GE(all.size(), 4u);
  for (const DeviceImage& image : all)
    EXPECT_TRUE(written({image}) == theirs({image}, {"--compress=false"}))
        << image.arch << (image.kind == Kind::ptx ? " PTX" : " cubin");
  EXPECT_TRUE(written(all) == theirs(all, {"--compress=false"}));
  // Payloads of every length.
  for (int zeros = 1; zeros <= 8; ++zeros) {
    const DeviceImage image{Kind::ptx, "sm_90", kernel("sm_90", "7.8", "1" + std::string(zeros, '0'))};
    EXPECT_TRUE(written({image}) == theirs({image}, {"--compress=false"})) << zeros;
  }
}

TEST_F(Toolkit, IsReadCompressedAndNot) {
  const std::vector<DeviceImage> all = images(archs_);
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--compress=false"},
                                             {"--compress-all"},
                                             {"--compress-all", "--compress-mode=speed"},
                                             {"--compress-all", "--compress-mode=size"},
                                             {"--compress-all", "-ident=a.cu", "-cmdline=-O3 "}}) {
    const std::string file = theirs(all, options);
    const Result<std::vector<StoredImage>> read = parse_fat_binary(file);
    ASSERT_TRUE(read) << options.back() << ": " << read.error().message;
    ASSERT_EQ(read->size(), all.size()) << options.back();
    uint64_t stored = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const StoredImage& image = (*read)[i];
      EXPECT_EQ(image.arch, all[i].arch);
      EXPECT_EQ(image.kind, all[i].kind == Kind::ptx ? StoredImage::Kind::ptx : StoredImage::Kind::cubin);
      const bool compressed = image.compression != Compression::none;
      EXPECT_EQ(image.size, all[i].bytes.size() + (compressed && all[i].kind == Kind::ptx));
      if (options.back() == "--compress-mode=speed") {
        EXPECT_EQ(image.compression, Compression::lz4);
      } else if (options.size() > 1 || options[0] == "--compress-all") {
        EXPECT_EQ(image.compression, Compression::zstd);
      } else {
        EXPECT_TRUE(image.bytes == all[i].bytes) << image.arch;
      }
      stored += image.bytes.size();
    }
    EXPECT_LT(stored, file.size());
  }
}

} // namespace
} // namespace xaas::device
