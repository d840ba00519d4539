// What targets link and compile with, where no search says so.
#include "knowledge.h"
#include "readers/cmake/declarations.h"
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>

namespace xaas::discover {

// Builds name the libraries of GPU toolkits by their imported targets (FindCUDAToolkit; ROCm's packages).
void CMakeDeclarations::note_imported_targets(const CMakeCommand& command) {
  for (const CMakeArgument& argument : command.arguments) {
    note_toolkit_variable(argument.text, command);
    for (const char* space : {"CUDA::", "roc::", "hip::"})
      if (argument.text.starts_with(space) && argument.text.find('$') == std::string::npos)
        add_package(argument.text.substr(std::string_view(space).size()), "", false, command);
  }
  note_threads(command);
  if (command.name == "add_library" && !command.arguments.empty())
    targets_.insert(command.arguments[0].text);
  if (command.name.ends_with("link_libraries"))
    note_link(command);
}

void CMakeDeclarations::note_link(const CMakeCommand& command) {
  constexpr size_t most = 1000;
  if (is_for_developers(state_.file) || is_bundled(state_.file))
    return;
  for (size_t i = command.name == "link_libraries" ? 0 : 1; i < command.arguments.size(); ++i) {
    const std::string& text = command.arguments[i].text;
    const std::string name = text.starts_with("-l") ? text.substr(2) : text;
    if (links_.size() >= most || name.find_first_of("$:/ ") != std::string::npos ||
        !Knowledge::get().entry(Knowledge::words_of(name)) || name == "pthread")
      continue;
    Package package{name, "", false, innermost_conditions(), {state_.file, command.line}};
    package.linked = true;
    package.reached = is_reached();
    links_.push_back(std::move(package));
  }
}

void CMakeDeclarations::take_linked_names() {
  for (Package& package : links_)
    if (!targets_.contains(package.name) && packages_.emplace(package.name, findings_.packages.size()).second)
      findings_.packages.push_back(std::move(package));
}

// Whether a build of the project itself, without options, runs the command. Modules that find a package look
// for what that package needs.
bool CMakeDeclarations::is_reached() const {
  return state_.by_default && !is_for_developers(state_.file) && !is_bundled(state_.file) &&
         !state_.file.substr(state_.file.rfind('/') + 1).starts_with("Find");
}

// Compilers of MPI; flags of OpenMP; instruction sets of single sources.
void CMakeDeclarations::note_compiler(const CMakeCommand& command) {
  const bool sets = command.name == "set" && !command.arguments.empty();
  const std::string variable = sets ? command.arguments[0].text : "";
  if (variable.starts_with("CMAKE_") && variable.ends_with("_COMPILER") && command.arguments.size() > 1 &&
      is_mpi_compiler(command.arguments[1].text))
    note_linked("MPI", command);
  const bool flags = variable.find("_FLAGS") != std::string::npos;
  if (!flags && command.name != "set_source_files_properties" && command.name != "target_compile_options" &&
      command.name != "set_property")
    return;
  for (const CMakeArgument& argument : command.arguments)
    for (const std::string& flag : split(argument.text, ' '))
      if (flag == "-fopenmp" && flags)
        note_linked("OpenMP", command);
      else if (flag.starts_with("-m") && !flags)
        findings_.machine_flags.emplace(flag, Place{state_.file, command.line});
}

// A link of threads, or their compiler flag, in a build without options.
void CMakeDeclarations::note_threads(const CMakeCommand& command) {
  if (!is_reached() || command.name.starts_with("check_") || command.name == "message")
    return;
  note_compiler(command);
  const bool links = command.name.ends_with("link_libraries");
  for (const CMakeArgument& argument : command.arguments)
    for (const std::string& word : split(argument.text, ' '))
      if ((links && word == "pthread") || word == "-pthread" || word == "-lpthread" ||
          word == "Threads::Threads" || word == "${CMAKE_THREAD_LIBS_INIT}")
        return note_linked("pthread", command);
  const auto has = [&](const char* text) {
    return std::any_of(command.arguments.begin(), command.arguments.end(),
                       [&](const CMakeArgument& argument) { return argument.text == text; });
  };
  if ((command.name == "find_package" && has("Threads") && has("REQUIRED")) ||
      (command.name == "find_library" && has("pthread")))
    note_linked("pthread", command);
}

// ${CUDA_CUFFT_LIBRARIES}, ${CUDA_cufft_LIBRARY}: FindCUDA.
void CMakeDeclarations::note_toolkit_variable(const std::string& text, const CMakeCommand& command) {
  for (const std::string& prefix : {std::string("${CUDA_"), std::string("CUDA_")})
    for (const std::string& suffix : {std::string("_LIBRARY"), std::string("_LIBRARIES")}) {
      const size_t end = text.find(suffix);
      if (!text.starts_with(prefix) || end == std::string::npos || end <= prefix.size())
        continue;
      const std::string name = to_lower(text.substr(prefix.size(), end - prefix.size()));
      if (name.starts_with("cu") && name != "cuda")
        add_package(name, "", false, command);
    }
}

void CMakeDeclarations::note_linked(const std::string& name, const CMakeCommand& command) {
  add_package(name, "", false, command);
  if (const auto found = packages_.find(name); found != packages_.end())
    findings_.packages[found->second].linked = true;
}

} // namespace xaas::discover
