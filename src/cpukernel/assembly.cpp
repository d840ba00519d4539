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
#include "translator.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <charconv>
#include <set>

namespace xaas::cpukernel {

std::optional<PtxType> ptx_type(llvm::StringRef name) {
  if (name == "pred")
    return PtxType{PtxType::Kind::predicate, 1};
  PtxType type;
  if (name.consume_back("x2"))
    type.count = 2;
  if (name.consume_front("bf"))
    type.kind = PtxType::Kind::brain;
  else if (name.consume_front("f"))
    type.kind = PtxType::Kind::real;
  else if (name.consume_front("s"))
    type.kind = PtxType::Kind::is_signed;
  else if (name.consume_front("u"))
    type.kind = PtxType::Kind::is_unsigned;
  else if (!name.consume_front("b"))
    return {};
  if (name.getAsInteger(10, type.width) ||
      (type.width != 8 && type.width != 16 && type.width != 32 && type.width != 64))
    return {};
  if ((type.is_real() && type.width == 8) || (type.count == 2 && (type.width != 16 || !type.is_real())))
    return {};
  return type;
}

void Translator::run() {
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

llvm::Value* Translator::give_up(llvm::Type* type) {
  is_unknown_ = true;
  return llvm::PoisonValue::get(type);
}

std::vector<llvm::Instruction*> Translator::inserted() const {
  std::vector<llvm::Instruction*> result;
  auto at = before_ ? std::next(before_->getIterator()) : call_.getParent()->begin();
  for (; &*at != &call_; ++at)
    result.push_back(&*at);
  return result;
}

unsigned Translator::width_of(const llvm::Type* type) {
  if (type->isPointerTy())
    return 64;
  return type->isIntegerTy() || type->isFloatingPointTy() ? type->getPrimitiveSizeInBits().getFixedValue()
                                                          : 0;
}

llvm::Value* Translator::bits_of(llvm::Value* value) {
  if (value->getType()->isPointerTy())
    return builder_.CreatePtrToInt(value, integer(64));
  const unsigned width = width_of(value->getType());
  return width ? builder_.CreateBitCast(value, integer(width)) : give_up(integer(32));
}

void Translator::read_operands() {
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

llvm::Value* Translator::collect_results() {
  llvm::Value* all = llvm::PoisonValue::get(call_.getType());
  for (unsigned i = 0; i < results_.size(); ++i) {
    const auto& [name, type] = results_[i];
    llvm::Value* value = registers_[name].value;
    if (!value)
      return give_up(call_.getType());
    value = type->isPointerTy() ? builder_.CreateIntToPtr(value, type) : builder_.CreateBitCast(value, type);
    if (!call_.getType()->isStructTy())
      return value;
    all = builder_.CreateInsertValue(all, value, i);
  }
  return call_.getType()->isVoidTy() ? nullptr : all;
}

std::map<std::string, Translator::Register>::iterator Translator::find_register(const std::string& name) {
  const auto alias = aliases_.find(name);
  return registers_.find(alias == aliases_.end() ? name : alias->second);
}

llvm::Value* Translator::read(const PtxOperand& operand, unsigned width) {
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

std::optional<uint64_t> Translator::number(std::string text, unsigned width) {
  const bool negative = text.starts_with('-');
  if (negative)
    text.erase(0, 1);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])))
    return {};
  while (text.back() == 'U' || text.back() == 'u')
    text.pop_back();
  int base = 10;
  if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D")) {
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

llvm::Value* Translator::special(llvm::StringRef name, unsigned width) {
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

llvm::Value* Translator::predicate(const std::string& name) {
  const bool inverted = name.starts_with('!');
  llvm::Value* const value = read({.name = inverted ? name.substr(1) : name}, 1);
  return inverted ? builder_.CreateNot(value) : value;
}

void Translator::write(const PtxOperand& operand, llvm::Value* value) {
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

llvm::Type* Translator::type_of(const PtxType& type) const {
  if (type.kind == PtxType::Kind::brain) // computed in single precision: no C library rounds to bfloat
    return llvm::Type::getFloatTy(context_);
  if (type.kind == PtxType::Kind::real)
    return type.width == 16   ? llvm::Type::getHalfTy(context_)
           : type.width == 32 ? llvm::Type::getFloatTy(context_)
                              : llvm::Type::getDoubleTy(context_);
  return integer(type.width);
}

llvm::Value* Translator::typed(llvm::Value* value, const PtxType& type) {
  if (type.kind == PtxType::Kind::brain)
    value = builder_.CreateShl(builder_.CreateZExt(value, integer(32)), 16);
  return type.is_real() ? builder_.CreateBitCast(value, type_of(type)) : value;
}

llvm::Value* Translator::packed(llvm::Value* value, const PtxType& type) {
  llvm::Value* const bits = bits_of(value);
  if (type.kind != PtxType::Kind::brain || !value->getType()->isFloatTy())
    return bits;
  llvm::Value* const upper = builder_.CreateLShr(bits, 16);
  llvm::Value* const to_even = builder_.CreateAdd(builder_.getInt32(0x7fff), builder_.CreateAnd(upper, 1));
  if (has("rm") || has("rp"))
    give_up();
  llvm::Value* const rounded = has("rz") ? upper : builder_.CreateLShr(builder_.CreateAdd(bits, to_even), 16);
  llvm::Value* const result =
      builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), builder_.getInt32(0x7fff), rounded);
  return builder_.CreateTrunc(result, integer(16));
}

llvm::Value* Translator::read(const PtxOperand& operand, const PtxType& type) {
  return typed(read(operand, type.width), type);
}

void Translator::translate(const PtxStatement& statement) {
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
      {"mov", &Translator::move},          {"cvt", &Translator::convert},
      {"add", &Translator::arithmetic},    {"sub", &Translator::arithmetic},
      {"mul", &Translator::multiply},      {"mad", &Translator::multiply},
      {"fma", &Translator::arithmetic},    {"div", &Translator::arithmetic},
      {"rem", &Translator::arithmetic},    {"min", &Translator::arithmetic},
      {"max", &Translator::arithmetic},    {"neg", &Translator::arithmetic},
      {"abs", &Translator::arithmetic},    {"and", &Translator::arithmetic},
      {"or", &Translator::arithmetic},     {"xor", &Translator::arithmetic},
      {"not", &Translator::arithmetic},    {"shl", &Translator::shift},
      {"shr", &Translator::shift},         {"rcp", &Translator::approximate},
      {"rsqrt", &Translator::approximate}, {"sqrt", &Translator::approximate},
      {"ex2", &Translator::approximate},   {"lg2", &Translator::approximate},
      {"sin", &Translator::approximate},   {"cos", &Translator::approximate},
      {"tanh", &Translator::approximate},  {"setp", &Translator::compare},
      {"set", &Translator::compare},       {"selp", &Translator::select},
      {"popc", &Translator::count},        {"clz", &Translator::count},
      {"brev", &Translator::count},        {"lop3", &Translator::logic},
      {"shf", &Translator::funnel},        {"prmt", &Translator::permute},
      {"bfe", &Translator::extract},       {"bfi", &Translator::insert},
      {"ld", &Translator::load},           {"st", &Translator::store},
      {"dp4a", &Translator::dot},          {"prefetch", &Translator::nothing},
      {"membar", &Translator::fence},      {"fence", &Translator::fence},
      {"nanosleep", &Translator::nothing}, {"shfl", &Translator::shuffle},
      {"bar", &Translator::barrier},       {"trap", &Translator::trap},
      {"exit", &Translator::end_thread},   {"vote", &Translator::vote},
      {"match", &Translator::match},       {"activemask", &Translator::active_mask},
      {"atom", &Translator::atomic},       {"red", &Translator::atomic},
      {"bfind", &Translator::find_bit},    {"bmsk", &Translator::mask_bits},
      {"vadd2", &Translator::video},       {"vadd4", &Translator::video},
      {"vsub2", &Translator::video},       {"vsub4", &Translator::video},
      {"vavrg2", &Translator::video},      {"vavrg4", &Translator::video},
      {"vabsdiff2", &Translator::video},   {"vabsdiff4", &Translator::video},
      {"vmin2", &Translator::video},       {"vmin4", &Translator::video},
      {"vmax2", &Translator::video},       {"vmax4", &Translator::video},
      {"vset2", &Translator::video},       {"vset4", &Translator::video}};
  const auto rule = rules.find(parts_[0]);
  if (rule == rules.end())
    return give_up();
  (this->*rule->second)();
}

