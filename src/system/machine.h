// The machine as the probes see it: files under a root, an environment, a program search path.
#pragma once

#include <xaas/system/system.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

class Machine {
public:
  explicit Machine(const Probes& probes);

  fs::path path(const std::string& absolute) const { return root_ / absolute.substr(1); }
  bool has(const std::string& absolute) const;
  // The content without blanks around it; empty if it cannot be read.
  std::string text(const std::string& absolute) const;
  // A number at the start of a file.
  std::optional<uint64_t> number(const std::string& absolute) const;
  // The names in a directory, sorted.
  std::vector<std::string> entries(const std::string& absolute) const;

  std::string environment(const std::string& name) const;
  std::optional<fs::path> find_program(const std::string& name) const;

private:
  fs::path root_;
  std::map<std::string, std::string> environment_;
  std::vector<std::string> search_path_;
};

std::optional<uint64_t> parse_number(const std::string& text); // the digits at its start

// The probes, each for its part of the description.
void probe_cpu(const Machine& machine, const target::Cpu& cpu, CpuDescription& description);
void probe_containers(const Machine& machine, bool versions, SystemDescription& description);
void probe_gpus(const Machine& machine, std::vector<Gpu>& gpus);
void probe_libraries(const Machine& machine, bool versions,
                     SystemDescription& description); // also MPI, fabrics, modules
void probe_compilers(const Machine& machine, bool versions, SystemDescription& description);

} // namespace xaas::system
