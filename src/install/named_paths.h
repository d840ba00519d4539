// Absolute paths of an image that its files name.
//
// A program that opens /usr/local/share/solver/table does not find it on the host, where the file is below a
// prefix. No analysis tells which strings a program opens; but a string that is the path of a file or
// directory which the image brings is most likely one. In a binary it cannot become longer, so the program
// needs a container. In a text, such as a script, it gets the prefix:
//
//   before   prefix=/usr/local; exec "$prefix/libexec/solver" --table /usr/local/share/solver/$1.dat
//   after    prefix=P/usr/local; exec "$prefix/libexec/solver" --table P/usr/local/share/solver/$1.dat
//
// Paths that every system has (/usr/lib, /bin/sh) do not count: the files of the image that are meant have
// longer paths. A directory like /usr/local is the exception if files of the application lie below it,
// since programs compose names from it; it counts as a whole string only, because most other uses of them
// are harmless: RUNPATH, PATH. A path behind an expansion ("${root}/usr/local/share/solver") is already
// relative to something. Rejected: paths of all files of the host as well (a compiler's output has many), and
// strings that only look like paths.
#pragma once

#include "files.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::install {

// True for the places in every tree that belong to the machine or to xaas: /tmp, /dev, /etc/passwd, ...
bool belongs_to_machine(const std::string& path);

class NamedPaths {
public:
  // The files of the image's tree; `host`: tells whether the host has a program of this path.
  NamedPaths(const std::vector<File>& files, const std::function<bool(const std::string&)>& host);

  // The first path in a binary that counts; empty: none. `except`: paths that do not count.
  std::string in(std::string_view content, const std::vector<std::string>& except = {}) const;

  // A text with `root` in front of each path that counts.
  std::string below(const std::string& root, std::string_view text) const;

private:
  bool counts(const std::string& path) const;
  std::set<std::string, std::less<>> paths_; // of files, and of directories that only the image has
  std::set<std::string, std::less<>> bases_; // directories that every system has, above files of data
};

// Calls `found` for each path in a text: what begins with a slash and not behind another word or an
// expansion. It returns whether to put `root` in front.
std::string with_root(const std::string& root, std::string_view text,
                      const std::function<bool(const std::string&)>& found);

} // namespace xaas::install
