// Absolute paths of an image that its programs have compiled in.
//
// A program that opens /usr/local/share/solver/table does not find it on the host, where the file is below a
// prefix. No analysis tells which strings a program opens; but a string that is the path of a file or
// directory which the image brings is most likely one. Paths that every system has (/usr/lib, /bin/sh) are
// none: nothing of the image is meant, or the program composes names from them and works wherever it is
// installed, because most programs look beside themselves first.
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

private:
  std::set<std::string, std::less<>> paths_;
};

} // namespace xaas::install
