// A registry of tests: blobs, manifests and uploads in memory, and a way to misbehave.
#pragma once

#include "http/server.h"

#include <xaas/base/digest.h>
#include <xaas/oci/layer.h>
#include <xaas/registry/images.h>

#include <gmock/gmock.h>

#include <map>
#include <optional>

namespace xaas::registry::testing {

using xaas::testing::HttpServer;

class FakeRegistry {
public:
  // What to say instead; nothing: what a registry says. Called with method, path and whole request.
  using Override = std::function<std::optional<std::string>(
      const std::string& method, const std::string& path, const std::string& request)>;
  FakeRegistry() : server_([this](const std::string& request) { return answer(request); }) {}

  Override override;
  std::map<std::string, std::string> blobs;                             // by digest
  std::map<std::string, std::pair<std::string, std::string>> manifests; // by name: type, text

  std::string host() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  std::string url(const std::string& path) const { return server_.url(path); }
  oci::Reference reference(const std::string& name) const {
    return *oci::parse_reference("docker://" + host() + "/" + name);
  }
  // Requests that begin so, such as "GET /v2/app/blobs/".
  int count(const std::string& start) const {
    int found = 0;
    for (const std::string& request : server_.requests())
      found += request.starts_with(start);
    return found;
  }
  std::vector<std::string> requests() const { return server_.requests(); }

  void put(const oci::NewImage& image, const std::string& tag) {
    const oci::Publication publication = oci::publication_of(image);
    for (const oci::NewBlob& blob : publication.blobs)
      blobs[blob.descriptor.digest.to_string()] = *oci::read_whole(**blob.open());
    put_manifest(tag, oci::media_type::manifest, publication.root().text);
  }
  void put_manifest(const std::string& name, const std::string& type, const std::string& text) {
    manifests[name] = manifests[digest_of(text).to_string()] = {type, text};
  }

  static std::string reply(int status, const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n" + headers + "\r\n" + body;
  }
  static std::string field(const std::string& request, const std::string& name) {
    const size_t at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos || at > request.find("\r\n\r\n"))
      return {};
    const size_t start = at + name.size() + 4;
    return request.substr(start, request.find("\r\n", start) - start);
  }
  static std::string body_of(const std::string& request) {
    return request.substr(request.find("\r\n\r\n") + 4);
  }

private:
  static std::string after(const std::string& path, const std::string& mark) {
    const size_t at = path.find(mark);
    return at == std::string::npos ? std::string() : path.substr(at + mark.size());
  }
  std::string answer(const std::string& request) {
    const std::string method = request.substr(0, request.find(' '));
    const size_t start = method.size() + 1;
    const std::string path =
        request.size() > start ? request.substr(start, request.find(' ', start) - start) : std::string();
    if (path.empty() || path[0] != '/')
      return "HTTP/1.1 400 no HTTP\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"; // TLS comes first
    if (override)
      if (const auto other = override(method, path, request))
        return *other;
    if (path == "/v2/")
      return reply(200, "{}");
    if (const std::string upload = after(path, "/blobs/uploads/");
        path.find("/blobs/uploads/") != std::string::npos)
      return answer_upload(method, upload, request);
    if (const std::string digest = after(path, "/blobs/"); !digest.empty())
      return answer_blob(method, digest, request);
    if (const std::string name = after(path, "/manifests/"); !name.empty()) {
      if (method == "PUT") {
        put_manifest(name, field(request, "Content-Type"), body_of(request));
        return reply(201, "");
      }
      const auto found = manifests.find(name);
      return found == manifests.end()
                 ? reply(404, "")
                 : reply(200, found->second.second, "Content-Type: " + found->second.first + "\r\n");
    }
    return reply(404, "");
  }
  std::string answer_blob(const std::string& method, const std::string& digest, const std::string& request) {
    const auto found = blobs.find(digest);
    if (found == blobs.end())
      return method == "HEAD" ? "HTTP/1.1 404 X\r\nConnection: close\r\n\r\n" : reply(404, "");
    const std::string& bytes = found->second;
    if (method == "HEAD")
      return "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: " + std::to_string(bytes.size()) +
             "\r\n\r\n";
    const std::string range = field(request, "Range");
    if (range.empty())
      return reply(200, bytes);
    const size_t from = std::stoul(range.substr(6));
    return reply(206, bytes.substr(from),
                 "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(bytes.size() - 1) +
                     "/" + std::to_string(bytes.size()) + "\r\n");
  }
  std::string answer_upload(const std::string& method, const std::string& rest, const std::string& request) {
    if (method == "POST") {
      if (const size_t at = rest.find("mount="); at != std::string::npos)
        if (blobs.contains(rest.substr(at + 6, 71)))
          return reply(201, "");
      partial_.clear();
      return reply(202, "", "Location: /v2/app/blobs/uploads/one?state=1\r\n");
    }
    const std::string where =
        "Location: /v2/app/blobs/uploads/one?state=" + std::to_string(++state_) + "\r\n";
    const std::string range =
        "Range: 0-" + std::to_string(partial_.size() + body_of(request).size() - 1) + "\r\n";
    if (method == "GET")
      return "HTTP/1.1 204 X\r\nConnection: close\r\n" + where + range + "\r\n";
    if (method == "DELETE")
      return "HTTP/1.1 204 X\r\nConnection: close\r\n\r\n";
    if (method == "PATCH" &&
        field(request, "Content-Range").substr(0, field(request, "Content-Range").find('-')) !=
            std::to_string(partial_.size()))
      return reply(416, "", where);
    partial_ += body_of(request);
    if (method == "PATCH")
      return reply(202, "", where + range);
    const std::string digest = rest.substr(rest.find("digest=") + 7);
    if (digest_of(partial_).to_string() != digest)
      return reply(400, R"({"errors":[{"code":"DIGEST_INVALID","message":"not the digest"}]})");
    blobs[digest] = partial_;
    return reply(201, "");
  }

  std::string partial_;
  int state_ = 1;
  HttpServer server_; // last: its thread uses the others
};

// Access without files of this machine; pauses are counted and not made.
struct TestAccess {
  std::vector<std::chrono::milliseconds> pauses;
  std::map<std::string, std::string> environment;
  Access access() {
    Access access;
    access.transfers = 1; // one after the other, as the tests count
    access.environment = [this](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? std::string() : found->second;
    };
    access.sleep = [this](std::chrono::milliseconds time) -> Result<void> {
      pauses.push_back(time);
      return {};
    };
    return access;
  }
};

inline std::string bytes_of(const oci::NewLayer& layer) {
  return *oci::read_whole(**layer.open());
}

inline oci::NewImage small_image(const std::string& content) {
  oci::NewImage image;
  image.config.created = "1970-01-01T00:00:00Z";
  image.annotations = {{"dev.xaas.kind", "deployed"}};
  image.config.labels = image.annotations;
  for (const char* path : {"bin/a", "lib/b"}) {
    oci::LayerBuilder builder;
    EXPECT_TRUE(builder.add_file(path, content + path));
    image.layers.push_back(*builder.finish(oci::Compression::gzip, "test"));
  }
  return image;
}

} // namespace xaas::registry::testing
