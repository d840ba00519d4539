// The tools with which builds link device code themselves, before they link the host code: nvlink, `nvcc
// -dlink`, and CMake's steps for Clang with nvlink, fatbinary and a stub of the toolkit.
//
// Deploying links the device code of all units of a program (ir::Unit::offload). So these tools write empty
// files, unless nvcc itself compiled relocatable code that they must link.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Their names below the toolkit's bin/.
inline constexpr const char* device_linkers[] = {"nvlink", "fatbinary"};

// Tells, and records, whether nvcc itself compiled relocatable device code in this session.
bool has_native_relocatable(const session::Session& session);
void note_native_relocatable(const session::Session& session);

// Runs one of device_linkers with its arguments. Returns the exit code.
int run_device_linker(const session::Session& session, const std::string& name,
                      const std::vector<std::string>& arguments);

// True if a compiler's command line makes the object of CMake's device link, which then has nothing to
// register.
bool is_device_link_stub(const session::Session& session, const std::vector<std::string>& arguments);

// Writes an object without code. Returns the exit code.
int write_empty_object(const session::Session& session, const std::string& output);

// Runs a tool of the toolkit, which sees `called` as its own name (empty: its path). Returns its exit code.
int run_real_tool(const session::Session& session, const std::string& name,
                  const std::vector<std::string>& arguments, const fs::path& called = {});

} // namespace xaas::frontdoor
