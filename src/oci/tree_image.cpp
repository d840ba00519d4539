// The description of an image in its own tree.
#include "image_json.h"

#include <xaas/base/text.h>
#include <xaas/oci/tree.h>

namespace xaas::oci {

namespace {

constexpr int64_t description_version = 1;

class DescribedImage : public Image {
public:
  DescribedImage(const Reference& reference, const Digest& digest, Manifest manifest, ImageConfig config) {
    reference_ = reference;
    digest_ = digest;
    manifest_ = std::move(manifest);
    config_ = std::move(config);
  }
  Result<std::string> blob(const Descriptor&) const override { return none(); }
  Result<BlobPtr> open_blob(const Descriptor&) const override { return none(); }
  Result<BlobPtr> stream_blob(const Descriptor&) const override { return none(); }
  void prefetch(const std::vector<Descriptor>&, Progress&) const override {}

private:
  Error none() const { return make_error(ErrorKind::usage, reference_.text + ": a file tree has no blobs"); }
};

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += " '" + replaced(word, "'", "'\\''") + "'";
  return text;
}

} // namespace

// Without an entry point and arguments, the shell is the program, as with enroot's own images.
std::string start_script(const ImageConfig& config) {
  const std::string directory = config.working_directory.empty() ? "/" : config.working_directory;
  std::string otherwise = shell_words(config.entrypoint) + shell_words(config.cmd);
  if (otherwise.empty())
    otherwise = " /bin/sh";
  return "cd" + shell_words({directory}) + " || exit 1\nif [ $# -gt 0 ]; then\n  exec" +
         shell_words(config.entrypoint) + " \"$@\"\nelse\n  exec" + otherwise + "\nfi\n";
}

std::string environment_file(const ImageConfig& config) {
  std::string text;
  for (const std::string& variable : config.env)
    if (variable.find('\n') == std::string::npos)
      text += variable + "\n";
  return text;
}

std::string describe_tree(const Digest& manifest, const ImageConfig& config,
                          const std::map<std::string, std::string>& annotations) {
  return to_bytes(Json{{"version", description_version},
                       {"digest", manifest.to_string()},
                       {"architecture", config.architecture},
                       {"os", config.os},
                       {"config",
                        {{"Entrypoint", config.entrypoint},
                         {"Cmd", config.cmd},
                         {"Env", config.env},
                         {"WorkingDir", config.working_directory}}},
                       {"annotations", annotations}}) +
         "\n";
}

Result<std::unique_ptr<Image>> open_described(const Reference& reference, const std::string& text,
                                              const std::string& where) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  XAAS_TRY(const JsonReader version_reader, reader.at("version"));
  XAAS_TRY(const int64_t version, version_reader.integer());
  if (version > description_version)
    return make_error(ErrorKind::unsatisfied, where + ": image format " + std::to_string(version) +
                                                  " is newer than format " +
                                                  std::to_string(description_version) + " of this version");
  XAAS_TRY(const std::string digest_text, reader.string_at("digest"));
  XAAS_TRY(const Digest digest, Digest::parse(digest_text).in(where + "/digest"));
  ImageConfig config;
  XAAS_TRY(config.architecture, reader.string_at("architecture"));
  XAAS_TRY(config.os, reader.string_at("os"));
  XAAS_TRY(const JsonReader process, reader.at("config"));
  XAAS_TRY(config.entrypoint, process.strings_at("Entrypoint"));
  XAAS_TRY(config.cmd, process.strings_at("Cmd"));
  XAAS_TRY(config.env, process.strings_at("Env"));
  XAAS_TRY(config.working_directory, process.string_at("WorkingDir"));
  Manifest manifest;
  XAAS_TRY(const JsonReader annotations, reader.at("annotations"));
  XAAS_TRY(manifest.annotations, annotations.string_map());
  return std::unique_ptr<Image>(
      std::make_unique<DescribedImage>(reference, digest, std::move(manifest), std::move(config)));
}

} // namespace xaas::oci
