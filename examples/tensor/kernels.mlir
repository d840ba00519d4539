// Two kernels in MLIR's linalg dialect. What C++ calls is _mlir_ciface_NAME, whose arguments are descriptors of memory
// (tensors.h).

// result += a b
func.func @gemm(%a: memref<768x768xf32>, %b: memref<768x768xf32>, %result: memref<768x768xf32>)
    attributes {llvm.emit_c_interface} {
  linalg.matmul ins(%a, %b : memref<768x768xf32>, memref<768x768xf32>) outs(%result : memref<768x768xf32>)
  return
}

// A convolution of 32 channels with 64 filters of 3 by 3, as a sum of matrix products: one for each row of the result and
// each place in the filter.
func.func @convolution(%image: memref<98x98x32xf32>, %filters: memref<3x3x32x64xf32>, %result: memref<96x96x64xf32>)
    attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 3 : index
  %rows = arith.constant 96 : index
  scf.for %row = %zero to %rows step %one {
    %sums = memref.subview %result[%row, 0, 0] [1, 96, 64] [1, 1, 1]
        : memref<96x96x64xf32> to memref<96x64xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %zero to %size step %one {
      %from = arith.addi %row, %i : index
      scf.for %j = %zero to %size step %one {
        %pixels = memref.subview %image[%from, %j, 0] [1, 96, 32] [1, 1, 1]
            : memref<98x98x32xf32> to memref<96x32xf32, strided<[32, 1], offset: ?>>
        %weights = memref.subview %filters[%i, %j, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1]
            : memref<3x3x32x64xf32> to memref<32x64xf32, strided<[64, 1], offset: ?>>
        linalg.matmul
            ins(%pixels, %weights : memref<96x32xf32, strided<[32, 1], offset: ?>>, memref<32x64xf32, strided<[64, 1], offset: ?>>)
            outs(%sums : memref<96x64xf32, strided<[64, 1], offset: ?>>)
      }
    }
  }
  return
}
