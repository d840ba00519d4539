#include "arguments.h"
#include "assembly/nasm.h"
#include "cuda/run.h"
#include "device/linkers.h"
#include "driver_run.h"
#include "fortran/compile.h"
#include "hip/hipcc.h"
#include "link.h"
#include "meson.h"
#include "other_levels.h"

#include <xaas/base/trace.h>
#include <xaas/frontdoor/front_door.h>
#include <xaas/frontdoor/toolchains.h>
#include <xaas/session/log.h>
#include <xaas/session/session.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>

namespace xaas::frontdoor {

namespace {

bool is_nvcc(const std::string& argv0) {
  return fs::path(argv0).filename() == "nvcc";
}

bool is_device_linker(const std::string& name) {
  return std::find(std::begin(device_linkers), std::end(device_linkers), name) != std::end(device_linkers);
}

bool is_hipcc(const std::string& argv0) {
  return fs::path(argv0).filename() == "hipcc";
}

bool is_assembler(const std::string& argv0) {
  return fs::path(argv0).filename() == "nasm";
}

bool is_linker(const std::string& argv0) {
  return fs::path(argv0).filename() == "ld";
}

Compiler compiler_named(const std::string& argv0) {
  if (argv0.ends_with("++"))
    return Compiler::clangxx;
  return fs::path(argv0).filename() == "flang" ? Compiler::flang : Compiler::clang;
}

} // namespace

bool is_front_door(const std::string& argv0) {
  const std::string name = fs::path(argv0).filename().string();
  return is_device_linker(name) || name == "clang" || name == "clang++" || name == "flang" ||
         name == "nvcc" || name == "hipcc" || name == "nasm" || name == "ld";
}

// Tools of GPU compilers, whose commands nothing compares with those at other levels.
static bool compares_levels(const std::string& argv0) {
  return !is_nvcc(argv0) && !is_hipcc(argv0) && !is_device_linker(fs::path(argv0).filename().string());
}

static int run_tool(const session::Session& session, const std::string& argv0,
                    const std::vector<std::string>& arguments) {
  if (!compares_levels(argv0))
    if (const Result<void> noted =
            differs_at_levels(session, fs::path(argv0).filename().string(), "it is a tool of GPU compilers");
        !noted)
      return print_error(noted.error());
  if (is_linker(argv0))
    return capture_link(session, arguments);
  if (is_assembler(argv0))
    return run_nasm(session, arguments);
  const Compiler compiler = compiler_named(argv0);
  if (compiler == Compiler::flang && session.flang.empty())
    return print_error(note_missing_flang(session));
  const std::string name = fs::path(argv0).filename().string();
  if (is_device_linker(name))
    return run_device_linker(session, name, arguments);
  if (is_device_link_stub(session, arguments))
    return write_empty_object(session, *std::next(std::find(arguments.begin(), arguments.end(), "-o")));
  if (is_hipcc(argv0))
    return run_hipcc(session, arguments);
  return is_nvcc(argv0) ? run_nvcc(session, arguments) : run_driver(session, arguments, compiler);
}

// A tool that is killed leaves its mark.
static int run_marked(const session::Session& session, const std::string& argv0,
                      const std::vector<std::string>& arguments) {
  if (is_question_of_meson(arguments))
    return run_tool(at_lowest_level(session), argv0, arguments);
  const Result<session::ComparedCommand> compared = session::ComparedCommand::begin(session);
  if (!compared)
    return print_error(compared.error());
  const int code = run_tool(session, argv0, arguments);
  compared->end();
  return code;
}

// The output that a command line names, or the tool.
static std::string name_of(const std::string& argv0, const std::vector<std::string>& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "-o");
  return option == arguments.end() || std::next(option) == arguments.end()
             ? fs::path(argv0).filename().string()
             : *std::next(option);
}

static int run_guarded(const std::string& argv0, const std::vector<std::string>& arguments) {
  // Fixes __DATE__ and __TIME__, so that building twice gives the same IR.
  setenv("SOURCE_DATE_EPOCH", "0", 0);
  const Result<session::Session> session = session::find_session(argv0);
  if (!session)
    return print_error(session.error());
  if (!session->trace)
    return run_marked(*session, argv0, arguments);
  trace::start();
  trace::Span span(is_linker(argv0) ? "link" : "command", name_of(argv0, arguments));
  const int code = run_marked(*session, argv0, arguments);
  span.end();
  static_cast<void>(trace::append_to(session->spans())); // a trace is not worth an error
  return code;
}

int run_front_door(const std::string& argv0, const std::vector<std::string>& arguments) {
  // Reports exceptions (a file name that is not UTF-8 in JSON, no memory) as a compiler's error.
  try {
    return run_guarded(argv0, arguments);
  } catch (const std::exception& error) {
    std::cerr << "xaas: error: compiling: " << error.what() << "\n";
    return 1;
  }
}

} // namespace xaas::frontdoor
