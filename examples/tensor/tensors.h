// The kernels, and the memory that they work on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// A dense row-major array, whose `view` is MLIR's descriptor of memory (memref).
template <size_t Rank> class Tensor {
public:
  explicit Tensor(const std::array<int64_t, Rank>& sizes) : view{} {
    int64_t count = 1;
    for (size_t i = Rank; i-- > 0;) {
      view.sizes[i] = sizes[i];
      view.strides[i] = count;
      count *= sizes[i];
    }
    values.resize(static_cast<size_t>(count));
    view.allocated = view.aligned = values.data();
  }
  Tensor(const Tensor&) = delete;

  struct View {
    float *allocated, *aligned;
    int64_t offset;
    int64_t sizes[Rank], strides[Rank];
  };
  std::vector<float> values;
  View view;
};

extern "C" {
// Of kernels.mlir.
void _mlir_ciface_gemm(Tensor<2>::View* a, Tensor<2>::View* b, Tensor<2>::View* result);
void _mlir_ciface_convolution(Tensor<3>::View* image, Tensor<4>::View* filters, Tensor<3>::View* result);

// Of loops.c: the same.
void gemm_loops(const float* a, const float* b, float* result);
void convolution_loops(const float* image, const float* filters, float* result);
}
