// registries.conf of containers/image: where images are read.
#include "fuzz.h"

#include <xaas/registry/routes.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  registry::Routes routes;
  const Result<void> added = routes.add(std::string(reinterpret_cast<const char*>(data), size), "file");
  require(added || added.error().kind == ErrorKind::usage, "kind of error");
  for (const char* text : {"docker://example.com/foo/image:1", "docker://example.com/foo/image",
                           "docker://a.example.org:5000/x@sha256:"
                           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                           "docker://registry.com/image:1"}) {
    const oci::Reference image = *oci::parse_reference(text);
    const Result<std::vector<registry::Route>> read = routes.to_read(image);
    require(read ? !read->empty()
                 : read.error().kind == ErrorKind::usage || read.error().kind == ErrorKind::denied,
            "places, or why there are none");
    const Result<registry::Route> written = routes.to_write(image);
    require(written ? written->reference.text == image.text : written.error().kind == ErrorKind::denied,
            "writing goes to the name");
  }
  return 0;
}
