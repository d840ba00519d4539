#include "relocate.h"

#include <xaas/base/text.h>
#include <xaas/loader/elf_image.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace xaas::install {

using namespace llvm::ELF;

namespace {

using loader::Elf;
using loader::ElfImage;

constexpr uint64_t largest_hole = uint64_t(1) << 20; // bytes in the file that mean nothing

uint64_t aligned(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Error no_place(const std::string& why) {
  return make_error(ErrorKind::unsatisfied, "it has no place for other paths: " + why);
}

class Relocation {
public:
  Relocation(const ElfImage& image, const OwnPaths& paths)
      : image_(image), paths_(paths), page_(image.header().e_machine == EM_AARCH64 ? 0x10000 : 0x1000) {}

  Result<std::string> run() {
    XAAS_CHECK(read());
    change_dynamic();
    XAAS_CHECK(choose_place());
    return write();
  }

private:
  std::string_view data() const { return image_.data(); }

  Result<void> read() {
    XAAS_TRY(const auto segments, loader::checked(image_.file().program_headers()));
    segments_.assign(segments.begin(), segments.end());
    const Elf::Phdr* first = nullptr;
    for (Elf::Phdr& segment : segments_) {
      if (segment.p_offset > data().size() || segment.p_filesz > data().size() - segment.p_offset)
        return loader::damaged("a segment lies outside the file");
      if (segment.p_type == PT_LOAD) {
        if (segment.p_memsz > UINT64_MAX / 2 || segment.p_vaddr > UINT64_MAX / 2)
          return loader::damaged("a segment lies outside the address space");
        if (!first)
          first = &segment;
        memory_end_ = std::max<uint64_t>(memory_end_, segment.p_vaddr + segment.p_memsz);
      }
      if (segment.p_type == PT_DYNAMIC)
        dynamic_segment_ = &segment;
      if (segment.p_type == PT_INTERP)
        interpreter_segment_ = &segment;
    }
    if (!dynamic_segment_ || !first)
      return make_error(ErrorKind::unsatisfied, "it has no dynamic section");
    if (!paths_.interpreter.empty() && !interpreter_segment_)
      return make_error(ErrorKind::unsatisfied, "it names no loader");
    if (first->p_vaddr < first->p_offset || (first->p_vaddr - first->p_offset) % page_ != 0)
      return no_place("its first segment has an unusual address");
    base_ = first->p_vaddr - first->p_offset;
    if (data().find_first_not_of('\0', end_of_contents()) != std::string_view::npos)
      return no_place("other data follows it, which it may look for at the end of the file");
    return read_dynamic();
  }

  uint64_t end_of_contents() const {
    uint64_t end = std::max<uint64_t>(image_.header().e_phoff + segments_.size() * sizeof(Elf::Phdr),
                                      image_.header().e_shoff + image_.sections().size() * sizeof(Elf::Shdr));
    for (const Elf::Phdr& segment : segments_)
      end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
    for (const loader::ElfSection& section : image_.sections())
      if (section.header->sh_type != SHT_NOBITS)
        end = std::max<uint64_t>(end, section.header->sh_offset + section.bytes.size());
    return end;
  }

  Result<void> read_dynamic() {
    const size_t slots = dynamic_segment_->p_filesz / sizeof(Elf::Dyn);
    entries_.resize(slots);
    std::memcpy(entries_.data(), data().data() + dynamic_segment_->p_offset, slots * sizeof(Elf::Dyn));
    const auto end = std::find_if(entries_.begin(), entries_.end(),
                                  [](const Elf::Dyn& entry) { return entry.getTag() == DT_NULL; });
    if (end == entries_.end())
      return loader::damaged("the dynamic section has no end");
    entries_.erase(end, entries_.end());
    uint64_t size = 0;
    for (const Elf::Dyn& entry : entries_) {
      if (entry.getTag() == DT_STRTAB)
        old_strings_ = entry.getPtr();
      if (entry.getTag() == DT_STRSZ)
        size = entry.getVal();
    }
    const std::optional<uint64_t> offset = offset_of(old_strings_, size);
    if (!offset || old_strings_ == 0 || size == 0)
      return loader::damaged("the dynamic string table lies outside the file");
    strings_ = data().substr(*offset, size);
    return {};
  }

  std::optional<uint64_t> offset_of(uint64_t address, uint64_t size) const {
    for (const Elf::Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr <= segment.p_filesz &&
          size <= segment.p_filesz - (address - segment.p_vaddr))
        return segment.p_offset + (address - segment.p_vaddr);
    return std::nullopt;
  }

  void change_dynamic() {
    std::erase_if(entries_, [](const Elf::Dyn& entry) {
      return entry.getTag() == DT_RPATH || entry.getTag() == DT_RUNPATH;
    });
    if (paths_.rpath.empty())
      return;
    if (strings_.empty() || strings_.back() != '\0')
      strings_ += '\0';
    Elf::Dyn entry;
    entry.d_tag = DT_RPATH;
    entry.d_un.d_val = strings_.size();
    entries_.insert(entries_.begin(), entry);
    strings_ += join(paths_.rpath, ":");
    strings_ += '\0';
  }

  bool dynamic_moves() const { return (entries_.size() + 1) * sizeof(Elf::Dyn) > dynamic_segment_->p_filesz; }

  // Where the new segment lies, and whether the program headers move into it.
  Result<void> choose_place() {
    const uint64_t file_end = aligned(data().size(), page_);
    address_ = std::max(aligned(memory_end_, page_), base_ + file_end);
    offset_ = address_ - base_;
    if (offset_ - file_end <= largest_hole)
      return {};
    headers_move_ = false;
    offset_ = file_end;
    address_ = aligned(memory_end_, page_);
    if (std::none_of(segments_.begin(), segments_.end(),
                     [](const Elf::Phdr& segment) { return segment.p_type == PT_NOTE; }))
      return no_place("it has much memory that is not in the file, and no note");
    return {};
  }

  struct Part {
    uint64_t at = 0; // in the new segment
    uint64_t size = 0;
  };
  Part add(std::string_view bytes, uint64_t alignment) {
    added_.resize(aligned(added_.size(), alignment));
    const Part part{added_.size(), bytes.size()};
    added_ += bytes;
    return part;
  }
  void place(Elf::Phdr& segment, const Part& part) const {
    segment.p_offset = offset_ + part.at;
    segment.p_vaddr = address_ + part.at;
    segment.p_paddr = address_ + part.at;
    segment.p_filesz = part.size;
    segment.p_memsz = part.size;
  }

  Result<std::string> write() {
    std::string made(data());
    auto* const header = reinterpret_cast<Elf::Ehdr*>(made.data());
    const uint64_t count = segments_.size() + (headers_move_ ? 1 : 0);
    Part headers;
    if (headers_move_)
      headers = add(std::string(count * sizeof(Elf::Phdr), '\0'), alignof(uint64_t));
    const Part strings = add(strings_, 1);
    Part interpreter;
    if (!paths_.interpreter.empty())
      interpreter = add(paths_.interpreter + std::string(1, '\0'), 1);
    for (Elf::Dyn& entry : entries_) {
      if (entry.getTag() == DT_STRTAB)
        entry.d_un.d_ptr = address_ + strings.at;
      if (entry.getTag() == DT_STRSZ)
        entry.d_un.d_val = strings.size;
    }
    const uint64_t old_dynamic = dynamic_segment_->p_vaddr;
    const uint64_t old_interpreter = interpreter_segment_ ? uint64_t(interpreter_segment_->p_vaddr) : 0;
    const bool writable = dynamic_moves();
    std::string dynamic(reinterpret_cast<const char*>(entries_.data()), entries_.size() * sizeof(Elf::Dyn));
    dynamic.resize(dynamic.size() + sizeof(Elf::Dyn));
    Part moved;
    if (writable) {
      moved = add(dynamic, alignof(uint64_t));
      place(*dynamic_segment_, moved);
    } else {
      dynamic.resize(dynamic_segment_->p_filesz);
      std::memcpy(made.data() + dynamic_segment_->p_offset, dynamic.data(), dynamic.size());
    }
    if (!paths_.interpreter.empty())
      place(*interpreter_segment_, interpreter);
    for (size_t i = 1; i < image_.sections().size(); ++i) {
      const Elf::Shdr& old = *image_.sections()[i].header;
      auto* const section = reinterpret_cast<Elf::Shdr*>(made.data() + header->e_shoff) + i;
      const auto move = [&](const Part& part) {
        section->sh_addr = address_ + part.at;
        section->sh_offset = offset_ + part.at;
        section->sh_size = part.size;
      };
      if (old.sh_type == SHT_STRTAB && (old.sh_flags & SHF_ALLOC) && old.sh_addr == old_strings_)
        move(strings);
      else if (old.sh_type == SHT_DYNAMIC && old.sh_addr == old_dynamic && writable)
        move(moved);
      else if (old.sh_type == SHT_PROGBITS && old_interpreter && old.sh_addr == old_interpreter &&
               !paths_.interpreter.empty())
        move(interpreter);
    }
    add_segment(writable, headers);
    const uint64_t at = headers_move_ ? offset_ : uint64_t(header->e_phoff);
    header->e_phoff = at;
    header->e_phnum = static_cast<uint16_t>(count);
    made.resize(offset_);
    made += added_;
    std::memcpy(made.data() + at, segments_.data(), count * sizeof(Elf::Phdr));
    return made;
  }

  // Segments in memory are in the order of their addresses, so the new one follows the last of them.
  void add_segment(bool writable, const Part& headers) {
    Elf::Phdr segment;
    segment.p_type = PT_LOAD;
    segment.p_flags = writable ? PF_R | PF_W : PF_R;
    segment.p_align = page_;
    place(segment, Part{0, added_.size()});
    if (headers_move_) {
      for (Elf::Phdr& each : segments_)
        if (each.p_type == PT_PHDR)
          place(each, headers);
    } else {
      segments_.erase(std::find_if(segments_.begin(), segments_.end(),
                                   [](const Elf::Phdr& each) { return each.p_type == PT_NOTE; }));
    }
    auto after = segments_.end();
    while (std::prev(after)->p_type != PT_LOAD)
      --after;
    segments_.insert(after, segment);
  }

  const ElfImage& image_;
  const OwnPaths& paths_;
  const uint64_t page_;
  std::vector<Elf::Phdr> segments_;
  Elf::Phdr *dynamic_segment_ = nullptr, *interpreter_segment_ = nullptr;
  std::vector<Elf::Dyn> entries_; // without the end mark
  uint64_t base_ = 0;             // address of the start of the file
  uint64_t memory_end_ = 0, old_strings_ = 0;
  std::string strings_; // of the dynamic section
  uint64_t address_ = 0, offset_ = 0;
  bool headers_move_ = true;
  std::string added_; // the new segment
};

} // namespace

Result<std::string> relocate(std::string_view elf, const OwnPaths& paths) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  return Relocation(image, paths).run();
}

} // namespace xaas::install
