// What the tests of the oci module share: tar files as a hostile author would write them, and small images.
#pragma once

#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>
#include <xaas/oci/publication.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace xaas::oci::testing {

// One tar member, with nothing checked.
struct RawMember {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0;     // 0: 0755 for a directory, 0644 for others
  std::string size = {}; // of the header, if it is to lie
  unsigned time = 0;     // of the last change
};

inline std::string raw_tar(const std::vector<RawMember>& members) {
  std::string tar;
  for (const RawMember& member : members) {
    char header[512] = {};
    std::memcpy(header, member.name.data(), std::min<size_t>(member.name.size(), 100));
    std::snprintf(header + 100, 8, "%07o", member.mode ? member.mode : member.type == '5' ? 0755U : 0644U);
    std::snprintf(header + 108, 8, "%07o", 1000U);
    std::snprintf(header + 116, 8, "%07o", 1000U);
    std::snprintf(header + 124, 12, "%011zo", member.content.size());
    if (!member.size.empty())
      std::memcpy(header + 124, member.size.data(), std::min<size_t>(member.size.size(), 11));
    std::snprintf(header + 136, 12, "%011o", member.time);
    std::memset(header + 148, ' ', 8);
    header[156] = member.type;
    std::memcpy(header + 157, member.link.data(), std::min<size_t>(member.link.size(), 100));
    std::memcpy(header + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (const char c : header)
      sum += static_cast<unsigned char>(c);
    std::snprintf(header + 148, 8, "%06o", sum);
    tar.append(header, sizeof(header));
    tar += member.content;
    tar.append((512 - tar.size() % 512) % 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

// A layer for unpack.
inline Layer raw_layer(const std::vector<RawMember>& members) {
  std::string tar = raw_tar(members);
  const Digest digest = digest_of(tar);
  const Descriptor descriptor{media_type::layer_tar, digest, tar.size(), {}};
  return {blob_of(std::move(tar)), descriptor, digest};
}

// Everything that a layer is stored as.
inline std::string bytes_of(const NewLayer& layer) {
  return *read_whole(**layer.open());
}

// The configuration, which comes last of the blobs.
inline std::string config_of(const NewImage& image) {
  return *read_whole(**publication_of(image).blobs.back().open());
}

inline NewLayer layer_of(const std::string& path, const std::string& content,
                         Compression compression = Compression::gzip) {
  LayerBuilder builder;
  EXPECT_TRUE(builder.add_file(path, content));
  return *builder.finish(compression, "test");
}

inline NewImage image_of(const std::string& content) {
  NewImage image;
  image.config.created = "1970-01-01T00:00:00Z";
  image.config.entrypoint = {"/bin/" + content};
  image.config.env = {"A=b"};
  image.config.labels = {{"dev.xaas.kind", "ir"}};
  image.annotations = {{"dev.xaas.kind", "ir"}};
  image.layers = {layer_of("bin/" + content, content), layer_of("data", content + content)};
  return image;
}

inline Reference reference_of(const std::string& text) {
  const auto reference = parse_reference(text);
  EXPECT_TRUE(reference) << text;
  return reference ? *reference : Reference();
}

inline std::vector<std::string> names_below(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    names.push_back(entry.path().lexically_relative(directory).string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace xaas::oci::testing
