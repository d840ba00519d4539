#include "cuda/first_headers.h"
#include "hip/rocm.h"

#include <xaas/base/directory.h>
#include <xaas/frontdoor/front_door.h>
#include <xaas/frontdoor/toolchains.h>

namespace xaas::frontdoor {

namespace {

Result<void> link_to(const fs::path& destination, const fs::path& link) {
  std::error_code code;
  fs::create_symlink(destination, link, code);
  return code ? Result<void>(errno_error(code.value(), "creating " + link.string())) : Result<void>();
}

// Mirrors the toolkit around our nvcc, because builds find its headers and libraries relative to nvcc.
Result<void> shadow_toolkit(const fs::path& toolkit, const fs::path& shadow, const fs::path& program) {
  XAAS_CHECK(make_directories(shadow / "bin"));
  XAAS_TRY(const std::vector<fs::path> entries, list_directory(toolkit));
  for (const fs::path& entry : entries)
    if (entry.filename() != "bin")
      XAAS_CHECK(link_to(entry, shadow / entry.filename()));
  XAAS_TRY(const std::vector<fs::path> programs, list_directory(toolkit / "bin"));
  for (const fs::path& entry : programs)
    XAAS_CHECK(link_to(is_front_door(entry.filename()) ? program : entry, shadow / "bin" / entry.filename()));
  return {};
}

} // namespace

Result<void> create_session(const session::Session& session, const fs::path& program) {
  const fs::path tools = session.directory / "tools";
  XAAS_CHECK(make_directories(tools));
  XAAS_CHECK(session::write_session(session));
  // Build systems know compilers by their names: makefiles add -fopenmp where $(CC) contains `clang`, and
  // libtool knows a Fortran compiler by nothing else.
  for (const char* name : {"clang", "clang++", "flang", "ld"})
    XAAS_CHECK(link_to(program, tools / name));
  if (!session.nasm.program.empty())
    XAAS_CHECK(link_to(program, tools / "nasm"));
  if (!session.rocm.root.empty())
    XAAS_CHECK(shadow_rocm(session, program));
  if (session.cuda.empty())
    return {};
  XAAS_CHECK(shadow_toolkit(session.cuda, session.shadow_cuda(), program));
  return write_first_headers(session.cuda, session.first_cuda_headers());
}

} // namespace xaas::frontdoor
