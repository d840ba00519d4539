#include "predefined_macros.h"
#include "lines.h"

#include <xaas/known/preprocess.h>

#include <xaas/base/text.h>

#include <clang/Basic/Builtins.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <functional>

namespace xaas::known {

namespace {

// Names of Clang's builtins. They are all in its table of words, and none is a macro.
constexpr llvm::StringLiteral builtin_prefix = "__builtin_";

uint32_t hash_of(llvm::StringRef name) {
  return static_cast<uint32_t>(llvm::xxh3_64bits(name));
}

class WatchCallbacks : public clang::PPCallbacks {
public:
  WatchCallbacks(MacroWatch& watch, clang::Preprocessor& preprocessor)
      : watch_(watch), preprocessor_(preprocessor) {}

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange,
                    const clang::MacroArgs*) override {
    read(name);
    if (const clang::MacroInfo* info = definition.getMacroInfo(); info && info->isBuiltinMacro())
      watch_.read_builtin(name.getIdentifierInfo()->getName());
  }
  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    if (directive->getPrevious()) // else it is the first definition, and says nothing of an earlier one
      read(name);
  }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition&,
                      const clang::MacroDirective*) override {
    read(name);
  }
  void PragmaDirective(clang::SourceLocation location, clang::PragmaIntroducerKind) override {
    if (location.isFileID()) // else it is _Pragma, whose text the preprocessor makes
      watch_.read_pragma(preprocessor_, location, true);
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange) override {
    read(name);
  }
  void Ifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    read(name);
  }
  void Ifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    read(name);
  }
  using PPCallbacks::Elifdef, PPCallbacks::Elifndef; // those whose condition is not evaluated
  void Elifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    read(name);
  }
  void Elifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    read(name);
  }

private:
  void read(const clang::Token& name) {
    if (const clang::IdentifierInfo* identifier = name.getIdentifierInfo())
      watch_.read(*identifier);
  }
  MacroWatch& watch_;
  clang::Preprocessor& preprocessor_;
};

// Clang's own mark, for warnings about unused macros.
bool is_used(const clang::Preprocessor& preprocessor, const clang::IdentifierInfo* name) {
  const clang::MacroInfo* info = preprocessor.getMacroInfo(name);
  return info && info->isUsed();
}

// The contents of all files, and of texts that the preprocessor made: the predefined macros, and words that
// it put together (`##`, `_Pragma`). Each once.
void for_each_text(const clang::SourceManager& sources,
                   const std::function<void(clang::FileID, llvm::StringRef)>& look) {
  llvm::DenseSet<const clang::SrcMgr::ContentCache*> seen;
  for (unsigned i = 1; i < sources.local_sloc_entry_size(); ++i) {
    const clang::SrcMgr::SLocEntry& entry = sources.getLocalSLocEntry(i);
    if (!entry.isFile() || !seen.insert(&entry.getFile().getContentCache()).second)
      continue;
    const clang::FileID file =
        sources.getFileID(clang::SourceLocation::getFromRawEncoding(entry.getOffset()));
    if (const std::optional<llvm::StringRef> text = sources.getBufferDataOrNone(file))
      look(file, *text);
  }
}

void for_each_word(llvm::StringRef text, const std::function<void(llvm::StringRef)>& look) {
  for (size_t at = text.find_if(is_word_character); at != llvm::StringRef::npos;
       at = text.find_if(is_word_character, at)) {
    const size_t end = std::min(text.find_if_not(is_word_character, at), text.size());
    look(text.slice(at, end));
    at = end;
  }
}

// The text with its continued lines joined, as the lexer reads it.
std::string with_joined_lines(llvm::StringRef text) {
  std::string joined;
  // Each is searched for again only when it has been passed: headers may have many of one and none of the
  // other.
  size_t backslash = text.find('\\'), trigraph = text.find("?\?/"), done = 0;
  for (size_t at; (at = std::min(backslash, trigraph)) != llvm::StringRef::npos;) {
    const size_t behind = at + (at == trigraph ? 3 : 1);
    const llvm::StringRef rest = text.drop_front(behind).ltrim(" \t\v\f");
    if (rest.starts_with("\n") || rest.starts_with("\r")) {
      joined += text.slice(done, at);
      done = text.size() - rest.size() + (rest.starts_with("\r\n") || rest.starts_with("\n\r") ? 2 : 1);
    }
    const size_t next = std::max(done, behind);
    if (backslash < next)
      backslash = text.find('\\', next);
    if (trigraph < next)
      trigraph = text.find("?\?/", next);
  }
  joined += text.drop_front(done);
  return joined;
}

