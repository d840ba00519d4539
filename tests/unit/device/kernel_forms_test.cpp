#include <xaas/base/file.h>
#include <xaas/device/kernel_forms.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace xaas::device {

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KernelForms : public ::testing::Test {
protected:
  void SetUp() override {
    directory_.emplace(*TemporaryDirectory::create());
    cpu_ = *target::cpu_by_name("x86_64", "x86-64");
    plain_ = add("plain.cu", "define ptx_kernel void @plain(ptr %p) { store i32 1, ptr %p ret void }");
    refused_ = add("refused.cu", R"(
define ptx_kernel void @fine() { ret void }
define ptx_kernel void @refused() { call void asm sideeffect "wgmma.fence.sync.aligned;", ""() ret void })");
  }

  Digest add(const std::string& source, const std::string& text,
             const std::string& target = "nvptx64-nvidia-cuda") {
    ir::UnitOptions options;
    ir::Unit unit;
    unit.source = source;
    const std::string bitcode = bitcode_of(text, target);
    unit.module = digest_of(bitcode);
    unit.options = options.digest();
    bundle_.options[unit.options] = options;
    bundle_.units[unit.id()] = unit;
    modules_[unit.module] = bitcode;
    return unit.id();
  }

  std::string bitcode_of(const std::string& text, const std::string& target) const {
    const std::string file = (directory_->path() / "module").string();
    EXPECT_TRUE(write_file(file + ".ll", text));
    EXPECT_EQ(std::system(("clang-22 -c -emit-llvm -Wno-override-module --target=" + target + " '" + file +
                           ".ll' -o '" + file + ".bc'")
                              .c_str()),
              0);
    const auto bitcode = read_file(file + ".bc");
    EXPECT_TRUE(bitcode);
    return bitcode ? *bitcode : std::string();
  }

  Result<std::map<Digest, std::vector<cpukernel::Kernel>>> forms(const std::set<Digest>& units,
                                                                 const lower::ObjectCache* cache = nullptr) {
    fetched_.clear();
    std::map<Digest, KernelObject> objects;
    for (const Digest& id : units)
      objects.emplace(id,
                      KernelObject{bundle_.units.at(id), bundle_.options.at(bundle_.units.at(id).options)});
    const image::Contents contents(directory_->path());
    return kernel_forms({.bundle = bundle_,
                         .cpu = cpu_,
                         .cache = cache,
                         .threads = 2,
                         .contents = contents,
                         .fetch = [&](const std::set<Digest>& wanted) -> Result<void> {
                           fetched_ = wanted;
                           for (const Digest& module : wanted)
                             XAAS_CHECK(contents.keep(module, modules_.at(module)));
                           return {};
                         },
                         .progress = no_progress()},
                        objects);
  }

  std::optional<TemporaryDirectory> directory_;
  target::Cpu cpu_;
  image::Bundle bundle_;
  std::map<Digest, std::string> modules_;
  std::set<Digest> fetched_;
  Digest plain_, refused_;
};

TEST_F(KernelForms, OfEachUnit) {
  const auto found = forms({plain_, refused_});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->at(plain_).size(), 1u);
  EXPECT_EQ(found->at(plain_)[0].name, "plain");
  EXPECT_EQ(found->at(plain_)[0].form, cpukernel::Form::loops);
  ASSERT_EQ(found->at(refused_).size(), 2u);
  EXPECT_EQ(found->at(refused_)[0].form, cpukernel::Form::loops);
  EXPECT_EQ(found->at(refused_)[1].form, cpukernel::Form::refused);
  EXPECT_THAT(found->at(refused_)[1].reason, HasSubstr("wgmma.fence"));
  EXPECT_EQ(fetched_.size(), 2u);
  EXPECT_THAT(*forms({}), IsEmpty());
  EXPECT_THAT(fetched_, IsEmpty());
}

// A module is fetched and read only if the cache does not answer for it.
TEST_F(KernelForms, TheCacheAnswers) {
  auto opened = store::Cache::open(directory_->path() / "cache");
  ASSERT_TRUE(opened) << opened.error().message;
  const lower::ObjectCache cache(*std::move(opened));
  ASSERT_TRUE(forms({plain_}, &cache));
  EXPECT_EQ(fetched_.size(), 1u);
  const auto both = forms({plain_, refused_}, &cache);
  ASSERT_TRUE(both);
  EXPECT_EQ(fetched_, std::set<Digest>{bundle_.units.at(refused_).module});
  EXPECT_EQ(both->at(plain_)[0].name, "plain");
  const auto again = forms({plain_, refused_}, &cache);
  ASSERT_TRUE(again);
  EXPECT_THAT(fetched_, IsEmpty());
  EXPECT_EQ(again->at(refused_)[1].reason, both->at(refused_)[1].reason);
}

TEST_F(KernelForms, ADamagedModuleIsNamed) {
  modules_.at(bundle_.units.at(plain_).module) = "BC damaged";
  const auto damaged = forms({plain_});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::integrity);
  EXPECT_THAT(damaged.error().message, HasSubstr("plain.cu (module sha256:"));
  const Digest host = add("host.cu", "define void @f() { ret void }", "x86_64-pc-linux-gnu");
  EXPECT_EQ(forms({host}).error().kind, ErrorKind::integrity);
}

} // namespace

} // namespace xaas::device
