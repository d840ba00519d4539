// The ranks of a job that run different images of an index.
//
// Each rank takes the image for its own node, and nothing tells it what the others take. Ranks of a job
// usually share the directory of unpacked trees, through the home directory or a file system of the site. The
// first of them leaves a symbolic link there, whose name identifies the job and whose target is its image;
// symlink(2) makes both at once, on NFS and Lustre, too. A rank with another image makes a second link, which
// tells the others that it reports. Ranks that share no directory stay silent.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/image/targets.h>

#include <map>
#include <optional>
#include <string>

namespace xaas::run {

// What a rank took of the image `reference`, an index.
struct RankImage {
  std::string reference;
  Digest digest;
  image::Annotations annotations;
};

// The note that ranks of the job run different images, in one of those that disagree with the first. Absent
// in all others, where the link cannot be made, and where the launcher, which `environment` shows, gives its
// jobs no name. `directory` exists. Links are forgotten after an hour, because some launchers use names
// again.
std::optional<std::string> note_of_ranks(const fs::path& directory,
                                         const std::map<std::string, std::string>& environment,
                                         const RankImage& own);

} // namespace xaas::run
