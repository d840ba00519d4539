// From captured configurations to a bundle.
#pragma once

#include "closure.h"

#include <xaas/harvest/harvest.h>
#include <xaas/image/bundle.h>

#include <set>
#include <string>

namespace xaas::build {

class BundleMaker {
public:
  // `library_path`: LD_LIBRARY_PATH of the build.
  BundleMaker(image::Bundle& bundle, const store::ContentStore& content, fs::path sysroot,
              std::vector<std::string> library_path)
      : bundle_(bundle), content_(content), sysroot_(std::move(sysroot)),
        library_path_(std::move(library_path)) {}
  void set_base(image::BaseImage& base) { base_ = &base; }

  // Adds one configuration: everything that its installed files reach, and its run-time closure.
  // `destination`: where the build installed them.
  Result<void> add(const session::Session& session, image::BundleConfiguration configuration,
                   const fs::path& destination, const std::vector<std::string>& runtime_extras);

  // Libraries of the closure that load others by name.
  const std::set<std::string>& loaders() const { return loaders_; }

  // The paths on this machine of the files that the bundle carries, by digest.
  const std::map<Digest, fs::path>& places() const { return places_; }

private:
  struct Reached {
    std::map<Digest, loader::Dynamic> libraries; // kit files that are shared libraries
    std::set<Digest> links;
    std::set<Digest> seen;
  };
  void note_place(const Digest& file, const fs::path& path);
  Result<void> reach_unit(const Digest& id, Reached& reached);
  Result<void> reach_archive(const Digest& digest, Reached& reached);
  Result<void> reach_link(const Digest& digest, Reached& reached);
  Result<void> reach_kit(const link::FileRef& file, Reached& reached);
  Result<void> reach(const link::FileRef& file, Reached& reached);

  Linked linked_by(const link::LinkRecord& record, const Reached& reached) const;
  void add_linked(const image::BundleConfiguration& configuration, const Reached& reached,
                  ClosureInput& input) const;
  Result<void> add_native(const image::BundleConfiguration& configuration, ClosureInput& input) const;

  Result<void> add_needs(const std::map<std::string, std::string>& built, ClosureInput& input) const;

  Result<void> check_claims(const image::BundleConfiguration& configuration) const;

  image::Bundle& bundle_;
  const store::ContentStore& content_;
  fs::path sysroot_;
  std::vector<std::string> library_path_;
  image::BaseImage* base_ = nullptr;
  std::map<Digest, harvest::KitOrigin> origins_; // of the configuration that is being added
  std::set<Digest> start_files_;                 // of the compiler
  std::set<std::string> loaders_;
  std::map<Digest, fs::path> places_;
};

} // namespace xaas::build
