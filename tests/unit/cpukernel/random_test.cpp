// Random kernels: loops, masks and fibers give the bits of a reference that runs the same statements for one
// thread after the other.
#include "cpukernel/testing.h"

#include <xaas/base/text.h>

#include <random>

namespace xaas::cpukernel {

namespace {

// A kernel as text for CUDA and as text for C, in which each variable of a thread is an array. In both, `t`
// is the thread and `n` the number of threads of the block; a kernel changes an array `out` with an element
// for each thread of the grid.
class Generator {
public:
  explicit Generator(unsigned seed) : random_(seed) {}

  void make(const std::string& name) {
    statements_.clear();
    early_ = pick(4) == 0;
    const unsigned phases = 2 + pick(4);
    for (unsigned i = 0; i < phases; ++i)
      pick(3) == 0 ? add_loop() : add_phase(1);
    cuda += "extern \"C\" __global__ void " + name + "(uint* out, const uint* in, uint m, uint rounds) {\n" +
            names_in_cuda + (early_ ? "  if (t >= m) return;\n" : "") + text(true) +
            "  out[blockIdx.x * n + t] = a ^ b ^ c ^ (uint)(int)d;\n}\n";
    c += "static void " + name +
         "_c(uint* out, const uint* in, uint m, uint rounds, uint n, uint block) {\n" + names_in_c +
         (early_ ? "  const uint live = m < n ? m : n;\n" : "  const uint live = n;\n") + text(false) +
         "  ALL out[block * n + t] = a[t] ^ b[t] ^ c[t] ^ (uint)(int)d[t];\n}\n";
  }

  std::string cuda, c;

private:
  // A phase: statements between two barriers; or lines that all threads take alike.
  struct Statement {
    bool is_phase;
    std::string text; // variables of a thread are $a
  };

  unsigned pick(unsigned count) { return random_() % count; }
  std::string number(unsigned count) { return std::to_string(1 + pick(count)); }
  std::string variable() { return std::string("$") + "abc"[pick(3)]; }

  std::string expression() {
    switch (pick(7)) {
    case 6: // quotients that several threads have
      return "(t + " + number(50) + ") / (m + " + number(20) + ") * " + number(9);
    case 0:
      return variable() + " * " + number(9) + " + t";
    case 1:
      return "(" + variable() + " ^ (" + variable() + " >> " + number(7) + "))";
    case 2:
      return "t * " + number(5) + " + m";
    case 3:
      return variable() + " + " + variable();
    case 4:
      return "(t % " + number(5) + " == 0 ? " + variable() + " : " + number(99) + ")";
    default:
      return variable() + " - " + number(99);
    }
  }

  std::string assignment() { return variable() + " = " + expression() + ";"; }

  // Outcomes of conditions that are kept for later.
  std::string keep() {
    const std::string kept = "$f = " + std::string(pick(3) == 0 ? "t + " : "") + number(2) + "; ";
    switch (pick(6)) {
    case 0:
      return "if (" + guard() + ") { " + read() + " " + kept + "} else $f = 0;";
    case 1:
      return "$f = 0; if (" + guard() + ") { " + assignment() + " if (" + guard() + ") { " + kept + read() +
             " } }";
    case 2: // a loop in between, which all threads run or not
      return "$f = 0; if (" + guard() + ") { for (uint k = 0; k < rounds + " + number(2) + "; ++k) " +
             read() + " if (rounds != " + number(2) + ") { " + kept + "} }";
    case 3: // the last time counts
      return "for (uint k = 0; k < rounds + 1; ++k) { $f = 0; if (t + k < m) { " + assignment() + " " + kept +
             "} }";
    case 4:
      return "$f = 0; for (uint k = 0; k < 4; ++k) { if (" + guard() + " && k > t % 3) { " + kept +
             "break; } " + assignment() + " }";
    default:
      return "$f = " + guard() + ";";
    }
  }

  // A way that all threads take or none does, with conditions on each.
  std::string fork() {
    return "if (rounds > " + std::to_string(pick(2)) + ") { if (" + guard() + ") { " + read() +
           " } } else { if (" + guard() + ") { " + read() + " " + assignment() + " } }";
  }

