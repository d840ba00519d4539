#include "find_links.h"
#include "planning.h"

#include <xaas/device/make.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::device {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using RefKind = link::FileRef::Kind;

class DeviceLinkPlans : public ::testing::Test {
protected:
  // A host unit with units for `archs`.
  Digest unit(const std::string& source, const std::string& offload, const std::vector<std::string>& archs) {
    ir::Unit host{source, digest_of("host " + source), digest_of("options"), {}};
    for (const std::string& arch : archs) {
      ir::Unit device{source, digest_of(source + arch), digest_of("options"), {}};
      if (arch != ir::host_device)
        device.machine.features = {"+ptx88"};
      bundle_.units[device.id()] = device;
      host.device[arch] = device.id();
    }
    host.offload = offload;
    bundle_.units[host.id()] = host;
    return host.id();
  }
  static link::LinkItem input(RefKind kind, const Digest& digest) {
    link::LinkItem item;
    item.file = {kind, digest, "x"};
    return item;
  }
  Digest link_of(link::OutputKind kind, std::vector<link::LinkItem> items) {
    link::LinkRecord record{kind, "program", std::move(items)};
    bundle_.links[record.digest()] = record;
    usage_.links.push_back(record.digest());
    return record.digest();
  }
  Digest archive_of(const std::vector<Digest>& units) {
    link::ArchiveRecord record;
    for (const Digest& each : units)
      record.members.push_back({"m.o", {RefKind::unit, each, "m.o"}});
    bundle_.archives[record.digest()] = record;
    return record.digest();
  }
  Result<DevicePlan> plan(const std::set<Digest>& units, const std::string& gpu,
                          std::optional<device::Assembler> assembler = {}) {
    system::Gpu each;
    each.vendor = "nvidia";
    each.arch = gpu;
    return plan_jobs(bundle_, units, gpu.empty() ? std::vector<system::Gpu>() : std::vector{each}, false,
                     std::move(assembler));
  }

  image::Bundle bundle_;
  image::Usage usage_;
};

TEST_F(DeviceLinkPlans, UnitsInTheOrderOfTheLink) {
  const Digest a = unit("a.cu", "cuda", {"sm_80"});
  const Digest b = unit("b.cu", "cuda", {"sm_80"});
  const Digest c = unit("c.c", "openmp", {"sm_80"});
  const Digest placed = unit("d.cu", "", {"sm_80"});
  const Digest plain = unit("e.c", "", {});
  const Digest part = link_of(link::OutputKind::relocatable, {input(RefKind::unit, b)});
  const Digest library =
      link_of(link::OutputKind::shared, {input(RefKind::unit, plain), input(RefKind::unit, c)});
  const Digest program = link_of(link::OutputKind::executable,
                                 {input(RefKind::unit, plain), input(RefKind::link, part),
                                  input(RefKind::archive, archive_of({a, b, placed})),
                                  input(RefKind::link, library), input(RefKind::kit, digest_of("libc"))});
  const auto links = device_links(bundle_, usage_);
  ASSERT_EQ(links.size(), 2u); // the relocatable link makes no program
  ASSERT_EQ(links.at(program).size(), 1u);
  EXPECT_EQ(links.at(program)[0].offload, "cuda");
  EXPECT_THAT(links.at(program)[0].host_units, ElementsAre(b, a)); // and each once
  ASSERT_EQ(links.at(library).size(), 1u);
  EXPECT_EQ(links.at(library)[0].offload, "openmp");
}

TEST_F(DeviceLinkPlans, LinkedCodeHasNoPlaceInItsModule) {
  const Digest linked = unit("a.cu", "cuda", {"sm_80", "sm_90"});
  const Digest placed = unit("b.cu", "", {"sm_80"});
  const auto planned = plan({linked, placed}, "sm_100");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(planned->host_units, ::testing::SizeIs(1));
  EXPECT_EQ(planned->key(linked), ""); // the host's object does not depend on it
  const DeviceJob& job = planned->linked.at("sm_100").at(linked);
  EXPECT_EQ(job.unit, bundle_.units.at(linked).device.at("sm_90"));
  EXPECT_EQ(job.arch, "sm_100");
  EXPECT_TRUE(job.linked());
}

TEST_F(DeviceLinkPlans, TheHostAsADeviceNeedsNoGpu) {
  const Digest both = unit("a.c", "openmp", {ir::host_device, "sm_80"});
  const Digest host = unit("b.c", "openmp", {ir::host_device});
  const auto alone = plan({host}, "");
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_THAT(alone->linked, IsEmpty());
  EXPECT_FALSE(plan({both}, ""));
  const auto with = plan({both, host}, "sm_80", device::Assembler{"/ptxas", {13, 0}, "13.0.1"});
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_THAT(with->linked.at("sm_80"), ::testing::SizeIs(1));
}

