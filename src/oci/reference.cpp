#include <xaas/oci/reference.h>

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::oci {

namespace {

const char* const known_transports =
    "oci:DIR[:TAG], oci-archive:FILE[:TAG], docker://HOST/NAME[:TAG], and as outputs rootfs:DIR and "
    "squashfs:FILE";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// The text before the first ':' if it can name a transport; a path that contains ':' has a '/' or '.' before
// it.
std::string transport_name(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    return {};
  const std::string name = text.substr(0, colon);
  const bool plausible = std::all_of(
      name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '+'; });
  return plausible ? name : std::string();
}

// Splits `PATH[:TAG]`: the last colon starts a tag, unless a '/' follows it.
Result<void> take_path_and_tag(const std::string& text, Reference& reference) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('/', colon) != std::string::npos) {
    reference.path = text;
    return {};
  }
  reference.path = text.substr(0, colon);
  reference.tag = text.substr(colon + 1);
  if (!is_tag(reference.tag))
    return make_error(ErrorKind::usage, reference.text + ": '" + reference.tag + "' is not a tag",
                      "a tag is a letter, digit or _, then up to 127 letters, digits, '_', '.' or '-'");
  return {};
}

// HOST[:PORT]: a name of letters, digits and '-' between dots, or an IPv6 address in brackets.
bool is_host(const std::string& text) {
  std::string name = text;
  const size_t colon = text.rfind(':');
  const size_t bracket = text.rfind(']');
  if (colon != std::string::npos && (bracket == std::string::npos || bracket < colon)) {
    const std::string port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit))
      return false;
    name = text.substr(0, colon);
  }
  if (name.starts_with('[') && name.ends_with(']'))
    return name.size() > 3 && name.find_first_not_of("0123456789abcdefABCDEF:", 1) == name.size() - 1;
  bool begins = true; // a component
  for (const char c : name) {
    if (begins ? !(is_letter(c) || is_digit(c)) : !(is_letter(c) || is_digit(c) || c == '-' || c == '.'))
      return false;
    begins = c == '.';
  }
  return !begins;
}

// Components of [a-z0-9]+, joined by one '.', one or two '_', or any number of '-'.
bool is_component(const std::string& text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c); };
  if (text.empty() || !alphanumeric(text.front()) || !alphanumeric(text.back()))
    return false;
  for (size_t at = 0; at < text.size();) {
    if (alphanumeric(text[at])) {
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_not_of(text[at], at), text.size());
    const size_t length = end - at;
    const bool separator =
        (text[at] == '.' && length == 1) || (text[at] == '_' && length <= 2) || text[at] == '-';
    if (!separator || !alphanumeric(text[end]))
      return false;
    at = end;
  }
  return true;
}

Error malformed(const Reference& reference, const std::string& what) {
  return make_error(ErrorKind::usage, reference.text + ": " + what,
                    "the form is docker://HOST[:PORT]/NAME[:TAG][@sha256:DIGEST]");
}

Result<void> check_name(const Reference& reference) {
  const std::string& name = reference.repository;
  if (reference.host.size() + 1 + name.size() > 255)
    return malformed(reference, "the name is longer than 255 characters");
  if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return malformed(reference,
                     "'" + name + "' has an upper-case letter; names in registries are lower case");
  const std::vector<std::string> parts = split(name, '/');
  if (name.ends_with('/') || !std::all_of(parts.begin(), parts.end(), is_component) || parts.empty())
    return malformed(reference, "'" + name + "' is not the name of a repository");
  return {};
}

// `rest` is what follows `docker:`.
Result<void> take_registry(std::string rest, Reference& reference) {
  reference.transport = Transport::registry;
  if (!rest.starts_with("//"))
    return malformed(reference, "two slashes are missing after 'docker:'");
  rest.erase(0, 2);
  if (const size_t at = rest.find('@'); at != std::string::npos) {
    const Result<Digest> digest = Digest::parse(rest.substr(at + 1));
    if (!digest)
      return malformed(reference, "'" + rest.substr(at + 1) + "' is not a sha256 digest");
    reference.digest = *digest;
    rest.erase(at);
  }
  const size_t slash = rest.find('/');
  if (const size_t colon = rest.rfind(':');
      colon != std::string::npos && rest.find('/', colon) == std::string::npos) {
    reference.tag = rest.substr(colon + 1);
    if (!is_tag(reference.tag))
      return malformed(reference, "'" + reference.tag + "' is not a tag");
    rest.erase(colon);
  }
  const std::string first = slash == std::string::npos ? std::string() : rest.substr(0, slash);
  if (first.find_first_of(".:") != std::string::npos || first == "localhost") {
    reference.host = first;
    reference.repository = rest.substr(slash + 1);
  } else {
    reference.host = "docker.io";
    reference.repository = rest;
  }
  if (!is_host(reference.host))
    return malformed(reference, "'" + reference.host + "' is not the name of a host");
  if (reference.host == "index.docker.io")
    reference.host = "docker.io";
  if (reference.host == "docker.io" && reference.repository.find('/') == std::string::npos)
    reference.repository = "library/" + reference.repository;
  return check_name(reference);
}

bool is_archive_path(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".tar" && !fs::is_directory(path, ignored);
}

Result<void> parse_into(Reference& reference) {
  const std::string& text = reference.text;
  const std::string name = transport_name(text);
  const std::string rest = name.empty() ? text : text.substr(name.size() + 1);
  if (name.empty()) {
    XAAS_CHECK(take_path_and_tag(text, reference));
    reference.transport = is_archive_path(reference.path) ? Transport::archive : Transport::layout;
    return {};
  }
  if (name == "oci" || name == "oci-archive") {
    reference.transport = name == "oci" ? Transport::layout : Transport::archive;
    return take_path_and_tag(rest, reference);
  }
  if (name == "rootfs" || name == "squashfs") {
    reference.transport = name == "rootfs" ? Transport::rootfs : Transport::squashfs;
    reference.path = rest;
    return {};
  }
  if (name == "docker")
    return take_registry(rest, reference);
  return make_error(ErrorKind::usage, text + ": unknown transport '" + name + "'",
                    std::string("known are ") + known_transports + "; a path is written ./" + text);
}

} // namespace

bool is_tag(const std::string& tag) {
  if (tag.empty() || tag.size() > 128)
    return false;
  const auto word = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return word(tag[0]) &&
         std::all_of(tag.begin(), tag.end(), [&](char c) { return word(c) || c == '.' || c == '-'; });
}

Result<Reference> parse_reference(const std::string& text) {
  Reference reference;
  reference.text = text;
  XAAS_CHECK(parse_into(reference));
  if (reference.transport != Transport::registry && reference.path.empty())
    return make_error(ErrorKind::usage, "'" + text + "': an image reference without a path",
                      std::string("known are ") + known_transports);
  return reference;
}

} // namespace xaas::oci
