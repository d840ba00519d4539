// The system description: what a machine is and has. Source: specs/schema/system.schema.json.
//
// detect() reads files, asks programs for nothing but their version, and asks the libraries of GPU drivers
// that are there; docs/detection.md says what it looks at. A description that was written or completed by
// hand is read like one that was detected.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

struct CpuDescription {
  std::string vendor, model;         // as the machine reports them; empty where it does not
  std::string name;                  // LLVM's name
  std::string level;                 // highest ISA level
  std::vector<std::string> features; // LLVM's names, all that are on, sorted
  unsigned cores = 0, threads = 0, sockets = 0, numa_nodes = 0; // of the machine, those that are on
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
  std::string pci = {};                  // its address: "0000:1c:00.0"; empty: not known
  bool operator==(const Gpu&) const = default;
};

struct Mpi {
  std::string implementation, version, abi, libdir;
  std::string evidence = {}; // the library, and where its version is from
  bool operator==(const Mpi&) const = default;
};

struct Named { // a library, compiler, fabric, container runtime or module system
  std::string name, version, path;
  std::string evidence = {}; // where its version is from, or, without a path, how it was found
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
  std::string batch_system;                          // slurm, pbs, lsf; empty: none
  std::string batch_job;                             // its id, if this is a job
  std::string batch_partition;                       // or queue, of the job
  unsigned allowed_threads = 0;                // what this process may use (affinity, cpuset); 0: not known
  uint64_t allowed_memory_bytes = 0;           // the least limit of its control groups; 0: none
  std::optional<Named> module_system;          // lmod or tcl
  std::map<std::string, std::string> evidence; // JSON key ("glibc", "containers.fuse") -> where it was seen
  std::vector<std::string> notes;              // what could not be looked at, and why
  bool operator==(const SystemDescription&) const = default;
};

// How long detection waits.
struct ProbeLimits {
  std::chrono::milliseconds access{3000};   // for one access to a file; then it is left out
  std::chrono::milliseconds files{10000};   // for looking at files; then no more are looked at
  std::chrono::milliseconds programs{2000}; // for all programs that are asked for their version
  std::chrono::milliseconds drivers{10000}; // for one library of a GPU's driver
};

// Where probes look, so that every one of them can be faked.
struct Probes {
  fs::path root = "/";            // prefix of /proc, /sys, /etc and library directories
  std::optional<target::Cpu> cpu; // instead of LLVM's host detection
  std::vector<std::string> path;  // program search path; empty: $PATH
  bool runtime_versions = true;   // ask for versions that no choice depends on: of MPIs by what is in their
                                  // libraries, of container runtimes and compilers by running them
  std::map<std::string, std::string> environment; // instead of getenv where not empty
  // Libraries to ask about GPUs, instead of those of the machine's drivers. With another root than "/" no
  // other is loaded.
  std::string nvml, level_zero, opencl;
  ProbeLimits limits;
};

// Describes this machine. The C library's version is that of the library under `root`, not of the one that
// this program runs with. What is looked for and not found is empty; nothing found is no error. Works in
// child processes, so that neither a file system that hangs nor a driver that crashes stops it: call it from
// a process with one thread. Once interruption is requested it returns what it has.
SystemDescription detect(const Probes& probes = {});

// Replaces the CPU by a named one (an LLVM name or an ISA level); everything else stays. What is only known
// of the real CPU (vendor, model) is emptied. Unknown name: usage error.
Result<SystemDescription> with_cpu(SystemDescription description, const std::string& name);

// A description that stands for any machine with this CPU, for `--cpu` on a machine of another architecture.
Result<SystemDescription> any_system(const std::string& arch, const std::string& cpu);

// parse_system asks only for "version", "arch" and "cpu" with "features"; keys that it does not know are left
// alone. Features decide: a "level" that is higher than they are is lowered. A list without the features that
// every CPU of the architecture has is taken as an abbreviation, and completed by those of the level, if
// given, and by what the listed ones are built on. An unknown version is unsatisfied, all else that is wrong
// a usage error with JSON pointer.
Json to_json(
    const SystemDescription& description); // first key "version": 1; every key of the schema is there
Result<SystemDescription> parse_system(const Json& json, const std::string& name); // `name` is for errors
Result<SystemDescription> read_system(const fs::path& path);

// A description from the JSON that the prototype of the published work (SC'25) writes. Without "CPU Info"
// with an architecture that is known: usage error.
Result<SystemDescription> import_prototype(const fs::path& path);

// The CPU as a lowering target: LLVM's name for it, "generic" if this LLVM has none, and the features that it
// can use (target::usable_features).
target::Cpu target_cpu(const SystemDescription& description);

} // namespace xaas::system
