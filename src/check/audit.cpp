// On x86-64 the disassembler accepts every instruction, and x86_instructions.h tells what each one needs. On
// AArch64 it accepts only the instructions of given features. An instruction that it accepts only with all
// features is one that the CPU lacks; it is filed under the first feature that makes the disassembler accept
// it.
#include "audit.h"

#include "x86_instructions.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <optional>
#include <set>

namespace xaas::check {

namespace {

using Elf = llvm::object::ELF64LE;

template <typename T> Result<T> checked(llvm::Expected<T> value) {
  if (!value)
    return make_error(ErrorKind::integrity, "damaged ELF file: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

void initialize_disassemblers() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86Disassembler();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64Disassembler();
}

// Everything that LLVM needs to disassemble.
class Disassembler {
public:
  static Result<Disassembler> create(const std::string& triple, const std::string& features) {
    Disassembler made;
    const llvm::Triple parsed(triple);
    std::string error;
    const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(parsed, error);
    if (!target)
      return make_error(ErrorKind::failed, "disassembling for " + triple + ": " + error);
    made.registers_.reset(target->createMCRegInfo(parsed));
    made.assembly_.reset(target->createMCAsmInfo(*made.registers_, parsed, llvm::MCTargetOptions()));
    made.subtarget_.reset(target->createMCSubtargetInfo(parsed, "", features));
    made.instructions_.reset(target->createMCInstrInfo());
    made.context_ = std::make_unique<llvm::MCContext>(parsed, made.assembly_.get(), made.registers_.get(),
                                                      made.subtarget_.get());
    made.disassembler_.reset(target->createMCDisassembler(*made.subtarget_, *made.context_));
    if (!made.disassembler_)
      return make_error(ErrorKind::failed, "no disassembler for " + triple);
    return made;
  }

  bool take(llvm::ArrayRef<uint8_t> bytes, uint64_t address, llvm::MCInst& instruction, uint64_t& size) {
    return disassembler_->getInstruction(instruction, size, bytes, address, llvm::nulls()) ==
           llvm::MCDisassembler::Success;
  }
  std::string_view name(unsigned opcode) const {
    const llvm::StringRef name = instructions_->getName(opcode);
    return {name.data(), name.size()};
  }

private:
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

// Which features an instruction needs that the CPU lacks. One class for each architecture.
class Judge {
public:
  virtual ~Judge() = default;
  // Disassembles the first instruction of `bytes`. Returns its size, or 0 if there is none.
  virtual uint64_t take(llvm::ArrayRef<uint8_t> bytes, uint64_t address,
                        std::vector<std::string>& lacking) = 0;
  virtual uint64_t step() const = 0; // to skip bytes that are not an instruction
};

class X86Judge : public Judge {
public:
  X86Judge(Disassembler disassembler, const target::Cpu& cpu)
      : disassembler_(std::move(disassembler)), cpu_(cpu) {}

  uint64_t take(llvm::ArrayRef<uint8_t> bytes, uint64_t address, std::vector<std::string>& lacking) override {
    llvm::MCInst instruction;
    uint64_t size = 0;
    if (!disassembler_.take(bytes, address, instruction, size))
      return 0;
    const Encoding encoding = encoding_of(bytes.data(), size);
    const auto [found, added] = known_.try_emplace({instruction.getOpcode(), encoding});
    if (added)
      for (const std::string& feature : x86_features(disassembler_.name(instruction.getOpcode()), encoding))
        if (!std::binary_search(cpu_.features.begin(), cpu_.features.end(), feature))
          found->second.push_back(feature);
    lacking = found->second;
    return size;
  }
  uint64_t step() const override { return 1; }

private:
  Disassembler disassembler_;
  const target::Cpu& cpu_;
  std::map<std::pair<unsigned, Encoding>, std::vector<std::string>> known_;
};

class AArch64Judge : public Judge {
public:
  static Result<std::unique_ptr<Judge>> create(const target::Cpu& cpu) {
    const std::string triple = target::triple(cpu.arch);
    std::string own;
    for (const std::string& feature : cpu.features)
      own += (own.empty() ? "+" : ",+") + feature;
    auto judge = std::make_unique<AArch64Judge>();
    XAAS_TRY(Disassembler with_own, Disassembler::create(triple, own));
    XAAS_TRY(Disassembler with_all, Disassembler::create(triple, "+all"));
    judge->own_.emplace(std::move(with_own));
    judge->all_.emplace(std::move(with_all));
    std::set<std::string> candidates;
    for (const std::string& name : target::cpu_names(cpu.arch)) {
      XAAS_TRY(const std::vector<std::string> features, target::features_of(cpu.arch, name));
      for (const std::string& feature : features)
        if (!std::binary_search(cpu.features.begin(), cpu.features.end(), feature))
          candidates.insert(feature);
    }
    // First the features that imply no others, because SME also decodes SVE.
    judge->by_size_.assign(candidates.begin(), candidates.end());
    std::sort(judge->by_size_.begin(), judge->by_size_.end(), [&](const auto& a, const auto& b) {
      return std::pair(target::with_implied(cpu.arch, {a}).size(), a) <
             std::pair(target::with_implied(cpu.arch, {b}).size(), b);
    });
    judge->triple_ = triple;
    return std::unique_ptr<Judge>(std::move(judge));
  }

  uint64_t take(llvm::ArrayRef<uint8_t> bytes, uint64_t address, std::vector<std::string>& lacking) override {
    llvm::MCInst instruction;
    uint64_t size = 0;
    lacking.clear();
    if (own_->take(bytes, address, instruction, size))
      return size;
    if (!all_->take(bytes, address, instruction, size))
      return 0;
    const auto [found, added] = known_.try_emplace(instruction.getOpcode());
    if (added)
      found->second = feature_of(bytes, address);
    lacking = {found->second};
    return size;
  }
  uint64_t step() const override { return 4; }

private:
  std::string feature_of(llvm::ArrayRef<uint8_t> bytes, uint64_t address) {
    for (const std::string& feature : by_size_) {
      Result<Disassembler> one = Disassembler::create(triple_, "+" + feature);
      llvm::MCInst instruction;
      uint64_t size = 0;
      if (one && one->take(bytes, address, instruction, size))
        return feature;
    }
    return "another architecture version";
  }

  std::string triple_;
  std::optional<Disassembler> own_, all_;
  std::vector<std::string> by_size_; // features that other CPUs have
  std::map<unsigned, std::string> known_;
};

struct Function {
  std::string name;
  uint64_t size = 0; // 0: unknown
};

// By address in the section: where the sweep starts anew, with the name to report.
Result<std::map<uint64_t, Function>> functions_in(const llvm::object::ELFFile<Elf>& file,
                                                  const Elf::ShdrRange& sections, uint64_t section) {
  std::map<uint64_t, Function> functions;
  for (const Elf::Shdr& table : sections) {
    if (table.sh_type != llvm::ELF::SHT_SYMTAB && table.sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    XAAS_TRY(const auto symbols, checked(file.symbols(&table)));
    XAAS_TRY(const llvm::StringRef names, checked(file.getStringTableForSymtab(table, sections)));
    for (const auto& symbol : symbols) {
      const bool code =
          symbol.getType() == llvm::ELF::STT_FUNC || symbol.getType() == llvm::ELF::STT_GNU_IFUNC;
      if (!code || symbol.st_shndx != section)
        continue;
      XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
      functions.try_emplace(symbol.st_value, Function{name.str(), symbol.st_size});
    }
  }
  return functions;
}

class Audit {
public:
  Audit(Judge& judge, std::map<std::string, Use>& uses, size_t max_functions)
      : judge_(judge), uses_(uses), max_functions_(max_functions) {}

  void sweep(llvm::ArrayRef<uint8_t> bytes, uint64_t address, const Function& function) {
    const uint64_t begin = address;
    std::vector<std::string> lacking;
    std::set<std::string> here;
    while (!bytes.empty()) {
      uint64_t size = judge_.take(bytes, address, lacking);
      if (size == 0)
        size = judge_.step();
      else
        for (const std::string& feature : lacking) {
          Use& use = uses_[feature];
          ++use.instructions;
          // Code after the end of a function belongs to a function without a name.
          const bool named =
              !function.name.empty() && (function.size == 0 || address < begin + function.size);
          if (here.insert(feature).second && use.functions.size() < max_functions_)
            use.functions.push_back(named ? function.name : "0x" + llvm::utohexstr(address, true));
        }
      size = std::min<uint64_t>(size, bytes.size());
      bytes = bytes.drop_front(size);
      address += size;
    }
  }

private:
  Judge& judge_;
  std::map<std::string, Use>& uses_;
  size_t max_functions_;
};

Result<std::unique_ptr<Judge>> judge_for(const target::Cpu& cpu) {
  if (cpu.arch == "aarch64")
    return AArch64Judge::create(cpu);
  XAAS_TRY(Disassembler disassembler, Disassembler::create(target::triple(cpu.arch), ""));
  return std::unique_ptr<Judge>(std::make_unique<X86Judge>(std::move(disassembler), cpu));
}

} // namespace

Result<std::map<std::string, Use>> instructions_beyond(std::string_view elf, const target::Cpu& cpu,
                                                       size_t max_functions) {
  initialize_disassemblers();
  XAAS_TRY(const auto file, checked(llvm::object::ELFFile<Elf>::create({elf.data(), elf.size()})));
  XAAS_TRY(const auto sections, checked(file.sections()));
  XAAS_TRY(const std::unique_ptr<Judge> judge, judge_for(cpu));
  std::map<std::string, Use> uses;
  Audit audit(*judge, uses, max_functions);
  for (size_t i = 0; i < sections.size(); ++i) {
    const Elf::Shdr& section = sections[i];
    if (!(section.sh_flags & llvm::ELF::SHF_EXECINSTR) || section.sh_type != llvm::ELF::SHT_PROGBITS)
      continue;
    XAAS_TRY(const llvm::ArrayRef<uint8_t> bytes, checked(file.getSectionContents(section)));
    XAAS_TRY(const auto functions, functions_in(file, sections, i));
    uint64_t at = section.sh_addr;
    Function current;
    const auto sweep_to = [&](uint64_t end) {
      if (end > at && end - section.sh_addr <= bytes.size())
        audit.sweep(bytes.slice(at - section.sh_addr, end - at), at, current);
    };
    for (const auto& [address, function] : functions) {
      if (address < section.sh_addr || address - section.sh_addr > bytes.size())
        continue;
      sweep_to(address);
      at = address;
      current = function;
    }
    sweep_to(section.sh_addr + bytes.size());
  }
  return uses;
}

} // namespace xaas::check
