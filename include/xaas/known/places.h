// Conversion of texts with paths to a form that is independent of the build's location, and back.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <string_view>

namespace xaas::known {

// Replaces every mention of a directory of the session's prefixes by a mark that occurs in no text.
std::string without_places(const session::Session& session, std::string_view text);

// True for a text without places that may have a path in which a mark is only a part of a name
// (`/x/build_assets` or `/y/x/build`, if `/x/build` is one of the directories).
bool names_beside_places(std::string_view text);

// True if every use of the path takes the same part of it for one of these directories, or none: those that
// compare names (`/x/build_assets` starts with `/x/build`) and those that compare whole directories.
bool is_clear_path(const session::Session& session, std::string_view path);

// Replaces the directory at the start of a file name, and nowhere else, as -ffile-prefix-map does.
std::string name_without_place(const session::Session& session, std::string_view name);

// The same for a path whose leading directories are one of these directories, and nothing else.
std::string path_without_place(const session::Session& session, std::string_view path);
std::string path_with_place(const session::Session& session, std::string_view path);

// Replaces the marks by this session's directories.
std::string with_places(const session::Session& session, std::string_view text);

} // namespace xaas::known
