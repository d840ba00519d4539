// Whose libraries a deployed image will use, as a system description and its files say.
#include "host_choice.h"

#include <xaas/base/file.h>

#include <gmock/gmock.h>

#include <cstdlib>

using namespace xaas;
using namespace xaas::deploy;
using testing::HasSubstr;

namespace {

std::vector<link::InstalledFile> files(const std::vector<std::string>& names) {
  std::vector<link::InstalledFile> made;
  for (const std::string& name : names) {
    link::InstalledFile file;
    file.path = "usr/lib/x86_64-linux-gnu/" + name;
    made.push_back(std::move(file));
  }
  return made;
}

// "host FOUND: REASON" or "image: REASON" for the only preference.
std::string choice(const spec::HostPreference& preference,
                   const std::optional<std::vector<std::string>>& runtime,
                   const system::SystemDescription& system,
                   const std::optional<std::vector<std::string>>& library_path = {}) {
  image::Bundle bundle;
  bundle.host = {preference};
  image::BundleConfiguration configuration;
  configuration.runtime = files(runtime.value_or(std::vector<std::string>()));
  const auto choices = host_choices(bundle, runtime ? &configuration : nullptr, system, library_path);
  EXPECT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].what, preference.what);
  EXPECT_EQ(choices[0].host, !choices[0].found.empty());
  return (choices[0].host ? "host " + choices[0].found : "image") + ": " + choices[0].reason;
}

system::SystemDescription cluster() {
  system::SystemDescription system;
  system.arch = "x86_64";
  system.mpi = {{"cray-mpich", "8.1", "mpich-12", "/opt/cray/lib"}};
  system.libraries = {{"fftw3", "3.3.10", "/opt/fftw/lib/libfftw3.so.3.6.10"},
                      {"blas", "", "/usr/lib64/libblas.so.3.11"},
                      {"openblas", "", "/opt/lib/libopenblas.so"}};
  return system;
}

TEST(HostChoice, MpiByItsAbi) {
  EXPECT_EQ(choice({"mpi", {}}, {{"libmpich.so.12", "libc.so.6"}}, cluster()),
            "host cray-mpich 8.1 in /opt/cray/lib: the same ABI, mpich-12");
  EXPECT_EQ(choice({"mpi", {}}, {{"libmpi.so.40"}}, cluster()),
            "image: the image's MPI has the ABI openmpi-40, the system has cray-mpich (mpich-12)");
  EXPECT_EQ(choice({"mpi", {}}, {{"libmpi.so.12"}}, {}), "image: the system has no MPI");
  // One of the libraries that belong to the first.
  EXPECT_THAT(choice({"mpi", {}}, {{"libmpi_cxx.so.40"}}, cluster()), HasSubstr("image: this configuration"));
}

TEST(HostChoice, LibrariesByTheirSoname) {
  EXPECT_EQ(choice({"fftw3", {}}, {{"libfftw3.so.3", "libc.so.6"}}, cluster()),
            "host /opt/fftw/lib/libfftw3.so.3.6.10: the same soname");
  // Parts that a description does not list are looked for when the image runs.
  EXPECT_EQ(choice({"fftw3", {}}, {{"libfftw3.so.3", "libfftw3_omp.so.3"}}, cluster()),
            "host /opt/fftw/lib/libfftw3.so.3.6.10: the same soname");
  EXPECT_EQ(choice({"fftw3", {}}, {{"libfftw3.so.36"}}, cluster()),
            "image: the system has no libfftw3.so.36 (it has /opt/fftw/lib/libfftw3.so.3.6.10)");
  EXPECT_EQ(choice({"openblas", {}}, {{"libopenblas.so.0"}}, cluster()),
            "image: the system has no libopenblas.so.0 (it has /opt/lib/libopenblas.so)");
  EXPECT_EQ(choice({"hdf5", {}}, {{"libhdf5.so.103"}}, cluster()), "image: the system has no libhdf5.so.103");
  EXPECT_THAT(choice({"fftw3", {}}, {{"libfftw3f.so.3"}}, cluster()), HasSubstr("image: this configuration"));
  EXPECT_EQ(choice({"maths", {"libblas.so.3"}}, {{"libblas.so.3"}}, cluster()),
            "host /usr/lib64/libblas.so.3.11: the same soname");
}

TEST(HostChoice, BeforeItIsBuiltTheNamesDecide) {
  EXPECT_THAT(choice({"mpi", {}}, {}, cluster()), HasSubstr("host cray-mpich 8.1 in /opt/cray/lib: "));
  EXPECT_THAT(choice({"fftw3", {}}, {}, cluster()),
              HasSubstr("host /opt/fftw/lib/libfftw3.so.3.6.10: the same name"));
  EXPECT_THAT(choice({"fftw3", {"libfftw3.so.4"}}, {}, cluster()),
              HasSubstr("image: the system has no libfftw3.so.4"));
  EXPECT_THAT(choice({"hdf5", {}}, {}, cluster()), HasSubstr("image: "));
}

TEST(HostChoice, FilesOfThisMachine) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const std::string place = directory.path();
  ASSERT_TRUE(write_file(directory.path() / "one.c", "int one(void) { return 1; }"));
  ASSERT_EQ(std::system(("cd " + place +
                         " && clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -fPIC -shared one.c"
                         " -o libxaasone.so.1 && echo text >libxaastwo.so.1")
                            .c_str()),
            0);
  const spec::HostPreference one{"xaasone", {}}, two{"xaastwo", {}};
  EXPECT_EQ(choice(one, {{"libxaasone.so.1"}}, cluster(), {{place}}),
            "host " + place + "/libxaasone.so.1: the same soname");
  EXPECT_EQ(choice(one, {{"libxaasone.so.1"}}, cluster()), "image: the system has no libxaasone.so.1");
  EXPECT_EQ(choice(one, {{"libxaasone.so.2"}}, cluster(), {{place}}),
            "image: the system has no libxaasone.so.2");
  EXPECT_EQ(choice(two, {{"libxaastwo.so.1"}}, cluster(), {{place}}),
            "image: the system has no libxaastwo.so.1");
  // All libraries that belong together must exist.
  EXPECT_THAT(choice({"pair", {"libxaasone.so.1", "libxaastwo.so.1"}},
                     {{"libxaasone.so.1", "libxaastwo.so.1"}}, cluster(), {{place}}),
              HasSubstr("image: the system has no libxaastwo.so.1"));
}

} // namespace