  std::string action() {
    switch (pick(17)) {
    case 11:
    case 12:
      return keep();
    case 13:
      return "if ($f) { " + read() + " }";
    case 14:
      return "if (" + guard() + " && $f != 1) { " + assignment() + " " + read() + " }";
    case 15:
      return "if (rounds > " + std::to_string(pick(2)) + ") { if ($f) { " + read() + " } } else { if (" +
             guard() + ") { " + read() + " } }";
    case 16:
      return fork();
    case 7: // conditions with one outcome on each side of a thread
      return "if (" + guard() + ") { " + assignment() + " " + read() + " }";
    case 8:
      return read();
    case 9: // loops that all threads run alike
      return "for (uint k = 0; k < rounds * " + number(4) + " + " + number(3) + "; ++k) { $a += in[k * " +
             number(9) + " + t]; $b ^= $a; if (" + guard() + ") " + read() + " }";
    case 10:
      return "{ uint j = t * " + number(3) +
             "; for (uint k = 0; k < rounds + 2; ++k) { $c += in[j]; j += " + number(30) + "; } " +
             variable() + " += j; }";
    case 0:
      return "if (t % " + number(4) + " == 1) { " + assignment() + " }";
    case 1:
      return "for (uint k = 0; k < " + number(5) + "; ++k) { " + assignment() + " }";
    case 2:
      return "for (uint k = 0; k < t % " + number(4) + "; ++k) { " + assignment() + " if (" + variable() +
             " % 7 == 3) break; }";
    case 3:
      return "$d = $d * 0.5 + " + number(50) + ";";
    case 4:
      return "$l[t % 3] += " + expression() + "; " + variable() + " += $l[" + std::to_string(pick(3)) + "];";
    default:
      return assignment();
    }
  }

  std::string guard() {
    static const char* const guards[] = {
        "t < m",           "t + 3 < m",        "(int)t - 5 >= 0",      "t != 4", "(int)m - (int)t > 2",
        "t > 1 && t <= m", "t * 3u - m < 40u", "(unsigned char)t < 17"};
    return guards[pick(8)];
  }

  // An element near the thread's own, within limits.
  std::string read() {
    const std::string k = number(20);
    static const char* const places[] = {"t < # ? # : t - 1",
                                         "(int)t - # < 0 ? 0 : t - #",
                                         "t + # > m ? m : t + #",
                                         "t == # ? t : t + 1",
                                         "t % 8",
                                         "(t + #) & 31",
                                         "t % (m + #) + t / (m + #) * 40",
                                         "(int)(t + #) % (int)(m + 12)",
                                         "(unsigned char)(t * 3)"};
    return variable() + " += in[" + replaced(places[pick(9)], "#", k) + "];";
  }

  // Each phase writes shared memory or reads it, never both.
  void add_phase(unsigned indent) {
    std::string body;
    if (pick(8) == 0)
      body = fork() + " ";
    else
      for (unsigned i = 0, count = 1 + pick(4); i < count; ++i)
        body += action() + " ";
    const unsigned kind = pick(4);
    if (kind == 0)
      body += "s[t] = " + expression() + "; ";
    else if (kind == 1)
      body += variable() + " += s[(t + " + number(40) + ") % n]; ";
    statements_.push_back({true, body});
    if (kind == 2 && !early_)
      statements_.push_back({true, ""}); // a barrier alone
    static_cast<void>(indent);
  }

  void add_loop() {
    const std::string index = "r" + std::to_string(statements_.size());
    statements_.push_back({false, "for (uint " + index + " = 0; " + index + " < rounds + " +
                                      std::to_string(pick(3)) + "; ++" + index + ") {"});
    for (unsigned i = 0, count = 1 + pick(2); i < count; ++i)
      add_phase(2);
    statements_.push_back({false, "}"});
  }

  std::string text(bool is_cuda) const {
    std::string result;
    for (const Statement& statement : statements_) {
      if (!statement.is_phase)
        result += "  " + statement.text + "\n";
      else if (is_cuda)
        result += "  " + replaced(statement.text, "$", "") + "\n  __nvvm_bar_sync(0);\n";
      else
        result += "  ALL { " + in_c(statement.text) + "}\n";
    }
    return result;
  }

  static std::string in_c(std::string text) {
    for (const char* name : {"a", "b", "c", "d", "f", "l"})
      text = replaced(std::move(text), std::string("$") + name, std::string(name) + "[t]");
    return text;
  }

