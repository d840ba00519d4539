// Libraries and MPI: the loader's directories, modules, Spack and EasyBuild trees; versions; modules.
#include "directories.h"
#include "system/testing.h"

#include <xaas/loader/directories.h>

#include <chrono>

namespace xaas::system {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string usr = "/usr/lib/x86_64-linux-gnu";

TEST_F(Detect, MpiLibrariesFabricsAndModules) {
  file("/opt/mpich/lib/libmpi.so.12", elf());
  file("/opt/mpich/lib/pkgconfig/mpich.pc", "prefix=/opt/mpich\nName: mpich\nVersion: 4.1.2\n");
  file(usr + "/libfftw3.so.3", elf());
  file(usr + "/libfftw3.so.3.6.9", elf());
  file(usr + "/libfftw3_threads.so.3", elf());
  file("/opt/fabric/libfabric.so.1", elf());
  file("/sys/class/infiniband/mlx5_0/node_type", "1: CA");
  file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  file("/etc/ld.so.conf.d/fabric.conf", "# where it is\n/opt/fabric\n");
  probes_.environment["LD_LIBRARY_PATH"] = "/opt/mpich/lib:relative";
  probes_.environment["LOADEDMODULES"] = "gcc/13.2:cray-mpich/8.1.29";
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.mpi,
              ElementsAre(Mpi{"mpich", "4.1.2", "mpich-12", "/opt/mpich/lib",
                              "/opt/mpich/lib/libmpi.so.12; version: /opt/mpich/lib/pkgconfig/mpich.pc"}));
  EXPECT_THAT(found.libraries, ElementsAre(Named{"fftw3", "", usr + "/libfftw3.so.3.6.9"}));
  EXPECT_THAT(found.fabrics, ElementsAre(Named{"libfabric", "", "/opt/fabric/libfabric.so.1"},
                                         Named{"infiniband", "", "/sys/class/infiniband/mlx5_0"}));
  EXPECT_THAT(found.modules, ElementsAre("gcc/13.2", "cray-mpich/8.1.29"));
  EXPECT_EQ(found.evidence.at("modules"), "$LOADEDMODULES");
}

TEST_F(Detect, OnlyLibrariesOfThisArchitectureCount) {
  file("/usr/lib64/libfftw3.so.3", elf("aarch64"));
  file("/usr/lib64/libhwloc.so", "INPUT(-lhwloc2)\n");
  file("/usr/lib64/libmpi.so.40", elf("aarch64"));
  file("/usr/lib64/libopenblas.so.0", elf());
  SystemDescription found = detect(probes_);
  EXPECT_THAT(found.libraries, ElementsAre(Named{"openblas", "", "/usr/lib64/libopenblas.so.0"}));
  EXPECT_THAT(found.mpi, IsEmpty());
  probes_.cpu = *target::cpu_by_name("aarch64", "neoverse-v2");
  found = detect(probes_);
  EXPECT_THAT(found.libraries, ElementsAre(Named{"fftw3", "", "/usr/lib64/libfftw3.so.3"}));
  EXPECT_EQ(found.mpi.size(), 1u);
}

TEST_F(Detect, VersionsThatAnMpiHasInItself) {
  probes_.cpu = target::host_cpu(); // the libraries are the compiler's
  copy(XAAS_FAKE_MPICH, "/a/libmpich.so.12.2.2");
  link("libmpich.so.12.2.2", "/a/libmpich.so.12");
  copy(XAAS_FAKE_OPENMPI, "/b/libmpi.so.40");
  copy(XAAS_FAKE_CRAY_MPICH, "/c/libmpi.so.12");
  copy(XAAS_FAKE_MPI_TEXT, "/d/libmpi.so.40");
  file("/e/libmpi.so.40", elf()); // nothing more in it
  probes_.environment["LD_LIBRARY_PATH"] = "/a:/b:/c:/d:/e";
  SystemDescription found = detect(probes_);
  std::map<std::string, std::string> versions, evidence;
  for (const Mpi& mpi : found.mpi) {
    versions[mpi.libdir] = mpi.version;
    evidence[mpi.libdir] = mpi.evidence;
  }
  versions.erase("/e");
  EXPECT_EQ(versions, (std::map<std::string, std::string>{
                          {"/a", "4.0.2"}, {"/b", "4.1.4"}, {"/c", "8.1.29.0"}, {"/d", "5.0.3"}}));
  EXPECT_EQ(evidence["/a"], "/a/libmpich.so.12, symbol MPII_Version_string");
  EXPECT_EQ(evidence["/d"], "/d/libmpi.so.40, its text");
  probes_.runtime_versions = false;
  for (const Mpi& mpi : detect(probes_).mpi)
    EXPECT_EQ(mpi.version, "");
}

