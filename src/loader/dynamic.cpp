#include <xaas/base/text.h>
#include <xaas/base/worker.h>
#include <xaas/loader/dynamic.h>
#include <xaas/loader/dynamic_section.h>

#include <cstring>
#include <set>

namespace xaas::loader {

namespace {

constexpr uint64_t max_description = uint64_t(16) << 20; // bytes of a Dynamic as JSON
constexpr uint64_t max_symbols = uint64_t(64) << 20;     // bytes of Symbols

// Sections of symbol versions (Linux Standard Base, "Symbol Versioning": .gnu.version_r, .gnu.version_d) are
// chains of entries with chains of names. LLVM follows them as often as the file says, wherever they lead, so
// we read them ourselves.
class VersionSection {
public:
  VersionSection(const ElfImage& image, const ElfSection& section) : bytes_(section.bytes) {
    const size_t strings = section.header->sh_link;
    if (strings < image.sections().size())
      strings_ = image.sections()[strings].bytes;
  }

  template <typename Entry> Result<Entry> at(uint64_t offset) {
    // Limits the entries to the room in the section, so that no chain is endless.
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Entry) || ++seen_ > bytes_.size() / 8)
      return damaged("its symbol versions point outside their section");
    Entry entry;
    std::memcpy(&entry, bytes_.data() + offset, sizeof(entry));
    return entry;
  }
  Result<std::string> name(uint64_t offset) const {
    const size_t end = offset < strings_.size() ? strings_.find('\0', offset) : std::string_view::npos;
    if (end == std::string_view::npos)
      return damaged("the name of a symbol version is not in its string table");
    return std::string(strings_.substr(offset, end - offset));
  }

private:
  std::string_view bytes_, strings_;
  size_t seen_ = 0;
};

Result<void> read_needed_versions(const ElfImage& image, const ElfSection& section, Dynamic& dynamic) {
  VersionSection versions(image, section);
  std::set<std::string> glibc;
  for (uint64_t at = 0;;) {
    XAAS_TRY(const auto library, versions.at<Elf::Verneed>(at));
    XAAS_TRY(const std::string file, versions.name(library.vn_file));
    uint64_t name_at = at + library.vn_aux;
    for (unsigned i = 0; i < library.vn_cnt; ++i) {
      XAAS_TRY(const auto entry, versions.at<Elf::Vernaux>(name_at));
      XAAS_TRY(const std::string name, versions.name(entry.vna_name));
      if (!(entry.vna_flags & llvm::ELF::VER_FLG_WEAK))
        dynamic.needed_versions[file].push_back(name);
      if (name.starts_with("GLIBC_") && name != "GLIBC_PRIVATE")
        glibc.insert(name.substr(6));
      name_at += entry.vna_next;
    }
    if (library.vn_next == 0)
      break;
    at += library.vn_next;
  }
  dynamic.glibc_versions.assign(glibc.begin(), glibc.end());
  return {};
}

Result<void> read_versions(const ElfImage& image, const ElfSection& section, Dynamic& dynamic) {
  VersionSection versions(image, section);
  for (uint64_t at = 0;;) {
    XAAS_TRY(const auto definition, versions.at<Elf::Verdef>(at));
    XAAS_TRY(const auto first,
             versions.at<Elf::Verdaux>(at + definition.vd_aux)); // the rest are its predecessors
    XAAS_TRY(std::string name, versions.name(first.vda_name));
    dynamic.versions.push_back(std::move(name));
    if (definition.vd_next == 0)
      return {};
    at += definition.vd_next;
  }
}

// The note has four words: the system (0: Linux), and the version of its kernel.
std::string kernel_of(std::string_view note) {
  constexpr size_t header = 16; // sizes, type, "GNU"
  uint32_t words[4];
  if (note.size() < header + sizeof(words) || note.substr(12, 3) != "GNU")
    return {};
  std::memcpy(words, note.data() + header, sizeof(words));
  if (words[0] != 0) // ELF_NOTE_OS_LINUX
    return {};
  return std::to_string(words[1]) + "." + std::to_string(words[2]) + "." + std::to_string(words[3]);
}

Result<bool> imports(const ElfImage& image, const ElfSection& section, llvm::StringRef wanted) {
  XAAS_TRY(const auto symbols, checked(image.file().symbols(section.header)));
  XAAS_TRY(const llvm::StringRef names, checked(image.file().getStringTableForSymtab(*section.header)));
  for (const auto& symbol : symbols) {
    XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
    if (symbol.isUndefined() && name == wanted)
      return true;
  }
  return false;
}

