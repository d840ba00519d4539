// The command lines of the runtimes, and the parts of the host that a program sees.
#include "adapters.h"
#include "gpus.h"
#include "host_libraries.h"
#include "needs.h"

#include <xaas/base/text.h>
#include <xaas/runtimes/environment.h>

#include <xaas/image/targets.h>

#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

using namespace xaas;
using namespace xaas::run;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

namespace {

class Adapters : public testing::Test {
protected:
  Adapters() : directory(*TemporaryDirectory::create()) {
    program.tree = directory.path() / "tree";
    EXPECT_TRUE(make_directories(program.tree));
    program.binds = {
        {"/tmp", "/tmp", false}, {"/data/a", "/input", true, true}, {"/home/u/w", "/home/u/w", false}};
    program.directory = "/home/u/w";
    program.environment = {{"A", "1"}, {"LD_LIBRARY_PATH", "/.xaas/host"}, {"PATH", "/usr/bin"}};
    program.command = {"solver", "--steps", "3"};
  }

  Found found(const std::string& name, const fs::path& path) const {
    return {runtimes::Knowledge::get().runtime(name), path, false};
  }

  TemporaryDirectory directory;
  Program program;
  const std::map<std::string, std::string> host = {{"A", "1"}, {"PATH", "/opt/bin"}, {"HOME", "/home/u"}};
};

TEST_F(Adapters, BwrapBindsInOrderAndIsWatched) {
  const Invocation line =
      invocation_of(found("bwrap", "/usr/bin/bwrap"), program, {"--cap-drop", "ALL"}, host);
  EXPECT_THAT(line.arguments,
              ElementsAre("/usr/bin/bwrap", "--cap-drop", "ALL", "--ro-bind", program.tree.string(), "/",
                          "--bind", "/tmp", "/tmp", "--ro-bind", "/data/a", "/input", "--bind", "/home/u/w",
                          "/home/u/w", "--unsetenv", "HOME", "--setenv", "LD_LIBRARY_PATH", "/.xaas/host",
                          "--setenv", "PATH", "/usr/bin", "--chdir", "/home/u/w", "--", "solver", "--steps",
                          "3"));
  EXPECT_EQ(line.environment, host);
  EXPECT_TRUE(line.supervised);
}

TEST_F(Adapters, CharliecloudHasNoReadOnlyBinds) {
  const Found charliecloud = found("charliecloud", "/usr/bin/ch-run");
  EXPECT_THAT(obstacle(charliecloud, program), HasSubstr("/input"));
  program.binds[1].asked = false; // a precaution of ours
  EXPECT_EQ(obstacle(charliecloud, program), "");
  const Invocation line = invocation_of(charliecloud, program, {}, host);
  EXPECT_THAT(line.arguments,
              ElementsAre("/usr/bin/ch-run", "--bind", "/data/a:/input", "--bind", "/home/u/w:/home/u/w",
                          "--unset-env=HOME", "--set-env=LD_LIBRARY_PATH=/.xaas/host",
                          "--set-env=PATH=/usr/bin", "--cd", "/home/u/w", program.tree.string(), "--",
                          "solver", "--steps", "3"));
  EXPECT_THAT(line.environment, Not(Contains(testing::Key("LD_LIBRARY_PATH"))));
  EXPECT_THAT(line.environment, Contains(testing::Key("USER"))); // ch-run does not start without it
  EXPECT_FALSE(line.supervised);
}

// ch-run mounts the directory of its own TMPDIR as /tmp and would hide what is bound there.
TEST_F(Adapters, CharliecloudDoesNotSeeTheProgramsTmpdir) {
  program.binds[1].asked = false;
  program.environment["TMPDIR"] = "/scratch/u";
  const Invocation line = invocation_of(found("charliecloud", "/usr/bin/ch-run"), program, {}, host);
  EXPECT_THAT(line.environment, Not(Contains(testing::Key("TMPDIR"))));
  EXPECT_THAT(line.arguments, Contains("--set-env=TMPDIR=/scratch/u"));
}

// Variables of the image are meant for the program; the runtime gets our own environment.
TEST_F(Adapters, ARuntimeHasNothingOfTheImagesEnvironment) {
  program.binds.clear();
  const std::map<std::string, std::string> of_image = {
      {"LD_PRELOAD", "/evil.so"}, {"BASH_ENV", "/evil"}, {"TMPDIR", "/evil"}, {"PYTHONPATH", "/evil"},
      {"GLIBC_TUNABLES", "evil"}, {"PATH", "/evil"},     {"HOME", "/evil"},   {"CONTAINERS_CONF", "/evil"}};
  program.environment = of_image;
  for (const char* name : {"bwrap", "charliecloud", "apptainer", "enroot", "podman"}) {
    const Invocation line = invocation_of(found(name, std::string("/usr/bin/") + name), program, {}, host);
    for (const auto& [variable, value] : of_image)
      if (const auto of_runtime = line.environment.find(variable); of_runtime != line.environment.end())
        EXPECT_NE(of_runtime->second, value) << name << " " << variable;
  }
}

TEST_F(Adapters, CharliecloudForgetsVariablesOfAnyName) {
  program.binds.clear();
  const std::map<std::string, std::string> odd = {{"A", "1"}, {"B*", "2"}, {"F()", "3"}};
  program.environment = {{"A", "1"}, {"BC", "4"}};
  const Invocation line = invocation_of(found("charliecloud", "/usr/bin/ch-run"), program, {}, odd);
  EXPECT_THAT(line.arguments, AllOf(Contains("--unset-env=B\\*"), Contains("--unset-env=F\\(\\)"),
                                    Contains("--set-env=BC=4"), Not(Contains("--set-env=A=1"))));
}

TEST_F(Adapters, ApptainerGetsPrefixedVariables) {
  program.gpus = {&runtimes::Knowledge::get().gpus.at(0)};
  const Invocation line =
      invocation_of(found("apptainer", "/usr/bin/apptainer"), program, {"--userns"}, host);
  EXPECT_THAT(line.arguments,
              ElementsAre("/usr/bin/apptainer", "exec", "--userns", "--cleanenv", "--no-mount",
                          "home,cwd,tmp", "--nv", "--bind", "/tmp:/tmp", "--bind", "/data/a:/input:ro",
                          "--bind", "/home/u/w:/home/u/w", "--pwd", "/home/u/w", program.tree.string(),
                          "solver", "--steps", "3"));
  EXPECT_THAT(line.environment,
              AllOf(Contains(Pair("APPTAINERENV_PATH", "/usr/bin")),
                    Contains(Pair("APPTAINERENV_LD_LIBRARY_PATH", "/.xaas/host")),
                    Contains(Pair("PATH", "/opt/bin")), Not(Contains(testing::Key("LD_LIBRARY_PATH")))));
  const Invocation old = invocation_of(found("apptainer", "/usr/bin/singularity"), program, {}, host);
  EXPECT_THAT(old.environment, Contains(Pair("SINGULARITYENV_PATH", "/usr/bin")));
}

TEST_F(Adapters, EnrootFindsTheTreeByName) {
  const Found enroot = found("enroot", "/usr/bin/enroot");
  EXPECT_THAT(obstacle(enroot, program), HasSubstr("/bin/sh"));
  ASSERT_TRUE(make_directories(program.tree / "bin"));
  ASSERT_TRUE(write_file(program.tree / "bin/sh", ""));
  EXPECT_EQ(obstacle(enroot, program), "");
  const Invocation line = invocation_of(enroot, program, {}, host);
  EXPECT_THAT(line.arguments,
              ElementsAre("/usr/bin/enroot", "start", "--mount", "/tmp:/tmp:none:rbind,rw", "--mount",
                          "/data/a:/input:none:rbind,ro", "--mount", "/home/u/w:/home/u/w:none:rbind,rw",
                          "--env", "A", "--env", "LD_LIBRARY_PATH=/.xaas/host", "--env", "PATH=/usr/bin",
                          "tree", "/bin/sh", "-c", R"(cd "$0" && exec "$@")", "/home/u/w", "solver",
                          "--steps", "3"));
  EXPECT_THAT(line.environment, Contains(Pair("ENROOT_DATA_PATH", directory.path().string())));
}

TEST_F(Adapters, PodmanKeepsTheHostsSpacesUnlessTold) {
  program.descriptors = 5;
  program.devices = {"nvidia.com/gpu=all"};
  const Invocation line = invocation_of(found("podman", "/usr/bin/podman"), program,
                                        {"--runtime", "runc", "--network=none"}, host);
  EXPECT_THAT(line.arguments, AllOf(Contains("--pid=host"), Contains("--ipc=host"),
                                    Contains("--network=none"), Not(Contains("--network=host")),
                                    Contains("--preserve-fds=5"), Contains("/dev/shm:/dev/shm"),
                                    Contains("nvidia.com/gpu=all"), Contains("/data/a:/input:ro")));
  EXPECT_EQ(line.environment, host);
  EXPECT_THAT(invocation_of(found("podman", "/usr/bin/podman"), program, {"--ipc=private"}, host).arguments,
              Not(Contains("/dev/shm:/dev/shm")));
}

TEST_F(Adapters, PathsThatARuntimeCannotWrite) {
  program.binds = {{"/data/a b", "/data/a b", false}};
  EXPECT_EQ(obstacle(found("bwrap", "/usr/bin/bwrap"), program), "");
  for (const char* name : {"apptainer", "charliecloud", "enroot", "podman"})
    EXPECT_THAT(obstacle(found(name, "/usr/bin/x"), program), HasSubstr("/data/a b")) << name;
}

TEST(Environment, TheHostsGoesInButForItsLibraries) {
  const std::map<std::string, std::string> host = {{"SLURM_PROCID", "3"},
                                                   {"PMI_RANK", "3"},
                                                   {"PMI_FD", "7"},
                                                   {"OMP_NUM_THREADS", "4"},
                                                   {"FROM", "host"},
                                                   {"LD_PRELOAD", "/x"},
                                                   {"LD_LIBRARY_PATH", "/x"},
                                                   {"PATH", "/host"},
                                                   {"HOME", "/home/u"},
                                                   {"TMPDIR", "/tmp/u"},
                                                   {"CUDA_VISIBLE_DEVICES", "1"}};
  const auto visible = [](const std::string& path) { return path.starts_with("/tmp"); };
  const auto inside = runtimes::environment_of(host, {"FROM=image", "ONLY=image"}, {{"OWN", "1"}}, visible);
  for (const char* name :
       {"SLURM_PROCID", "PMI_RANK", "PMI_FD", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "TMPDIR"})
    EXPECT_EQ(inside.count(name) ? inside.at(name) : "", host.at(name)) << name;
  EXPECT_EQ(inside.at("FROM"), "image");
  EXPECT_EQ(inside.at("ONLY"), "image");
  EXPECT_EQ(inside.at("OWN"), "1");
  EXPECT_EQ(inside.at("HOME"), "/");
  EXPECT_THAT(inside.at("PATH"), HasSubstr("/usr/bin"));
  EXPECT_FALSE(inside.count("LD_PRELOAD") || inside.count("LD_LIBRARY_PATH"));
}

TEST(Gpus, DevicesAndTheDriversLibraries) {
  const TemporaryDirectory root = *TemporaryDirectory::create();
  const auto touch = [&](const std::string& path) {
    ASSERT_TRUE(make_directories((root.path() / path).parent_path()));
    ASSERT_TRUE(write_file(root.path() / path, ""));
  };
  EXPECT_TRUE(find_gpus(root.path(), {"/lib"}).kinds.empty());
  for (const char* path :
       {"dev/nvidiactl", "dev/nvidia0", "dev/nvidia1", "dev/nvidia-caps/nvidia-cap1", "lib/libcuda.so.1",
        "lib64/libcuda.so.1", "lib/libnvidia-rtcore.so.550.54", "usr/bin/nvidia-smi"})
    touch(path);
  const HostGpus gpus = find_gpus(root.path(), {"/lib", "/lib64"});
  ASSERT_EQ(gpus.kinds.size(), 1u);
  EXPECT_THAT(gpus.devices,
              ElementsAre("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap1"));
  EXPECT_THAT(gpus.libraries,
              ElementsAre(Bind{root.path() / "lib/libcuda.so.1", "/.xaas/host/libcuda.so.1", true},
                          Bind{root.path() / "lib/libnvidia-rtcore.so.550.54",
                               "/.xaas/host/libnvidia-rtcore.so.550.54", true},
                          Bind{root.path() / "lib/libcuda.so.1", "/.xaas/host/libcuda.so", true}));
  EXPECT_THAT(gpus.files, ElementsAre(Bind{root.path() / "usr/bin/nvidia-smi", "/usr/bin/nvidia-smi", true}));
  touch("etc/cdi/nvidia.yaml");
  EXPECT_THAT(find_gpus(root.path(), {}).devices, ElementsAre("nvidia.com/gpu=all"));
}

struct Described : oci::Image {
  Described(const std::string& arch, const std::string& features) {
    config_.architecture = arch;
    manifest_.annotations = {
        {"dev.xaas.kind", "deployed"}, {"dev.xaas.cpu", "znver5"}, {"dev.xaas.features", features}};
  }
  Result<std::string> blob(const oci::Descriptor&) const override { return std::string(); }
  Result<oci::BlobPtr> open_blob(const oci::Descriptor&) const override { return oci::BlobPtr(); }
  Result<oci::BlobPtr> stream_blob(const oci::Descriptor&) const override { return oci::BlobPtr(); }
  void prefetch(const std::vector<oci::Descriptor>&, Progress&) const override {}
};

TEST(Needs, AMissingFeatureIsNamed) {
  const target::Cpu haswell = *target::cpu_by_name("x86_64", "haswell");
  EXPECT_TRUE(check_needs(Described("amd64", "avx2,fma"), haswell));
  const Result<void> refused = check_needs(Described("amd64", "avx2,avx512f"), haswell);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("avx512f"), Not(HasSubstr("avx2,")), HasSubstr("znver5")));
  EXPECT_THAT(check_needs(Described("arm64", ""), haswell).error().message, HasSubstr("arm64"));
}

