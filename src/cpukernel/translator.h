// One inline assembly as IR. The rules of instructions are in assembly.cpp (registers, statements),
// assembly_numbers.cpp (arithmetic, conversions, comparisons) and assembly_memory.cpp (bits, memory, other
// threads), assembly_video.cpp (several integers in one).
#pragma once

#include "ptx.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xaas::cpukernel {

// A type of PTX: "s32", "f16x2".
struct PtxType {
  enum class Kind { is_signed, is_unsigned, bits, real, brain, predicate };
  Kind kind = Kind::bits;
  unsigned width = 32; // of one element
  unsigned count = 1;  // 2: f16x2, bf16x2
  bool is_real() const { return kind == Kind::real || kind == Kind::brain; }
  bool is_signed() const { return kind == Kind::is_signed; }
};

// Nothing for another name.
std::optional<PtxType> ptx_type(llvm::StringRef name);

class Translator {
public:
  Translator(llvm::CallInst& call, const std::vector<PtxStatement>& statements)
      : call_(call), statements_(statements), builder_(&call), context_(call.getContext()) {}

  // Replaces the call, or leaves everything as it is.
  void run();

private:
  // Something has no rule. What is made until the end of the statement is valid IR, and erased.
  void give_up() { is_unknown_ = true; }
  llvm::Value* give_up(llvm::Type* type);
  struct Register {
    unsigned width;
    llvm::Value* value; // an integer of this width; null before the first write
  };
  // Instructions between the one before the call and the call.
  std::vector<llvm::Instruction*> inserted() const;

  // ---- Operands
  // 0: of a type that no register has.
  static unsigned width_of(const llvm::Type* type);
  llvm::IntegerType* integer(unsigned width) const { return llvm::IntegerType::get(context_, width); }
  llvm::Value* bits_of(llvm::Value* value);
  // $0, $1, ...: first results, then arguments. An argument that is tied to a result is its first value.
  void read_operands();
  llvm::Value* collect_results();
  std::map<std::string, Register>::iterator find_register(const std::string& name);
  // The bits of a register, a number or a special register, as an integer of a width.
  llvm::Value* read(const PtxOperand& operand, unsigned width);
  static std::optional<uint64_t> number(std::string text, unsigned width);
  llvm::Value* special(llvm::StringRef name, unsigned width);
  llvm::Value* predicate(const std::string& name);
  void write(const PtxOperand& operand, llvm::Value* value);

  // ---- Types
  llvm::Type* type_of(const PtxType& type) const;
  llvm::Value* typed(llvm::Value* value, const PtxType& type);
  // The bits of a value of a type, rounded to it.
  llvm::Value* packed(llvm::Value* value, const PtxType& type);
  llvm::Value* read(const PtxOperand& operand, const PtxType& type);

  // ---- Statements
  void translate(const PtxStatement& statement);
  const PtxOperand& operand(size_t index) const;
  void expect(size_t count);
  bool has(llvm::StringRef part) const;
  PtxType type_at(size_t from_end);
  // The parts between the operation and its types are among these.
  void allow(size_t types, std::initializer_list<llvm::StringRef> known);
  // For instructions that change memory or meet other threads.
  void only_always();
  void leave_scope();
  void declare();
  void move();

  // ---- Arithmetic
  using Operation = std::function<llvm::Value*(const std::vector<llvm::Value*>&)>;
  // An operation on each element of its operands.
  void each(size_t count, const PtxType& type, const Operation& operation);
  // With .ftz, subnormal numbers are 0.
  llvm::Value* flushed(llvm::Value* value, const PtxType& type);
  // To 0 .. 1; NaN is 0.
  llvm::Value* saturated(llvm::Value* value);
  llvm::Value* finish_real(llvm::Value* value);
  void arithmetic();
  llvm::Value* of_reals(llvm::StringRef name, const std::vector<llvm::Value*>& v);
  llvm::Value* of_integers(llvm::StringRef name, const std::vector<llvm::Value*>& v, bool is_signed);
  // mul and mad: the lower half of the product, the upper half, or all of it.
  void multiply();
  // Shifts by the width or more give 0, or the sign.
  void shift();
  void approximate();

  // ---- Conversions
  void convert();
  llvm::Value* rounded(llvm::Value* value);
  // Saturates. NaN is 0 between types of at most 32 bits, else the highest bit.
  llvm::Value* to_integer(llvm::Value* value, const PtxType& from, const PtxType& to);
  llvm::Value* to_real(llvm::Value* value, const PtxType& from, const PtxType& to);
  // The neighbour of `nearest`, or itself, that rounds `exact` in the statement's direction. Bits of a number
  // grow with its magnitude.
  llvm::Value* towards(llvm::Value* nearest, llvm::Value* exact);

  // ---- Comparisons and choices
  llvm::Value* compared(llvm::StringRef how, llvm::Value* a, llvm::Value* b, const PtxType& type);
  // setp writes a predicate; set writes all bits, or 1.0.
  void compare();
  void select();

  // ---- Bits
  void count();
  // The place of the highest bit that is not the sign's; or by how much it is shifted to the top. Without
  // one, all bits are set.
  void find_bit();
  void mask_bits();
  // Any function of three bits, by its table.
  void logic();
  // shf.l gives the upper half of (b:a) << c, shf.r the lower half of (b:a) >> c.
  void funnel();
  void permute();
  // Bits of a field: the field's start and length are of 8 bits; beyond the value there are copies of the
  // sign, or zeros.
  void extract();
  void insert();
  // The sum of four products of bytes.
  void dot();

  // Several integers in 32 bits.
  void video();
  llvm::Value* video_operation(llvm::StringRef name, llvm::Value* a, llvm::Value* b);

  // ---- Memory
  llvm::Value* address(const PtxOperand& operand);
  // The access's own order and scope; caching makes no difference.
  struct Access {
    bool is_volatile = false, is_atomic = false;
    unsigned count = 1;
  };
  Access access();
  template <class Instruction>
  void set_order(Instruction* instruction, const Access& access, llvm::AtomicOrdering order) {
    instruction->setVolatile(access.is_volatile);
    if (access.is_atomic && access.count == 1)
      instruction->setAtomic(order);
  }
  void load();
  void store();
  // atom, and red, which has no result. All are sequentially consistent, in all of the process.
  void atomic();
  void fence();
  void nothing() {}
  void trap();
  void end_thread();

  // ---- Other threads
  void barrier();
  // shfl.sync, and shfl, in which all lanes take part. A second result says whether the lane was in range.
  void shuffle();
  void vote();
  void match();
  void active_mask();

  llvm::CallInst& call_;
  const std::vector<PtxStatement>& statements_;
  llvm::IRBuilder<> builder_;
  llvm::LLVMContext& context_;
  llvm::Instruction* before_ = nullptr;
  std::map<std::string, Register> registers_;
  std::map<std::string, std::string> aliases_;   // of operands that are results, too
  std::vector<std::vector<std::string>> scopes_; // names of registers that each declares
  std::vector<std::pair<std::string, llvm::Type*>> results_;
  // Of the statement:
  std::vector<llvm::StringRef> parts_;
  const std::vector<PtxOperand>* operands_ = nullptr;
  bool is_signed_result_ = false;    // a register that is wider gets copies of the sign
  llvm::Value* condition_ = nullptr; // under which it writes
  bool is_unknown_ = false;
};

} // namespace xaas::cpukernel