  static constexpr const char* names_in_cuda =
      "  __shared__ uint s[1024];\n"
      "  const uint t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
      "  const uint n = blockDim.x * blockDim.y * blockDim.z;\n"
      "  uint a = t + blockIdx.x, b = t * 3, c = 7, f = 0, l[3] = {t, 1, 2};\n  double d = t;\n  s[t] = t;\n"
      "  __nvvm_bar_sync(0);\n";
  static constexpr const char* names_in_c =
      "  static uint s[1024], a[1024], b[1024], c[1024], f[1024], l[1024][3];\n  static double d[1024];\n"
      "  for (uint t = 0; t < n; ++t) {\n"
      "    a[t] = t + block, b[t] = t * 3, c[t] = 7, d[t] = t, f[t] = 0, s[t] = t;\n"
      "    l[t][0] = t, l[t][1] = 1, l[t][2] = 2;\n  }\n";

  std::mt19937 random_;
  std::vector<Statement> statements_;
  bool early_ = false;
};

// $name, or `otherwise`: more kernels, and other ones, by hand.
unsigned number_from_environment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

const std::string shapes = R"(
static const unsigned shapes[][3] = {{1, 1, 1}, {31, 1, 1}, {32, 1, 1}, {33, 1, 1}, {1024, 1, 1}, {8, 5, 1}, {4, 3, 7}};
)";

TEST_F(CpuKernel, RandomKernelsAgreeWithTheReference) {
  const unsigned kernel_count = number_from_environment("XAAS_TEST_KERNELS", 8);
  Generator generator(number_from_environment("XAAS_TEST_SEED", 20261125));
  std::string calls;
  for (unsigned i = 0; i < kernel_count; ++i) {
    const std::string name = "k" + std::to_string(i);
    generator.make(name);
    calls += "  CHECK(" + name + ")\n";
  }
  const std::string host =
      "typedef unsigned uint;\n"
      // LLVM 22 miscompiles in[t % 8] in vectorized loops (llvm-project issue 191382).
      "#define ALL _Pragma(\"clang loop vectorize(disable)\") for (uint t = 0; t < live; ++t)\n" +
      generator.c + shapes + R"(
#define CHECK(name)                                                                                          \
  for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); ++i) {                                          \
    const unsigned* s = shapes[i];                                                                           \
    static uint is[2048], should[2048], in[8192], *p = is, *q = in;                                                             \
    uint m = 20 + i, rounds = i % 3, n = s[0] * s[1] * s[2];                                                 \
    memset(is, 0, sizeof(is)), memset(should, 0, sizeof(should));                                            \
    for (unsigned k = 0; k < 8192; ++k) in[k] = k * 2654435761u;                                             \
    void* arguments[] = {&p, &q, &m, &rounds};                                                                \
    launch(#name, 2, 1, s[0], s[1], s[2], 0, arguments);                                                     \
    for (uint block = 0; block < 2; ++block) name##_c(should, in, m, rounds, n, block);                        \
    if (memcmp(is, should, sizeof(is))) printf("%s differs for %u %u %u\n", #name, s[0], s[1], s[2]);        \
  }
int main(void) {
)" + calls +
      "}\n";
  for (const Form form : {Form::loops, Form::masked, Form::fibers}) {
    if (form == Form::loops && !machine_.without_masks.empty()) {
      make(generator.cuda, {.vector_masks = false});
      EXPECT_EQ(run(host, machine_.without_masks), "") << generator.cuda;
    }
    const auto kernels =
        make(generator.cuda, {.masked = form == Form::masked, .fibers = form == Form::fibers});
    ASSERT_EQ(kernels.size(), kernel_count);
    unsigned loops = 0;
    for (const auto& [name, kernel] : kernels) {
      EXPECT_TRUE(kernel.form == form || (form == Form::loops && kernel.form == Form::masked))
          << kernel.reason;
      loops += kernel.form == Form::loops;
    }
    EXPECT_EQ(form == Form::loops, loops > 0);
    EXPECT_EQ(run(host), "") << generator.cuda;
    EXPECT_EQ(run(host, "-O0"), "");
  }
}

} // namespace

} // namespace xaas::cpukernel
