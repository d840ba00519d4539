// Conversion of texts with paths to a form that is independent of the build's location, and back.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <string_view>

namespace xaas::known {

// Replaces every mention of a directory of the session's prefixes by a mark that occurs in no text.
std::string without_places(const session::Session& session, std::string_view text);

// Replaces the directory at the start of a file name, and nowhere else, as -ffile-prefix-map does.
std::string name_without_place(const session::Session& session, std::string_view name);

// The same for a path whose leading directories are one of these directories, and nothing else.
std::string path_without_place(const session::Session& session, std::string_view path);
std::string path_with_place(const session::Session& session, std::string_view path);

// Replaces the marks by this session's directories.
std::string with_places(const session::Session& session, std::string_view text);

} // namespace xaas::known
