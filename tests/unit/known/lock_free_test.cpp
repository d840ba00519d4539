// Sources that ask whether atomic operations are lock-free: reused where the width of inline atomics differs,
// or compiled again.
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

namespace xaas::known {

namespace {

struct LockFreeQuery {
  const char* name;
  const char* source;
  unsigned reused; // after a compile for a level with another width of inline atomics
  const char* extension = "cpp";
};

class LockFree : public frontdoor::FrontDoorTest, public ::testing::WithParamInterface<LockFreeQuery> {
protected:
  uint64_t reused() const {
    const auto log = session::read_compile_log(session_);
    EXPECT_TRUE(log && log->compiled + log->reused == 1);
    return log ? log->reused : 0;
  }
};

TEST_P(LockFree, ReadsTheWidthOfAtomics) {
  const LockFreeQuery& query = GetParam();
  const std::string file = std::string("a.") + query.extension;
  const std::string common =
      "struct wide { long a, b; };\n#define ASK(T) __atomic_always_lock_free(sizeof(T), 0)\n";
  write("src/" + file, common + query.source);
  const std::string options = query.extension == std::string("c") ? "" : "-std=c++20 ";
  const std::string command = "$CC " + options + "-O2 -w -c " + file + " -o ../build/a.o";
  for (const std::string& first : {"x86-64", "x86-64-v2"}) {
    session_.cache = path("cache-" + first);
    ASSERT_TRUE(store::Cache::open(session_.cache));
    use_level("first-" + first, first);
    sh(command);
    EXPECT_EQ(reused(), 0u) << first;
    use_level("second-" + first, first == "x86-64" ? "x86-64-v2" : "x86-64");
    sh(command);
    EXPECT_EQ(reused(), query.reused) << first;
  }
}

const LockFreeQuery queries[] = {
    {"operations",
     "#include <atomic>\n#include <memory>\n#include <mutex>\n#include <string>\n"
     "std::shared_ptr<int> f(std::atomic<long>& a) { return std::make_shared<int>(a++); }\n",
     1},
    {"c",
     "_Atomic int x; int f(int* p) { return ++x + __atomic_fetch_add(p, 1, 5) + __sync_add_and_fetch(p, 2); "
     "}\n",
     1, "c"},
    {"narrow", "bool f() { return ASK(int) && ASK(long); }\n", 1},
    {"narrow_member",
     "#include <atomic>\nbool f(std::atomic<int>& a) { return std::atomic<long>::is_always_lock_free && "
     "a.is_lock_free(); }\n",
     1},
    {"narrow_variable",
     "template <class T> struct asks { static constexpr bool ask = ASK(T); };\n"
     "template <class T> constexpr bool ask = asks<T>::ask;\nbool f() { return ask<int>; }\n",
     1},
    {"narrow_template",
     "template <class T> bool ask() { return ASK(T); }\nbool f() { return ask<short>(); }\n", 1},
    {"not_instantiated", "template <class T> bool ask() { return ASK(T); }\nwide w;\n", 1},
    {"wide", "bool f() { return ASK(wide); }\n", 0},
    {"wide_c", "int f(void) { return ASK(struct wide); }\n", 0, "c"},
    {"c11", "_Atomic struct wide w; int f(void) { return __c11_atomic_is_lock_free(sizeof w); }\n", 0, "c"},
    {"wide_operation", "wide w, v;\nvoid f() { __atomic_load((__int128*)&w, (__int128*)&v, 5); }\n", 0},
    {"wide_member", "#include <atomic>\nbool f() { return std::atomic<wide>::is_always_lock_free; }\n", 0},
    {"function_template",
     "template <class T> bool ask() { return ASK(T); }\nbool f() { return ask<wide>(); }\n", 0},
    {"function_of_class",
     "template <class T> struct asks { bool ask() { return ASK(T); } };\nbool f() { return "
     "asks<wide>().ask(); }\n",
     0},
    {"function_template_of_class",
     "template <class T> struct asks { template <class U> bool ask() { return ASK(T) + ASK(U); } };\n"
     "bool f() { return asks<int>().ask<wide>(); }\n",
     0},
    {"out_of_line",
     "template <class T> struct asks { bool ask(); };\ntemplate <class T> bool asks<T>::ask() { return "
     "ASK(T); }\n"
     "bool f() { return asks<wide>().ask(); }\n",
     0},
    {"partial_specialization",
     "template <class T> struct asks {};\ntemplate <class T> struct asks<T*> { static bool ask() { return "
     "ASK(T); } };\n"
     "bool f() { return asks<wide*>::ask(); }\n",
     0},
    {"explicit_instantiation",
     "template <class T> struct asks { static bool ask() { return ASK(T); } };\ntemplate struct "
     "asks<wide>;\n",
     0},
    {"variable_template", "template <class T> constexpr bool ask = ASK(T);\nbool f() { return ask<wide>; }\n",
     0},
    {"static_member",
     "template <class T> struct asks { static constexpr bool ask = ASK(T); };\nbool f() { return "
     "asks<wide>::ask; }\n",
     0},
    {"static_member_defined_later",
     "template <class T> struct asks { static const bool ask; };\n"
     "template <class T> const bool asks<T>::ask = ASK(T);\nbool f() { return asks<wide>::ask; }\n",
     0},
    {"unevaluated_call",
     "template <class T> constexpr bool ask() { return ASK(T); }\ntemplate <bool> struct result { int i; };\n"
     "int f() { return sizeof(result<ask<wide>()>); }\n",
     0},
    {"if_constexpr",
     "template <class T> int ask() { if constexpr (ASK(T)) return 1; else return 2; }\nint f() { return "
     "ask<wide>(); }\n",
     0},
    {"local_class",
     "template <class T> bool ask() { struct local { bool in() { return ASK(T); } }; return local().in(); }\n"
     "bool f() { return ask<wide>(); }\n",
     0},
    {"nested_class",
     "template <class T> struct asks { struct in { bool ask() { return ASK(T); } }; };\n"
     "bool f() { return asks<wide>::in().ask(); }\n",
     0},
    {"lambda",
     "template <class T> bool ask() { return [] { return ASK(T); }(); }\nbool f() { return ask<wide>(); }\n",
     0},
    {"generic_lambda", "bool f(wide w) { return [](auto a) { return ASK(a); }(w); }\n", 0},
    {"default_argument",
     "template <class T> bool ask(bool b = ASK(T)) { return b; }\nbool f() { return ask<wide>(); }\n", 0},
    {"template_argument",
     "template <bool> struct result { int i = 1; };\ntemplate <> struct result<false> { long i = 2; };\n"
     "template <class T> int ask() { return result<ASK(T)>().i; }\nint f() { return ask<wide>(); }\n",
     0},
    {"overload",
     "template <bool> struct only {};\ntemplate <> struct only<true> { using type = int; };\n"
     "template <class T, class = typename only<ASK(T)>::type> int ask(int) { return 1; }\n"
     "template <class T> int ask(long) { return 2; }\nint f() { return ask<wide>(0); }\n",
     0},
    {"concept",
     "template <class T> concept lock_free = ASK(T);\ntemplate <class T> int ask() { return 2; }\n"
     "template <lock_free T> int ask() { return 1; }\nint f() { return ask<wide>(); }\n",
     0},
    {"requires_clause",
     "template <class T> int ask() { return 2; }\ntemplate <class T> requires(ASK(T)) int ask() { return 1; "
     "}\n"
     "int f() { return ask<wide>(); }\n",
     0},
    {"requires_expression",
     "template <class T> bool ask() { return requires { requires ASK(T); }; }\nbool f() { return "
     "ask<wide>(); }\n",
     0},
    {"exception_specification",
     "template <class T> void ask() noexcept(ASK(T));\nbool f() { return noexcept(ask<wide>()); }\n", 0},
    {"explicit_specifier",
     "template <class T> struct asks { explicit(ASK(T)) asks(T); };\n"
     "template <class T> int is(asks<T>);\ntemplate <class T> long is(...);\n"
     "int f(wide w) { return sizeof(is<wide>(w)); }\n",
     0},
    {"constructor",
     "template <class T> struct asks { bool b; asks() : b(ASK(T)) {} };\nbool f() { return asks<wide>().b; "
     "}\n",
     0},
    {"member_initializer",
     "template <class T> struct asks { bool b = ASK(T); };\nbool f() { return asks<wide>().b; }\n", 0},
    {"bit_field", "template <class T> struct asks { int b : 2 + ASK(T); };\nasks<wide> a = {2};\n", 0},
    {"enumerator",
     "template <class T> struct asks { enum { b = ASK(T) }; };\nbool f() { return asks<wide>::b; }\n", 0},
    {"array",
     "template <class T> int ask() { return sizeof(char[1 + ASK(T)]); }\nint f() { return ask<wide>(); }\n",
     0},
    {"friend",
     "template <class T> struct asks { friend bool ask(asks) { return ASK(T); } };\n"
     "bool f() { return ask(asks<wide>()); }\n",
     0},
    {"narrowing",
     "template <class T> auto ask(int) -> decltype(char{ASK(T) ? 1 : 1000}) { return 1; }\n"
     "template <class T> int ask(long) { return 2; }\nint f() { return ask<wide>(0); }\n",
     0},
    {"choice", "int f(void) { return sizeof(__builtin_choose_expr(ASK(struct wide), (char)1, 1)); }\n", 0,
     "c"},
    {"constant_context",
     "constexpr bool ask() { return __atomic_always_lock_free(__builtin_is_constant_evaluated() ? 16 : 8, "
     "0); }\n"
     "constexpr bool c = ask();\nint f() { return c; }\n",
     0},
    {"size_of_a_parameter",
     "constexpr bool ask(unsigned long n) { return __atomic_always_lock_free(n, 0); }\n"
     "bool f() { constexpr bool b = ask(16); return b; }\n",
     0},
};

INSTANTIATE_TEST_SUITE_P(All, LockFree, ::testing::ValuesIn(queries),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace

} // namespace xaas::known
