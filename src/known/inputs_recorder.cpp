#include "inputs_recorder.h"

#include "inputs_record.h"

#include <xaas/known/places.h>

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/Path.h>

#include <map>

namespace xaas::known {

bool may_record_inputs(const clang::CompilerInvocation& invocation) {
  return invocation.getHeaderSearchOpts().VFSOverlayFiles.empty() && !invocation.getLangOpts().MicrosoftExt &&
         !invocation.getDependencyOutputOpts().AddMissingHeaderDeps;
}

// Files of a run as the source names them, and as dependency files do.
class InputsRecorder::Names : public clang::DependencyCollector {
public:
  bool sawDependency(llvm::StringRef path, bool from_module, bool of_system, bool is_module,
                     bool is_missing) override {
    complete &=
        !from_module && !is_module && !is_missing && path.find_first_of("\n\x01") == llvm::StringRef::npos;
    dependencies.push_back({path.str(), of_system});
    return false;
  }
  bool needSystemDependencies() override { return true; }

  // True if a path enters a directory of the build within the part that the source names. It would be outside
  // of the directories of another build.
  bool enters_place(const session::Session& session, llvm::StringRef path) const {
    if (written.contains(path) && path_without_place(session, path) != path)
      return true;
    for (const auto& [place, name] : session.prefixes) {
      const std::string directory = place.string() + "/";
      if (!path.starts_with(directory))
        continue;
      for (size_t slash = path.find('/'); slash + 1 < directory.size(); slash = path.find('/', slash + 1))
        if (written.contains(path.drop_front(slash + 1)))
          return true;
    }
    return false;
  }

  llvm::StringSet<> written; // with their directories
  std::vector<Dependency> dependencies;
  bool complete = true;
  bool embeds = false; // the source asked for sizes of files
};

namespace {

class NameCallbacks : public clang::PPCallbacks {
public:
  // Adds names to `names`. Sets `complete` to false if the source gives a file the name of one in a directory
  // of the build; the text alone does not show that if macros put it together.
  NameCallbacks(const session::Session& session, const clang::Preprocessor& preprocessor,
                llvm::StringSet<>& names, bool& complete, bool& embeds)
      : session_(session), preprocessor_(preprocessor), names_(names), complete_(complete), embeds_(embeds) {}
  void InclusionDirective(clang::SourceLocation location, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    const clang::SourceManager& sources = preprocessor_.getSourceManager();
    // Another build's option has its own directory.
    const bool of_option = sources.getFileID(location) == preprocessor_.getPredefinesFileID();
    if (!of_option || !llvm::sys::path::is_absolute(name))
      add(name);
  }
  void FileChanged(clang::SourceLocation location, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason != RenameFile)
      return;
    const clang::PresumedLoc presumed = preprocessor_.getSourceManager().getPresumedLoc(location);
    const std::string name = presumed.isValid() ? presumed.getFilename() : "";
    complete_ &= name_without_place(session_, name) == name;
  }
  void HasInclude(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef,
                  clang::SrcMgr::CharacteristicKind) override {
    add(name);
  }
  void EmbedDirective(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef,
                      const clang::LexEmbedParametersResult&) override {
    add(name);
    embeds_ = true;
  }
  void HasEmbed(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef) override {
    add(name);
    embeds_ = true;
  }

private:
  void add(llvm::StringRef name) {
    for (; !name.empty(); name = name.rsplit('/').first) {
      names_.insert(name);
      if (!name.contains('/'))
        return;
    }
  }
  const session::Session& session_;
  const clang::Preprocessor& preprocessor_;
  llvm::StringSet<>& names_;
  bool& complete_;
  bool& embeds_;
};

} // namespace

InputsRecorder::InputsRecorder(const session::Session& session, const clang::CompilerInvocation& invocation,
                               llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
    : session_(session), files_(std::move(files)), names_(std::make_unique<Names>()) {
  if (may_record_inputs(invocation))
    files_ = recorded_ = llvm::makeIntrusiveRefCnt<RecordedFiles>(session, files_);
}

InputsRecorder::~InputsRecorder() = default;

void InputsRecorder::attach(clang::CompilerInstance& compiler) {
  if (!recorded_)
    return;
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  macros_.attach(preprocessor);
  names_->attachToPreprocessor(preprocessor);
  preprocessor.addPPCallbacks(std::make_unique<NameCallbacks>(session_, preprocessor, names_->written,
                                                              names_->complete, names_->embeds));
}

std::string InputsRecorder::finish(clang::CompilerInstance& compiler, const Preprocessed& result) {
  if (!recorded_)
    return {};
  recorded_->stop();
  const auto enters_place = [&](const FileAnswer& file) { return names_->enters_place(session_, file.path); };
  const auto is_clear = [&](const Dependency& file) { return is_clear_path(session_, file.path); };
  if (!recorded_->complete() || !names_->complete || llvm::any_of(recorded_->answers(), enters_place) ||
      !llvm::all_of(names_->dependencies, is_clear))
    return {};
  const PredefinedMacros macros = PredefinedMacros::of(compiler);
  const std::optional<MacrosRead> read = macros_.finish(compiler, macros);
  if (!read)
    return {};
  return write_record(session_, result, macros.others, *read,
                      names_->embeds ? recorded_->answers() : with_unread(compiler), names_->dependencies);
}

// The answers with the names that nothing read of files of definitions.
std::vector<FileAnswer> InputsRecorder::with_unread(clang::CompilerInstance& compiler) const {
  const clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  // If two files define a name, Clang may say so.
  std::map<std::string, unsigned> counts;
  for (const auto& [path, file] : recorded_->definitions())
    for (const std::string& name : file.names())
      ++counts[name];
  // Clang can warn about unused macros of the main file.
  const std::optional<llvm::StringRef> main = sources.getBufferDataOrNone(sources.getMainFileID());
  std::vector<FileAnswer> answers = recorded_->answers();
  for (FileAnswer& answer : answers) {
    const auto file = recorded_->definitions().find(answer.path);
    if (file == recorded_->definitions().end() || !main || *main == file->second.text())
      continue;
    for (const std::string& name : macros_.unread_names(preprocessor, file->second))
      if (counts.at(name) == 1)
        answer.unread.insert(name);
    if (answer.unread.empty())
      continue;
    answer.status = without_size(answer.status);
    answer.content = file->second.without(answer.unread);
  }
  return answers;
}

} // namespace xaas::known
