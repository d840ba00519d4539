// A record of the inputs of a run of the preprocessor (inputs.cpp), as text:
//
//     inputs 4
//     TOKENS MACROS LOCK_FREE_QUERIES FLAGS     two digests, a number, and two digits: reads_instruction_set,
//                                               needs_features
//     OTHER_MACROS                          digest
//     WORDS                                 hashes in hexadecimal, without separators
//     macro NAME TEXT                       for each predefined macro that was read
//     file STATUS CONTENT PATH              for each question to the file system; "-" without content
//     definitions STATUS CONTENT NAMES PATH one with FileAnswer::unread: the names, with commas between
//     system PATH | user PATH               for each dependency
//     end
//
// A value of the cache has several records in turn.
#pragma once

#include "predefined_macros.h"
#include "recorded_files.h"

#include <xaas/known/inputs.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::known {

constexpr std::string_view record_version = "inputs 4";

// A record whose lines for paths have not been read.
struct InputsRecord {
  Preprocessed result; // without the target
  Digest other_macros;
  MacrosRead macros;
  std::string_view paths;
};

std::string write_record(const session::Session& session, const Preprocessed& result,
                         const Digest& other_macros, const MacrosRead& macros,
                         const std::vector<FileAnswer>& files, const std::vector<Dependency>& dependencies);

// Takes the first record from a value. Empty at the end, or if the rest is no record.
std::string_view take_record(std::string_view& value);

// Nothing if the text is damaged. The result refers to the text.
std::optional<InputsRecord> read_record(std::string_view text);

// The record's dependencies in this build, if its files are the same. A null `check` compares none.
std::optional<std::vector<Dependency>> read_paths(const session::Session& session, std::string_view paths,
                                                  FileCheck* check);

} // namespace xaas::known
