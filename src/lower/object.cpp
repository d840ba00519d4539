// Form of an object in answers and caches: a line with what the source asked for beyond the target, the names
// of functions that a profile may have and has counts of, the names that it wants, its kernels, and the
// object.
#include <xaas/base/text.h>
#include <xaas/lower/lower.h>

#include <algorithm>
#include <charconv>

namespace xaas::lower {

namespace {

constexpr size_t max_line = 10000;

Error damaged(const std::string& what) {
  return make_error(ErrorKind::integrity, "an object with " + what);
}

Result<OwnCode> parse_own(const std::string& line) {
  OwnCode own;
  const std::vector<std::string> words = split(line, ' ');
  for (size_t i = 0; i < words.size(); ++i) {
    const bool valid =
        i == 0 ? words[0].empty() || words[0] == "asm"
               : target::is_feature("x86_64", words[i]) || target::is_feature("aarch64", words[i]);
    if (!valid)
      return damaged("a damaged first line");
    if (i == 0)
      own.assembly = !words[0].empty();
    else
      own.features.insert(words[i]);
  }
  return own;
}

// Takes a number and the character behind it from the beginning of `text`.
std::optional<size_t> take_number(std::string_view& text, char end) {
  size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end)
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return number;
}

std::optional<std::string> take_name(std::string_view& text) {
  const std::optional<size_t> length = take_number(text, ':');
  if (!length || *length > text.size())
    return std::nullopt;
  std::string name(text.substr(0, *length));
  text.remove_prefix(*length);
  return name;
}

// Takes the form that to_bytes() gives names: their number and a newline, and for each its length, a colon
// and the name, because a name may have any character.
std::optional<std::set<std::string>> take_names(std::string_view& text) {
  std::optional<size_t> count = take_number(text, '\n');
  if (!count)
    return std::nullopt;
  std::set<std::string> names;
  for (; *count > 0; --*count) {
    std::optional<std::string> name = take_name(text);
    if (!name)
      return std::nullopt;
    names.insert(names.end(), *std::move(name));
  }
  return names;
}

// Kernels have the same form: their number, and for each its name, a digit for its form, the reason, and the
// source.
std::string to_bytes(const std::vector<cpukernel::Kernel>& kernels) {
  std::string bytes = std::to_string(kernels.size()) + "\n";
  for (const cpukernel::Kernel& kernel : kernels)
    for (const std::string& part :
         {kernel.name, std::to_string(static_cast<int>(kernel.form)), kernel.reason, kernel.source})
      bytes += std::to_string(part.size()) + ":" + part;
  return bytes;
}

std::optional<std::vector<cpukernel::Kernel>> take_kernels(std::string_view& text) {
  std::optional<size_t> count = take_number(text, '\n');
  if (!count)
    return std::nullopt;
  std::vector<cpukernel::Kernel> kernels;
  for (; *count > 0; --*count) {
    std::optional<std::string> name = take_name(text), form = take_name(text), reason = take_name(text),
                               source = take_name(text);
    if (!name || !reason || !source || !form || form->size() != 1 || (*form)[0] < '0' || (*form)[0] > '3')
      return std::nullopt;
    kernels.push_back({*std::move(name), static_cast<cpukernel::Form>((*form)[0] - '0'), *std::move(reason),
                       *std::move(source)});
  }
  return kernels;
}

} // namespace

std::string name(Form form) {
  switch (form) {
  case Form::object:
    return "object";
  case Form::working:
    return "working object";
  case Form::thin_lto:
    return "ThinLTO bitcode";
  case Form::lto:
    return "LTO bitcode";
  case Form::kernels:
    return "kernels for the CPU";
  case Form::checked_kernels:
    return "kernels for the CPU with checks";
  case Form::prepared:
    return "prepared module";
  case Form::symbols:
    return "symbols";
  case Form::kernel_forms:
    return "forms of kernels";
  }
  return {};
}

std::string to_bytes(const std::set<std::string>& names) {
  std::string bytes = std::to_string(names.size()) + "\n";
  for (const std::string& name : names)
    bytes += std::to_string(name.size()) + ":" + name;
  return bytes;
}

Result<std::set<std::string>> parse_names(std::string_view bytes) {
  std::optional<std::set<std::string>> names = take_names(bytes);
  if (!names || !bytes.empty())
    return damaged("a damaged list of names");
  return *std::move(names);
}

std::string to_bytes(const Object& object) {
  std::string bytes = object.own.assembly ? "asm" : "";
  for (const std::string& feature : object.own.features)
    bytes += " " + feature;
  return bytes + "\n" + to_bytes(object.profilable) + to_bytes(object.profiled) + to_bytes(object.wanted) +
         to_bytes(object.kernels) + object.bytes;
}

Result<Object> parse_object(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end > max_line)
    return make_error(ErrorKind::integrity, "an object without its first line");
  Object object;
  XAAS_TRY(object.own, parse_own(std::string(bytes.substr(0, end))));
  bytes.remove_prefix(end + 1);
  for (std::set<std::string>* names : {&object.profilable, &object.profiled, &object.wanted}) {
    std::optional<std::set<std::string>> taken = take_names(bytes);
    if (!taken)
      return damaged("a damaged list of names");
    *names = *std::move(taken);
  }
  std::optional<std::vector<cpukernel::Kernel>> kernels = take_kernels(bytes);
  if (!kernels)
    return damaged("a damaged list of kernels");
  object.kernels = *std::move(kernels);
  object.bytes = bytes;
  return object;
}

} // namespace xaas::lower
