// Problem: sources include Clang's headers of intrinsics in some configurations only, and few of them use
// what these declare.
//
//     #ifdef __AVX2__                         30,000 lines for x86-64-v3 and none for x86-64-v2
//     #include <immintrin.h>
//     #endif
//     size_t width(void);
//
// Approach: a source is brought into the form in which each declaration of such a header stands just before
// the first token that mentions what it declares, and is absent if nothing does. A source and its form have
// the same outcome, so two sources with one form do. The source's own declarations never move.
//
// Example: `b` mentions the type a; the source mentions b, then c.
//
//     typedef int a;    a b(void);    a c(void);    x = b() + c();
//     form:             typedef int a;    a b(void);    x = b    a c(void);    () + c();
//
// This holds for declarations that have no effect unless they are mentioned (declaration_reader.cpp), if no
// order is lost that matters:
//
// - What is taken together keeps its order, and all declarations of a name are taken together.
// - A declaration whose name was mentioned before stays where it is. If a declaration that waits mentions the
//   name, that one stays where it is, too: `int f(struct s*); struct s { int i; };` says something else than
//   the reverse.
// - A declaration says which pragmas precede it. The one right after a pragma does not wait. All pragmas but
//   the few that Clang's headers have inside of functions end the waiting (token_recorder.cpp).
// - Messages do not depend on it: Clang reports nothing in system headers (unless -Wsystem-headers asks, and
//   then nothing waits).
//
// Clang's headers come with the compiler that runs here. They declare types, and functions that are inlined,
// whose names are Clang's own.
//
// Rejected: the same for all system headers. It was built, and a search for counterexamples found two dozen,
// some in the C library as it is: `__builtin_strcpy` calls the `strcpy` that <string.h> defines with
// _FORTIFY_SOURCE, an attribute names a function in a string, a declaration in an unused body changes the
// meaning of a later one, symbols have other names than functions. What a name means is Clang's to say, so a
// reader of tokens must not be asked about code that anybody may have written. For the same reason a
// project's own headers never wait. Also rejected: leaving out Clang's headers by a list of files.
#include "waiting_declarations.h"

#include <algorithm>

namespace xaas::known {

void WaitingDeclarations::add(Declaration declaration, bool may_wait) {
  const unsigned number = declarations_.size();
  Numbers at_once;
  for (const clang::IdentifierInfo* name : declaration.names) {
    may_wait &= !mentioned_.contains(name);
    const auto earlier = waiting_by_mention_.find(name);
    if (earlier != waiting_by_mention_.end())
      at_once.append(earlier->second);
  }
  declarations_.push_back(std::move(declaration));
  if (!may_wait || !at_once.empty()) {
    at_once.push_back(number);
    take(std::move(at_once));
    return;
  }
  for (const clang::IdentifierInfo* name : declarations_.back().names)
    waiting_by_name_[name].push_back(number);
  for (const clang::IdentifierInfo* name : declarations_.back().mentions)
    waiting_by_mention_[name].push_back(number);
}

void WaitingDeclarations::mention(const clang::IdentifierInfo& name) {
  if (!mentioned_.insert(&name).second)
    return;
  const auto waiting = waiting_by_name_.find(&name);
  if (waiting != waiting_by_name_.end())
    take(waiting->second);
}

// Takes these and all that they need, in their order.
void WaitingDeclarations::take(Numbers wanted) {
  llvm::DenseSet<unsigned> taken;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!taken.insert(wanted[i]).second)
      continue;
    const Declaration& declaration = declarations_[wanted[i]];
    for (const auto* list : {&declaration.names, &declaration.mentions})
      for (const clang::IdentifierInfo* name : *list) {
        mentioned_.insert(name);
        const auto waiting = waiting_by_name_.find(name);
        if (waiting == waiting_by_name_.end())
          continue;
        wanted.append(waiting->second);
        waiting_by_name_.erase(waiting);
      }
  }
  std::vector<unsigned> order(taken.begin(), taken.end());
  std::sort(order.begin(), order.end());
  for (const unsigned number : order)
    if (Declaration& declaration = declarations_[number]; !declaration.entries.empty()) {
      take_(declaration);
      declaration = {};
    }
}

} // namespace xaas::known
