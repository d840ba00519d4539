// Declarations that become part of a source's stream when the source mentions them.
#pragma once

#include <clang/Basic/SourceLocation.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace clang {
class IdentifierInfo;
} // namespace clang

namespace xaas::known {

// Words of the source that depend on the instruction set; see Preprocessed.
struct WordsRead {
  bool instruction_set = false, features = false;
};

struct Declaration {
  std::string entries;  // of the stream; independent of what precedes them
  uint64_t pragmas = 0; // that precede it at file scope
  std::vector<const clang::IdentifierInfo*> names, mentions;
  std::vector<clang::FileID> files; // with tokens of it
  WordsRead reads;
};

class WaitingDeclarations {
public:
  using Take = std::function<void(const Declaration&)>;
  // `take` gets each declaration that is mentioned, once, and in the order of a source that declares as late
  // as possible.
  explicit WaitingDeclarations(Take take) : take_(std::move(take)) {}

  // A declaration that must not wait is taken at once.
  void add(Declaration declaration, bool may_wait);
  // The source, or a declaration that was taken, mentions the name.
  void mention(const clang::IdentifierInfo& name);
  bool any() const { return !declarations_.empty(); } // was added

private:
  using Numbers = llvm::SmallVector<unsigned, 2>;
  void take(Numbers wanted);

  Take take_;
  std::vector<Declaration> declarations_; // those that were taken are empty
  llvm::DenseMap<const clang::IdentifierInfo*, Numbers> waiting_by_name_, waiting_by_mention_;
  llvm::DenseSet<const clang::IdentifierInfo*> mentioned_;
};

} // namespace xaas::known
