// Problem: device code, and CUDA's own headers for half precision, contain PTX as inline assembly.
//
//     asm("{.reg .f16 low,high;                        %h = trunc i32 %a to i16
//            mov.b32 {low,high},$1;             =>     %f = bitcast i16 %h to half
//            cvt.f32.f16 $0, low;}", "=f,r")           %r = fpext half %f to float
//
// Approach: each statement becomes IR. PTX lets instructions read any register of the right width, so values
// of registers are integers of that width. An instruction converts them to its own type. If an instruction or
// an operand has no rule, the whole assembly stays, and kernels that need it are refused.
//
// Approximate instructions are the accurate functions. `.ftz` flushes subnormal operands and results of
// arithmetic; approximate instructions leave them.
//
// Source: PTX ISA 9.0, "Instruction Set".
#include "assembly.h"
#include "library.h"
#include "ptx.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace xaas::cpukernel {

namespace {

struct Type {
  enum class Kind { is_signed, is_unsigned, bits, real, brain, predicate };
  Kind kind = Kind::bits;
  unsigned width = 32; // of one element
  unsigned count = 1;  // 2: f16x2, bf16x2
  bool is_real() const { return kind == Kind::real || kind == Kind::brain; }
  bool is_signed() const { return kind == Kind::is_signed; }
};

std::optional<Type> type_named(llvm::StringRef name) {
  if (name == "pred")
    return Type{Type::Kind::predicate, 1};
  Type type;
  if (name.consume_back("x2"))
    type.count = 2;
  if (name.consume_front("bf"))
    type.kind = Type::Kind::brain;
  else if (name.consume_front("f"))
    type.kind = Type::Kind::real;
  else if (name.consume_front("s"))
    type.kind = Type::Kind::is_signed;
  else if (name.consume_front("u"))
    type.kind = Type::Kind::is_unsigned;
  else if (!name.consume_front("b"))
    return {};
  if (name.getAsInteger(10, type.width) ||
      (type.width != 8 && type.width != 16 && type.width != 32 && type.width != 64))
    return {};
  if ((type.is_real() && type.width == 8) || (type.count == 2 && (type.width != 16 || !type.is_real())))
    return {};
  return type;
}

class Translator {
public:
  Translator(llvm::CallInst& call, const std::vector<PtxStatement>& statements)
      : call_(call), statements_(statements), builder_(&call), context_(call.getContext()) {}

  void run() {
    read_operands();
    for (const PtxStatement& statement : statements_)
      if (!is_unknown_)
        translate(statement);
    llvm::Value* const result = collect_results();
    if (is_unknown_) {
      const std::vector<llvm::Instruction*> unused = inserted();
      for (llvm::Instruction* instruction : llvm::reverse(unused))
        instruction->eraseFromParent();
      return;
    }
    if (result)
      call_.replaceAllUsesWith(result);
    call_.eraseFromParent();
  }

private:
  // Something has no rule. What is made until the end of the statement is valid IR, and erased.
  void give_up() { is_unknown_ = true; }
  llvm::Value* give_up(llvm::Type* type) {
    is_unknown_ = true;
    return llvm::PoisonValue::get(type);
  }

  struct Register {
    unsigned width;
    llvm::Value* value; // an integer of this width; null before the first write
  };

  // Instructions between the one before the call and the call.
  std::vector<llvm::Instruction*> inserted() const {
    std::vector<llvm::Instruction*> result;
    auto at = before_ ? std::next(before_->getIterator()) : call_.getParent()->begin();
    for (; &*at != &call_; ++at)
      result.push_back(&*at);
    return result;
  }

  // ---- Operands

  // 0: of a type that no register has.
  static unsigned width_of(const llvm::Type* type) {
    if (type->isPointerTy())
      return 64;
    return type->isIntegerTy() || type->isFloatingPointTy() ? type->getPrimitiveSizeInBits().getFixedValue()
                                                            : 0;
  }

  llvm::IntegerType* integer(unsigned width) const { return llvm::IntegerType::get(context_, width); }

  llvm::Value* bits_of(llvm::Value* value) {
    if (value->getType()->isPointerTy())
      return builder_.CreatePtrToInt(value, integer(64));
    const unsigned width = width_of(value->getType());
    return width ? builder_.CreateBitCast(value, integer(width)) : give_up(integer(32));
  }