// A choice may ask for a library's version.
TEST_F(Detect, VersionsOfLibrariesAreThereForChoosing) {
  file("/usr/lib64/libfftw3.so.3", elf());
  file("/usr/lib64/pkgconfig/fftw3.pc", "Version: 3.3.10\n");
  probes_.runtime_versions = false;
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.libraries.size(), 1u);
  EXPECT_EQ(found.libraries[0].version, "3.3.10");
}

TEST_F(Detect, CrayMpich) {
  const std::string real = "/opt/cray/pe/mpich/8.1.29/ofi/gnu/9.1/lib";
  file(real + "/libmpi_gnu_91.so.12.0.0", elf());
  link("libmpi_gnu_91.so.12.0.0", real + "/libmpi_gnu_91.so.12");
  link("8.1.29", "/opt/cray/pe/mpich/default");
  file("/opt/cray/pe/lib64/libmpi_cray.so.12", elf());
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(
      found.mpi,
      ElementsAre(Mpi{"mpich", "", "mpich-12", "/opt/cray/pe/lib64", "/opt/cray/pe/lib64/libmpi_cray.so.12"},
                  Mpi{"mpich", "8.1.29", "mpich-12", real,
                      real + "/libmpi_gnu_91.so.12; version: " + real + "/libmpi_gnu_91.so.12.0.0"}));
}

TEST_F(Detect, LoaderConfiguration) {
  file("/etc/ld.so.conf",
       "/one # first\ninclude more/*.conf /etc/two.conf\ninclude  /etc/ld.so.conf\nhwcap 1 x\n");
  file("/etc/more/a.conf", "/three\n");
  file("/etc/more/b.txt", "/four\n");
  file("/etc/two.conf", "/two\n/nowhere\n");
  for (const auto& [directory, library] : std::map<std::string, std::string>{{"/one", "libfftw3.so.3"},
                                                                             {"/two", "libopenblas.so.0"},
                                                                             {"/three", "libhwloc.so.15"},
                                                                             {"/four", "libhdf5.so.200"}})
    file(directory + "/" + library, elf());
  const SystemDescription found = detect(probes_);
  std::vector<std::string> paths;
  for (const Named& library : found.libraries)
    paths.push_back(library.path);
  EXPECT_THAT(paths, testing::UnorderedElementsAre("/one/libfftw3.so.3", "/two/libopenblas.so.0",
                                                   "/three/libhwloc.so.15"));
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("/etc/ld.so.conf: some files were not read"))); // it includes itself
}

// A cache as ldconfig writes it.
std::string loader_cache(const std::vector<std::pair<uint32_t, std::string>>& libraries) {
  const auto number = [](uint64_t value, size_t size) {
    return std::string(reinterpret_cast<const char*>(&value), size);
  };
  const size_t strings = 48 + 24 * libraries.size();
  std::string entries, texts;
  for (const auto& [flags, path] : libraries) {
    entries +=
        number(flags, 4) + number(0, 4) + number(strings + texts.size(), 4) + number(0, 4) + number(0, 8);
    texts += path + std::string(1, '\0');
  }
  return "glibc-ld.so.cache1.1" + number(libraries.size(), 4) + number(texts.size(), 4) +
         std::string(20, '\0') + entries + texts;
}

