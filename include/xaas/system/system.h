// The system description: what a machine is and has. Source: specs/schema/system.schema.json.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

struct CpuDescription {
  std::string vendor, model;      // as the machine reports them; empty where it does not
  std::string name;               // LLVM's name
  std::string level;              // highest ISA level
  std::vector<std::string> features; // LLVM's names, all that are on, sorted
  unsigned cores = 0, threads = 0, sockets = 0, numa_nodes = 0;
  struct Cache {
    unsigned level = 0;
    std::string type; // data, instruction, unified
    uint64_t bytes = 0;
    unsigned instances = 0;
  };
  std::vector<Cache> caches;
};

struct Gpu {
  std::string vendor, model, arch; // vendor: nvidia, amd, intel
  uint64_t memory_bytes = 0;
  std::string driver, runtime, evidence;
};

struct Mpi {
  std::string implementation, version, abi, libdir;
};

struct Named { // a library, compiler, fabric or container runtime
  std::string name, version, path;
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
  std::string batch_system; // slurm, pbs, lsf; empty: none
  std::string batch_job;    // its id, if this is a job
};

// Where probes look, so that every one of them can be faked.
struct Probes {
  fs::path root = "/";                 // prefix of /proc, /sys, /etc and library directories
  std::optional<target::Cpu> cpu;      // instead of LLVM's host detection
  std::vector<std::string> path;       // program search path; empty: $PATH
  bool runtime_versions = true;        // ask container runtimes for their version (runs them)
  std::map<std::string, std::string> environment; // instead of getenv where not empty
};

// Describes this machine. What is looked for and not found is empty; nothing found is no error.
SystemDescription detect(const Probes& probes = {});

// Replaces the CPU by a named one (an LLVM name or an ISA level); everything else stays. What is only known of the
// real CPU (vendor, model) is emptied. Unknown name: usage error.
Result<SystemDescription> with_cpu(SystemDescription description, const std::string& name);

// A description that stands for any machine with this CPU, for `--cpu` on a machine of another architecture.
Json to_json(const SystemDescription& description); // first key "version": 1; every key of the schema is there
Result<SystemDescription> parse_system(const Json& json, const std::string& name); // usage error with JSON pointer
Result<SystemDescription> read_system(const fs::path& path);

// The CPU as a lowering target.
target::Cpu target_cpu(const SystemDescription& description);

} // namespace xaas::system
