// The compiler's command line as the front door changes it.
#pragma once

#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// The instruction set of the host according to the project's own arguments: the last -march and -mtune win,
// as in Clang. Arguments for a device (-Xopenmp-target, -Xarch_device) do not count.
struct WrittenMachine {
  std::string march, mtune;  // "" if not given
  bool other_triple = false; // -m32, --target and the like: no options of ours are added
  bool optimization = false; // any -O option, also -O0
  std::string lto;           // "full" or "thin"; "" without -flto
};

// The compiler that the front door stands in for.
enum class Compiler { clang, clangxx, flang };

struct Arguments {
  std::vector<std::string> all; // for Clang's driver, without argv[0]
  WrittenMachine written;
};

// True if a command line has the word; the word after it, or nothing if the word is absent or the last.
bool has_word(const std::vector<std::string>& words, std::string_view word);
std::optional<std::string> word_after(const std::vector<std::string>& words, std::string_view word);

// True for a word that would keep IR or objects from us: -flto (the IR is shipped anyway), -fuse-ld,
// -save-temps, -gsplit-dwarf.
bool is_dropped_by_front_door(const std::string& argument);

// True if the arguments ask for device code that is linked with that of other units (-fgpu-rdc).
bool is_relocatable(const std::vector<std::string>& arguments);

// Puts the configuration's ISA level and the prefix maps in front of the project's own arguments, replaces
// `native` by the level, and drops words that would keep IR or objects from us. Response files in `arguments`
// must be expanded already. flang has no prefix maps; words of other Fortran compilers, which build tools
// pass to every flang, are translated.
Arguments front_door_arguments(const session::Session& session, const std::vector<std::string>& arguments,
                               Compiler compiler = Compiler::clang);

} // namespace xaas::frontdoor
