// The system description: what a machine is and has. Source: specs/schema/system.schema.json.
//
// detect() reads files, and asks programs for nothing but their version. A description that was written or
// completed by hand is read like one that was detected.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

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
  unsigned cores = 0, threads = 0, sockets = 0, numa_nodes = 0;
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
  std::string driver, runtime, evidence;
  bool operator==(const Gpu&) const = default;
};

struct Mpi {
  std::string implementation, version, abi, libdir;
  bool operator==(const Mpi&) const = default;
};

struct Named { // a library, compiler, fabric or container runtime
  std::string name, version, path;
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
  bool operator==(const SystemDescription&) const = default;
};

// Where probes look, so that every one of them can be faked.
struct Probes {
  fs::path root = "/";            // prefix of /proc, /sys, /etc and library directories
  std::optional<target::Cpu> cpu; // instead of LLVM's host detection
  std::vector<std::string> path;  // program search path; empty: $PATH
  bool runtime_versions = true; // ask for versions: of MPI libraries by their text, of container runtimes and
                                // compilers (runs them, 2 s at most each kind)
  std::map<std::string, std::string> environment; // instead of getenv where not empty
};

// Describes this machine. The C library's version is that of the library under `root`, not of the one that
// this program runs with. What is looked for and not found is empty; nothing found is no error.
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