TEST_F(Detect, LoaderCache) {
  const std::string cache = loader_cache({{0x0303, "/apps/fftw/lib/libfftw3.so.3"},
                                          {0x0803, "/apps/fftw/lib32/libfftw3.so.3"},
                                          {0x0a03, "/apps/arm/lib/libfftw3.so.3"},
                                          {0x0303, "/apps/fftw/lib/libfftw3f.so.3"}});
  EXPECT_THAT(loader::parse_cache(cache, "x86_64").directories, ElementsAre("/apps/fftw/lib"));
  EXPECT_THAT(loader::parse_cache(cache, "aarch64").directories, ElementsAre("/apps/arm/lib"));
  // What glibc-hwcaps has is for some CPUs only: the entry names which.
  std::string for_cpus =
      loader_cache({{0x0303, "/apps/lib/glibc-hwcaps/x86-64-v3/libx.so"}, {0x0303, "/apps/lib/libx.so"}});
  for_cpus[48 + 16 + 7] = 0x40;
  EXPECT_THAT(loader::parse_cache(for_cpus, "x86_64").directories, ElementsAre("/apps/lib"));
  EXPECT_EQ(loader::parse_cache(for_cpus, "x86_64").paths.at("libx.so"), "/apps/lib/libx.so");
  // Behind a table in the old format, whose offsets do not count.
  EXPECT_THAT(loader::parse_cache("ld.so-1.7.0" + std::string(17, 'x') + cache, "x86_64").directories,
              ElementsAre("/apps/fftw/lib"));
  // Cut off or damaged anywhere: no crash, and nothing that was not in it.
  for (size_t size = 0; size < cache.size(); ++size)
    for (const std::string& directory : loader::parse_cache(cache.substr(0, size), "x86_64").directories)
      EXPECT_EQ(directory, "/apps/fftw/lib");
  for (size_t at = 0; at < cache.size(); ++at) {
    std::string damaged = cache;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    loader::parse_cache(damaged, "x86_64");
  }
  file("/etc/ld.so.cache", cache);
  file("/apps/fftw/lib/libfftw3.so.3", elf());
  EXPECT_THAT(detect(probes_).libraries, ElementsAre(Named{"fftw3", "", "/apps/fftw/lib/libfftw3.so.3"}));
}

TEST_F(Detect, DirectoriesOfModules) {
  file("/apps/mkl/2024/lib/intel64/libmkl_rt.so.2", elf());
  file("/apps/hdf5/lib/libhdf5.so.310.3.0", elf());
  file("/apps/cuda/targets/x86_64-linux/lib/libcudart.so.12.4.127", elf());
  file("/apps/cuda/lib64/stubs/libcuda.so", elf());
  file("/apps/fftw/lib/libfftw3.so.3", elf());
  file("/apps/fftw/lib/pkgconfig/fftw3.pc", "major=3\nrelease = ${major}.3\nVersion: ${release}.10\n");
  file("/apps/blis/lib/libblis.so.4", elf());
  file("/apps/ucx/lib/libucp.so.0", elf());
  probes_.environment["MKLROOT"] = "/apps/mkl/2024";
  probes_.environment["CPATH"] = "/apps/hdf5/include:/usr/include";
  probes_.environment["CUDA_HOME"] = "/apps/cuda";
  probes_.environment["LIBRARY_PATH"] = "/apps/cuda/lib64/stubs";
  probes_.environment["PKG_CONFIG_PATH"] = "/apps/fftw/lib/pkgconfig";
  probes_.environment["EBROOTBLIS"] = "/apps/blis";
  probes_.environment["CMAKE_PREFIX_PATH"] = "/nowhere:/apps/ucx";
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(
      found.libraries,
      testing::UnorderedElementsAre(
          Named{"mkl", "", "/apps/mkl/2024/lib/intel64/libmkl_rt.so.2"},
          Named{"hdf5", "", "/apps/hdf5/lib/libhdf5.so.310.3.0"},
          Named{"cudart", "12.4.127", "/apps/cuda/targets/x86_64-linux/lib/libcudart.so.12.4.127",
                "/apps/cuda/targets/x86_64-linux/lib/libcudart.so.12.4.127"},
          Named{"fftw3", "3.3.10", "/apps/fftw/lib/libfftw3.so.3", "/apps/fftw/lib/pkgconfig/fftw3.pc"},
          Named{"blis", "", "/apps/blis/lib/libblis.so.4"}));
  EXPECT_THAT(found.fabrics, ElementsAre(Named{"ucx", "", "/apps/ucx/lib/libucp.so.0"}));
}

std::string install(const std::string& name, const std::string& version, const std::string& prefix,
                    const std::string& more = "") {
  return "\"" + name + version + prefix + R"(": {"spec": {"name": ")" + name + R"(", "version": ")" +
         version +
         R"(", "arch": {"target": {"name": "zen3"}}, "dependencies": [{"name": "zlib", "hash": "x"}]}, "path": )" +
         (prefix.empty() ? "null" : "\"" + prefix + "\"") + more + "}";
}

