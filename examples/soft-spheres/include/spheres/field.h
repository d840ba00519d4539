// A reacting, diffusing quantity on a square grid with periodic edges.
#pragma once

#include <vector>

namespace spheres {

class Field {
public:
  explicit Field(int size);
  void step(double dt);
  double total() const;

private:
  int size_;
  std::vector<double> now_, next_;
};

} // namespace spheres
