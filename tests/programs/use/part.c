#include "abi.h"
T make(int x) MAKE(x)
T change(T a, int k, T b) CHANGE(a, k, b)
double total(T a, double factor, T b) TOTAL
T many(int count, ...) MANY(make(0))
T through(function *f, T x) { return f(x, 3, f(x, 1, make(1))); }
function *pick(void) { return change; }
