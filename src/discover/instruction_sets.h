// The instruction sets of LLVM's CPU targets, by the names that options and values give them:
// specs/instruction-sets.json.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::discover {

struct SimdEntry {
  std::vector<std::string> features; // LLVM's names
  std::string arch;                  // that has them, as in LLVM's triples; empty: any
  bool is_vector = true;             // false: another extension that a program can use, such as bmi2
};

class InstructionSets {
public:
  // An architecture of LLVM's, and its features by their place in the file.
  struct Architecture {
    std::string name;
    std::set<std::string> words, vector, scalar, with_word;
    std::vector<std::string> other; // patterns
  };

  static const InstructionSets& get();

  // The vector instructions of one of LLVM's CPUs, by its name without separators; nullptr if there is none.
  const SimdEntry* find_cpu(const std::string& name) const;

  const std::vector<Architecture>& architectures() const { return architectures_; }

  // The feature with this name, given as words in lower case: "avx512", "vbmi"; "arm", "neon". nullptr: none.
  const SimdEntry* find(std::vector<std::string> words) const;

private:
  InstructionSets();
  void add(const Architecture& architecture, const std::string& name, SimdEntry entry);
  const SimdEntry* find_in(const std::string& architecture, const std::string& compact) const;

  std::vector<Architecture> architectures_;
  // By name without separators, and by architecture; "" has those that need no word of an architecture.
  std::map<std::string, std::map<std::string, SimdEntry>> by_name_;
  std::map<std::string, SimdEntry> cpus_; // by name without separators
};

} // namespace xaas::discover
