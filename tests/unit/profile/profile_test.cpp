// Profiles of training runs. The run-time part that writes raw ones is tested end to end
// (tests/e2e/cases/profile.sh).
#include "base/directory_testing.h"

#include <xaas/profile/profile.h>

#include <llvm/ProfileData/InstrProfWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include <gmock/gmock.h>

#include <random>
#include <set>

namespace xaas::profile {
namespace {

using testing::HasSubstr;

class ProfileTest : public DirectoryTest {
protected:
  using Records = std::vector<llvm::NamedInstrProfRecord>;
  static std::string indexed(const Records& records,
                             llvm::InstrProfKind kind = llvm::InstrProfKind::IRInstrumentation) {
    llvm::InstrProfWriter writer;
    EXPECT_FALSE(llvm::errorToBool(writer.mergeProfileKind(kind)));
    for (const llvm::NamedInstrProfRecord& record : records)
      writer.addRecord(llvm::NamedInstrProfRecord(record),
                       [](llvm::Error error) { ADD_FAILURE() << llvm::toString(std::move(error)); });
    return writer.writeBuffer()->getBuffer().str();
  }
  // A record with one place of each kind of values: targets of a call, lengths of a copy.
  static llvm::NamedInstrProfRecord with_values(const std::string& name, uint64_t hash,
                                                const std::vector<InstrProfValueData>& values) {
    static std::set<std::string> names; // which records refer to
    llvm::NamedInstrProfRecord record(*names.insert(name).first, hash, {1, 2});
    for (const uint32_t kind : {llvm::IPVK_IndirectCallTarget, llvm::IPVK_MemOPSize}) {
      record.reserveSites(kind, 1);
      record.addValueData(kind, 0, values, nullptr);
    }
    return record;
  }
  Profile read(const std::vector<fs::path>& paths) {
    Result<Profile> profile = read_profile(paths);
    EXPECT_TRUE(profile) << profile.error().message;
    return profile ? *std::move(profile) : Profile();
  }
  Error error_of(const std::vector<fs::path>& paths) {
    const Result<Profile> profile = read_profile(paths);
    EXPECT_FALSE(profile);
    return profile ? Error{} : profile.error();
  }
};

TEST_F(ProfileTest, CountsAreAddedUp) {
  write("a", indexed({{"main", 1, {1, 100}}, {"f", 2, {0, 0}}}));
  write("b", indexed({{"main", 1, {2, 50}}, {"g", 3, {7}}}));
  const Profile profile = read({path("a"), path("b")});
  EXPECT_EQ(profile.functions, 3u);
  EXPECT_EQ(profile.ran, 2u);
  EXPECT_EQ(profile.most, 150u);
  EXPECT_EQ(profile.digest, digest_of(*profile.bytes));
  const auto functions = functions_of(profile);
  ASSERT_TRUE(functions) << functions.error().message;
  ASSERT_EQ(functions->size(), 2u);
  EXPECT_EQ(functions->front().name, "main");
  EXPECT_EQ(functions->front().most, 150u);
  EXPECT_EQ(functions->back().name, "g");
}

// Which rank finished first, and what its host is called, must not change what is deployed.
TEST_F(ProfileTest, OrderAndNamesDoNotMatter) {
  Records first, second;
  for (uint64_t i = 0; i < 300; ++i) {
    (i % 3 == 0 ? first : second).push_back({"function" + std::to_string(i * 7919 % 300), i, {i, i * i}});
    if (i % 5 == 0)
      second.push_back({"function" + std::to_string(i * 7919 % 300), i, {1, 2}});
  }
  first.push_back(with_values("calls", 7, {{5, 10}, {3, 10}, {9, 1}}));
  second.push_back(with_values("calls", 7, {{9, 9}, {4, 10}}));
  write("x/1", indexed(first));
  write("x/2", indexed(second));
  std::reverse(second.begin(), second.end());
  write("y/a", indexed(second));
  write("y/b", indexed(first));
  const Profile profile = read({path("x")});
  EXPECT_EQ(read({path("y")}).digest, profile.digest);
  EXPECT_EQ(read({path("x/2"), path("x/1")}).digest, profile.digest);
  // A merged profile stands for its parts.
  write("merged", *profile.bytes);
  EXPECT_EQ(read({path("merged")}).digest, profile.digest);
  EXPECT_NE(read({path("merged"), path("merged")}).digest, profile.digest); // two runs
  // The same values in another order of the file.
  write("one", indexed({with_values("calls", 7, {{5, 10}, {3, 10}, {9, 1}})}));
  write("two", indexed({with_values("calls", 7, {{9, 1}, {3, 10}, {5, 10}})}));
  EXPECT_EQ(read({path("one")}).digest, read({path("two")}).digest);
  write("other", indexed({with_values("calls", 7, {{9, 2}, {3, 10}, {5, 10}})}));
  EXPECT_NE(read({path("one")}).digest, read({path("other")}).digest);
}

TEST_F(ProfileTest, CountsDoNotOverflow) {
  write("a", indexed({{"main", 1, {~uint64_t(0) - 10}}}));
  EXPECT_GE(read({path("a"), path("a")}).most, ~uint64_t(0) - 10);
}

TEST_F(ProfileTest, WhatIsNoProfileIsNamed) {
  EXPECT_EQ(error_of({path("none")}).kind, ErrorKind::not_found);
  ASSERT_TRUE(make_directories(path("empty")));
  EXPECT_EQ(error_of({path("empty")}).kind, ErrorKind::not_found);
  write("text", "main\n1\n1\n1\n");
  write("nothing", "");
  write("odd", indexed({{"main", 1, {1}}}));
  write("clangs", indexed({{"main", 1, {1}}}, llvm::InstrProfKind::FrontendInstrumentation));
  for (const char* file : {"text", "nothing", "clangs"}) {
    const Error error = error_of({path("odd"), path(file)});
    EXPECT_EQ(error.kind, ErrorKind::integrity) << file;
    EXPECT_THAT(error.message, HasSubstr(path(file).string()));
  }
  write("other", indexed({{"main", 1, {1, 2}}})); // the same hash for another function
  EXPECT_THAT(error_of({path("odd"), path("other")}).message, HasSubstr("another number of counts for main"));
}

// One that claims many counts leaves no memory for them. Its name is known although others are read with it.
TEST_F(ProfileTest, CountsThatCannotBeThereAreNamed) {
  write("odd", indexed({{"main", 1, {1}}}));
  write("large", ":ir\nmain\n1\n" + std::to_string(uint64_t(1) << 60) + "\n1\n");
  for (const std::vector<fs::path>& files :
       {std::vector{path("large")}, std::vector{path("odd"), path("large")}}) {
    const Error error = error_of(files);
    EXPECT_EQ(error.kind, ErrorKind::integrity) << error.message;
    EXPECT_THAT(error.message, HasSubstr(path("large").string()));
  }
}

// Anybody may have written the files. Whatever is in them, this process goes on.
TEST_F(ProfileTest, DamagedFilesAreErrors) {
  Records records;
  for (uint64_t i = 0; i < 40; ++i)
    records.push_back({"function" + std::to_string(i), i, {i, i + 1, i + 2}});
  std::mt19937 random(7);
  unsigned refused = 0;
  for (const std::string& seed :
       {indexed(records), indexed({with_values("main", 1, {{5, 10}, {3, 4}})}), indexed({})}) {
    for (int copy = 0; copy < 200; ++copy) {
      std::string content = seed;
      const auto place = [&] { return random() % content.size(); };
      switch (copy % 4) {
      case 0:
        content.resize(place());
        break;
      case 1:
        content[place()] ^= static_cast<char>(1u << random() % 8);
        break;
      case 2:
        content.replace(place() & ~size_t(7), 8, 8, '\xff');
        break;
      default:
        content.insert(place(), content.substr(place()));
      }
      write("damaged", content);
      const Result<Profile> profile = read_profile({path("damaged")});
      if (profile)
        continue; // counts are numbers like any other
      ++refused;
      EXPECT_EQ(profile.error().kind, ErrorKind::integrity) << profile.error().message;
      EXPECT_THAT(profile.error().message, HasSubstr(path("damaged").string()));
      EXPECT_THAT(profile.error().message, testing::Not(HasSubstr("probably a fault")));
    }
  }
  EXPECT_GT(refused, 200u);
}

TEST(ProfileRuntime, IsMadeForBothArchitectures) {
  for (const char* arch : {"x86_64", "aarch64"}) {
    const auto cpu = target::cpu_by_name(arch, target::isa_levels(arch).front());
    ASSERT_TRUE(cpu);
    const auto object = runtime_object(*cpu);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_TRUE(object->starts_with("\177ELF"));
    EXPECT_EQ(*object, *runtime_object(*cpu));
  }
}

} // namespace
} // namespace xaas::profile
