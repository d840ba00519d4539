#include "fortran/loop_versions.h"

#include <xaas/base/digest.h>

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::frontdoor {

namespace {

bool is_and(const llvm::Value* value) {
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return operation && operation->getOpcode() == llvm::Instruction::And &&
         operation->getType()->isIntegerTy(1);
}

// True for a comparison of a stride with the size of an element.
bool is_comparison(const llvm::Value* value) {
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(value);
  return comparison && comparison->getPredicate() == llvm::ICmpInst::ICMP_EQ &&
         llvm::isa<llvm::ConstantInt>(comparison->getOperand(1)) &&
         comparison->getOperand(0)->getType()->isIntegerTy(64);
}

// The comparisons of which `root` is the conjunction; none if it has other operands.
llvm::SmallSetVector<llvm::Value*, 8> comparisons_of(llvm::Value* root) {
  llvm::SmallSetVector<llvm::Value*, 8> comparisons;
  std::vector<llvm::Value*> pending = {root};
  while (!pending.empty()) {
    llvm::Value* value = pending.back();
    pending.pop_back();
    if (is_and(value)) {
      for (const llvm::Use& operand : llvm::cast<llvm::User>(value)->operands())
        pending.push_back(operand.get());
    } else if (is_comparison(value)) {
      comparisons.insert(value);
    } else {
      return {};
    }
  }
  return comparisons;
}

bool may_move(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return load->isSimple();
  return llvm::isa<llvm::GetElementPtrInst, llvm::CastInst, llvm::CmpInst, llvm::BinaryOperator,
                   llvm::SelectInst, llvm::ExtractValueInst, llvm::InsertValueInst>(instruction);
}

// Describes values independently of the order of the instructions that may be moved.
class Descriptions {
public:
  explicit Descriptions(const llvm::Function& function) {
    size_t count = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      place_[&instruction] = count++;
  }

  void set_moving(llvm::ArrayRef<llvm::Instruction*> moving) {
    moving_ = {moving.begin(), moving.end()};
    known_.clear();
  }

  // From now on, moved instructions are described by their place, like those that did not move.
  void set_places(llvm::ArrayRef<llvm::Instruction*> ordered) {
    std::vector<size_t> places;
    for (const llvm::Instruction* instruction : ordered)
      places.push_back(place_.at(instruction));
    std::sort(places.begin(), places.end());
    for (size_t i = 0; i < ordered.size(); ++i)
      place_[ordered[i]] = places[i];
  }

  const std::string& of(const llvm::Value* value) {
    const auto found = known_.find(value);
    if (found != known_.end())
      return found->second;
    std::string text = describe(value);
    return known_.emplace(value, std::move(text)).first->second;
  }

private:
  std::string describe(const llvm::Value* value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value))
      return "argument " + std::to_string(1000 + argument->getArgNo());
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction)
      return printed(*value);
    if (!moving_.count(instruction))
      return "value " + std::to_string(1000000 + place_.at(instruction));
    std::string text = std::string("(") + instruction->getOpcodeName();
    if (const auto* comparison = llvm::dyn_cast<llvm::CmpInst>(instruction))
      text += " " + std::to_string(comparison->getPredicate());
    for (const llvm::Use& operand : instruction->operands())
      text += " " + of(operand.get());
    if (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction))
      text += " " + printed(*element->getSourceElementType());
    text += " " + printed(*instruction->getType()) + ")";
    // A value that is used twice is described twice, so without a limit the text would grow exponentially
    // with a chain of such values.
    constexpr size_t limit = 500;
    return text.size() < limit ? text : digest_of(text).hex();
  }

  template <typename Printable> static std::string printed(const Printable& printable) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if constexpr (std::is_same_v<Printable, llvm::Value>)
      printable.printAsOperand(stream, true);
    else
      printable.print(stream);
    return text;
  }

  std::map<const llvm::Value*, size_t> place_;
  std::set<const llvm::Value*> moving_;
  std::map<const llvm::Value*, std::string> known_;
};

