// Bits, memory and other threads in PTX (PTX ISA 9.0, "Instruction Set").
#include "library.h"
#include "translator.h"

namespace xaas::cpukernel {

void Translator::count() {
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

// bmsk.mode.b32 d, a, b: b bits, from bit a on.
void Translator::mask_bits() {
  expect(3);
  if (parts_.size() != 3 || (parts_[1] != "clamp" && parts_[1] != "wrap") || parts_[2] != "b32")
    return give_up();
  const auto limited = [&](size_t index) -> llvm::Value* {
    llvm::Value* const value = builder_.CreateZExt(read(operand(index), 32), integer(64));
    return parts_[1] == "clamp"
               ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, builder_.getInt64(32))
               : builder_.CreateAnd(value, 31);
  };
  llvm::Value* const ones =
      builder_.CreateSub(builder_.CreateShl(builder_.getInt64(1), limited(2)), builder_.getInt64(1));
  write(operand(0), builder_.CreateTrunc(builder_.CreateShl(ones, limited(1)), integer(32)));
}

void Translator::find_bit() {
  expect(2);
  const PtxType type = type_at(0);
  allow(1, {"shiftamt"});
  if (type.width < 32)
    return give_up();
  llvm::Value* value = read(operand(1), type.width);
  if (type.is_signed())
    value = builder_.CreateSelect(builder_.CreateICmpSLT(value, llvm::ConstantInt::get(value->getType(), 0)),
                                  builder_.CreateNot(value), value);
  llvm::Value* const zeros = builder_.CreateZExtOrTrunc(
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, builder_.getFalse()), integer(32));
  llvm::Value* const place =
      has("shiftamt") ? zeros : builder_.CreateSub(builder_.getInt32(type.width - 1), zeros);
  llvm::Value* const none = builder_.CreateICmpEQ(value, llvm::ConstantInt::get(value->getType(), 0));
  write(operand(0), builder_.CreateSelect(none, builder_.getInt32(~0u), place));
}

void Translator::logic() {
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

void Translator::funnel() {
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

void Translator::permute() {
  expect(4);
  if (parts_.size() != 2)
    return give_up(); // a mode
  write(operand(0),
        builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt, {},
                                 {read(operand(1), 32), read(operand(2), 32), read(operand(3), 32)}));
}

void Translator::extract() {
  expect(4);
  allow(1, {});
  const PtxType type = type_at(0);
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

void Translator::insert() {
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
  llvm::Value* const result =
      builder_.CreateOr(builder_.CreateAnd(field, mask), builder_.CreateAnd(base, builder_.CreateNot(mask)));
  write(operand(0), builder_.CreateTrunc(result, integer(width)));
}

void Translator::dot() {
  expect(4);
  const PtxType a = type_at(1), b = type_at(0);
  const auto part = [&](size_t i, const PtxType& type, unsigned k) {
    llvm::Value* const byte =
        builder_.CreateTrunc(builder_.CreateLShr(read(operand(i), 32), 8 * k), integer(8));
    return type.is_signed() ? builder_.CreateSExt(byte, integer(32)) : builder_.CreateZExt(byte, integer(32));
  };
  llvm::Value* sum = read(operand(3), 32);
  for (unsigned k = 0; k < 4; ++k)
    sum = builder_.CreateAdd(sum, builder_.CreateMul(part(1, a, k), part(2, b, k)));
  write(operand(0), sum);
}

llvm::Value* Translator::address(const PtxOperand& operand) {
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

Translator::Access Translator::access() {
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

void Translator::load() {
  expect(2);
  const Access own = access();
  const PtxType type = type_at(0);
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

void Translator::store() {
  expect(2);
  const Access own = access();
  const PtxType type = type_at(0);
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

void Translator::atomic() {
  only_always();
  const bool returns = parts_[0] == "atom";
  const PtxType type = type_at(0);
  llvm::StringRef operation;
  for (llvm::StringRef part : llvm::ArrayRef(parts_).drop_front().drop_back()) {
    if (part == "cas" || atomic_operation(part, type.is_real(), type.is_signed()))
      operation = part;
    else if (!llvm::is_contained(
                 {"global", "relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys", "noftz"}, part))
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
    result = builder_.CreateExtractValue(
        builder_.CreateAtomicCmpXchg(place, read(operand(first + 1), type.width),
                                     read(operand(first + 2), type.width), llvm::MaybeAlign(), order, order),
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

void Translator::fence() {
  only_always();
  allow(0, {"gl", "cta", "sys", "gpu", "cluster", "acq_rel", "sc", "proxy", "async", "alias"});
  builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

void Translator::trap() {
  only_always();
  allow(0, {});
  builder_.CreateIntrinsic(llvm::Intrinsic::trap, {});
}

void Translator::end_thread() {
  only_always();
  allow(0, {});
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_exit, {});
}

void Translator::barrier() {
  only_always();
  if (parts_.size() == 3 && parts_[1] == "warp" && parts_[2] == "sync") {
    expect(1);
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {read(operand(0), 32)});
    return;
  }
  const bool with_count = operands_->size() == 2;
  if (parts_.size() != 2 || operands_->empty() || operands_->size() > 2)
    return give_up();
  std::vector<llvm::Value*> arguments = {read(operand(0), 32)};
  if (with_count)
    arguments.push_back(read(operand(1), 32));
  if (parts_[1] == "sync")
    builder_.CreateIntrinsic(with_count ? llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count
                                        : llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                             {}, arguments);
  else if (parts_[1] == "arrive" && with_count)
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_arrive_aligned_count, {}, arguments);
  else
    give_up();
}

void Translator::shuffle() {
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

void Translator::vote() {
  only_always();
  expect(3);
  static const std::map<llvm::StringRef, llvm::Intrinsic::ID> kinds = {
      {"ballot", llvm::Intrinsic::nvvm_vote_ballot_sync},
      {"all", llvm::Intrinsic::nvvm_vote_all_sync},
      {"any", llvm::Intrinsic::nvvm_vote_any_sync},
      {"uni", llvm::Intrinsic::nvvm_vote_uni_sync}};
  // CUB writes vote.ballot.sync, which ptxas takes for vote.sync.ballot.
  const auto kind = parts_.size() != 4    ? kinds.end()
                    : parts_[1] == "sync" ? kinds.find(parts_[2])
                    : parts_[2] == "sync" ? kinds.find(parts_[1])
                                          : kinds.end();
  if (kind == kinds.end())
    return give_up();
  write(operand(0),
        builder_.CreateIntrinsic(kind->second, {}, {read(operand(2), 32), predicate(operand(1).name)}));
}

void Translator::match() {
  only_always();
  expect(3);
  const unsigned width = type_at(0).width;
  if (parts_.size() != 4 || parts_[1] != "any" || parts_[2] != "sync" || width < 32)
    return give_up();
  write(operand(0), builder_.CreateIntrinsic(width == 64 ? llvm::Intrinsic::nvvm_match_any_sync_i64
                                                         : llvm::Intrinsic::nvvm_match_any_sync_i32,
                                             {}, {read(operand(2), 32), read(operand(1), width)}));
}

void Translator::active_mask() {
  expect(1);
  write(operand(0), builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_activemask, {}));
}

} // namespace xaas::cpukernel