  // $0, $1, ...: first results, then arguments. An argument that is tied to a result is its first value.
  void read_operands() {
    before_ = call_.getPrevNode();
    const auto* assembly = llvm::cast<llvm::InlineAsm>(call_.getCalledOperand());
    unsigned argument = 0, number = 0;
    std::vector<llvm::Type*> results;
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(call_.getType()))
      results.assign(structure->element_begin(), structure->element_end());
    else if (!call_.getType()->isVoidTy())
      results.push_back(call_.getType());
    for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints()) {
      if (constraint.Type == llvm::InlineAsm::isClobber)
        continue;
      if (constraint.isIndirect || constraint.Type == llvm::InlineAsm::isLabel)
        return give_up();
      const std::string name = "$" + std::to_string(number++);
      if (constraint.Type == llvm::InlineAsm::isOutput) {
        llvm::Type* const type = results_.size() < results.size() ? results[results_.size()] : nullptr;
        if (!type || !width_of(type))
          return give_up();
        results_.push_back({name, type});
        registers_[name] = {width_of(type), nullptr};
        continue;
      }
      llvm::Value* const value = bits_of(call_.getArgOperand(argument++));
      Register given{value->getType()->getIntegerBitWidth(), value};
      if (!constraint.Codes.empty() && std::isdigit(static_cast<unsigned char>(constraint.Codes[0][0])))
        registers_["$" + constraint.Codes[0]] = given, aliases_[name] = "$" + constraint.Codes[0];
      else
        registers_[name] = given;
    }
  }

  llvm::Value* collect_results() {
    llvm::Value* all = llvm::PoisonValue::get(call_.getType());
    for (unsigned i = 0; i < results_.size(); ++i) {
      const auto& [name, type] = results_[i];
      llvm::Value* value = registers_[name].value;
      if (!value)
        return give_up(call_.getType());
      value =
          type->isPointerTy() ? builder_.CreateIntToPtr(value, type) : builder_.CreateBitCast(value, type);
      if (!call_.getType()->isStructTy())
        return value;
      all = builder_.CreateInsertValue(all, value, i);
    }
    return call_.getType()->isVoidTy() ? nullptr : all;
  }

  std::map<std::string, Register>::iterator find_register(const std::string& name) {
    const auto alias = aliases_.find(name);
    return registers_.find(alias == aliases_.end() ? name : alias->second);
  }

  // The bits of a register, a number or a special register, as an integer of a width.
  llvm::Value* read(const PtxOperand& operand, unsigned width) {
    if (operand.kind != PtxOperand::Kind::name)
      return give_up(integer(width));
    llvm::StringRef name = operand.name;
    if (const auto found = find_register(operand.name); found != registers_.end()) {
      if (!found->second.value)
        return give_up(integer(width));
      return builder_.CreateZExtOrTrunc(found->second.value, integer(width));
    }
    if (name == "WARP_SZ")
      return llvm::ConstantInt::get(integer(width), 32);
    if (name.consume_front("%"))
      return special(name, width);
    const std::optional<uint64_t> value = number(operand.name, width);
    if (!value)
      return give_up(integer(width));
    return llvm::ConstantInt::get(integer(width), *value, false, true);
  }

  static std::optional<uint64_t> number(std::string text, unsigned width) {
    const bool negative = text.starts_with('-');
    if (negative)
      text.erase(0, 1);
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])))
      return {};
    while (text.back() == 'U' || text.back() == 'u')
      text.pop_back();
    int base = 10;
    if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") ||
        text.starts_with("0D")) {
      if ((text[1] == 'f' || text[1] == 'F' ? 32u : 64u) != width)
        return {};
      base = 16;
    } else if (text.starts_with("0x") || text.starts_with("0X")) {
      base = 16;
    } else if (text.starts_with('0')) {
      base = 8;
    }
    if (base == 16)
      text.erase(0, 2);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size())
      return {};
    return negative ? -value : value;
  }

  llvm::Value* special(llvm::StringRef name, unsigned width) {
    std::string intrinsic = "llvm.nvvm.read.ptx.sreg." + name.str();
    static const std::set<std::string> renamed = {"lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
                                                  "lanemask_ge"};
    if (renamed.contains(name.str()))
      intrinsic[intrinsic.find('_')] = '.';
    const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(intrinsic);
    if (id == llvm::Intrinsic::not_intrinsic)
      return give_up(integer(width));
    return builder_.CreateZExtOrTrunc(builder_.CreateIntrinsic(id, {}), integer(width));
  }

  llvm::Value* predicate(const std::string& name) {
    const bool inverted = name.starts_with('!');
    llvm::Value* const value = read({.name = inverted ? name.substr(1) : name}, 1);
    return inverted ? builder_.CreateNot(value) : value;
  }

  void write(const PtxOperand& operand, llvm::Value* value) {
    if (operand.name == "_")
      return;
    const auto found = find_register(operand.name);
    if (operand.kind != PtxOperand::Kind::name || found == registers_.end())
      return give_up();
    Register& target = found->second;
    value = bits_of(value);
    value = is_signed_result_ ? builder_.CreateSExtOrTrunc(value, integer(target.width))
                              : builder_.CreateZExtOrTrunc(value, integer(target.width));
    if (condition_) {
      if (!target.value)
        target.value = llvm::PoisonValue::get(integer(target.width));
      value = builder_.CreateSelect(condition_, value, target.value);
    }
    target.value = value;
  }

  // ---- Types

  llvm::Type* type_of(const Type& type) const {
    if (type.kind == Type::Kind::brain) // computed in single precision: no C library rounds to bfloat
      return llvm::Type::getFloatTy(context_);
    if (type.kind == Type::Kind::real)
      return type.width == 16   ? llvm::Type::getHalfTy(context_)
             : type.width == 32 ? llvm::Type::getFloatTy(context_)
                                : llvm::Type::getDoubleTy(context_);
    return integer(type.width);
  }

  llvm::Value* typed(llvm::Value* value, const Type& type) {
    if (type.kind == Type::Kind::brain)
      value = builder_.CreateShl(builder_.CreateZExt(value, integer(32)), 16);
    return type.is_real() ? builder_.CreateBitCast(value, type_of(type)) : value;
  }

  // The bits of a value of a type, rounded to it.
  llvm::Value* packed(llvm::Value* value, const Type& type) {
    llvm::Value* const bits = bits_of(value);
    if (type.kind != Type::Kind::brain || !value->getType()->isFloatTy())
      return bits;
    llvm::Value* const upper = builder_.CreateLShr(bits, 16);
    llvm::Value* const to_even = builder_.CreateAdd(builder_.getInt32(0x7fff), builder_.CreateAnd(upper, 1));
    if (has("rm") || has("rp"))
      give_up();
    llvm::Value* const rounded =
        has("rz") ? upper : builder_.CreateLShr(builder_.CreateAdd(bits, to_even), 16);
    llvm::Value* const result =
        builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), builder_.getInt32(0x7fff), rounded);
    return builder_.CreateTrunc(result, integer(16));
  }
  llvm::Value* read(const PtxOperand& operand, const Type& type) {
    return typed(read(operand, type.width), type);
  }

  // ---- Statements

  void translate(const PtxStatement& statement) {
    parts_.assign(statement.parts.begin(), statement.parts.end());
    operands_ = &statement.operands;
    is_signed_result_ = false;
    condition_ = nullptr;
    if (parts_[0] == "{")
      return scopes_.push_back({});
    if (parts_[0] == "}")
      return leave_scope();
    if (parts_[0].starts_with("reg"))
      return declare();
    if (!statement.predicate.empty())
      condition_ = predicate(statement.predicate);
    static const std::map<llvm::StringRef, void (Translator::*)()> rules = {
        {"mov", &Translator::move},
        {"cvt", &Translator::convert},
        {"add", &Translator::arithmetic},
        {"sub", &Translator::arithmetic},
        {"mul", &Translator::multiply},
        {"mad", &Translator::multiply},
        {"fma", &Translator::arithmetic},
        {"div", &Translator::arithmetic},
        {"rem", &Translator::arithmetic},
        {"min", &Translator::arithmetic},
        {"max", &Translator::arithmetic},
        {"neg", &Translator::arithmetic},
        {"abs", &Translator::arithmetic},
        {"and", &Translator::arithmetic},
        {"or", &Translator::arithmetic},
        {"xor", &Translator::arithmetic},
        {"not", &Translator::arithmetic},
        {"shl", &Translator::shift},
        {"shr", &Translator::shift},
        {"rcp", &Translator::approximate},
        {"rsqrt", &Translator::approximate},
        {"sqrt", &Translator::approximate},
        {"ex2", &Translator::approximate},
        {"lg2", &Translator::approximate},
        {"sin", &Translator::approximate},
        {"cos", &Translator::approximate},
        {"tanh", &Translator::approximate},
        {"setp", &Translator::compare},
        {"set", &Translator::compare},
        {"selp", &Translator::select},
        {"popc", &Translator::count},
        {"clz", &Translator::count},
        {"brev", &Translator::count},
        {"lop3", &Translator::logic},
        {"shf", &Translator::funnel},
        {"prmt", &Translator::permute},
        {"bfe", &Translator::extract},
        {"bfi", &Translator::insert},
        {"ld", &Translator::load},
        {"st", &Translator::store},
        {"dp4a", &Translator::dot},
        {"prefetch", &Translator::nothing},
        {"membar", &Translator::fence},
        {"fence", &Translator::fence},
        {"nanosleep", &Translator::nothing},
        {"shfl", &Translator::shuffle},
        {"bar", &Translator::barrier},
        {"trap", &Translator::trap},
        {"vote", &Translator::vote},
        {"match", &Translator::match},
        {"activemask", &Translator::active_mask},
        {"atom", &Translator::atomic},
        {"red", &Translator::atomic},
        {"bfind", &Translator::find_bit}};
    const auto rule = rules.find(parts_[0]);
    if (rule == rules.end())
      return give_up();
    (this->*rule->second)();
  }

  const PtxOperand& operand(size_t index) const {
    static const PtxOperand none;
    return index < operands_->size() ? (*operands_)[index] : none;
  }
  void expect(size_t count) {
    if (operands_->size() != count)
      give_up();
  }
  bool has(llvm::StringRef part) const {
    return llvm::is_contained(llvm::ArrayRef(parts_).drop_front(), part);
  }
  Type type_at(size_t from_end) {
    std::optional<Type> type;
    if (parts_.size() >= from_end + 2)
      type = type_named(parts_[parts_.size() - 1 - from_end]);
    if (!type)
      give_up();
    return type.value_or(Type());
  }
  // The parts between the operation and its types are among these.
  void allow(size_t types, std::initializer_list<llvm::StringRef> known) {
    if (parts_.size() < types + 1)
      return give_up();
    for (llvm::StringRef part : llvm::ArrayRef(parts_).drop_front().drop_back(types))
      if (!llvm::is_contained(known, part))
        give_up();
  }
  void only_always() { // for what changes memory, or meets other threads
    if (condition_)
      give_up();
  }

  void leave_scope() {
    if (scopes_.empty())
      return give_up();
    for (const std::string& name : scopes_.back())
      registers_.erase(name);
    scopes_.pop_back();
  }

  void declare() {
    if (parts_.size() != 2 && !(parts_.size() == 1 && parts_[0].size() > 3))
      return give_up();
    const std::optional<Type> type = type_named(parts_.size() == 2 ? parts_[1] : parts_[0].drop_front(3));
    if (!type)
      return give_up();
    for (const PtxOperand& name : *operands_) {
      if (name.kind != PtxOperand::Kind::name || name.name.find('<') != std::string::npos ||
          registers_.contains(name.name)) // also one that hides another
        return give_up();
      registers_[name.name] = {type->width * type->count, nullptr};
      if (!scopes_.empty())
        scopes_.back().push_back(name.name);
    }
  }

  void move() {
    expect(2);
    allow(1, {});
    const Type type = type_at(0);
    const PtxOperand &to = operand(0), &from = operand(1);
    for (const PtxOperand* each : {&to, &from})
      if (each->kind == PtxOperand::Kind::list && each->members.size() != 2 && each->members.size() != 4)
        return give_up();
    if (from.kind == PtxOperand::Kind::list) {
      const unsigned width = type.width / static_cast<unsigned>(from.members.size());
      llvm::Value* whole = llvm::ConstantInt::get(integer(type.width), 0);
      for (size_t i = 0; i < from.members.size(); ++i)
        whole = builder_.CreateOr(
            whole, builder_.CreateShl(builder_.CreateZExt(read(from.members[i], width), integer(type.width)),
                                      width * i));
      write(to, whole);
    } else if (to.kind == PtxOperand::Kind::list) {
      llvm::Value* const whole = read(from, type.width);
      const unsigned width = type.width / static_cast<unsigned>(to.members.size());
      for (size_t i = 0; i < to.members.size(); ++i)
        write(to.members[i], builder_.CreateTrunc(builder_.CreateLShr(whole, width * i), integer(width)));
    } else {
      write(to, read(from, type.width * type.count));
    }
  }

  // ---- Arithmetic

  using Operation = std::function<llvm::Value*(const std::vector<llvm::Value*>&)>;

  // An operation on each element of its operands.
  void each(size_t count, const Type& type, const Operation& operation) {
    expect(count + 1);
    if (type.count == 1) {
      std::vector<llvm::Value*> values;
      for (size_t i = 1; i <= count; ++i)
        values.push_back(flushed(read(operand(i), type), type));
      is_signed_result_ = type.is_signed();
      write(operand(0), packed(flushed(operation(values), type), type));
      return;
    }
    llvm::Value* whole = llvm::ConstantInt::get(integer(32), 0);
    for (unsigned element = 0; element < 2; ++element) {
      std::vector<llvm::Value*> values;
      for (size_t i = 1; i <= count; ++i)
        values.push_back(flushed(
            typed(builder_.CreateTrunc(builder_.CreateLShr(read(operand(i), 32), 16 * element), integer(16)),
                  type),
            type));
      llvm::Value* const bits =
          builder_.CreateZExt(packed(flushed(operation(values), type), type), integer(32));
      whole = builder_.CreateOr(whole, builder_.CreateShl(bits, 16 * element));
    }
    write(operand(0), whole);
  }

  // With .ftz, subnormal numbers are 0.
  llvm::Value* flushed(llvm::Value* value, const Type& type) {
    llvm::Type* const own = value->getType();
    if (!has("ftz") || type.kind != Type::Kind::real || (!own->isFloatTy() && !own->isHalfTy()))
      return value;
    llvm::Value* const is_small =
        builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
                               llvm::ConstantFP::get(own, own->isHalfTy() ? 0x1p-14 : 0x1p-126));
    llvm::Value* const zero =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(own, 0.0), value);
    return builder_.CreateSelect(is_small, zero, value);
  }

  llvm::Value* saturated(llvm::Value* value) { // to 0 .. 1; NaN is 0
    llvm::Type* const type = value->getType();
    llvm::Value* const zero = llvm::ConstantFP::get(type, 0.0);
    llvm::Value* const one = llvm::ConstantFP::get(type, 1.0);
    value = builder_.CreateSelect(builder_.CreateFCmpOGT(value, zero), value, zero);
    return builder_.CreateSelect(builder_.CreateFCmpOLT(value, one), value, one);
  }

  llvm::Value* finish_real(llvm::Value* value) {
    if (has("sat"))
      value = saturated(value);
    if (has("relu")) { // NaN stays
      llvm::Value* const zero = llvm::ConstantFP::get(value->getType(), 0.0);
      value = builder_.CreateSelect(builder_.CreateFCmpOLE(value, zero), zero, value);
    }
    return value;
  }

  void arithmetic() {
    const Type type = type_at(0);
    const llvm::StringRef name = parts_[0];
    if (type.is_real()) {
      allow(1, {"rn", "ftz", "sat", "relu", "NaN", "approx", "full", "noftz"});
      static const std::map<llvm::StringRef, size_t> counts = {
          {"add", 2}, {"sub", 2}, {"fma", 3}, {"div", 2}, {"min", 2}, {"max", 2}, {"neg", 1}, {"abs", 1}};
      const auto count = counts.find(name);
      if (count == counts.end())
        return give_up();
      each(count->second, type, [&](const auto& v) { return finish_real(of_reals(name, v)); });
      return;
    }
    allow(1, {});
    static const std::map<llvm::StringRef, size_t> counts = {{"add", 2}, {"sub", 2}, {"div", 2}, {"rem", 2},
                                                             {"min", 2}, {"max", 2}, {"neg", 1}, {"abs", 1},
                                                             {"and", 2}, {"or", 2},  {"xor", 2}, {"not", 1}};
    const auto count = counts.find(name);
    if (count == counts.end() || type.width == 8)
      return give_up();
    if (name == "div" || name == "rem")
      only_always(); // it would divide always
    each(count->second, type, [&](const auto& v) { return of_integers(name, v, type.is_signed()); });
  }

  llvm::Value* of_reals(llvm::StringRef name, const std::vector<llvm::Value*>& v) {
    if (name == "add")
      return builder_.CreateFAdd(v[0], v[1]);
    if (name == "sub")
      return builder_.CreateFSub(v[0], v[1]);
    if (name == "mul")
      return builder_.CreateFMul(v[0], v[1]);
    if (name == "div")
      return builder_.CreateFDiv(v[0], v[1]);
    if (name == "neg")
      return builder_.CreateFNeg(v[0]);
    if (name == "abs")
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v[0]);
    if (name == "min")
      return builder_.CreateBinaryIntrinsic(
          has("NaN") ? llvm::Intrinsic::minimum : llvm::Intrinsic::minimumnum, v[0], v[1]);
    if (name == "max")
      return builder_.CreateBinaryIntrinsic(
          has("NaN") ? llvm::Intrinsic::maximum : llvm::Intrinsic::maximumnum, v[0], v[1]);
    // fma: of half precision in double precision, in which product and sum are nearly always exact
    llvm::Type* const type = v[0]->getType();
    llvm::Type* const wide = type->getPrimitiveSizeInBits() == 16 ? builder_.getDoubleTy() : type;
    llvm::Value* const sum =
        builder_.CreateIntrinsic(llvm::Intrinsic::fma, {wide},
                                 {builder_.CreateFPExt(v[0], wide), builder_.CreateFPExt(v[1], wide),
                                  builder_.CreateFPExt(v[2], wide)});
    return builder_.CreateFPTrunc(sum, type);
  }

  llvm::Value* of_integers(llvm::StringRef name, const std::vector<llvm::Value*>& v, bool is_signed) {
    if (name == "add")
      return builder_.CreateAdd(v[0], v[1]);
    if (name == "sub")
      return builder_.CreateSub(v[0], v[1]);
    if (name == "div")
      return is_signed ? builder_.CreateSDiv(v[0], v[1]) : builder_.CreateUDiv(v[0], v[1]);
    if (name == "rem")
      return is_signed ? builder_.CreateSRem(v[0], v[1]) : builder_.CreateURem(v[0], v[1]);
    if (name == "min")
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, v[0],
                                            v[1]);
    if (name == "max")
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, v[0],
                                            v[1]);
    if (name == "neg")
      return builder_.CreateNeg(v[0]);
    if (name == "abs")
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v[0], builder_.getFalse());
    if (name == "and")
      return builder_.CreateAnd(v[0], v[1]);
    if (name == "or")
      return builder_.CreateOr(v[0], v[1]);
    if (name == "xor")
      return builder_.CreateXor(v[0], v[1]);
    return builder_.CreateNot(v[0]);
  }

  // mul and mad: the lower half of the product, the upper half, or all of it.
  void multiply() {
    const Type type = type_at(0);
    const bool adds = parts_[0] == "mad";
    if (type.is_real()) {
      allow(1, {"rn", "ftz", "sat", "relu", "noftz"});
      each(adds ? 3 : 2, type, [&](const auto& v) { return finish_real(of_reals(adds ? "fma" : "mul", v)); });
      return;
    }
    allow(1, {"lo", "hi", "wide"});
    expect(adds ? 4 : 3);
    const unsigned width = type.width, twice = 2 * width;
    const auto extended = [&](llvm::Value* value) {
      return type.is_signed() ? builder_.CreateSExt(value, integer(twice))
                              : builder_.CreateZExt(value, integer(twice));
    };
    llvm::Value* product =
        builder_.CreateMul(extended(read(operand(1), width)), extended(read(operand(2), width)));
    if (!has("wide")) {
      if (has("hi"))
        product = builder_.CreateLShr(product, width);
      product = builder_.CreateTrunc(product, integer(width));
    }
    if (adds)
      product = builder_.CreateAdd(product, read(operand(3), has("wide") ? twice : width));
    is_signed_result_ = type.is_signed();
    write(operand(0), product);
  }

  // Shifts by the width or more give 0, or the sign.
  void shift() {
    expect(3);
    allow(1, {});
    const Type type = type_at(0);
    if (type.width == 8)
      return give_up();
    llvm::Value* const value = read(operand(1), type.width);
    llvm::Value* const by = read(operand(2), 32);
    llvm::Value* const most = builder_.getInt32(type.width - 1);
    llvm::Value* const limited = builder_.CreateZExtOrTrunc(
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, by, most), value->getType());
    is_signed_result_ = type.is_signed();
    if (parts_[0] == "shr" && type.is_signed()) {
      write(operand(0), builder_.CreateAShr(value, limited));
      return;
    }
    llvm::Value* const shifted =
        parts_[0] == "shl" ? builder_.CreateShl(value, limited) : builder_.CreateLShr(value, limited);
    write(operand(0), builder_.CreateSelect(builder_.CreateICmpUGT(by, most),
                                            llvm::ConstantInt::get(value->getType(), 0), shifted));
  }

  void approximate() {
    const Type type = type_at(0);
    allow(1, {"approx", "rn", "ftz"});
    if (!type.is_real())
      return give_up();
    const llvm::StringRef name = parts_[0];
    each(1, type, [&](const auto& v) -> llvm::Value* {
      llvm::Type* const own = v[0]->getType();
      llvm::Type* const wide = type.width == 16 ? builder_.getFloatTy() : own;
      llvm::Value* const x = builder_.CreateFPExt(v[0], wide);
      const auto call = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, x); };
      llvm::Value* const one = llvm::ConstantFP::get(wide, 1.0);
      llvm::Value* result = nullptr;
      if (name == "rcp")
        result = builder_.CreateFDiv(one, x);
      else if (name == "rsqrt")
        result = builder_.CreateFDiv(one, call(llvm::Intrinsic::sqrt));
      else if (name == "sqrt")
        result = call(llvm::Intrinsic::sqrt);
      else if (name == "ex2")
        result = call(llvm::Intrinsic::exp2);
      else if (name == "lg2")
        result = call(llvm::Intrinsic::log2);
      else if (name == "sin")
        result = call(llvm::Intrinsic::sin);
      else if (name == "cos")
        result = call(llvm::Intrinsic::cos);
      else
        result = call(llvm::Intrinsic::tanh);
      return builder_.CreateFPTrunc(result, own);
    });
  }

  // ---- Conversions

  void convert() {
    allow(2, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu"});
    const Type to = type_at(1), from = type_at(0);
    if (to.count == 2) { // two operands, the first of which is the upper half
      expect(3);
      if (from.kind != Type::Kind::real || from.width != 32)
        return give_up();
      const auto half = [&](size_t i) {
        return builder_.CreateZExt(packed(finish_real(to_real(read(operand(i), from), from, to)), to),
                                   integer(32));
      };
      write(operand(0), builder_.CreateOr(builder_.CreateShl(half(1), 16), half(2)));
      return;
    }
    expect(2);
    if (from.count == 2)
      return give_up();
    llvm::Value* value = read(operand(1), from);
    is_signed_result_ = to.is_signed();
    if (!to.is_real() && !from.is_real()) {
      if (has("sat"))
        return give_up();
      write(operand(0), from.is_signed() ? builder_.CreateSExtOrTrunc(value, integer(to.width))
                                         : builder_.CreateZExtOrTrunc(value, integer(to.width)));
    } else if (!to.is_real()) {
      write(operand(0), to_integer(flushed(value, from), from, to));
    } else {
      value = flushed(to_real(flushed(value, from), from, to), to);
      write(operand(0), packed(finish_real(value), to));
    }
  }

  llvm::Value* rounded(llvm::Value* value) {
    if (has("rni") || has("rn"))
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, value);
    if (has("rzi") || has("rz"))
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, value);
    if (has("rmi") || has("rm"))
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, value);
    if (has("rpi") || has("rp"))
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, value);
    return give_up(value->getType());
  }

  // Saturates. NaN is 0 between types of at most 32 bits, else the highest bit.
  llvm::Value* to_integer(llvm::Value* value, const Type& from, const Type& to) {
    value = rounded(value);
    llvm::Value* const number =
        builder_.CreateIntrinsic(to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                 {integer(to.width), value->getType()}, {value});
    if (from.width < 64 && to.width < 64)
      return number;
    return builder_.CreateSelect(
        builder_.CreateFCmpUNO(value, value),
        llvm::ConstantInt::get(integer(to.width), llvm::APInt::getSignedMinValue(to.width)), number);
  }

  llvm::Value* to_real(llvm::Value* value, const Type& from, const Type& to) {
    llvm::Type* const type = type_of(to);
    if (from.is_real() && type == value->getType()) // to an integral value, or as it is
      return has("rni") || has("rzi") || has("rmi") || has("rpi") ? rounded(value) : value;
    if (from.is_real() && type->getPrimitiveSizeInBits() > value->getType()->getPrimitiveSizeInBits())
      return builder_.CreateFPExt(value, type);
    if (to.kind == Type::Kind::brain) { // what is exact in single precision
      if (from.is_real() || from.width > 16)
        return give_up(type);
      return from.is_signed() ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
    }
    if (has("rni") || has("rzi") || has("rmi") || has("rpi"))
      return give_up(type);
    if (!from.is_real()) {
      // A number of 32 bits is exact in double precision, so that it is rounded once.
      const bool exact = to.width == 64 || from.width <= 32;
      if (!exact && !has("rn"))
        return give_up(type);
      llvm::Type* const wide = exact || to.width == 16 ? builder_.getDoubleTy() : type;
      value = from.is_signed() ? builder_.CreateSIToFP(value, wide) : builder_.CreateUIToFP(value, wide);
      if (wide == type)
        return value;
    }
    llvm::Value* const nearest = builder_.CreateFPTrunc(value, type);
    if (has("rn"))
      return nearest;
    return towards(nearest, value);
  }

  // The neighbour of `nearest`, or itself, that rounds `exact` in the statement's direction. Bits of a number
  // grow with its magnitude.
  llvm::Value* towards(llvm::Value* nearest, llvm::Value* exact) {
    llvm::Value* const wide = builder_.CreateFPExt(nearest, exact->getType());
    llvm::Value* const bits = bits_of(nearest);
    llvm::Type* const type = bits->getType();
    llvm::Value* const one = llvm::ConstantInt::get(type, 1);
    llvm::Value* const is_negative = builder_.CreateICmpSLT(bits, llvm::ConstantInt::get(type, 0));
    llvm::Value *wrong = nullptr, *larger = nullptr;
    if (has("rz")) {
      const auto magnitude = [&](llvm::Value* v) {
        return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
      };
      wrong = builder_.CreateFCmpOGT(magnitude(wide), magnitude(exact));
      larger = builder_.getFalse();
    } else if (has("rm")) {
      wrong = builder_.CreateFCmpOGT(wide, exact);
      larger = is_negative;
    } else if (has("rp")) {
      wrong = builder_.CreateFCmpOLT(wide, exact);
      larger = builder_.CreateNot(is_negative);
    } else {
      return give_up(nearest->getType());
    }
    // From 0, downwards is the smallest negative number.
    llvm::Value* const is_zero =
        builder_.CreateFCmpOEQ(nearest, llvm::ConstantFP::get(nearest->getType(), 0.0));
    const unsigned width = type->getIntegerBitWidth();
    llvm::Value* const smallest =
        has("rm") ? llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(width) + 1) : one;
    llvm::Value* const moved =
        builder_.CreateSelect(larger, builder_.CreateAdd(bits, one), builder_.CreateSub(bits, one));
    llvm::Value* const result = builder_.CreateSelect(is_zero, smallest, moved);
    return builder_.CreateBitCast(builder_.CreateSelect(wrong, result, bits), nearest->getType());
  }

  // ---- Comparisons and choices

  llvm::Value* compared(llvm::StringRef how, llvm::Value* a, llvm::Value* b, const Type& type) {
    static const std::map<llvm::StringRef, llvm::CmpInst::Predicate> reals = {
        {"eq", llvm::CmpInst::FCMP_OEQ},  {"ne", llvm::CmpInst::FCMP_ONE},  {"lt", llvm::CmpInst::FCMP_OLT},
        {"le", llvm::CmpInst::FCMP_OLE},  {"gt", llvm::CmpInst::FCMP_OGT},  {"ge", llvm::CmpInst::FCMP_OGE},
        {"equ", llvm::CmpInst::FCMP_UEQ}, {"neu", llvm::CmpInst::FCMP_UNE}, {"ltu", llvm::CmpInst::FCMP_ULT},
        {"leu", llvm::CmpInst::FCMP_ULE}, {"gtu", llvm::CmpInst::FCMP_UGT}, {"geu", llvm::CmpInst::FCMP_UGE},
        {"num", llvm::CmpInst::FCMP_ORD}, {"nan", llvm::CmpInst::FCMP_UNO}};
    static const std::map<llvm::StringRef, llvm::CmpInst::Predicate> integers = {
        {"eq", llvm::CmpInst::ICMP_EQ},  {"ne", llvm::CmpInst::ICMP_NE},  {"lt", llvm::CmpInst::ICMP_SLT},
        {"le", llvm::CmpInst::ICMP_SLE}, {"gt", llvm::CmpInst::ICMP_SGT}, {"ge", llvm::CmpInst::ICMP_SGE},
        {"lo", llvm::CmpInst::ICMP_ULT}, {"ls", llvm::CmpInst::ICMP_ULE}, {"hi", llvm::CmpInst::ICMP_UGT},
        {"hs", llvm::CmpInst::ICMP_UGE}};
    const auto& all = type.is_real() ? reals : integers;
    const auto found = all.find(how);
    if (found == all.end())
      return give_up(builder_.getInt1Ty());
    llvm::CmpInst::Predicate predicate = found->second;
    if (!type.is_real() && type.kind == Type::Kind::is_unsigned && llvm::ICmpInst::isSigned(predicate))
      predicate = llvm::ICmpInst::getUnsignedPredicate(predicate);
    return builder_.CreateCmp(predicate, a, b);
  }

  // setp writes a predicate; set writes all bits, or 1.0.
  void compare() {
    const Type type = type_at(0);
    const bool sets = parts_[0] == "set";
    expect(3);
    const size_t types = sets ? 2 : 1;
    if (parts_.size() < types + 2)
      return give_up();
    const llvm::StringRef how = parts_[1];
    parts_.erase(parts_.begin() + 1);
    allow(types, {"ftz"});
    if (!sets) {
      if (type.count == 2 || !operand(0).second.empty())
        return give_up();
      write(operand(0), compared(how, flushed(read(operand(1), type), type),
                                 flushed(read(operand(2), type), type), type));
      return;
    }
    const Type to = type_at(1);
    if (to.count != type.count || (to.count == 2 && to.kind != type.kind))
      return give_up();
    const auto result = [&](const std::vector<llvm::Value*>& v) -> llvm::Value* {
      llvm::Value* const is_true = compared(how, v[0], v[1], type);
      if (to.is_real())
        return builder_.CreateSelect(is_true, llvm::ConstantFP::get(type_of(to), 1.0),
                                     llvm::ConstantFP::get(type_of(to), 0.0));
      return builder_.CreateSExt(is_true, integer(to.width));
    };
    if (to.count == 2)
      each(2, type, [&](const auto& v) { return result(v); });
    else
      write(
          operand(0),
          packed(result({flushed(read(operand(1), type), type), flushed(read(operand(2), type), type)}), to));
  }

  void select() {
    expect(4);
    allow(1, {});
    const unsigned width = type_at(0).width;
    write(operand(0), builder_.CreateSelect(predicate(operand(3).name), read(operand(1), width),
                                            read(operand(2), width)));
  }

  // ---- Bits

  void count() {
    expect(2);
    allow(1, {});
    llvm::Value* const value = read(operand(1), type_at(0).width);
    llvm::Value* result = nullptr;
    if (parts_[0] == "popc")
      result = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, value);
    else if (parts_[0] == "clz")
      result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, builder_.getFalse());
    else
      result = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, value);
    write(operand(0), result);
  }

  // The place of the highest bit that is not the sign's; or by how much it is shifted to the top. Without
  // one, all bits are set.
  void find_bit() {
    expect(2);
    const Type type = type_at(0);
    allow(1, {"shiftamt"});
    if (type.width < 32)
      return give_up();
    llvm::Value* value = read(operand(1), type.width);
    if (type.is_signed())
      value =
          builder_.CreateSelect(builder_.CreateICmpSLT(value, llvm::ConstantInt::get(value->getType(), 0)),
                                builder_.CreateNot(value), value);
    llvm::Value* const zeros = builder_.CreateZExtOrTrunc(
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, builder_.getFalse()), integer(32));
    llvm::Value* const place =
        has("shiftamt") ? zeros : builder_.CreateSub(builder_.getInt32(type.width - 1), zeros);
    llvm::Value* const none = builder_.CreateICmpEQ(value, llvm::ConstantInt::get(value->getType(), 0));
    write(operand(0), builder_.CreateSelect(none, builder_.getInt32(~0u), place));
  }

  // Any function of three bits, by its table.
  void logic() {
    expect(5);
    allow(1, {});
    const std::optional<uint64_t> table = number(operand(4).name, 32);
    if (!table)
      return give_up();
    llvm::Value* const inputs[] = {read(operand(1), 32), read(operand(2), 32), read(operand(3), 32)};
    llvm::Value* result = builder_.getInt32(0);
    for (unsigned row = 0; row < 8; ++row) {
      if (!(*table >> row & 1))
        continue;
      llvm::Value* term = builder_.getInt32(~0u);
      for (unsigned i = 0; i < 3; ++i)
        term = builder_.CreateAnd(term, row >> (2 - i) & 1 ? inputs[i] : builder_.CreateNot(inputs[i]));
      result = builder_.CreateOr(result, term);
    }
    write(operand(0), result);
  }

  // shf.l gives the upper half of (b:a) << c, shf.r the lower half of (b:a) >> c.
  void funnel() {
    expect(4);
    allow(1, {"l", "r", "wrap", "clamp"});
    llvm::Value* const low = builder_.CreateZExt(read(operand(1), 32), integer(64));
    llvm::Value* const high = builder_.CreateZExt(read(operand(2), 32), integer(64));
    llvm::Value* const both = builder_.CreateOr(builder_.CreateShl(high, 32), low);
    llvm::Value* by = read(operand(3), 32);
    by = has("clamp") ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, by, builder_.getInt32(32))
                      : builder_.CreateAnd(by, 31);
    by = builder_.CreateZExt(by, integer(64));
    llvm::Value* const result =
        has("l") ? builder_.CreateLShr(builder_.CreateShl(both, by), 32) : builder_.CreateLShr(both, by);
    write(operand(0), builder_.CreateTrunc(result, integer(32)));
  }

  void permute() {
    expect(4);
    if (parts_.size() != 2)
      return give_up(); // a mode
    write(operand(0),
          builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt, {},
                                   {read(operand(1), 32), read(operand(2), 32), read(operand(3), 32)}));
  }

  // Bits of a field: the field's start and length are of 8 bits; beyond the value there are copies of the
  // sign, or zeros.
  void extract() {
    expect(4);
    allow(1, {});
    const Type type = type_at(0);
    llvm::Type* const wide = integer(128);
    llvm::Value* const value = type.is_signed() ? builder_.CreateSExt(read(operand(1), type.width), wide)
                                                : builder_.CreateZExt(read(operand(1), type.width), wide);
    const auto byte = [&](size_t i) {
      llvm::Value* const number = builder_.CreateAnd(read(operand(i), 32), 255);
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, builder_.getInt32(type.width));
    };
    llvm::Value* const start = builder_.CreateZExt(byte(2), wide);
    llvm::Value* const length = byte(3);
    llvm::Value* const field = builder_.CreateAShr(value, start);
    llvm::Value* const unused =
        builder_.CreateZExt(builder_.CreateSub(builder_.getInt32(127), length), wide); // all but one bit
    llvm::Value* const upper = builder_.CreateShl(builder_.CreateShl(field, unused), 1);
    llvm::Value* const result = type.is_signed() ? builder_.CreateAShr(builder_.CreateAShr(upper, unused), 1)
                                                 : builder_.CreateLShr(builder_.CreateLShr(upper, unused), 1);
    write(operand(0), builder_.CreateTrunc(result, integer(type.width)));
  }

  void insert() {
    expect(5);
    allow(1, {});
    const unsigned width = type_at(0).width;
    llvm::Type* const wide = integer(128);
    const auto byte = [&](size_t i) {
      llvm::Value* const number = builder_.CreateAnd(read(operand(i), 32), 255);
      return builder_.CreateZExt(
          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, builder_.getInt32(width)), wide);
    };
    llvm::Value* const start = byte(3);
    llvm::Value* const one = llvm::ConstantInt::get(wide, 1);
    llvm::Value* const ones = builder_.CreateSub(builder_.CreateShl(one, byte(4)), one);
    llvm::Value* const mask = builder_.CreateShl(ones, start);
    llvm::Value* const field = builder_.CreateShl(builder_.CreateZExt(read(operand(1), width), wide), start);
    llvm::Value* const base = builder_.CreateZExt(read(operand(2), width), wide);
    llvm::Value* const result = builder_.CreateOr(builder_.CreateAnd(field, mask),
                                                  builder_.CreateAnd(base, builder_.CreateNot(mask)));
    write(operand(0), builder_.CreateTrunc(result, integer(width)));
  }

  // The sum of four products of bytes.
  void dot() {
    expect(4);
    const Type a = type_at(1), b = type_at(0);
    const auto part = [&](size_t i, const Type& type, unsigned k) {
      llvm::Value* const byte =
          builder_.CreateTrunc(builder_.CreateLShr(read(operand(i), 32), 8 * k), integer(8));
      return type.is_signed() ? builder_.CreateSExt(byte, integer(32))
                              : builder_.CreateZExt(byte, integer(32));
    };
    llvm::Value* sum = read(operand(3), 32);
    for (unsigned k = 0; k < 4; ++k)
      sum = builder_.CreateAdd(sum, builder_.CreateMul(part(1, a, k), part(2, b, k)));
    write(operand(0), sum);
  }

  // ---- Memory

  llvm::Value* address(const PtxOperand& operand) {
    if (operand.kind != PtxOperand::Kind::address)
      return give_up(llvm::PointerType::get(context_, 0));
    const auto found = find_register(operand.name);
    // An address of 32 bits is one within a state space, which a CPU does not have.
    if (found == registers_.end() || found->second.width != 64 || !found->second.value)
      return give_up(llvm::PointerType::get(context_, 0));
    const std::optional<uint64_t> offset = operand.offset.empty() ? 0 : number(operand.offset, 64);
    if (!offset)
      return give_up(llvm::PointerType::get(context_, 0));
    return builder_.CreateIntToPtr(
        builder_.CreateAdd(found->second.value, llvm::ConstantInt::get(integer(64), *offset)),
        llvm::PointerType::get(context_, 0));
  }

  // The access's own order and scope; caching makes no difference.
  struct Access {
    bool is_volatile = false, is_atomic = false;
    unsigned count = 1;
  };
  Access access() {
    Access result;
    for (llvm::StringRef part : llvm::ArrayRef(parts_).drop_front().drop_back())
      if (part == "volatile")
        result.is_volatile = true;
      else if (part == "acquire" || part == "release" || part == "relaxed")
        result.is_atomic = true;
      else if (part == "v2" || part == "v4")
        result.count = part == "v2" ? 2 : 4;
      else if (part.starts_with("L1::") || part.starts_with("L2::") || part.empty())
        continue;
      else if (!llvm::is_contained(
                   {"global", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "gpu", "sys", "cta", "weak"},
                   part))
        give_up();
    only_always();
    return result;
  }

  template <class Instruction>
  void set_order(Instruction* instruction, const Access& access, llvm::AtomicOrdering order) {
    instruction->setVolatile(access.is_volatile);
    if (access.is_atomic && access.count == 1)
      instruction->setAtomic(order);
  }

  void load() {
    expect(2);
    const Access own = access();
    const Type type = type_at(0);
    llvm::Value* const place = address(operand(1));
    const PtxOperand& to = operand(0);
    if ((to.kind == PtxOperand::Kind::list ? to.members.size() : 1) != own.count)
      return give_up();
    for (unsigned i = 0; i < own.count; ++i) {
      llvm::LoadInst* const value = builder_.CreateAlignedLoad(
          integer(type.width), builder_.CreateConstGEP1_32(integer(type.width), place, i),
          llvm::Align(type.width / 8));
      set_order(value, own, llvm::AtomicOrdering::Acquire);
      is_signed_result_ = type.is_signed();
      write(own.count == 1 ? to : to.members[i], value);
    }
  }

  void store() {
    expect(2);
    const Access own = access();
    const Type type = type_at(0);
    llvm::Value* const place = address(operand(0));
    const PtxOperand& from = operand(1);
    if ((from.kind == PtxOperand::Kind::list ? from.members.size() : 1) != own.count)
      return give_up();
    for (unsigned i = 0; i < own.count; ++i)
      set_order(builder_.CreateAlignedStore(read(own.count == 1 ? from : from.members[i], type.width),
                                            builder_.CreateConstGEP1_32(integer(type.width), place, i),
                                            llvm::Align(type.width / 8)),
                own, llvm::AtomicOrdering::Release);
  }

  // atom, and red, which has no result. All are sequentially consistent, in all of the process.
  void atomic() {
    only_always();
    const bool returns = parts_[0] == "atom";
    const Type type = type_at(0);
    llvm::StringRef operation;
    for (llvm::StringRef part : llvm::ArrayRef(parts_).drop_front().drop_back()) {
      if (part == "cas" || atomic_operation(part, type.is_real(), type.is_signed()))
        operation = part;
      else if (!llvm::is_contained(
                   {"global", "relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys", "noftz"},
                   part))
        give_up();
    }
    const bool compares = operation == "cas";
    expect((returns ? 2u : 1u) + (compares ? 2u : 1u));
    if (operation.empty() || type.count != 1 || type.width < 32)
      return give_up();
    const size_t first = returns ? 1 : 0;
    llvm::Value* const place = address(operand(first));
    constexpr llvm::AtomicOrdering order = llvm::AtomicOrdering::SequentiallyConsistent;
    llvm::Value* result = nullptr;
    if (compares) {
      result = builder_.CreateExtractValue(builder_.CreateAtomicCmpXchg(place,
                                                                        read(operand(first + 1), type.width),
                                                                        read(operand(first + 2), type.width),
                                                                        llvm::MaybeAlign(), order, order),
                                           0);
    } else {
      const auto kind = atomic_operation(operation, type.is_real(), type.is_signed());
      if (!kind)
        return give_up();
      result =
          builder_.CreateAtomicRMW(*kind, place, read(operand(first + 1), type), llvm::MaybeAlign(), order);
    }
    if (returns)
      write(operand(0), result);
  }

  void fence() {
    only_always();
    allow(0, {"gl", "cta", "sys", "gpu", "cluster", "acq_rel", "sc", "proxy", "async", "alias"});
    builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  }
  void nothing() {}
  void trap() {
    only_always();
    allow(0, {});
    builder_.CreateIntrinsic(llvm::Intrinsic::trap, {});
  }

  // ---- Other threads

  void barrier() {
    only_always();
    if (parts_.size() == 3 && parts_[1] == "warp" && parts_[2] == "sync") {
      expect(1);
      builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {read(operand(0), 32)});
      return;
    }
    if (parts_.size() != 2 || parts_[1] != "sync" || operands_->size() != 1 || operand(0).name != "0")
      return give_up();
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {builder_.getInt32(0)});
  }

  // shfl.sync, and shfl, in which all lanes take part. A second result says whether the lane was in range.
  void shuffle() {
    only_always();
    const bool with_mask = has("sync");
    expect(with_mask ? 5 : 4);
    if (type_at(0).width != 32)
      return give_up();
    static const std::map<llvm::StringRef, std::pair<llvm::Intrinsic::ID, llvm::Intrinsic::ID>> kinds = {
        {"up", {llvm::Intrinsic::nvvm_shfl_sync_up_i32, llvm::Intrinsic::nvvm_shfl_sync_up_i32p}},
        {"down", {llvm::Intrinsic::nvvm_shfl_sync_down_i32, llvm::Intrinsic::nvvm_shfl_sync_down_i32p}},
        {"bfly", {llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32p}},
        {"idx", {llvm::Intrinsic::nvvm_shfl_sync_idx_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32p}}};
    for (const auto& [name, ids] : kinds) {
      if (!has(name))
        continue;
      llvm::Value* const mask = with_mask ? read(operand(4), 32) : builder_.getInt32(~0u);
      const std::string& second = operand(0).second;
      llvm::Value* const result =
          builder_.CreateIntrinsic(second.empty() ? ids.first : ids.second, {},
                                   {mask, read(operand(1), 32), read(operand(2), 32), read(operand(3), 32)});
      if (second.empty())
        return write(operand(0), result);
      write(operand(0), builder_.CreateExtractValue(result, 0));
      return write({.name = second}, builder_.CreateExtractValue(result, 1));
    }
    give_up();
  }

  void vote() {
    only_always();
    expect(3);
    static const std::map<llvm::StringRef, llvm::Intrinsic::ID> kinds = {
        {"ballot", llvm::Intrinsic::nvvm_vote_ballot_sync},
        {"all", llvm::Intrinsic::nvvm_vote_all_sync},
        {"any", llvm::Intrinsic::nvvm_vote_any_sync},
        {"uni", llvm::Intrinsic::nvvm_vote_uni_sync}};
    const auto kind = parts_.size() == 4 && parts_[1] == "sync" ? kinds.find(parts_[2]) : kinds.end();
    if (kind == kinds.end())
      return give_up();
    write(operand(0),
          builder_.CreateIntrinsic(kind->second, {}, {read(operand(2), 32), predicate(operand(1).name)}));
  }

  void match() {
    only_always();
    expect(3);
    const unsigned width = type_at(0).width;
    if (parts_.size() != 4 || parts_[1] != "any" || parts_[2] != "sync" || width < 32)
      return give_up();
    write(operand(0), builder_.CreateIntrinsic(width == 64 ? llvm::Intrinsic::nvvm_match_any_sync_i64
                                                           : llvm::Intrinsic::nvvm_match_any_sync_i32,
                                               {}, {read(operand(2), 32), read(operand(1), width)}));
  }

  void active_mask() {
    expect(1);
    write(operand(0), builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_activemask, {}));
  }

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

} // namespace

void translate_assembly(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        calls.push_back(call);
  for (llvm::CallInst* call : calls) {
    std::string text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString().str();
    for (size_t at = 0; (at = text.find("$$", at)) != std::string::npos; ++at)
      text.replace(at, 2, "_"); // an escaped $ of a name
    if (const auto statements = parse_ptx(text))
      Translator(*call, *statements).run();
  }
}

} // namespace xaas::cpukernel