TEST_F(DeviceLinkPlans, OpenMpTakesMachineCodeOnly) {
  const Digest region = unit("a.c", "openmp", {"sm_80"});
  const auto refused = plan({region}, "sm_80");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(refused.error().message, HasSubstr("a.c"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--gpu none"));
}

TEST_F(DeviceLinkPlans, InstalledObjectsAndArchivesHaveNone) {
  const Digest linked = unit("a.cu", "cuda", {"sm_80"});
  const Digest placed = unit("b.cu", "", {"sm_80"});
  image::BundleConfiguration configuration;
  const auto install = [&](const std::string& path, link::InstalledFile::Kind kind, const Digest& digest) {
    link::InstalledFile file;
    file.path = path;
    file.kind = kind;
    file.digest = digest;
    configuration.installed.push_back(file);
  };
  install("lib/a.a", link::InstalledFile::Kind::archive, archive_of({placed, linked}));
  install("lib/b.a", link::InstalledFile::Kind::archive, archive_of({placed}));
  install("lib/a.o", link::InstalledFile::Kind::unit, linked);
  install("bin/p", link::InstalledFile::Kind::link,
          link_of(link::OutputKind::executable, {input(RefKind::unit, linked)}));
  EXPECT_THAT(files_without_device_code(bundle_, configuration), UnorderedElementsAre("lib/a.a", "lib/a.o"));
}

// One plan has all that making it reads.
TEST_F(DeviceLinkPlans, ThePlanNamesTheModulesThatItReads) {
  const Digest linked = unit("a.c", "openmp", {ir::host_device, "sm_80"});
  const Digest placed = unit("b.cu", "", {"sm_80"});
  const Digest filed = unit("k.cu", "", {"sm_80"});
  const Digest program =
      link_of(link::OutputKind::executable, {input(RefKind::unit, linked), input(RefKind::unit, placed)});
  usage_.units = {linked, placed};
  image::BundleConfiguration configuration;
  link::InstalledFile& kernels = configuration.installed.emplace_back();
  kernels.path = "share/k.ptx";
  kernels.device = link::DeviceFile{link::DeviceFile::Form::ptx, bundle_.units.at(filed).device};
  const auto module = [this](const Digest& host, const std::string& arch) {
    return bundle_.units.at(bundle_.units.at(host).device.at(arch)).module;
  };
  const auto none = plan_device_code(bundle_, configuration, usage_, {.no_gpu = true});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_THAT(none->links, ElementsAre(::testing::Pair(program, ::testing::SizeIs(1))));
  EXPECT_THAT(modules_to_read(bundle_, *none, {placed}),
              UnorderedElementsAre(module(linked, ir::host_device)));

  auto planned = plan({linked, placed}, "sm_80", device::Assembler{"/ptxas", {13, 0}, "13.0.1"});
  ASSERT_TRUE(planned) << planned.error().message;
  planned->links = none->links;
  planned->files["share/k.ptx"].jobs = {{bundle_.units.at(filed).device.at("sm_80"), "sm_80", {}}};
  EXPECT_THAT(modules_to_read(bundle_, *planned, {placed}), ::testing::SizeIs(4));
  EXPECT_THAT(modules_to_read(bundle_, *planned, {}), ::testing::SizeIs(3)); // its object is known
}

// Kernels on the CPU: relocatable code is linked, and other code beside it is not.
TEST_F(DeviceLinkPlans, ForTheCpu) {
  bundle_.arch = "x86_64";
  bundle_.options[digest_of("options")] = {};
  const Digest a = unit("a.cu", "cuda", {"sm_80", "sm_90"});
  const Digest b = unit("b.cu", "cuda", {"sm_75"});
  const Digest placed = unit("c.cu", "", {"sm_80"});
  const Digest region = unit("d.c", "openmp", {"sm_80"});
  const Digest program =
      link_of(link::OutputKind::executable, {input(RefKind::unit, a), input(RefKind::unit, placed),
                                             input(RefKind::archive, archive_of({b}))});
  const Digest other = link_of(link::OutputKind::shared, {input(RefKind::unit, a)});
  const Digest openmp = link_of(link::OutputKind::shared, {input(RefKind::unit, region)});
  usage_.units = {a, b, placed, region};
  image::BundleConfiguration configuration;
  link::InstalledFile& archive = configuration.installed.emplace_back();
  archive.path = "lib/b.a";
  archive.kind = link::InstalledFile::Kind::archive;
  archive.digest = archive_of({b});
  system::Gpu cpu;
  cpu.vendor = cpu.arch = "cpu";
  const auto planned = plan_device_code(bundle_, configuration, usage_, {.gpus = {cpu}});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->on_cpu);
  EXPECT_TRUE(planned->wants_device_code());
  EXPECT_THAT(planned->gpus, ElementsAre("cpu"));
  EXPECT_EQ(planned->architecture, 800u); // of the lowest of each, the highest
  EXPECT_THAT(planned->kernels,
              UnorderedElementsAre(::testing::Pair(a, bundle_.units.at(a).device.at("sm_80")),
                                   ::testing::Pair(b, bundle_.units.at(b).device.at("sm_75")),
                                   ::testing::Pair(placed, bundle_.units.at(placed).device.at("sm_80"))));
  EXPECT_THAT(planned->kernel_links, UnorderedElementsAre(::testing::Pair(program, ElementsAre(placed)),
                                                          ::testing::Pair(other, IsEmpty())));
  ASSERT_THAT(planned->links, ::testing::SizeIs(3));
  EXPECT_THAT(planned->links.at(program)[0].host_units, ElementsAre(a, b));
  EXPECT_EQ(planned->links.at(openmp)[0].offload, "openmp"); // registered, with the host's code alone
  EXPECT_THAT(planned->files_without_device_code, ElementsAre("lib/b.a"));
}

} // namespace

} // namespace xaas::device
