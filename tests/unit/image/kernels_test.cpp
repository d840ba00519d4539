#include <xaas/base/file.h>
#include <xaas/image/kernels.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<std::optional<CpuKernels>> read_back(const std::optional<std::string>& text) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  oci::NewImage image;
  if (text)
    image.annotations[annotation::kernels] = *text;
  XAAS_TRY(const oci::Reference reference, oci::parse_reference("oci:" + (directory.path() / "a").string()));
  XAAS_TRY([[maybe_unused]] const Digest digest, oci::write_image(reference, image));
  XAAS_TRY(const auto opened, oci::open_image(reference));
  return cpu_kernels_of(*opened);
}

const CpuKernel fast{"a.cu", "_Z4fastv", "loops", ""};
const CpuKernel slow{"a.cu", "_Z4slowv", "masked", "threads may come to different barriers"};
const CpuKernel none{"a.cu", "_Z4nonev", "refused", "inline assembly: \"x\""};

TEST(Kernels, AreSortedAndCounted) {
  const CpuKernels kernels = cpu_kernels({slow, none, fast, none});
  EXPECT_THAT(kernels.kernels, ElementsAre(fast, none, slow));
  EXPECT_THAT(kernels.forms, ElementsAre(Pair("loops", 1), Pair("masked", 1), Pair("refused", 1)));
}

TEST(Kernels, Recorded) {
  const CpuKernels kernels = cpu_kernels({fast, none});
  const std::string text = to_annotation(kernels);
  EXPECT_EQ(text,
            R"({"forms":{"loops":1,"refused":1},"kernels":[)"
            R"({"source":"a.cu","name":"_Z4fastv","form":"loops"},)"
            R"({"source":"a.cu","name":"_Z4nonev","form":"refused","reason":"inline assembly: \"x\""}]})");
  const auto read = read_back(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)->forms, kernels.forms);
  EXPECT_EQ((*read)->kernels, kernels.kernels);
  const auto older = read_back(std::nullopt);
  ASSERT_TRUE(older);
  EXPECT_FALSE(*older);
  const auto newer =
      read_back(R"({"forms":{"woven":2},"kernels":[{"source":"a","name":"b","form":"woven"}],"more":1})");
  ASSERT_TRUE(newer) << newer.error().message;
  EXPECT_EQ((*newer)->kernels.front().form, "woven");
}

TEST(Kernels, WhatIsRecordedWhereThereIsLittleRoom) {
  const CpuKernels kernels = cpu_kernels({fast, slow, none});
  const auto names = [&](size_t limit) {
    std::vector<std::string> list;
    const auto read = read_back(to_annotation(kernels, limit));
    EXPECT_TRUE(read);
    EXPECT_EQ((*read)->forms, kernels.forms);
    for (const CpuKernel& kernel : (*read)->kernels)
      list.push_back(kernel.form);
    return list;
  };
  const size_t all = to_annotation(kernels).size();
  EXPECT_THAT(names(all), ElementsAre("loops", "refused", "masked"));
  EXPECT_THAT(names(all - 1), ElementsAre("refused", "masked"));
  EXPECT_THAT(names(200), ElementsAre("refused"));
  EXPECT_THAT(names(100), ElementsAre());
}

TEST(Kernels, DamagedAnnotations) {
  for (const char* damaged :
       {"", "{", "[]", "{}", R"({"forms":{},"kernels":{}})", R"({"forms":{"loops":-1},"kernels":[]})",
        R"({"forms":{"loops":"1"},"kernels":[]})", R"({"forms":[],"kernels":[]})", R"({"forms":{}})",
        R"({"forms":{"loops":1},"kernels":[{"source":"a","name":"b"}]})",
        R"({"forms":{"loops":1},"kernels":[{"source":1,"name":"b","form":"loops"}]})",
        R"({"forms":{"loops":1},"kernels":[{"source":"a","name":"b","form":"loops","reason":[]}]})"})
    EXPECT_EQ(read_back(damaged).error().kind, ErrorKind::integrity) << damaged;
  const auto uncounted = read_back(R"({"forms":{},"kernels":[{"source":"a","name":"b","form":"loops"}]})");
  ASSERT_FALSE(uncounted);
  EXPECT_THAT(uncounted.error().message, HasSubstr("form \"loops\" is not among those counted"));
}

TEST(Kernels, NamesForPeople) {
  std::vector<CpuKernel> kernels = {fast, {"b.cu", "plain", "loops", ""}};
  demangle(kernels);
  EXPECT_EQ(kernels[0].demangled, "fast()");
  EXPECT_EQ(kernels[1].demangled, "plain");
  EXPECT_EQ(to_annotation(cpu_kernels(kernels)),
            to_annotation(cpu_kernels({fast, {"b.cu", "plain", "loops", ""}})));
}

} // namespace

} // namespace xaas::image
