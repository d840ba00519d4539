// The programs of an application that users start.
#pragma once

#include "files.h"

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace xaas::install {

struct Programs {
  std::map<std::string, std::string> paths; // by name, in the tree
  std::string main;                         // the entry point's path, or that of the first program
  std::vector<std::string> notes;
};

// The application's own executable files in the directories of the image's PATH, and its entry point. Of two
// with the same name, the one that PATH finds first. `images`: of one application; `tree`: unpacked. Usage
// error if there are none.
Result<Programs> find_programs(const fs::path& tree, const std::vector<std::unique_ptr<oci::Image>>& images,
                               const std::vector<std::string>& search_path);

// Whether the application has a base image, whose files are those of a system.
bool has_base(const std::vector<std::unique_ptr<oci::Image>>& images);

// Marks the files in such an application's tree that are of the base image, and those of them that the
// application loads. Leaves out those that every system has. Reads libraries in workers, which requires a
// process with one thread.
Result<void> mark_base(const fs::path& tree, const std::string& arch,
                       const std::vector<std::unique_ptr<oci::Image>>& images, std::vector<File>& files);

} // namespace xaas::install
