// Problem: a thread stores to shared memory and then loads from it, with no barrier between. In a program
// without races, no other thread of the warp stores where it loads. In one that relies on lockstep, another
// one does.
//
//     s[t] += s[t + 8];  s[t] += s[t + 4];             store 4 * t, load 4 * t + 16
//     s[i * 33 + t] = a[i];                            store 132 * i + 4 * t, for each i
//     x = s[(t & 7) * 33 + t - (t & 7) + i];           load 132 * (t & 7) + 4 * t - 4 * (t & 7) + 4 * i
//
// Approach: compare the addresses as sums. If they contain one value that varies, and with the same factor,
// its factor is the distance of neighbouring lanes, and the rest decides. Else compute both addresses for
// each lane of a warp, for which all values that vary must depend on the thread's index alone. The shape of
// the block is not known; all of a few must agree.
//
// Addresses for which neither works count as disjoint: an element that data chooses is mostly the thread's
// own (nodes.cpp has an exception). So does an address that is the same for all lanes, as in if (t == 0) *out
// = s[0]: mostly one lane alone uses it. But a lane that loads several elements, of which each lane has
// stored one, relies on lockstep:
//
//     key[t] = hex[t];  if (t == 0) start(key[0], key[1], key[2], key[3]);
//
// Lockstep costs speed, but is right for all programs.
#include "lockstep.h"
#include "library.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace xaas::cpukernel {

namespace {

constexpr unsigned deepest = 12; // nested operations

void add(Address& address, llvm::Value* value, int64_t factor, unsigned depth = 0) {
  using namespace llvm::PatternMatch;
  llvm::Value *a = nullptr, *b = nullptr;
  const llvm::APInt* number = nullptr;
  if (match(value, m_APInt(number)) && number->getSignificantBits() <= 32)
    address.constant += factor * number->getSExtValue();
  else if (depth < deepest && (match(value, m_Add(m_Value(a), m_Value(b))) ||
                               match(value, m_DisjointOr(m_Value(a), m_Value(b)))))
    add(address, a, factor, depth + 1), add(address, b, factor, depth + 1);
  else if (depth < deepest && match(value, m_Sub(m_Value(a), m_Value(b))))
    add(address, a, factor, depth + 1), add(address, b, -factor, depth + 1);
  else if (depth < deepest && match(value, m_Mul(m_Value(a), m_APInt(number))) &&
           number->getSignificantBits() <= 16)
    add(address, a, factor * number->getSExtValue(), depth + 1);
  else if (depth < deepest && match(value, m_Shl(m_Value(a), m_APInt(number))) && number->ult(16))
    add(address, a, factor << number->getZExtValue(), depth + 1);
  else if (depth < deepest && match(value, m_ZExtOrSExt(m_Value(a))))
    add(address, a, factor, depth + 1);
  else if (const int64_t sum = (address.terms[value] += factor); sum == 0)
    address.terms.erase(value);
}

int64_t factor_in(const Address& address, const llvm::Value* value) {
  const auto found = address.terms.find(value);
  return found == address.terms.end() ? 0 : found->second;
}

constexpr unsigned warp = 32;

// A lane of a warp whose rows of threads have `row` of them.
struct Lane {
  unsigned index, row;
};

// A value as a constant; null if it depends on more than the thread's index. With `at_start`, counters of
// loops have their first values.
llvm::Constant* value_of(const llvm::Value* value, const Lane& lane, bool at_start = false,
                         unsigned depth = 0) {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value); phi && at_start && depth < deepest) {
    llvm::BinaryOperator* step = nullptr;
    llvm::Value *start = nullptr, *size = nullptr;
    return llvm::matchSimpleRecurrence(phi, step, start, size) ? value_of(start, lane, at_start, depth + 1)
                                                               : nullptr;
  }
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value))
    return const_cast<llvm::Constant*>(constant);
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth == deepest)
    return nullptr;
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
    const llvm::Function* callee = callee_of(*call);
    const std::string name = callee ? intrinsic_name(*callee) : std::string();
    const auto number = [&](unsigned result) { return llvm::ConstantInt::get(call->getType(), result); };
    if (name == "read_ptx_sreg_tid_x")
      return number(lane.index % lane.row);
    if (name == "read_ptx_sreg_tid_y")
      return number(lane.index / lane.row);
    if (name == "read_ptx_sreg_tid_z")
      return number(0);
    if (name == "read_ptx_sreg_laneid")
      return number(lane.index);
    if (!llvm::isa<llvm::MinMaxIntrinsic>(call))
      return nullptr;
  } else if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(instruction)) {
    return nullptr;
  }
  llvm::SmallVector<llvm::Constant*, 3> operands;
  for (const llvm::Use& operand : instruction->operands())
    if (llvm::Constant* constant = value_of(operand, lane, at_start, depth + 1))
      operands.push_back(constant);
    else
      return nullptr;
  return llvm::ConstantFoldInstOperands(instruction, operands, instruction->getDataLayout());
}

