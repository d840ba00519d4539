// Runs the kernels in all forms, compares their results, and prints how fast they are.
#include "tensors.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#ifdef TENSOR_OPENBLAS
extern "C" void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
                            const float* b, int ldb, float beta, float* c, int ldc);
extern "C" void openblas_set_num_threads(int threads);
#endif

namespace {

// Small integers, whose sums of products are exact in single precision in any order.
void fill(std::vector<float>& values, unsigned modulus) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7919 % modulus) - static_cast<float>(modulus / 2);
}

// Runs a form on zeros, compares its result with the first form's, and reports its speed.
class Comparison {
public:
  Comparison(const char* kernel, double operations, std::vector<float>& result)
      : kernel_(kernel), operations_(operations), result_(result) {}

  void run(const char* form, const std::function<void()>& call) {
    std::fill(result_.begin(), result_.end(), 0.0f);
    call();
    if (expected_.empty())
      expected_ = result_;
    const bool equal = result_ == expected_;
    all_equal_ = all_equal_ && equal;
    double best = 1e30;
    for (int i = 0; i < 7; ++i) {
      const auto start = std::chrono::steady_clock::now();
      call();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("%-12s %-9s %7.1f GFLOP/s%s\n", kernel_, form, operations_ / best * 1e-9, equal ? "" : "  WRONG");
  }
  bool all_equal() const { return all_equal_; }

private:
  const char* kernel_;
  double operations_;
  std::vector<float>& result_;
  std::vector<float> expected_;
  bool all_equal_ = true;
};

} // namespace

int main() {
  Tensor<2> a({768, 768}), b({768, 768}), product({768, 768});
  fill(a.values, 7);
  fill(b.values, 5);
  Comparison gemm("gemm", 2.0 * 768 * 768 * 768, product.values);
  gemm.run("loops", [&] { gemm_loops(a.values.data(), b.values.data(), product.values.data()); });
  gemm.run("mlir", [&] { _mlir_ciface_gemm(&a.view, &b.view, &product.view); });
#ifdef TENSOR_OPENBLAS
  openblas_set_num_threads(1);
  gemm.run("openblas", [&] {
    cblas_sgemm(101, 111, 111, 768, 768, 768, 1, a.values.data(), 768, b.values.data(), 768, 1, product.values.data(), 768);
  });
#endif

  Tensor<3> image({98, 98, 32}), sums({96, 96, 64});
  Tensor<4> filters({3, 3, 32, 64});
  fill(image.values, 9);
  fill(filters.values, 3);
  Comparison convolution("convolution", 2.0 * 96 * 96 * 64 * 9 * 32, sums.values);
  convolution.run("loops",
                  [&] { convolution_loops(image.values.data(), filters.values.data(), sums.values.data()); });
  convolution.run("mlir", [&] { _mlir_ciface_convolution(&image.view, &filters.view, &sums.view); });
  return gemm.all_equal() && convolution.all_equal() ? 0 : 1;
}