std::string spack_index(const std::vector<std::string>& installs) {
  std::string text = R"({"database": {"version": "7", "installs": {)";
  for (const std::string& entry : installs)
    text += (text.back() == '{' ? "" : ",") + entry;
  return text + "}}}";
}

TEST_F(Detect, SpackTrees) {
  probes_.environment = {{"SPACK_ROOT", "/apps/spack"}, {"HOME", "/users/me"}, {"SCRATCH", "/scratch"}};
  file("/apps/spack/opt/spack/.spack-db/index.json",
       spack_index({install("fftw", "3.3.10", "/apps/fftw-3.3.10"),
                    install("fftw", "3.3.9", "/apps/fftw-3.3.9"), install("zlib", "1.3", "/apps/zlib"),
                    install("openmpi", "4.1.6", "/apps/openmpi"), install("openblas", "0.3.26", "/apps/gone"),
                    install("hdf5", "1.14.3", "/apps/hdf5", R"(, "installed": false)"),
                    install("glibc", "2.31", "")}));
  file("/apps/fftw-3.3.10/lib/libfftw3.so.3", elf());
  file("/apps/fftw-3.3.9/lib/libfftw3.so.3", elf());
  file("/apps/fftw-3.3.9/lib/libfftw3f.so.3", elf());
  file("/apps/zlib/lib/libfftw3.so.3", elf()); // not a package that has it
  file("/apps/openmpi/lib/libmpi.so.40", elf());
  file("/apps/hdf5/lib/libhdf5.so.310", elf());
  // Two more trees: of a system's configuration, and upstream of a user's.
  file("/etc/spack/config.yaml",
       "# site\nconfig:\n  install_tree:\n    root: ${SCRATCH}/tree # ours\n    padded_length: 128\n");
  file("/scratch/tree/.spack-db/index.json", spack_index({install("hwloc", "2.9.3", "/scratch/hwloc")}));
  file("/scratch/hwloc/lib64/libhwloc.so.15", elf());
  file("/users/me/.spack/upstreams.yaml",
       "upstreams:\n  site:\n    install_tree: /up/opt\n  bad:\n    install_tree: [1]\n");
  file("/up/opt/.spack-db/index.json", spack_index({install("mpich", "4.2.0", "/up/mpich")}));
  file("/up/mpich/lib/libmpi.so.12", elf());

  const SystemDescription found = detect(probes_);
  const std::string index = "/apps/spack/opt/spack/.spack-db/index.json";
  EXPECT_THAT(found.libraries,
              ElementsAre(Named{"fftw3", "3.3.10", "/apps/fftw-3.3.10/lib/libfftw3.so.3", index},
                          Named{"fftw3", "3.3.9", "/apps/fftw-3.3.9/lib/libfftw3.so.3", index},
                          Named{"fftw3f", "3.3.9", "/apps/fftw-3.3.9/lib/libfftw3f.so.3", index},
                          Named{"hwloc", "2.9.3", "/scratch/hwloc/lib64/libhwloc.so.15",
                                "/scratch/tree/.spack-db/index.json"}));
  EXPECT_THAT(found.mpi, ElementsAre(Mpi{"mpich", "4.2.0", "mpich-12", "/up/mpich/lib",
                                         "/up/mpich/lib/libmpi.so.12; version: /up/opt/.spack-db/index.json"},
                                     Mpi{"openmpi", "4.1.6", "openmpi-40", "/apps/openmpi/lib",
                                         "/apps/openmpi/lib/libmpi.so.40; version: " + index}));
  EXPECT_THAT(found.notes, IsEmpty());
}

// A path with a variable that is not set is not a path: "$spack/opt/spack" is not /opt/spack.
TEST_F(Detect, SpackTreesThatNobodyNames) {
  file("/etc/spack/config.yaml", "config:\n  install_tree: $spack/opt/spack\n");
  file("/opt/spack/.spack-db/index.json", spack_index({install("fftw", "3.3.10", "/a")}));
  file("/a/lib/libfftw3.so.3", elf());
  EXPECT_THAT(detect(probes_).libraries, IsEmpty());
}

