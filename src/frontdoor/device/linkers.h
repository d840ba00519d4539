// The tools by which builds link device code themselves, one step before the link of the host code: nvlink,
// `nvcc -dlink`, and what CMake does for Clang with nvlink, fatbinary and a stub of the toolkit's.
//
// Device code of units is linked when deploying (ir::Unit::offload), with that of all units of a program. So
// these tools are answered with files that have none in them, unless nvcc itself compiled relocatable code
// that they must link.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Their names below the toolkit's bin/.
inline constexpr const char* device_linkers[] = {"nvlink", "fatbinary"};

// Whether nvcc itself compiled relocatable device code in this session, and that it did.
bool has_native_relocatable(const session::Session& session);
void note_native_relocatable(const session::Session& session);

// One of device_linkers, with its arguments. The exit code.
int run_device_linker(const session::Session& session, const std::string& name,
                      const std::vector<std::string>& arguments);

// Whether a compiler's command line makes the object of CMake's device link, which then has nothing to
// register.
bool is_device_link_stub(const session::Session& session, const std::vector<std::string>& arguments);

// An object without code. The exit code.
int write_empty_object(const session::Session& session, const std::string& output);

// Runs a tool of the toolkit, which sees `called` as its own name (empty: where it is). Its exit code.
int run_real_tool(const session::Session& session, const std::string& name,
                  const std::vector<std::string>& arguments, const fs::path& called = {});

} // namespace xaas::frontdoor
