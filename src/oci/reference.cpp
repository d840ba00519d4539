#include <xaas/oci/reference.h>

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::oci {

namespace {

const char* const known_transports = "oci:DIR[:TAG], oci-archive:FILE[:TAG], rootfs:DIR (output only)";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The name before the first ':' if it can be that of a transport; a path that contains ':' has a '/' or '.'
// before it.
std::string transport_name(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    return {};
  const std::string name = text.substr(0, colon);
  const bool plausible = std::all_of(
      name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '+'; });
  return plausible ? name : std::string();
}

bool is_tag(const std::string& tag) {
  if (tag.empty() || tag.size() > 128)
    return false;
  const auto word = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return word(tag[0]) &&
         std::all_of(tag.begin(), tag.end(), [&](char c) { return word(c) || c == '.' || c == '-'; });
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
  if (name == "rootfs") {
    reference.transport = Transport::rootfs;
    reference.path = rest;
    return {};
  }
  if (name == "docker")
    return make_error(ErrorKind::usage, text + ": this version has no registry client",
                      "copy the image to a layout first: `skopeo copy " + text + " oci:DIR:TAG`");
  return make_error(ErrorKind::usage, text + ": unknown transport '" + name + "'",
                    std::string("known are ") + known_transports + "; a path is written ./" + text);
}

} // namespace

Result<Reference> parse_reference(const std::string& text) {
  Reference reference;
  reference.text = text;
  XAAS_CHECK(parse_into(reference));
  if (reference.path.empty())
    return make_error(ErrorKind::usage, "'" + text + "': an image reference without a path",
                      std::string("known are ") + known_transports);
  return reference;
}

} // namespace xaas::oci