TEST_F(Detect, SpackTreesThatAreDamaged) {
  probes_.environment = {{"SPACK_ROOT", "/s"}, {"HOME", "/users/me"}};
  file("/a/lib/libfftw3.so.3", elf());
  const std::string whole = spack_index({install("fftw", "3.3.10", "/a")});
  for (size_t size = 0; size < whole.size(); size += 7) {
    file("/s/opt/spack/.spack-db/index.json", whole.substr(0, size));
    EXPECT_THAT(detect(probes_).notes, ElementsAre(HasSubstr("not an index written by Spack"))) << size;
  }
  for (const char* other :
       {"[]", "3", R"({"database": []})", R"({"database": {"installs": [{"a": {"spec": "x"}}]}})",
        R"({"database": {"installs": {"a": 3, "b": {"path": 3, "spec": []}}}})"}) {
    file("/s/opt/spack/.spack-db/index.json", other);
    EXPECT_THAT(detect(probes_).libraries, IsEmpty()) << other;
  }
  file("/s/opt/spack/.spack-db/index.json", whole);
  file("/users/me/.spack/config.yaml", "config: [\n\t}: install_tree");
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.libraries.size(), 1u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("config.yaml: not YAML")));
}

// 100 MB of installed packages, and more versions than anybody wants to see.
TEST_F(Detect, ALargeSpackIndexCostsALimitedTime) {
  probes_.environment = {{"SPACK_ROOT", "/s"}};
  std::vector<std::string> installs;
  for (int i = 0; i < 40; ++i) {
    const std::string prefix = "/apps/fftw-3." + std::to_string(i);
    installs.push_back(install("fftw", "3." + std::to_string(i), prefix));
    file(prefix + "/lib/libfftw3.so.3", elf());
  }
  const std::string filler = install("zlib", "1.3", "/apps/zlib");
  installs.resize(installs.size() + (size_t(100) << 20) / filler.size(), filler);
  file("/s/opt/spack/.spack-db/index.json", spack_index(installs));
  const auto start = std::chrono::steady_clock::now();
  const SystemDescription found = detect(probes_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  ASSERT_EQ(found.libraries.size(), 32u);
  EXPECT_EQ(found.libraries[0].version, "3.39");
  EXPECT_THAT(found.notes, Contains(HasSubstr("more than 32 of fftw")));
}

TEST_F(Detect, EasyBuildTrees) {
  probes_.environment = {{"EASYBUILD_INSTALLPATH", "/apps/eb"}, {"HOME", "/users/me"}};
  file("/apps/eb/software/FFTW/3.3.10-GCC-12.3.0/lib/libfftw3.so.3", elf());
  file("/apps/eb/software/FFTW/3.3.10-GCC-12.3.0/lib/libmpi.so.40", elf());
  file("/apps/eb/software/FFTW/.locks/lib/libfftw3.so.3", elf());
  file("/apps/eb/software/Other/1.0/lib/libhdf5.so.200", elf());
  file("/users/me/.local/easybuild/software/OpenMPI/4.1.5-GCC-12.3.0/lib/libmpi.so.40", elf());
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.libraries, ElementsAre(Named{"fftw3", "3.3.10",
                                                 "/apps/eb/software/FFTW/3.3.10-GCC-12.3.0/lib/libfftw3.so.3",
                                                 "/apps/eb/software/FFTW"}));
  ASSERT_EQ(found.mpi.size(), 1u);
  EXPECT_EQ(found.mpi[0].version, "4.1.5");
  EXPECT_THAT(found.mpi[0].evidence, HasSubstr("version: /users/me/.local/easybuild/software/OpenMPI"));
}

TEST_F(Detect, ModuleSystems) {
  EXPECT_EQ(detect(probes_).module_system, std::nullopt);
  file("/usr/share/lmod/lmod/libexec/lmod", "");
  EXPECT_EQ(detect(probes_).module_system, (Named{"lmod", "", "/usr/share/lmod/lmod/libexec/lmod"}));
  probes_.environment["MODULES_CMD"] = "/opt/modules/libexec/modulecmd.tcl";
  EXPECT_EQ(detect(probes_).module_system,
            (Named{"tcl", "", "/opt/modules/libexec/modulecmd.tcl", "$MODULES_CMD"}));
  probes_.environment["LMOD_CMD"] = "/opt/lmod/libexec/lmod";
  probes_.environment["LMOD_VERSION"] = "8.7.32";
  EXPECT_EQ(detect(probes_).module_system, (Named{"lmod", "8.7.32", "/opt/lmod/libexec/lmod", "$LMOD_CMD"}));
}

} // namespace
} // namespace xaas::system
