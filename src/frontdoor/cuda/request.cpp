#include "cuda/request.h"

#include "cuda/words.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <map>

namespace xaas::frontdoor {

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

bool NvccRequest::has(std::string_view name) const {
  return std::any_of(command_.options.begin(), command_.options.end(),
                     [&](const NvccGiven& given) { return is(given, name); });
}

std::optional<std::string> NvccRequest::last(std::string_view name) const {
  for (auto given = command_.options.rbegin(); given != command_.options.rend(); ++given)
    if (is(*given, name) && !given->values.empty())
      return given->values.back();
  return std::nullopt;
}

bool NvccRequest::last_is_true(std::string_view name, bool otherwise) const {
  const std::optional<std::string> value = last(name);
  return value ? *value == "true" : otherwise;
}

Words NvccRequest::all(std::string_view name) const {
  Words values;
  for (const NvccGiven& given : command_.options)
    if (is(given, name))
      append(values, given.values);
  return values;
}

Words NvccRequest::unknown() const {
  Words words;
  for (const NvccGiven& given : command_.options)
    if (!given.option)
      append(words, given.values);
  return words;
}

bool NvccRequest::is(const NvccGiven& given, std::string_view name) {
  return given.option && given.option->short_name == name;
}

Error nvcc_refusal(const std::string& spelling, std::string_view reason) {
  return make_error(ErrorKind::failed, "nvcc " + spelling + ": clang cannot " + std::string(reason));
}

Result<Words> tool_words(const NvccRequest& request, std::string_view name) {
  return shell_words(join(request.all(name), " ")).in("nvcc " + std::string(name));
}

namespace {

// Checks options with few values: those that nvcc accepts and Clang can follow.
Result<void> check_values(const NvccRequest& request) {
  const std::map<std::string_view, Words> allowed = {
      {"-cudart", {"none", "shared", "static"}},
      {"-cudadevrt", {"none", "static"}},
      {"-default-stream", {"legacy", "null", "per-thread"}},
      {"-dopt", {"on"}},
      {"-x", {"c", "c++", "cu"}},
      {"-std", {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23"}},
      {"-m", {"64"}},
      {"-device-stack-protector", {"false"}},
  };
  for (const NvccGiven& given : request.command().options) {
    const auto values = given.option ? allowed.find(given.option->short_name) : allowed.end();
    if (values != allowed.end() &&
        std::find(values->second.begin(), values->second.end(), given.values[0]) == values->second.end())
      return nvcc_refusal(given.spelling, "follow this value");
  }
  return {};
}

// Options of nvcc's front end that do more than control its messages would change the program.
Result<void> check_front_end(const NvccRequest& request) {
  XAAS_TRY(const Words words, tool_words(request, "-Xcudafe"));
  for (const std::string& word : words)
    if (word.starts_with("-") && !word.starts_with("--diag_") &&
        !word.starts_with("--display_error_number") && !word.starts_with("--no_display_error_number") &&
        !word.starts_with("--brief_diagnostics") && !word.starts_with("--error_limit") &&
        word != "--promote_warnings" && word != "--no_warnings" && word != "--remarks" &&
        word != "--wrap_diagnostics")
      return nvcc_refusal("-Xcudafe " + word, "give nvcc's front end options");
  return {};
}

// Clang's name of an input's language; "none" for an input that is only linked.
Result<std::string> language_of(const std::string& input, const std::optional<std::string>& given) {
  // nvcc's -x applies to all inputs, even objects.
  if (given)
    return *given == "cu" ? std::string("cuda") : *given;
  static const std::map<std::string, std::string> languages = {
      {".cu", "cuda"},
      {".c", "c"},
      {".cc", "c++"},
      {".cpp", "c++"},
      {".cxx", "c++"},
      {".i", "cpp-output"},
      {".ii", "c++-cpp-output"},
      {".s", "assembler"},
      {".S", "assembler-with-cpp"},
      {".o", "none"},
      {".obj", "none"},
      {".a", "none"},
      {".lib", "none"},
      {".so", "none"},
  };
  const std::string extension = fs::path(input).extension().string();
  const auto found = languages.find(extension);
  if (found != languages.end())
    return found->second;
  for (const char* device_code : {".gpu", ".ptx", ".cubin", ".fatbin", ".ltoir"})
    if (extension == device_code)
      return nvcc_refusal(input, "compile or link device code of nvcc's");
  return make_error(ErrorKind::failed, "nvcc does not know what to do with " + input);
}

} // namespace

Result<NvccInputs> inputs_of(const NvccRequest& request) {
  NvccInputs inputs;
  std::string current = "none";
  for (const std::string& input : request.command().inputs) {
    XAAS_TRY(const std::string language, language_of(input, request.last("-x")));
    if (language != current)
      append(inputs.words, {"-x", language});
    current = language;
    inputs.words.push_back(input);
    inputs.has_cuda |= language == "cuda";
    inputs.has_cxx |= language == "cuda" || language == "c++" || language == "c++-cpp-output";
    inputs.has_host_source |= language != "cuda" && language != "none";
    inputs.sources += language != "none";
  }
  return inputs;
}

bool is_query(const NvccRequest& request) {
  for (const char* name : {"-h", "-V", "-code-ls", "-arch-ls", "-dryrun"})
    if (request.has(name))
      return true;
  return false;
}

Result<void> check_request(const NvccRequest& request) {
  const bool forwards = request.has("-forward-unknown-opts") ||
                        request.has("-forward-unknown-to-host-compiler") ||
                        request.has("-forward-unknown-to-host-linker");
  for (const NvccGiven& given : request.command().options) {
    if (!given.option && !forwards)
      return make_error(ErrorKind::failed, "nvcc does not know " + given.spelling);
    if (given.option && given.option->use == NvccUse::refused)
      return nvcc_refusal(given.spelling, given.option->reason);
  }
  if (request.has("-dc") && request.has("-dw"))
    return make_error(ErrorKind::failed, "nvcc -dc and -dw exclude each other");
  if (request.command().inputs.empty())
    return make_error(ErrorKind::failed, "nvcc: there is no input file");
  XAAS_CHECK(check_values(request));
  return check_front_end(request);
}

} // namespace xaas::frontdoor
