// How values of a region depend on the thread's place in its row.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace llvm {
class Function;
class IRBuilderBase;
class LoadInst;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// Attribute of a region's parameter: a structure that the launch passes by value and no thread changes. Its
// value is the structure's size in bytes.
constexpr const char* structure_attribute = "xaas-structure";

// Parameters of a region that say which thread runs (regions.h).
struct Place {
  explicit Place(llvm::Function& region, unsigned first);
  llvm::Value *block, *x, *y, *z, *t;
};

// A value as value(x) = value(0) + coefficient * x, modulo 2 to the power of its width, where value(0) can be
// computed before any thread of the row runs. It is exact if none of `casts`, which are extended on the way
// to the value, wraps between its ends.
struct Affine {
  int64_t coefficient = 0;
  struct Cast {
    llvm::Value* value; // before it is extended
    int64_t coefficient;
    bool is_signed;
    bool operator==(const Cast&) const = default;
  };
  std::vector<Cast> casts = {};
};

class AffineValues {
public:
  explicit AffineValues(const Place& place) : place_(place) {}

  // Nothing if the value is not of this kind.
  std::optional<Affine> find(llvm::Value* value);

  // value(0), computed again by `builder` in a function whose parameters begin with the region's; `x` and `t`
  // are there those of the row's first thread. Memory is only read where no kernel writes. Never poison where
  // the parameters are not.
  llvm::Value* first(llvm::Value* value, llvm::IRBuilderBase& builder,
                     llvm::DenseMap<llvm::Value*, llvm::Value*>& known);

private:
  bool is_constant_load(const llvm::LoadInst& load) const;
  std::optional<Affine> find_new(llvm::Value* value);

  Place place_;
  llvm::DenseMap<llvm::Value*, std::optional<Affine>> known_;
};

// Affine values at the ends of a row, in 64 bits, computed before any of its threads runs.
class ExactRow {
public:
  // `builder` builds a function as in AffineValues::first(). `size`: threads of the row, 64 bits.
  ExactRow(AffineValues& values, llvm::IRBuilderBase& builder, llvm::Value* size);

  // value(0). Adds to exact() that no value of the row wraps.
  llvm::Value* first(llvm::Value* value, bool is_signed);

  // value(0) in its own width. Adds nothing.
  llvm::Value* first_of(llvm::Value& value);

  void require(llvm::Value* condition);
  llvm::Value* exact() const { return exact_; }

private:
  llvm::Value* extended(llvm::Value* value, bool is_signed);
  void require_range(llvm::Value* value, llvm::Value* first, int64_t coefficient, bool is_signed);

  AffineValues& values_;
  llvm::IRBuilderBase& builder_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> known_;
  llvm::Value *size_, *exact_;
};

} // namespace xaas::cpukernel