// Sorts a run of instructions before `end` by their descriptions, each after its operands.
void order(llvm::ArrayRef<llvm::Instruction*> run, llvm::Instruction& end, Descriptions& descriptions) {
  descriptions.set_moving(run);
  // Equal descriptions are equal values, whose order does not matter.
  std::vector<std::pair<std::string, llvm::Instruction*>> waiting;
  for (llvm::Instruction* instruction : run)
    waiting.emplace_back(descriptions.of(instruction), instruction);
  std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<llvm::Instruction*> ordered;
  std::set<const llvm::Value*> unplaced(run.begin(), run.end());
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return std::none_of(entry.second->op_begin(), entry.second->op_end(),
                          [&](const llvm::Use& operand) { return unplaced.count(operand.get()) != 0; });
    });
    next->second->moveBefore(end.getIterator());
    ordered.push_back(next->second);
    unplaced.erase(next->second);
    waiting.erase(next);
  }
  descriptions.set_places(ordered);
}

// The instructions without effects directly before a block's last one.
std::vector<llvm::Instruction*> run_before_end(llvm::BasicBlock& block) {
  std::vector<llvm::Instruction*> run;
  for (auto it = std::next(block.rbegin()); it != block.rend() && may_move(*it); ++it)
    run.push_back(&*it);
  std::reverse(run.begin(), run.end());
  return run;
}

std::vector<llvm::Instruction*> run_from_start(llvm::BasicBlock& block) {
  std::vector<llvm::Instruction*> run;
  for (auto it = block.getFirstNonPHIIt(); it != block.end() && may_move(*it); ++it)
    run.push_back(&*it);
  return run;
}

struct Choice {
  llvm::BranchInst* branch;
  std::vector<llvm::Value*> comparisons;
};

std::vector<Choice> choices_of(llvm::Function& function) {
  std::vector<Choice> choices;
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() || !is_and(branch->getCondition()))
      continue;
    const auto comparisons = comparisons_of(branch->getCondition());
    if (!comparisons.empty())
      choices.push_back({branch, {comparisons.begin(), comparisons.end()}});
  }
  return choices;
}

// Keeps the comparisons, which are joined again.
void erase_unused_ands(llvm::Value* value) {
  if (!is_and(value) || !value->use_empty())
    return;
  auto* operation = llvm::cast<llvm::BinaryOperator>(value);
  llvm::Value* const left = operation->getOperand(0);
  llvm::Value* const right = operation->getOperand(1);
  operation->eraseFromParent();
  erase_unused_ands(left);
  if (right != left)
    erase_unused_ands(right);
}

void conjoin(llvm::BranchInst& branch, llvm::ArrayRef<llvm::Value*> comparisons) {
  llvm::Value* all = comparisons[0];
  for (llvm::Value* comparison : comparisons.drop_front())
    all = llvm::BinaryOperator::Create(llvm::Instruction::And, comparison, all, "", branch.getIterator());
  branch.setCondition(all);
}

void order_choices(llvm::Function& function) {
  std::vector<Choice> choices = choices_of(function);
  if (choices.empty())
    return;
  // Each gets its own comparisons, because two that begin alike do so by chance.
  for (const Choice& choice : choices) {
    llvm::Value* before = choice.branch->getCondition();
    choice.branch->setCondition(choice.comparisons[0]);
    erase_unused_ands(before);
  }
  Descriptions descriptions(function);
  for (Choice& choice : choices) {
    llvm::BasicBlock& block = *choice.branch->getParent();
    const std::vector<llvm::Instruction*> run = run_before_end(block);
    order(run, *choice.branch, descriptions);
    std::vector<std::pair<std::string, llvm::Value*>> sorted;
    for (llvm::Value* comparison : choice.comparisons)
      sorted.emplace_back(descriptions.of(comparison), comparison);
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      choice.comparisons[i] = sorted[i].second;
    llvm::BasicBlock& contiguous = *choice.branch->getSuccessor(0);
    const std::vector<llvm::Instruction*> loads = run_from_start(contiguous);
    if (!loads.empty())
      order(loads, *loads.back()->getNextNode(), descriptions);
  }
  for (const Choice& choice : choices)
    conjoin(*choice.branch, choice.comparisons);
}

} // namespace

void order_loop_versions(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration())
      order_choices(function);
}

} // namespace xaas::frontdoor