TEST(Needs, ManyMissingFeaturesAreOneLine) {
  const target::Cpu haswell = *target::cpu_by_name("x86_64", "haswell");
  const target::Cpu znver5 = *target::cpu_by_name("x86_64", "znver5");
  const Described image("amd64", join(znver5.features, ","));
  EXPECT_EQ(check_needs(image, haswell).error().message,
            "the image was deployed for znver5: needs znver5; this CPU (haswell) has x86-64-v3");
  EXPECT_THAT(image::lacking(image.manifest().annotations, haswell), Contains("avx512f"));
  EXPECT_THAT(image::lacking(image.manifest().annotations, haswell), Contains("avx512vl"));
}

TEST(Launchers, SlurmIsToldTheProtocol) {
  EXPECT_THAT(*launcher_arguments("srun", "mpich-12", 64), ElementsAre("srun", "--mpi=pmi2", "-n", "64"));
  EXPECT_THAT(*launcher_arguments("srun", "openmpi-40", 0), ElementsAre("srun", "--mpi=pmix"));
  EXPECT_THAT(*launcher_arguments("mpirun", "mpich-12", 2), ElementsAre("mpirun", "-n", "2"));
  EXPECT_THAT(*launcher_arguments("flux", "openmpi-40", 2),
              ElementsAre("flux", "run", "-opmi=pmix", "-n", "2"));
  EXPECT_THAT(*launcher_arguments("flux", "mpich-12", 2), ElementsAre("flux", "run", "-n", "2"));
  EXPECT_THAT(*launcher_arguments("pals", "mpich-12", 2), ElementsAre("mpiexec", "-n", "2"));
  EXPECT_EQ(launcher_arguments("qsub", "", 2).error().kind, ErrorKind::usage);
}

TEST(ShellText, IsQuotedAndSaysWhatDiffers) {
  EXPECT_EQ(shell_text({"a", "b c", "", "it's", "$x"}), R"(a 'b c' '' 'it'\''s' '$x')");
  const Invocation line = {{"/bin/x", "1"}, {{"A", "1"}, {"B", "3"}}, false};
  EXPECT_EQ(shell_text(line, {{{"A", "1"}, {"B", "2"}, {"C", "1"}}, "/", "/"}), "env -u C B=3 /bin/x 1");
}

TEST(ParseBind, FormsAndErrors) {
  EXPECT_EQ(*parse_bind("/usr"), (Bind{"/usr", "/usr", false}));
  EXPECT_EQ(*parse_bind("/usr/:/opt/usr/:ro"), (Bind{"/usr", "/opt/usr", true}));
  EXPECT_EQ(parse_bind("/nowhere/at/all").error().kind, ErrorKind::not_found);
  for (const char* wrong : {"", ":/x", "/usr:relative", "/usr:/", "/usr:/x:rx", "/usr:/x:ro:more"})
    EXPECT_EQ(parse_bind(wrong).error().kind, ErrorKind::usage) << wrong;
}

} // namespace