using Offsets = std::array<int64_t, warp>;

// What lanes add to the rest of an address.
std::optional<Offsets> offsets_of(const Address& address, unsigned row,
                                  const std::function<bool(const llvm::Value&)>& varies) {
  Offsets offsets;
  for (unsigned i = 0; i < warp; ++i) {
    offsets[i] = address.constant;
    for (const auto& [value, factor] : address.terms) {
      if (!varies(*value))
        continue;
      const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value_of(value, {i, row}));
      if (!number || number->getBitWidth() > 64)
        return {};
      offsets[i] += factor * number->getSExtValue();
    }
  }
  return offsets;
}

// What a counter of a loop can be, as `i` in for (i = 0; i < 8; ++i): values from its start on, for as long
// as a comparison with a constant has the same result; of several comparisons, the one that holds longest.
// Nothing for other values, and for loops with many iterations.
std::vector<int64_t> values_of_counter(const llvm::Value& value) {
  constexpr size_t most = 64;
  llvm::BinaryOperator* step = nullptr;
  llvm::Value *start = nullptr, *size = nullptr;
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(&value);
  if (!phi || !llvm::matchSimpleRecurrence(phi, step, start, size) ||
      step->getOpcode() != llvm::Instruction::Add || step->getType()->getIntegerBitWidth() > 64)
    return {};
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(start), *by = llvm::dyn_cast<llvm::ConstantInt>(size);
  if (!first || !by)
    return {};
  std::vector<int64_t> longest;
  for (const llvm::Value* counter :
       {static_cast<const llvm::Value*>(phi), static_cast<const llvm::Value*>(step)})
    for (const llvm::User* user : counter->users()) {
      const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user);
      const auto* bound = compare ? llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1)) : nullptr;
      if (!bound || compare->getOperand(0) != counter)
        continue;
      const auto result = [&](const llvm::APInt& each) {
        return llvm::ICmpInst::compare(each, bound->getValue(), compare->getPredicate());
      };
      llvm::APInt each = first->getValue();
      const bool goes_on = result(counter == phi ? each : each + by->getValue());
      std::vector<int64_t> values = {each.getSExtValue()};
      for (each += by->getValue(); values.size() <= most && result(each) == goes_on; each += by->getValue())
        values.push_back(each.getSExtValue());
      if (values.size() <= most && values.size() > longest.size())
        longest = std::move(values);
    }
  return longest;
}

// All that values which are the same for all threads can add to the address, and to the other one not.
std::vector<int64_t> uniform_offsets(const Address& address, const Address& other,
                                     const std::function<bool(const llvm::Value&)>& varies) {
  constexpr size_t most = 256;
  std::vector<int64_t> sums = {0};
  for (const auto& [value, factor] : address.terms) {
    if (varies(*value) || factor_in(other, value) == factor)
      continue;
    std::vector<int64_t> next;
    for (const int64_t number : values_of_counter(*value))
      for (const int64_t sum : sums)
        next.push_back(sum + factor * number);
    sums = std::move(next);
    if (sums.size() > most)
      return {};
  }
  return sums;
}