// True if a text may name a builtin of x86 that needs features. Their names contain "ia32".
bool may_name_features(const clang::IdentifierTable& words, clang::Builtin::Context& builtins,
                       llvm::StringRef source) {
  const std::string joined = with_joined_lines(source);
  const llvm::StringRef text = joined;
  for (size_t at = text.find("ia32"); at != llvm::StringRef::npos; at = text.find("ia32", at + 1)) {
    size_t start = at;
    while (start > 0 && is_word_character(text[start - 1]))
      --start;
    const llvm::StringRef word = text.substr(start).take_while(is_word_character);
    const auto found = words.find(word);
    const unsigned id = found == words.end() ? 0 : found->second->getBuiltinID();
    if (id == clang::Builtin::NotBuiltin || *builtins.getRequiredFeatures(id) != '\0')
      return true;
  }
  return false;
}

// `#define __NAME` and `#define __NAME text`.
std::optional<std::pair<llvm::StringRef, llvm::StringRef>> open_macro(llvm::StringRef line) {
  if (!line.consume_front("#define ") || !line.starts_with("__"))
    return std::nullopt;
  const size_t end = std::min(line.find_if_not(is_word_character), line.size());
  if (end < line.size() && line[end] != ' ')
    return std::nullopt;
  return std::pair(line.take_front(end), line.drop_front(end));
}

} // namespace

PredefinedMacros PredefinedMacros::of(clang::CompilerInstance& compiler) {
  PredefinedMacros macros;
  Hasher others;
  // __FLT_EVAL_METHOD__ is a builtin macro of the preprocessor.
  others.update_number(static_cast<uint64_t>(compiler.getTarget().getFPEvalMethod()));
  for (const llvm::StringRef line : llvm::split(compiler.getPreprocessor().getPredefines(), '\n')) {
    if (line.contains("<command line>"))
      break; // the rest follows from the options
    const auto macro = open_macro(line);
    if (!macro || !macros.open.try_emplace(macro->first.str(), macro->second.str()).second)
      others.update_part(line);
  }
  macros.others = others.finish();
  return macros;
}

bool MacrosRead::are_same_in(const PredefinedMacros& macros) const {
  for (const auto& [name, text] : defined)
    if (const auto found = macros.open.find(name); found == macros.open.end() || found->second != text)
      return false;
  return std::all_of(macros.open.begin(), macros.open.end(), [&](const auto& macro) {
    return defined.count(macro.first) != 0 ||
           (!starts_with(macro.first, builtin_prefix) &&
            !std::binary_search(words.begin(), words.end(), hash_of(macro.first)));
  });
}

void MacroWatch::attach(clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<WatchCallbacks>(*this, preprocessor));
  preprocessor.addCommentHandler(&comments_);
}

void MacroWatch::read_builtin(std::string_view name) {
  const BuiltinMacro kind = kind_of_builtin_macro(name);
  complete_ &= kind != BuiltinMacro::other;
  asks_for_builtins_ |= kind == BuiltinMacro::features;
}

void MacroWatch::read_pragma(clang::Preprocessor& preprocessor, clang::SourceLocation start,
                             bool in_directive) {
  const auto read_word = [&](llvm::StringRef word) {
    read(*preprocessor.getIdentifierInfo(word));
    complete_ &= word != "dependency"; // #pragma GCC dependency compares times of files
  };
  // Strings have words, too: #pragma push_macro("NAME").
  for_each_token(preprocessor.getSourceManager(), start, preprocessor.getLangOpts(), in_directive,
                 [&](llvm::StringRef token) { for_each_word(token, read_word); });
}

// Text that the preprocessor made contains what `_Pragma` said.
void MacroWatch::read_made_text(clang::Preprocessor& preprocessor) {
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  for_each_text(sources, [&](clang::FileID file, llvm::StringRef) {
    if (!sources.getFileEntryForID(file) && file != preprocessor.getPredefinesFileID())
      read_pragma(preprocessor, sources.getLocForStartOfFile(file), false);
  });
}

