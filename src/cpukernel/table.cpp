#include "table.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace xaas::cpukernel {

namespace {

// The table's constants.
class Table {
public:
  explicit Table(llvm::Module& module)
      : module_(module), context_(module.getContext()), pointer_(llvm::PointerType::get(context_, 0)),
        word_(llvm::Type::getInt32Ty(context_)) {}

  llvm::GlobalVariable* make(const TableContents& contents, const std::string& image) {
    llvm::StructType* const kernel =
        llvm::StructType::get(context_, {pointer_, pointer_, pointer_, word_, word_, word_, word_, pointer_});
    std::vector<llvm::Constant*> kernel_entries;
    for (const Entry& entry : contents.kernels)
      kernel_entries.push_back(llvm::ConstantStruct::get(
          kernel, {text(entry.name), entry.run ? entry.run : null(), entry.run ? null() : text(entry.reason),
                   word(entry.shared_bytes), word(entry.thread_bytes), word(entry.arrays), word(entry.fibers),
                   entry.checks ? entry.checks : null()}));
    return constant(llvm::ConstantStruct::getAnon(
                        {text(image), array(kernel, kernel_entries), list(contents.variables),
                         list(contents.memory), word(contents.kernels.size()),
                         word(contents.variables.size()), word(contents.memory.size()), null()}),
                    false);
  }

private:
  llvm::Constant* list(const std::vector<llvm::GlobalVariable*>& variables) {
    llvm::Type* const bytes = llvm::Type::getInt64Ty(context_);
    llvm::StructType* const variable = llvm::StructType::get(context_, {pointer_, pointer_, bytes});
    std::vector<llvm::Constant*> entries;
    for (llvm::GlobalVariable* each : variables)
      entries.push_back(llvm::ConstantStruct::get(
          variable,
          {text(each->getName().str()), each,
           llvm::ConstantInt::get(bytes, module_.getDataLayout().getTypeAllocSize(each->getValueType()))}));
    return array(variable, entries);
  }
  llvm::Constant* null() const { return llvm::ConstantPointerNull::get(pointer_); }
  llvm::Constant* word(uint64_t value) const { return llvm::ConstantInt::get(word_, value); }
  llvm::Constant* text(const std::string& value) {
    return constant(llvm::ConstantDataArray::getString(context_, value), true);
  }
  llvm::Constant* array(llvm::Type* type, const std::vector<llvm::Constant*>& elements) {
    return constant(llvm::ConstantArray::get(llvm::ArrayType::get(type, elements.size()), elements), true);
  }
  llvm::GlobalVariable* constant(llvm::Constant* value, bool is_constant) {
    return new llvm::GlobalVariable(module_, value->getType(), is_constant, llvm::GlobalValue::PrivateLinkage,
                                    value); // the module owns it
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::PointerType* pointer_;
  llvm::Type* word_;
};

} // namespace

void add_table(llvm::Module& module, const TableContents& contents, const std::string& image) {
  llvm::LLVMContext& context = module.getContext();
  llvm::GlobalVariable* const table = Table(module).make(contents, image);
  llvm::Type* const nothing = llvm::Type::getVoidTy(context);
  const llvm::FunctionCallee add =
      module.getOrInsertFunction("xaas_register_module", nothing, table->getType());
  llvm::Function* const constructor = llvm::Function::Create(
      llvm::FunctionType::get(nothing, false), llvm::GlobalValue::InternalLinkage, "xaas.register", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", constructor));
  builder.CreateCall(add, {table});
  builder.CreateRetVoid();
  // Before the constructors that register the host's part, which have the default priority, or 101 where
  // device code is linked (llvm/Frontend/Offloading/OffloadWrapper.cpp).
  llvm::appendToGlobalCtors(module, constructor, 100);
}

} // namespace xaas::cpukernel