// By computing the addresses of all lanes.
bool computed_lanes_share(const Address& first, const Address& second,
                          const std::function<bool(const llvm::Value&)>& varies) {
  const std::vector<int64_t> first_sums = uniform_offsets(first, second, varies),
                             second_sums = uniform_offsets(second, first, varies);
  if (first_sums.empty() || second_sums.empty())
    return false;
  for (const unsigned row : {warp, warp / 2, warp / 4}) {
    const std::optional<Offsets> a = offsets_of(first, row, varies), b = offsets_of(second, row, varies);
    if (!a || !b)
      return false;
    std::set<int64_t> of_all;
    for (const int64_t offset : *a)
      for (const int64_t sum : first_sums)
        of_all.insert(offset + sum);
    bool shared = false;
    for (unsigned i = 0; i < warp && !shared; ++i)
      for (const int64_t sum : second_sums) {
        const int64_t address = (*b)[i] + sum;
        const auto is_own = [&](int64_t own) { return (*a)[i] + own == address; };
        shared |= of_all.contains(address) && llvm::none_of(first_sums, is_own);
      }
    if (!shared)
      return false;
  }
  return true;
}

} // namespace

static Address address_in(llvm::Value* pointer, const llvm::DataLayout& layout,
                          llvm::Value::ValueTy kind_of_base) {
  Address address;
  for (unsigned depth = 0; depth < deepest; ++depth) {
    if (pointer->getValueID() == kind_of_base) {
      address.base = pointer;
      return address;
    }
    auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer);
    llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
    llvm::APInt constant(64, 0);
    if (!element || !element->collectOffset(layout, 64, variable, constant))
      return address;
    address.constant += constant.getSExtValue();
    for (const auto& [index, size] : variable)
      add(address, index, size.getSExtValue());
    pointer = element->getPointerOperand();
  }
  return address;
}

Address shared_address(llvm::Value* pointer, const llvm::DataLayout& layout) {
  return address_in(pointer, layout, llvm::Value::GlobalVariableVal);
}

Address global_address(llvm::Value* pointer, const llvm::DataLayout& layout) {
  return address_in(pointer, layout, llvm::Value::ArgumentVal);
}

std::set<int64_t> places_of_lanes(const Address& address, llvm::ArrayRef<BranchOutcome> way) {
  std::set<int64_t> places;
  for (unsigned i = 0; i < warp; ++i) {
    const Lane lane{i, warp};
    const auto keeps_out = [&](const BranchOutcome& branch) {
      const auto* holds = llvm::dyn_cast_or_null<llvm::ConstantInt>(value_of(branch.condition, lane, true));
      return holds && holds->isOne() != branch.holds;
    };
    if (llvm::any_of(way, keeps_out))
      continue;
    int64_t place = address.constant;
    for (const auto& [value, factor] : address.terms) {
      const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value_of(value, lane, true));
      if (!number || number->getBitWidth() > 64)
        return {};
      place += factor * number->getSExtValue();
    }
    if (!places.insert(place).second)
      return {};
  }
  return places;
}

std::set<int64_t> places_for_all(const Address& address) {
  std::set<int64_t> places;
  for (const int64_t offset : uniform_offsets(address, {}, [](const llvm::Value&) { return false; }))
    places.insert(address.constant + offset);
  return places;
}

bool lanes_share(const Address& first, const Address& second,
                 const std::function<bool(const llvm::Value&)>& varies) {
  if (!first.base || first.base != second.base)
    return false;
  std::vector<int64_t> uniform; // differences of factors
  int64_t stride = 0;           // of a value that varies
  bool same = true;             // factors of values that vary
  std::set<const llvm::Value*> values;
  for (const Address* each : {&first, &second})
    for (const auto& [value, factor] : each->terms)
      values.insert(value);
  size_t varying = 0, of_first = 0, of_second = 0; // values that vary
  for (const llvm::Value* value : values) {
    const int64_t a = factor_in(first, value), b = factor_in(second, value);
    if (!varies(*value)) {
      if (a != b)
        uniform.push_back(std::abs(a - b));
      continue;
    }
    ++varying;
    of_first += a != 0;
    of_second += b != 0;
    same &= a == b;
    stride = std::abs(a);
  }
  if (of_first == 0 || of_second == 0)
    return false;
  if (!same || varying > 1)
    return computed_lanes_share(first, second, varies);
  // s[t] and s[t + d]; but s[i * 16 + t] and s[j * 16 + t] are a thread's own column.
  if (llvm::any_of(uniform, [&](int64_t difference) { return difference != stride; }))
    return false;
  const int64_t difference = first.constant - second.constant;
  return difference % stride == 0 && std::abs(difference / stride) < int64_t{warp} &&
         (difference != 0 || !uniform.empty());
}

} // namespace xaas::cpukernel