std::optional<MacrosRead> MacroWatch::finish(clang::CompilerInstance& compiler,
                                             const PredefinedMacros& macros) {
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  const clang::IdentifierTable& words = preprocessor.getIdentifierTable();
  read_made_text(preprocessor);
  // The directives of modules look up macros, too.
  for (const llvm::StringRef directive : {"__private_macro", "__public_macro"})
    complete_ &= words.find(directive) == words.end();
  // `__has_builtin` is true for a builtin that needs a feature if the target has it. Clang's own headers do
  // not ask for them. Other targets than x86 share no record with another set of features.
  if (complete_ && asks_for_builtins_) {
    const clang::SourceManager& sources = preprocessor.getSourceManager();
    const clang::HeaderSearchOptions& options = compiler.getHeaderSearchOpts();
    for_each_text(sources, [&](clang::FileID file, llvm::StringRef text) {
      complete_ &= is_header_of_clang(sources, file, options) ||
                   !may_name_features(words, preprocessor.getBuiltinInfo(), text);
    });
  }
  if (!complete_)
    return std::nullopt;
  MacrosRead read;
  for (const auto& entry : words) {
    const llvm::StringRef name = entry.getKey();
    if (!name.starts_with("__") || name.starts_with(builtin_prefix))
      continue;
    const auto open = macros.open.find(std::string_view(name));
    if (open == macros.open.end())
      read.words.push_back(hash_of(name));
    else if (read_.contains(entry.getValue()) || is_used(preprocessor, entry.getValue()))
      read.defined.insert(*open);
  }
  std::sort(read.words.begin(), read.words.end());
  return read;
}

bool MacroWatch::Comment::HandleComment(clang::Preprocessor& preprocessor, clang::SourceRange comment) {
  const char* text = preprocessor.getSourceManager().getCharacterData(comment.getBegin());
  if (text[0] != '/' || text[1] != '*')
    return false;
  for (text += 2; *text == ' ' || *text == '\t';)
    ++text;
  if (*text == '#')
    found.push_back(comment);
  return false;
}

bool MacroWatch::is_unread(const clang::Preprocessor& preprocessor, const std::string& name,
                           const DefinitionFile::Place& place, const std::set<unsigned>& lines_of_comments,
                           const LineInFile& line_in_file) const {
  const clang::IdentifierTable& words = preprocessor.getIdentifierTable();
  const auto found = words.find(name);
  if (!place.is_defined)
    return found == words.end() && lines_of_comments.contains(place.line);
  if (found == words.end())
    return false; // in a part that is skipped
  const clang::IdentifierInfo* const identifier = found->getValue();
  const clang::MacroDirective* const directive =
      preprocessor.getLocalMacroDirectiveHistory(identifier); // the latest one
  if (identifier->getTokenID() != clang::tok::identifier || identifier->getBuiltinID() != 0 ||
      read_.contains(identifier) || !directive || directive->getPrevious() ||
      directive->getKind() != clang::MacroDirective::MD_Define)
    return false;
  const clang::MacroInfo& macro = *directive->getMacroInfo();
  return macro.isObjectLike() && !macro.isUsed() && line_in_file(macro.getDefinitionLoc()) == place.line;
}

std::set<std::string> MacroWatch::unread_names(const clang::Preprocessor& preprocessor,
                                               const DefinitionFile& file) const {
  std::set<std::string> names;
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  std::map<clang::FileID, bool> has_text;
  const auto line_in_file = [&](clang::SourceLocation location) {
    const auto [id, offset] = sources.getDecomposedLoc(location);
    const auto [known, added] = has_text.try_emplace(id);
    if (added)
      known->second = sources.getBufferDataOrNone(id) == llvm::StringRef(file.text());
    return known->second ? sources.getLineNumber(id, offset) : 0;
  };
  std::set<unsigned> lines_of_comments;
  for (const clang::SourceRange& comment : comments_.found)
    if (const unsigned line = line_in_file(comment.getBegin());
        line && line == line_in_file(comment.getEnd()))
      lines_of_comments.insert(line);
  for (const auto& [name, place] : file.places())
    if (is_unread(preprocessor, name, place, lines_of_comments, line_in_file))
      names.insert(name);
  return names;
}

BuiltinMacro kind_of_builtin_macro(std::string_view name) {
  if (name == "__has_builtin")
    return BuiltinMacro::features;
  for (const std::string_view known : {"__LINE__",
                                       "__FILE__",
                                       "__BASE_FILE__",
                                       "__FILE_NAME__",
                                       "__INCLUDE_LEVEL__",
                                       "__COUNTER__",
                                       "_Pragma",
                                       "__FLT_EVAL_METHOD__",
                                       "__has_feature",
                                       "__has_extension",
                                       "__has_constexpr_builtin",
                                       "__has_attribute",
                                       "__has_cpp_attribute",
                                       "__has_c_attribute",
                                       "__has_declspec_attribute",
                                       "__has_embed",
                                       "__has_include",
                                       "__has_include_next",
                                       "__has_warning",
                                       "__is_identifier",
                                       "__is_target_arch",
                                       "__is_target_vendor",
                                       "__is_target_os",
                                       "__is_target_environment",
                                       "__is_target_variant_os",
                                       "__is_target_variant_environment",
                                       "__building_module"})
    if (name == known)
      return BuiltinMacro::inputs;
  return BuiltinMacro::other;
}

} // namespace xaas::known
