// Absolute paths of an image that its programs have compiled in.
//
// A program that opens /usr/local/share/solver/table does not find it on the host, where the file is below a
// prefix. No analysis tells which strings a program opens; but a string that is the path of a file or
// directory which the image brings is most likely one. Paths that every system has (/usr/lib, /bin/sh) are
// none: nothing of the image is meant, or the program composes names from them and works wherever it is
// installed, because most programs look beside themselves first.
//
// In a binary such a string cannot become longer. Scripts are texts, in which each such path gets the prefix.
#pragma once

#include "files.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace xaas::install {

class NamedPaths {
public:
  // The files of the image's tree; `host`: tells whether the host has a program of this path.
  NamedPaths(const std::vector<File>& files, const std::function<bool(const std::string&)>& host);

  // The first path in the content that means a file of the image, or one below a directory that only the
  // image has; empty: none. `except`: paths that do not count.
  std::string in(std::string_view content, const std::vector<std::string>& except = {}) const;

  // A text with `root` in front of each such path.
  std::string below(const std::string& root, std::string_view text) const;

private:
  struct Found {
    size_t at = std::string_view::npos; // npos: none
    std::string path;
  };
  Found find(std::string_view content, size_t from) const;
  std::set<std::string, std::less<>> paths_;
};

} // namespace xaas::install
