// Functions that kernels call.

uint64_t xaas_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
void* xaas_malloc(size_t size) {
  if (!xaas_checked)
    return malloc(size);
  void* memory = NULL;
  return allocate(&memory, size, 2) == success ? memory : NULL;
}
void xaas_free(void* memory) {
  if (xaas_checked)
    release(memory);
  else
    free(memory);
}
void xaas_assertfail(const char* condition, const char* file, unsigned line, const char* function, size_t size) {
  (void)size;
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
  abort();
}

// printf() in device code: arguments lie one after the other, each at a multiple of its size.
int xaas_vprintf(const char* format, const char* arguments) {
  char text[2048];
  size_t length = 0, at = 0;
  int count = 0;
  for (const char* c = format; *c && length + 1 < sizeof(text); ++c) {
    if (*c != '%' || *++c == '%') {
      text[length++] = *c;
      continue;
    }
    char item[64] = "%";
    size_t used = 1;
    int wide = 0;
    while (*c && strchr("-+ #0123456789.*hlLjzt", *c) && used < 40) {
      if (*c == '*') {
        int width;
        at = (at + 3) & ~(size_t)3;
        memcpy(&width, arguments + at, sizeof(width));
        at += sizeof(width);
        used += (size_t)snprintf(item + used, sizeof(item) - used, "%d", width);
      } else {
        wide |= *c == 'l' || *c == 'j' || *c == 'z' || *c == 't';
        if (*c != 'L') // device code's long double is a double
          item[used++] = *c;
      }
      ++c;
    }
    item[used++] = *c;
    item[used] = 0;
    if (!*c)
      break;
    ++count;
    char* const out = text + length;
    const size_t room = sizeof(text) - length;
    int written = 0;
    if (strchr("eEfFgGaA", *c) || *c == 's' || *c == 'p' || wide) {
      uint64_t bits;
      at = (at + 7) & ~(size_t)7;
      memcpy(&bits, arguments + at, sizeof(bits));
      at += sizeof(bits);
      double number;
      memcpy(&number, &bits, sizeof(number));
      if (*c == 's')
        written = snprintf(out, room, item, (const char*)(uintptr_t)bits);
      else if (*c == 'p')
        written = snprintf(out, room, item, (void*)(uintptr_t)bits);
      else if (strchr("eEfFgGaA", *c))
        written = snprintf(out, room, item, number);
      else
        written = snprintf(out, room, item, (long long)bits);
    } else {
      int value;
      at = (at + 3) & ~(size_t)3;
      memcpy(&value, arguments + at, sizeof(value));
      at += sizeof(value);
      written = snprintf(out, room, item, value);
    }
    length += written > 0 ? (size_t)written < room ? (size_t)written : room - 1 : 0;
  }
  text[length] = 0;
  fputs(text, stdout); // whole, also if several threads print
  return count;
}
