// Debug information in the modules of front ends other than Clang's.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace llvm {
class DIFile;
class DISubprogram;
class Module;
} // namespace llvm

namespace xaas::frontdoor {

// Nodes that a module reaches, each once, in visiting order.
struct DebugMetadata {
  std::vector<llvm::DIFile*> files;
  std::vector<llvm::DISubprogram*> subprograms;
};
DebugMetadata debug_metadata_of(const llvm::Module& module);

// Replaces the names and directories of files, which -ffile-prefix-map does in Clang.
void rename_files(const DebugMetadata& metadata,
                  const std::function<std::string(const std::string&)>& portable);

} // namespace xaas::frontdoor
