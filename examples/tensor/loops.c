// The kernels as plain loops, which the compiler vectorizes by itself.
void gemm_loops(const float *restrict a, const float *restrict b, float *restrict result) {
  enum { size = 768 };
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < size; ++k)
      for (int j = 0; j < size; ++j)
        result[i * size + j] += a[i * size + k] * b[k * size + j];
}

void convolution_loops(const float *restrict image, const float *restrict filters, float *restrict result) {
  enum { rows = 96, columns = 96, side = 3, channels = 32, count = 64 };
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
          for (int channel = 0; channel < channels; ++channel)
            for (int filter = 0; filter < count; ++filter)
              result[(row * columns + column) * count + filter] +=
                  image[((row + i) * (columns + side - 1) + column + j) * channels + channel] *
                  filters[((i * side + j) * channels + channel) * count + filter];
}
