// The compiler's command line as the front door changes it.
#pragma once

#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// What a project's own arguments say about the instruction set of the host: the last -march and -mtune win,
// as in Clang. What they say for a device (-Xopenmp-target, -Xarch_device) is none of it.
struct WrittenMachine {
  std::string march, mtune;  // "" where not written
  bool other_triple = false; // -m32, --target and the like: nothing of ours is added
};

// Whom the front door stands in for.
enum class Compiler { clang, clangxx, flang };

struct Arguments {
  std::vector<std::string> all; // for Clang's driver, without argv[0]
  WrittenMachine written;
};

// Whether a command line has the word, and the one after it; nothing where it is not there or the last.
bool has_word(const std::vector<std::string>& words, std::string_view word);
std::optional<std::string> word_after(const std::vector<std::string>& words, std::string_view word);

// Whether a word would keep IR or objects from us: -flto (the IR is shipped anyway), -fuse-ld, -save-temps,
// -gsplit-dwarf.
bool is_dropped_by_front_door(const std::string& argument);

// Whether device code is asked for that is linked with that of other units (-fgpu-rdc).
bool is_relocatable(const std::vector<std::string>& arguments);

// Puts the configuration's ISA level and the prefix maps in front of the project's own arguments, replaces
// `native` by the level, and drops what would keep IR or objects from us. `arguments` have their response
// files expanded. flang knows no prefix maps; for it, words of other Fortran compilers that build tools use
// with every flang are put into its own.
Arguments front_door_arguments(const session::Session& session, const std::vector<std::string>& arguments,
                               Compiler compiler = Compiler::clang);

} // namespace xaas::frontdoor