const PtxOperand& Translator::operand(size_t index) const {
  static const PtxOperand none;
  return index < operands_->size() ? (*operands_)[index] : none;
}

void Translator::expect(size_t count) {
  if (operands_->size() != count)
    give_up();
}

bool Translator::has(llvm::StringRef part) const {
  return llvm::is_contained(llvm::ArrayRef(parts_).drop_front(), part);
}

PtxType Translator::type_at(size_t from_end) {
  std::optional<PtxType> type;
  if (parts_.size() >= from_end + 2)
    type = ptx_type(parts_[parts_.size() - 1 - from_end]);
  if (!type)
    give_up();
  return type.value_or(PtxType());
}

void Translator::allow(size_t types, std::initializer_list<llvm::StringRef> known) {
  if (parts_.size() < types + 1)
    return give_up();
  for (llvm::StringRef part : llvm::ArrayRef(parts_).drop_front().drop_back(types))
    if (!llvm::is_contained(known, part))
      give_up();
}

void Translator::only_always() {
  if (condition_)
    give_up();
}

void Translator::leave_scope() {
  if (scopes_.empty())
    return give_up();
  for (const std::string& name : scopes_.back())
    registers_.erase(name);
  scopes_.pop_back();
}

void Translator::declare() {
  if (parts_.size() != 2 && !(parts_.size() == 1 && parts_[0].size() > 3))
    return give_up();
  const std::optional<PtxType> type = ptx_type(parts_.size() == 2 ? parts_[1] : parts_[0].drop_front(3));
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

void Translator::move() {
  expect(2);
  allow(1, {});
  const PtxType type = type_at(0);
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
