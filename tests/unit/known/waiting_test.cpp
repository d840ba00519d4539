// Declarations of Clang's own headers that a source does not mention make no difference; all others do.
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

namespace xaas::known {

namespace {

using frontdoor::FrontDoorTest;

struct Case {
  const char* name;
  std::string header; // #include <header.h>, one of Clang's
  std::string source; // compiled with -DA, then with -DB
  bool reused;
  const char* flags = "";
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

const std::string main_part = "int f(int a) { return a + 1; }\n";
const std::string included_by_b = "#ifdef B\n#include <header.h>\n#endif\n" + main_part;

const Case cases[] = {
    // Not mentioned.
    {"function", "static inline int g(int a) { return a; }\n", included_by_b, true},
    {"prototype", "extern int g(const char* text, ...) __attribute__((format(printf, 1, 2)));\n",
     included_by_b, true},
    {"types",
     "typedef struct s { int i; struct s* next; } s_t;\nenum e { one, two = one };\ntypedef int "
     "(*g_t)(s_t*);\n"
     "typedef int array[4];\nunion u { int i; float x; };\nextern s_t list[];\n",
     included_by_b, true},
    {"with_debug_information", "typedef int t;\nstatic inline t g(t a) { return a; }\n", included_by_b, true,
     "-g"},
    {"another_definition",
     "#ifdef A\nstatic inline int g(int a) { return a; }\n#else\n"
     "static inline int g(int a) { return -a; }\n#endif\nint h(void);\n",
     "#include <header.h>\nint f(void) { return h(); }\n", true},
    {"another_order", "#ifdef A\ntypedef int t;\n#endif\ntypedef long l;\n#ifdef B\ntypedef int t;\n#endif\n",
     "#include <header.h>\nt f(l a) { return a + 1; }\n", false}, // and another place
    {"warnings_of_its_own",
     "#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wall\"\n"
     "#pragma clang diagnostic pop\nint h(void);\n#ifdef B\nstatic int g(void) {\n"
     "#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wall\"\n  return 1;\n"
     "#pragma clang diagnostic pop\n}\n#endif\n",
     "#include <header.h>\n" + main_part, true},
    // Mentioned, or with an effect all the same.
    {"used",
     "#ifdef A\nstatic inline int g(void) { return 1; }\n#else\nstatic inline int g(void) { return 2; "
     "}\n#endif\n",
     "#include <header.h>\nint f(void) { return g(); }\n", false},
    {"used_by_one_that_is_used",
     "#ifdef A\nstatic int h(void) { return 1; }\n#else\nstatic int h(void) { return 2; }\n#endif\n"
     "static int g(void) { return h(); }\n",
     "#include <header.h>\nint f(void) { return g(); }\n", false},
    {"enumerator", "#ifdef A\nenum e { one = 1 };\n#else\nenum e { one = 2 };\n#endif\n",
     "#include <header.h>\nint f(void) { return one; }\n", false},
    {"enumerator_in_a_structure",
     "struct s {\n#ifdef A\n  enum { one = 1 } e;\n#else\n  enum { one = 2 } e;\n#endif\n};\n",
     "#include <header.h>\nint f(void) { return one; }\n", false},
    {"enumerator_after_types",
     "enum {\n  a = sizeof(enum { c }),\n  b = sizeof(struct { int i; }),\n#ifdef A\n  one = 1\n#else\n"
     "  one = 2\n#endif\n};\n",
     "#include <header.h>\nint f(void) { return one; }\n", false},
    {"pointer_to_function", "#ifdef A\ntypedef char (*t)(void);\n#else\ntypedef short (*t)(void);\n#endif\n",
     "#include <header.h>\nint f(t a) { return a(); }\n", false},
    {"alias", "#ifdef A\nstatic int g(void) { return 1; }\n#else\nstatic int g(void) { return 2; }\n#endif\n",
     "#include <header.h>\nint f(void) __attribute__((alias(\"g\")));\n", false},
    {"weak", "int g(void);\n", "#ifdef B\n#include <header.h>\n#endif\n#pragma weak g\n" + main_part, false},
    {"variable", "int g;\n", included_by_b, false},
    {"variable_in_parentheses", "typedef int t;\nt (g);\n", included_by_b, false},
    {"variable_of_a_structure", "struct s { int i; } g;\n", included_by_b, false},
    {"variable_of_a_known_structure", "struct s { int i; };\nstruct s g;\n", included_by_b, false},
    {"external_function", "int g(void) { return 1; }\n", included_by_b, false},
    {"used_attribute", "static int g(void) __attribute__((used));\nstatic int g(void) { return 1; }\n",
     included_by_b, false},
    {"constructor", "static int count;\n__attribute__((constructor)) static void g(void) { ++count; }\n",
     included_by_b, false},
    {"assembly", "__asm__(\".globl g\");\n", included_by_b, false},
    {"attribute_of_a_pragma",
     "#pragma clang attribute push(__attribute__((noinline)), apply_to = function)\n"
     "static int g(void) { return 1; }\n#pragma clang attribute pop\n",
     included_by_b, false},
    {"visibility",
     "#ifdef A\n#pragma GCC visibility push(hidden)\n#else\n#pragma GCC visibility push(default)\n#endif\n"
     "int h(void);\nint g(void);\n#pragma GCC visibility pop\n",
     "#include <header.h>\nint f(void) { return g(); }\n", false},
    {"declaration_in_a_body", "static inline void g(void) { int h(long); }\n",
     "#ifdef B\n#include <header.h>\n#endif\nint h();\nint f(int a) { return h(a); }\n", false, "-std=gnu17"},
    {"declaration_in_a_list_in_a_body", "static inline void g(void) { int i, h(long); }\n",
     "#ifdef B\n#include <header.h>\n#endif\nint h();\nint f(int a) { return h(a); }\n", false, "-std=gnu17"},
    {"tag", "extern struct s* g(void);\n",
     "#ifdef B\n#include <header.h>\n#endif\nstruct s;\nint h(struct s* a);\nint f(struct s* a) { return "
     "h(a); }\n",
     false},
    {"pack_in_a_structure", "struct s { int a;\n#pragma pack(1)\n int b; };\n",
     "#ifdef B\n#include <header.h>\n#endif\nstruct q { char c; int i; };\nint f(void) { return "
     "sizeof(struct q); }\n",
     false},
    {"attribute_in_a_body",
     "static void g(void) {\n#pragma clang attribute push(__attribute__((noinline)), apply_to = "
     "function)\n}\n",
     "#ifdef B\n#include <header.h>\n#endif\nint f(int a) { return a; }\n"
     "#ifdef B\n#pragma clang attribute pop\n#endif\n",
     false},
    {"variable_named_as_its_structure", "struct s { int i; };\nstruct s s;\n", included_by_b, false},
    {"tag_and_parentheses", "struct s { int i; };\nstruct s (g);\n", included_by_b, false},
    {"type_in_parentheses",
     "struct s1 { int i; };\nstruct s2 { long i; };\n#ifdef A\ntypedef struct s1 (g);\n#else\n"
     "typedef struct s2 (g);\n#endif\n",
     "#include <header.h>\nint f(void) { return sizeof(g); }\n", false},
    {"pointer_to_array",
     "struct s1 { int i; };\n#ifdef A\ntypedef struct s1 (*g)[2];\n#else\ntypedef struct s1 "
     "(*g)[3];\n#endif\n",
     "#include <header.h>\nint f(g a) { return sizeof(*a); }\n", false},
    {"tag_in_a_size",
     "#ifdef A\ntypedef char t[sizeof(struct b { int i; })];\n#else\ntypedef char t[sizeof(struct b { long "
     "i; })];\n"
     "#endif\n",
     "#include <header.h>\nunsigned long f(struct b* p) { return sizeof *p; }\n", false},
    {"enumerators_in_an_attribute",
     "#ifdef A\ntypedef int t __attribute__((aligned(sizeof(enum { one, two }))));\n#else\n"
     "typedef int t __attribute__((aligned(sizeof(enum { one, three, two }))));\n#endif\n",
     "#include <header.h>\nint f(void) { return two; }\n", false},
    {"nothing_else", "typedef int t;\n", "#ifdef B\n#include <header.h>\n#endif\n", false, "-pedantic"},
    {"header_of_the_system", "static inline int g(int a) { return a; }\n",
     "#ifdef B\n#include <system.h>\n#endif\n" + main_part, false},
    {"function_that_a_builtin_calls",
     "#ifdef A\nstatic inline char* strcpy(char* d, const char* s) { return d; }\n#else\n"
     "char* strcpy(char*, const char*);\n#endif\n",
     "#include <system.h>\nchar* f(char* d, const char* s) { return __builtin_strcpy(d, s); }\n", false},
    {"header_of_the_project", "", "#ifdef B\nstatic inline int g(int a) { return a; }\n#endif\n" + main_part,
     false},
    {"warnings_in_system_headers", "static inline int g(int a) { return a; }\n", included_by_b, false,
     "-Wsystem-headers"},
    {"unused_types", "typedef int t;\n", included_by_b, false, "-g -fno-eliminate-unused-debug-types"},
};

class Waiting : public FrontDoorTest, public ::testing::WithParamInterface<Case> {};

TEST_P(Waiting, OutcomeIsThatOfCompiling) {
  const Case& each = GetParam();
  write("src/clang/include/header.h", each.header);
  write("src/sys/system.h", each.header);
  write("src/a.c", each.source);
  const std::string command = std::string("$CC -O2 -Wall ") + each.flags +
                              " -resource-dir clang -isystem sys -c a.c -o ../build/a.o -D";
  const std::string truth_said = sh(command + "B");
  const Digest truth = unit_of("build/a.o").module;
  session_.cache = path("cache");
  ASSERT_TRUE(store::Cache::open(session_.cache));
  use_level("cached", "x86-64");
  sh(command + "A");
  EXPECT_EQ(sh(command + "B"), truth_said);
  EXPECT_EQ(unit_of("build/a.o").module, truth);
  const auto log = session::read_compile_log(session_);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->reused, each.reused ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Waiting, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace

} // namespace xaas::known
