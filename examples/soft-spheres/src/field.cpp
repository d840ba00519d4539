#include <spheres/field.h>

#include <algorithm>
#include <cstddef>

namespace spheres {

namespace {

// A smooth source term as a polynomial, evaluated by Horner's rule.
inline double reaction(double u) {
  constexpr double c[] = {0.01, -0.12, 0.31, -0.22, 0.017, 0.041, -0.023, 0.0061, -0.0009, 0.00007};
  double value = c[9];
  for (int i = 8; i >= 0; --i)
    value = value * u + c[i];
  return value;
}

} // namespace

Field::Field(int size)
    : size_(size), now_(static_cast<std::size_t>(size) * size), next_(static_cast<std::size_t>(size) * size) {
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column)
      now_[static_cast<std::size_t>(row) * size + column] = ((row * 7 + column * 13) % 17) / 17.0;
}

void Field::step(double dt) {
  const int size = size_;
  const double* now = now_.data();
  double* next = next_.data();
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (int row = 0; row < size; ++row) {
    const double* here = now + static_cast<std::size_t>(row) * size;
    const double* above = now + static_cast<std::size_t>((row + size - 1) % size) * size;
    const double* below = now + static_cast<std::size_t>((row + 1) % size) * size;
    double* out = next + static_cast<std::size_t>(row) * size;
    const auto cell = [&](int column, int left, int right) {
      const double spread = here[left] + here[right] + above[column] + below[column] - 4.0 * here[column];
      out[column] = here[column] + dt * (0.2 * spread + reaction(here[column]));
    };
    cell(0, size - 1, 1);
#pragma omp simd
    for (int column = 1; column < size - 1; ++column)
      cell(column, column - 1, column + 1);
    cell(size - 1, size - 2, 0);
  }
  std::swap(now_, next_);
}

double Field::total() const {
  double sum = 0.0;
  for (const double value : now_)
    sum += value;
  return sum;
}

} // namespace spheres
