// How mlir-opt lowers all matrix products: tiles for the caches, then tiles of 6 by 64 sums. These stay in vectors while
// the innermost loop runs. LLVM splits vectors of 64 numbers into registers: 4 of AVX-512, 8 of AVX2, 16 of SSE.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %products = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %outer, %loops:3 = transform.structured.tile_using_for %products tile_sizes [96, 256, 256]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %inner, %inner_loops:3 = transform.structured.tile_using_for %outer tile_sizes [6, 64, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %functions = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions { transform.apply_patterns.canonicalization } : !transform.any_op
    %tiles = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %tiles {create_named_contraction} : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.memref.fold_memref_alias_ops
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %functions : !transform.any_op
    %hoisted = transform.structured.hoist_redundant_vector_transfers %functions : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %hoisted {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_transfer max_transfer_rank = 1
      transform.apply_patterns.vector.lower_transpose
      transform.apply_patterns.vector.lower_shape_cast
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