Result<std::string> interpreter_of(const ElfImage& image) {
  XAAS_TRY(const auto headers, checked(image.file().program_headers()));
  for (const auto& header : headers)
    if (header.p_type == llvm::ELF::PT_INTERP && header.p_offset < image.data().size()) {
      const std::string_view text = image.data().substr(header.p_offset, header.p_filesz);
      return std::string(text.substr(0, text.find('\0')));
    }
  return std::string();
}

} // namespace

namespace {

// Names may overlap in the string table, so a small file can have a large description.
Result<void> check_size(const Dynamic& dynamic) {
  uint64_t size = dynamic.interpreter.size() + dynamic.soname.size();
  const auto add = [&](const std::vector<std::string>& list) {
    for (const std::string& each : list)
      size += each.size() + 8;
  };
  for (const auto* list : {&dynamic.needed, &dynamic.runpath, &dynamic.versions, &dynamic.glibc_versions})
    add(*list);
  for (const auto& [library, versions] : dynamic.needed_versions) {
    size += library.size();
    add(versions);
  }
  return size > max_description / 8 ? damaged("its dynamic section has more names than a file can need")
                                    : Result<void>();
}

} // namespace

Result<Dynamic> read_dynamic(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  Dynamic dynamic;
  XAAS_TRY(dynamic.interpreter, interpreter_of(image));
  dynamic.machine = image.header().e_machine;
  dynamic.shared = image.header().e_type == llvm::ELF::ET_DYN && dynamic.interpreter.empty();
  XAAS_TRY(const std::vector<DynamicString> strings, dynamic_strings(image));
  for (const DynamicString& entry : strings) {
    if (entry.tag == llvm::ELF::DT_NEEDED)
      dynamic.needed.push_back(entry.text);
    else if (entry.tag == llvm::ELF::DT_SONAME)
      dynamic.soname = entry.text;
    else if (entry.tag == llvm::ELF::DT_RUNPATH ||
             (entry.tag == llvm::ELF::DT_RPATH && (dynamic.runpath.empty() || dynamic.rpath_is_first))) {
      // If both exist, DT_RPATH is ignored (ld.so(8)).
      dynamic.runpath = entry.text.empty() ? std::vector<std::string>{""} : split(entry.text, ':');
      dynamic.rpath_is_first = entry.tag == llvm::ELF::DT_RPATH;
    }
  }
  XAAS_TRY(const std::vector<Elf::Dyn> entries, dynamic_entries(image));
  dynamic.program =
      image.header().e_type == llvm::ELF::ET_EXEC || (!dynamic.interpreter.empty() && dynamic.soname.empty());
  for (const Elf::Dyn& entry : entries)
    if (entry.getTag() == llvm::ELF::DT_FLAGS_1) {
      dynamic.no_default_directories = entry.getVal() & llvm::ELF::DF_1_NODEFLIB;
      dynamic.program |= (entry.getVal() & llvm::ELF::DF_1_PIE) != 0;
    }
  for (const ElfSection& section : image.sections()) {
    if (section.header->sh_type == llvm::ELF::SHT_GNU_verneed) {
      XAAS_CHECK(read_needed_versions(image, section, dynamic));
    } else if (section.header->sh_type == llvm::ELF::SHT_GNU_verdef) {
      XAAS_CHECK(read_versions(image, section, dynamic));
    } else if (section.header->sh_type == llvm::ELF::SHT_NOTE && section.name == ".note.ABI-tag") {
      dynamic.kernel = kernel_of(section.bytes);
    } else if (section.header->sh_type == llvm::ELF::SHT_DYNSYM) {
      XAAS_TRY(dynamic.imports_dlopen, imports(image, section, "dlopen"));
    }
  }
  XAAS_CHECK(check_size(dynamic));
  return dynamic;
}

Json to_json(const Dynamic& dynamic) {
  return Json{{"shared", dynamic.shared},
              {"program", dynamic.program},
              {"interpreter", dynamic.interpreter},
              {"soname", dynamic.soname},
              {"needed", dynamic.needed},
              {"runpath", dynamic.runpath},
              {"rpath_is_first", dynamic.rpath_is_first},
              {"no_default_directories", dynamic.no_default_directories},
              {"imports_dlopen", dynamic.imports_dlopen},
              {"glibc_versions", dynamic.glibc_versions},
              {"machine", dynamic.machine},
              {"versions", dynamic.versions},
              {"needed_versions", dynamic.needed_versions},
              {"kernel", dynamic.kernel}};
}

