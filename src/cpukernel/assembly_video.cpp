// Video instructions of PTX on two or four integers in 32 bits (PTX ISA 9.0, "Video Instructions", SIMD),
// of which CUDA's SIMD intrinsics consist (__vadd4(), __vmaxs2()).
#include "translator.h"

namespace xaas::cpukernel {

namespace {

llvm::CmpInst::Predicate predicate_of(llvm::StringRef name, bool is_signed) {
  using Predicate = llvm::CmpInst::Predicate;
  static const std::map<llvm::StringRef, std::pair<Predicate, Predicate>> predicates = {
      {"eq", {Predicate::ICMP_EQ, Predicate::ICMP_EQ}},   {"ne", {Predicate::ICMP_NE, Predicate::ICMP_NE}},
      {"lt", {Predicate::ICMP_SLT, Predicate::ICMP_ULT}}, {"le", {Predicate::ICMP_SLE, Predicate::ICMP_ULE}},
      {"gt", {Predicate::ICMP_SGT, Predicate::ICMP_UGT}}, {"ge", {Predicate::ICMP_SGE, Predicate::ICMP_UGE}}};
  const auto found = predicates.find(name);
  return found == predicates.end() ? Predicate::BAD_ICMP_PREDICATE
         : is_signed               ? found->second.first
                                   : found->second.second;
}

} // namespace

// vadd4.u32.u32.u32.sat d, a, b, c: types of the result and both operands. vset4.u32.u32.eq has no type of
// the result. The elements are the result; with .add, their sum and c.
void Translator::video() {
  expect(4);
  const llvm::StringRef name = parts_[0].drop_front().drop_back(); // add
  const unsigned count = parts_[0].back() == '4' ? 4 : 2, width = 32 / count;
  const bool compares = name == "set";
  const size_t types = compares ? 2 : 3;
  if (parts_.size() < types + 1 + compares)
    return give_up();
  const auto is_signed_at = [&](size_t part) {
    const std::optional<PtxType> type = ptx_type(parts_[part]);
    if (!type || type->width != 32 || type->is_real() || type->kind == PtxType::Kind::bits)
      give_up();
    return type && type->is_signed();
  };
  const bool result_is_signed = !compares && is_signed_at(1);
  const bool a_is_signed = is_signed_at(types - 1), b_is_signed = is_signed_at(types);
  for (const llvm::StringRef part : llvm::ArrayRef(parts_).drop_front(types + 1 + compares))
    if (part != "add" && (part != "sat" || compares))
      give_up();
  const llvm::CmpInst::Predicate predicate =
      compares ? predicate_of(parts_[types + 1], a_is_signed && b_is_signed) : llvm::CmpInst::ICMP_EQ;
  if (predicate == llvm::CmpInst::BAD_ICMP_PREDICATE || (compares && a_is_signed != b_is_signed))
    return give_up();

  const auto element = [&](size_t from, unsigned k, bool is_signed) {
    llvm::Value* const bits =
        builder_.CreateTrunc(builder_.CreateLShr(read(operand(from), 32), width * k), integer(width));
    return is_signed ? builder_.CreateSExt(bits, integer(32)) : builder_.CreateZExt(bits, integer(32));
  };
  llvm::Value *packed = builder_.getInt32(0), *sum = read(operand(3), 32);
  for (unsigned k = 0; k < count; ++k) {
    llvm::Value *const a = element(1, k, a_is_signed), *const b = element(2, k, b_is_signed);
    llvm::Value* value = compares ? builder_.CreateZExt(builder_.CreateICmp(predicate, a, b), integer(32))
                                  : video_operation(name, a, b);
    if (has("sat")) {
      const int64_t last = (int64_t{1} << (width - (result_is_signed ? 1 : 0))) - 1;
      const int64_t first = result_is_signed ? -last - 1 : 0;
      value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value,
                                             llvm::ConstantInt::getSigned(integer(32), first));
      value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value,
                                             llvm::ConstantInt::getSigned(integer(32), last));
    }
    sum = builder_.CreateAdd(sum, value);
    llvm::Value* const bits = builder_.CreateZExt(builder_.CreateTrunc(value, integer(width)), integer(32));
    packed = builder_.CreateOr(packed, builder_.CreateShl(bits, width * k));
  }
  write(operand(0), has("add") ? sum : packed);
}

// On elements in 32 bits, where nothing overflows.
llvm::Value* Translator::video_operation(llvm::StringRef name, llvm::Value* a, llvm::Value* b) {
  if (name == "add")
    return builder_.CreateAdd(a, b);
  if (name == "sub")
    return builder_.CreateSub(a, b);
  if (name == "min")
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  if (name == "max")
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  if (name == "absdiff")
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, builder_.CreateSub(a, b),
                                          builder_.getFalse());
  // avrg: halves are rounded away from zero.
  llvm::Value* const sum = builder_.CreateAdd(a, b);
  llvm::Value* const up = builder_.CreateZExt(builder_.CreateICmpSGE(sum, builder_.getInt32(0)), integer(32));
  return builder_.CreateAShr(builder_.CreateAdd(sum, up), 1);
}

} // namespace xaas::cpukernel
