// The system description: what a machine is and has. Source: specs/schema/system.schema.json.
//
// detect() reads files, asks programs only for their version, and queries the libraries of installed GPU
// drivers; docs/detection.md lists what it examines. A description written or edited by hand is read like a
// detected one.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/target/cpu.h>
#include <xaas/target/gpu.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

struct CpuDescription {
  std::string vendor, model;         // as the machine reports them; empty if it does not
  std::string name;                  // LLVM's name
  std::string level;                 // highest ISA level
  std::vector<std::string> features; // LLVM's names of all enabled features, sorted
  unsigned cores = 0, threads = 0, sockets = 0,
           numa_nodes = 0; // of the machine, counting those that are online
  unsigned sve_bits = 0;   // of an SVE vector, as processes get it by default; 0: no SVE, or unknown
  struct Cache {
    unsigned level = 0;
    std::string type; // data, instruction, unified
    uint64_t bytes = 0;
    unsigned instances = 0;
    bool operator==(const Cache&) const = default;
  };
  std::vector<Cache> caches;
  bool operator==(const CpuDescription&) const = default;
};

struct Gpu {
  std::string vendor, model, arch; // vendor: nvidia, amd, intel
  uint64_t memory_bytes = 0;
  std::string driver, runtime, evidence; // evidence: "SOURCE: FACT, FACT; SOURCE: FACT"
  std::string pci = {};                  // its address: "0000:1c:00.0"; empty: unknown
  bool operator==(const Gpu&) const = default;
};

// Stands for the CPU where a configuration asks for a GPU, and its kernels run on the CPU.
Gpu cpu_as_gpu();
bool is_cpu(const Gpu& gpu);

struct Mpi {
  std::string implementation, version, abi, libdir;
  std::string evidence = {}; // the library, and the source of its version
  bool operator==(const Mpi&) const = default;
};

struct Named { // a library, compiler, fabric, container runtime or module system
  std::string name, version, path;
  std::string evidence = {}; // the source of its version or, without a path, how it was found
  bool operator==(const Named&) const = default;
};

struct SystemDescription {
  std::string arch;
  CpuDescription cpu;
  uint64_t memory_bytes = 0;
  std::vector<Gpu> gpus;
  std::vector<Mpi> mpi;
  std::vector<Named> fabrics, compilers, libraries, runtimes;
  std::string glibc, kernel, os;
  std::vector<std::string> modules;
  std::optional<bool> user_namespaces, fuse, setuid; // absent: not known
  std::string batch_system;                          // slurm, pbs, lsf, flux; empty: none
  std::string batch_job;                             // its id, inside a job
  std::string batch_partition;                       // or queue, of the job
  unsigned allowed_threads = 0;                // what this process may use (affinity, cpuset); 0: unknown
  uint64_t allowed_memory_bytes = 0;           // the lowest limit of its control groups; 0: none
  std::optional<Named> module_system;          // lmod or tcl
  std::map<std::string, std::string> evidence; // JSON key ("glibc", "containers.fuse") -> its source
  std::vector<std::string> notes;              // what could not be examined, and why
  bool operator==(const SystemDescription&) const = default;
};

// The time limits of detection.
struct ProbeLimits {
  std::chrono::milliseconds access{3000};   // for one access to a file, which is then skipped
  std::chrono::milliseconds files{10000};   // for examining files; the rest is skipped
  std::chrono::milliseconds programs{2000}; // for all programs that report their version
  std::chrono::milliseconds drivers{10000}; // for one library of a GPU driver
};

// The inputs of the probes, so that each can be faked.
struct Probes {
  fs::path root = "/";            // prefix of /proc, /sys, /etc and library directories
  std::optional<target::Cpu> cpu; // instead of LLVM's host detection
  std::vector<std::string> path;  // program search path; empty: $PATH
  bool runtime_versions = true;   // ask for versions that no choice depends on: of MPIs by what is in their
                                  // libraries, of container runtimes and compilers by running them
  bool only_gpus = false;         // besides the CPU
  std::map<std::string, std::string> environment; // used instead of getenv() unless empty
  // Libraries to ask about GPUs, instead of those of the machine's drivers. With a root other than "/", no
  // other library is loaded.
  std::string nvml, level_zero, opencl;
  ProbeLimits limits;
};

// Describes this machine. The version of the C library is that of the library under `root`, not of the one
// that this program uses. Missing information is empty, not an error. Works in child processes, so that
// neither a hanging file system nor a crashing driver stops it; call it from a process with one thread. On
// interruption it returns what it has.
SystemDescription detect(const Probes& probes = {});

// Replaces the CPU by a named one (an LLVM name or an ISA level) and clears what is only known of the real
// CPU (vendor, model). Everything else stays. An unknown name is a usage error.
Result<SystemDescription> with_cpu(SystemDescription description, const std::string& name);

// A description of any machine with this CPU, for `--cpu` on a machine of another architecture.
Result<SystemDescription> any_system(const std::string& arch, const std::string& cpu);

// parse_system() requires only "version", "arch" and "cpu" with "features", and ignores unknown keys.
// Features decide: a "level" above them is lowered. A list without the features that every CPU of the
// architecture has counts as an abbreviation: it is completed by those of the level, if given, and by the
// dependencies of the listed ones. An unknown version is unsatisfied; anything else wrong is a usage error
// with JSON pointer.
Json to_json(
    const SystemDescription& description); // the first key is "version": 1; has every key of the schema
Result<SystemDescription> parse_system(const Json& json, const std::string& name); // `name` is for errors
Result<SystemDescription> read_system(const fs::path& path);

// Converts JSON written by the prototype of the published work (SC'25). Usage error unless "CPU Info" has a
// known architecture.
Result<SystemDescription> import_prototype(const fs::path& path);

// The CPU as a lowering target: LLVM's name, or "generic" if this LLVM has none, and the features that it can
// use (target::usable_features()).
target::Cpu target_cpu(const SystemDescription& description);

// Its GPUs of NVIDIA and AMD, the vendors that images have device code for.
std::vector<target::Gpu> target_gpus(const SystemDescription& description);
// Those of this machine. Nothing else is examined; see detect().
std::vector<target::Gpu> host_gpus();

} // namespace xaas::system
