// How LLVM returns a type: in which registers, for a function with given attributes.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

#include <llvm/ADT/DenseMap.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGenTypes/MachineValueType.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class TargetLowering;
}

namespace xaas::ir {

// Every instruction set that has vectors holds this many bits in one register.
constexpr uint64_t width_of_all = 128;

// The width in bits of the widest vector in a type; of the result and the parameters of a function type.
uint64_t widest_vector(const llvm::Type* type);
uint64_t widest_vector_of(const llvm::FunctionType& type);

// A part of a returned type, and the number of registers that LLVM uses for it.
struct Leaf {
  std::vector<unsigned> path; // the indices that lead to it in an aggregate
  llvm::Type* type;
  unsigned registers;
};

// How a type is returned.
struct Form {
  enum Kind {
    as_it_is, // in registers that further features do not change
    pieces,   // in registers that the IR names one by one
    memory,   // where the caller says
    both,     // in one register, and in the other pieces of the plain form
  } kind = as_it_is;
  llvm::Type* type = nullptr; // of the value that is returned instead; null for as_it_is
  std::vector<Leaf> leaves;   // of pieces; for both: of the plain form
  bool operator==(const Form& other) const { return kind == other.kind && type == other.type; }
};

// Asks LLVM in which registers a function returns a type. The functions that it asks about are in a module of
// their own. `plain` are the attributes of functions without a target attribute.
class Registers {
public:
  static Result<Registers> create(const llvm::Module& module, const TargetAttributes& plain);

  // How `function`, or a call in it, returns the result of `signature`.
  Result<Form> form(const llvm::Function& function, llvm::FunctionType* signature,
                    llvm::CallingConv::ID convention);

  // The same as if `function` had no target attribute of its own.
  Result<Form> plain_form(const llvm::Function& function, llvm::FunctionType* signature,
                          llvm::CallingConv::ID convention);

  // True if an argument needs several registers, so that further features may change them.
  bool moves_arguments(const llvm::Function& function, llvm::FunctionType* signature,
                       llvm::CallingConv::ID convention);

  // One register for the whole result, and the pieces of the plain form that it does not hold.
  std::optional<Form> both(const llvm::Function& function, const Form& plain, llvm::FunctionType* signature,
                           llvm::CallingConv::ID convention);

  // True if `function` can return in the registers of the plain form. Its own attribute may deny it some.
  bool can_return(const llvm::Function& function, const Form& plain, llvm::FunctionType* signature,
                  llvm::CallingConv::ID convention);

private:
  using Types = std::vector<llvm::MVT>;

  Registers() = default;
  llvm::Function& probe(const llvm::Function& function, bool plain);
  const llvm::TargetLowering& lowering_of(const llvm::Function& probed) const;
  std::optional<Types> returned_in(llvm::Function& probed, llvm::Type* type, llvm::CallingConv::ID convention,
                                   bool variadic);
  void add_leaves(const llvm::Function& probed, llvm::Type* type, llvm::CallingConv::ID convention,
                  std::vector<unsigned>& path, std::vector<Leaf>& leaves) const;
  std::vector<Leaf> leaves_of(const llvm::Function& probed, llvm::Type* type,
                              llvm::CallingConv::ID convention) const;
  Result<Form> form_of(llvm::Function& probed, llvm::FunctionType* signature,
                       llvm::CallingConv::ID convention);

  std::unique_ptr<llvm::TargetMachine> machine_;
  TargetAttributes plain_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::MachineModuleInfo> machines_;
  llvm::DenseMap<llvm::AttributeSet, llvm::Function*> probes_;
};

} // namespace xaas::ir
