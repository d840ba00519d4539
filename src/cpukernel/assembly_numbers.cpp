// Arithmetic, conversions and comparisons of PTX (PTX ISA 9.0, "Instruction Set").
#include "translator.h"

namespace xaas::cpukernel {

void Translator::each(size_t count, const PtxType& type, const Operation& operation) {
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

llvm::Value* Translator::flushed(llvm::Value* value, const PtxType& type) {
  llvm::Type* const own = value->getType();
  if (!has("ftz") || type.kind != PtxType::Kind::real || (!own->isFloatTy() && !own->isHalfTy()))
    return value;
  llvm::Value* const is_small =
      builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
                             llvm::ConstantFP::get(own, own->isHalfTy() ? 0x1p-14 : 0x1p-126));
  llvm::Value* const zero =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(own, 0.0), value);
  return builder_.CreateSelect(is_small, zero, value);
}

llvm::Value* Translator::saturated(llvm::Value* value) {
  llvm::Type* const type = value->getType();
  llvm::Value* const zero = llvm::ConstantFP::get(type, 0.0);
  llvm::Value* const one = llvm::ConstantFP::get(type, 1.0);
  value = builder_.CreateSelect(builder_.CreateFCmpOGT(value, zero), value, zero);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(value, one), value, one);
}

llvm::Value* Translator::finish_real(llvm::Value* value) {
  if (has("sat"))
    value = saturated(value);
  if (has("relu")) { // NaN stays
    llvm::Value* const zero = llvm::ConstantFP::get(value->getType(), 0.0);
    value = builder_.CreateSelect(builder_.CreateFCmpOLE(value, zero), zero, value);
  }
  return value;
}

void Translator::arithmetic() {
  const PtxType type = type_at(0);
  const llvm::StringRef name = parts_[0];
  if (type.is_real()) {
    allow(1, {"rn", "ftz", "sat", "relu", "NaN", "approx", "full", "noftz"});
    static const std::map<llvm::StringRef, size_t> counts = {{"add", 2}, {"sub", 2}, {"fma", 3}, {"div", 2},
                                                             {"min", 2}, {"max", 2}, {"neg", 1}, {"abs", 1}};
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
  each(count->second, type, [&](const auto& v) { return of_integers(name, v, type.is_signed()); });
}

llvm::Value* Translator::of_reals(llvm::StringRef name, const std::vector<llvm::Value*>& v) {
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
    return builder_.CreateBinaryIntrinsic(has("NaN") ? llvm::Intrinsic::minimum : llvm::Intrinsic::minimumnum,
                                          v[0], v[1]);
  if (name == "max")
    return builder_.CreateBinaryIntrinsic(has("NaN") ? llvm::Intrinsic::maximum : llvm::Intrinsic::maximumnum,
                                          v[0], v[1]);
  // fma: of half precision in double precision, in which product and sum are nearly always exact
  llvm::Type* const type = v[0]->getType();
  llvm::Type* const wide = type->getPrimitiveSizeInBits() == 16 ? builder_.getDoubleTy() : type;
  llvm::Value* const sum = builder_.CreateIntrinsic(
      llvm::Intrinsic::fma, {wide},
      {builder_.CreateFPExt(v[0], wide), builder_.CreateFPExt(v[1], wide), builder_.CreateFPExt(v[2], wide)});
  return builder_.CreateFPTrunc(sum, type);
}

llvm::Value* Translator::of_integers(llvm::StringRef name, const std::vector<llvm::Value*>& v,
                                     bool is_signed) {
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

void Translator::multiply() {
  const PtxType type = type_at(0);
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

void Translator::shift() {
  expect(3);
  allow(1, {});
  const PtxType type = type_at(0);
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

void Translator::approximate() {
  const PtxType type = type_at(0);
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

void Translator::convert() {
  allow(2, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu"});
  const PtxType to = type_at(1), from = type_at(0);
  if (to.count == 2) { // two operands, the first of which is the upper half
    expect(3);
    if (from.kind != PtxType::Kind::real || from.width != 32)
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

llvm::Value* Translator::rounded(llvm::Value* value) {
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

llvm::Value* Translator::to_integer(llvm::Value* value, const PtxType& from, const PtxType& to) {
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

llvm::Value* Translator::to_real(llvm::Value* value, const PtxType& from, const PtxType& to) {
  llvm::Type* const type = type_of(to);
  if (from.is_real() && type == value->getType()) // to an integral value, or as it is
    return has("rni") || has("rzi") || has("rmi") || has("rpi") ? rounded(value) : value;
  if (from.is_real() && type->getPrimitiveSizeInBits() > value->getType()->getPrimitiveSizeInBits())
    return builder_.CreateFPExt(value, type);
  if (to.kind == PtxType::Kind::brain) { // what is exact in single precision
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

llvm::Value* Translator::towards(llvm::Value* nearest, llvm::Value* exact) {
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

llvm::Value* Translator::compared(llvm::StringRef how, llvm::Value* a, llvm::Value* b, const PtxType& type) {
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
  if (!type.is_real() && type.kind == PtxType::Kind::is_unsigned && llvm::ICmpInst::isSigned(predicate))
    predicate = llvm::ICmpInst::getUnsignedPredicate(predicate);
  return builder_.CreateCmp(predicate, a, b);
}

void Translator::compare() {
  const PtxType type = type_at(0);
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
    write(operand(0),
          compared(how, flushed(read(operand(1), type), type), flushed(read(operand(2), type), type), type));
    return;
  }
  const PtxType to = type_at(1);
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
    write(operand(0),
          packed(result({flushed(read(operand(1), type), type), flushed(read(operand(2), type), type)}), to));
}

void Translator::select() {
  expect(4);
  allow(1, {});
  const unsigned width = type_at(0).width;
  write(operand(0),
        builder_.CreateSelect(predicate(operand(3).name), read(operand(1), width), read(operand(2), width)));
}

} // namespace xaas::cpukernel
