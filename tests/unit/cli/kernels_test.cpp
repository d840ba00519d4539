#include "kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::cli {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<image::CpuKernel> kernels() {
  std::vector<image::CpuKernel> list = {{"a.cu", "_Z4fastv", "loops", ""},
                                        {"a.cu", "_Z4slowPi", "masked", "threads return early"},
                                        {"b.cu", "_Z4nonev", "refused", "inline\nassembly"}};
  image::demangle(list);
  return list;
}

TEST(KernelsText, TheSlowAndTheRefusedOnes) {
  const Json json = kernels_json(kernels());
  EXPECT_EQ(json[1], Json::parse(R"--({"name": "_Z4slowPi", "demangled": "slow(int*)", "source": "a.cu",
                                       "form": "masked", "reason": "threads return early"})--"));
  const Json forms = image::cpu_kernels(kernels()).forms;
  EXPECT_EQ(kernels_text(forms, json, false), "kernels on the CPU: 1 loops, 1 masked, 1 refused\n"
                                              "  masked   a.cu: slow(int*): threads return early\n"
                                              "  refused  b.cu: none(): inline assembly\n");
  EXPECT_THAT(kernels_text(forms, json, true), HasSubstr("  loops    a.cu: fast()\n"));
  EXPECT_EQ(kernels_text(Json::object(), Json::array(), true), "kernels on the CPU: none\n");
}

TEST(KernelsText, FormsOfNewerVersions) {
  EXPECT_EQ(forms_text({{"refused", 1}, {"masked", 2}, {"woven", 3}, {"loops", 4}}),
            "4 loops, 2 masked, 3 woven, 1 refused");
  EXPECT_EQ(forms_text(Json::object()), "none");
}

TEST(KernelsText, KernelsThatAnImageDoesNotName) {
  const Json json = kernels_json({kernels()[2]});
  EXPECT_THAT(kernels_text({{"loops", 9}, {"masked", 2}, {"refused", 1}}, json, false),
              HasSubstr("  and 2 that the image does not name\n"));
  EXPECT_THAT(kernels_text({{"loops", 9}, {"refused", 1}}, json, false), Not(HasSubstr("does not name")));
  EXPECT_THAT(kernels_text({{"loops", 9}, {"refused", 1}}, json, true),
              HasSubstr("  and 9 that the image does not name\n"));
}

} // namespace

} // namespace xaas::cli
