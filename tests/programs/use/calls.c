#include "abi.h"
double total(T a, double factor, T b) TOTAL
T many(int count, ...) MANY(make(0))
T through(function *f, T x) { return f(x, 3, change(x, 1, make(1))); }
function *pick(void) { return change; }