Result<Dynamic> parse_dynamic(const JsonReader& reader) {
  Dynamic dynamic;
  const auto texts = [&](const char* key, std::vector<std::string>& list) -> Result<void> {
    XAAS_TRY(list, reader.strings_at(key));
    return {};
  };
  XAAS_TRY(dynamic.shared, reader.boolean_or("shared", false));
  XAAS_TRY(dynamic.program, reader.boolean_or("program", false));
  XAAS_TRY(dynamic.rpath_is_first, reader.boolean_or("rpath_is_first", false));
  XAAS_TRY(dynamic.no_default_directories, reader.boolean_or("no_default_directories", false));
  XAAS_TRY(dynamic.imports_dlopen, reader.boolean_or("imports_dlopen", false));
  XAAS_TRY(dynamic.interpreter, reader.string_at("interpreter"));
  XAAS_TRY(dynamic.soname, reader.string_at("soname"));
  XAAS_TRY(dynamic.kernel, reader.string_at("kernel"));
  XAAS_CHECK(texts("needed", dynamic.needed));
  XAAS_CHECK(texts("runpath", dynamic.runpath));
  XAAS_CHECK(texts("glibc_versions", dynamic.glibc_versions));
  XAAS_CHECK(texts("versions", dynamic.versions));
  XAAS_TRY(const JsonReader machine, reader.at("machine"));
  XAAS_TRY(const uint64_t number, machine.size());
  dynamic.machine = static_cast<uint16_t>(number);
  XAAS_TRY(const JsonReader needed, reader.at("needed_versions"));
  XAAS_TRY(const auto libraries, needed.members());
  for (const auto& [library, list] : libraries) {
    XAAS_TRY(dynamic.needed_versions[library], list.strings());
  }
  return dynamic;
}

Result<Symbols> read_symbols(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  Symbols found;
  uint64_t size = 0;
  for (const ElfSection& section : image.sections()) {
    if (section.header->sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    XAAS_TRY(const auto symbols, checked(image.file().symbols(section.header)));
    XAAS_TRY(const llvm::StringRef names, checked(image.file().getStringTableForSymtab(*section.header)));
    for (const auto& symbol : symbols) {
      XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
      const unsigned char binding = symbol.getBinding();
      if (name.empty() || binding == llvm::ELF::STB_LOCAL)
        continue;
      if (size += name.size() + 8; size > max_symbols)
        return damaged("its symbols have more names than a file can need");
      if (!symbol.isUndefined())
        found.defined.insert(name.str());
      else if (binding != llvm::ELF::STB_WEAK)
        found.needed.insert(name.str());
    }
  }
  return found;
}

Result<Symbols> read_symbols_in_worker(const std::string& name, std::string_view elf) {
  const WorkerTask task = [&]() -> Result<std::string> {
    XAAS_TRY(const Symbols symbols, read_symbols(elf));
    return Json{{"defined", symbols.defined}, {"needed", symbols.needed}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  };
  // A byte that is not UTF-8 becomes three.
  XAAS_TRY(const std::string answer,
           run_worker(name, task, {.memory = 0, .cpu_seconds = 600, .answer = max_symbols * 4}));
  XAAS_TRY(const Json json, parse_json(answer, name, false, ErrorKind::integrity));
  const JsonReader reader(json, name);
  Symbols symbols;
  for (const auto& [key, names] :
       {std::pair("defined", &symbols.defined), std::pair("needed", &symbols.needed)}) {
    XAAS_TRY(const std::vector<std::string> texts, reader.strings_at(key));
    names->insert(texts.begin(), texts.end());
  }
  return symbols;
}

Result<Dynamic> read_dynamic_in_worker(const std::string& name, std::string_view elf) {
  const WorkerTask task = [&]() -> Result<std::string> {
    XAAS_TRY(const Dynamic dynamic, read_dynamic(elf));
    return to_json(dynamic).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  XAAS_TRY(const std::string answer,
           run_worker(name, task, {.memory = 0, .cpu_seconds = 600, .answer = max_description}));
  XAAS_TRY(const Json json, parse_json(answer, name, false, ErrorKind::integrity));
  return parse_dynamic(JsonReader(json, name));
}

} // namespace xaas::loader
