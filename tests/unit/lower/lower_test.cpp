#include "lower/testing.h"

#include <xaas/ir/canonical.h>
#include <xaas/ir/needed_features.h>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace xaas::lower {

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST(Lower, MakesAnObject) {
  const auto object = lower(job_of("define i32 @f(i32 %a) { %b = add i32 %a, 1 ret i32 %b }"));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_TRUE(object->bytes.starts_with("\177ELF"));
  EXPECT_EQ(object->bytes, lower(job_of("define i32 @f(i32 %a) { %b = add i32 %a, 1 ret i32 %b }"))->bytes);
}

// False for the tiles of AMX, and for vectors that a function with fewer features may not pass.
bool is_small(llvm::Type* type) {
  if (auto* const structure = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::all_of(structure->elements(), is_small);
  if (type->isVectorTy())
    return type->getPrimitiveSizeInBits() <= 128 && !type->getScalarType()->isHalfTy() &&
           !type->getScalarType()->isBFloatTy() && !type->getScalarType()->isIntegerTy(1);
  return type->isVoidTy() || type->isIntegerTy() || type->isFloatTy() || type->isDoubleTy() ||
         type->isPointerTy();
}

// Those of registers that are wider in 64-bit mode, and those that only passes of LLVM use.
bool is_never_called(llvm::StringRef intrinsic) {
  return intrinsic == "llvm.x86.flags.read.u32" || intrinsic == "llvm.x86.flags.write.u32" ||
         intrinsic.ends_with(".internal");
}

// A module with every intrinsic of x86 whose features are known, in a function for each that has these.
std::string all_intrinsics(size_t& count) {
  llvm::LLVMContext context;
  llvm::Module module("a.c", context);
  module.setTargetTriple(llvm::Triple("x86_64-pc-linux-gnu"));
  for (unsigned id = 1; id < llvm::Intrinsic::num_intrinsics; ++id) {
    const auto features = ir::features_of_intrinsic(id);
    if (!features || llvm::Intrinsic::isOverloaded(id) || is_never_called(llvm::Intrinsic::getBaseName(id)))
      continue;
    llvm::Function* const intrinsic = llvm::Intrinsic::getOrInsertDeclaration(&module, id);
    llvm::FunctionType* const type = intrinsic->getFunctionType();
    if (!is_small(type->getReturnType()) || !llvm::all_of(type->params(), is_small))
      continue;
    ++count;
    auto* const function =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f" + std::to_string(id), module);
    if (!features->empty())
      function->addFnAttr(ir::written_attribute, "target:" + llvm::join(*features, ","));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function->args())
      arguments.push_back(intrinsic->hasParamAttribute(argument.getArgNo(), llvm::Attribute::ImmArg)
                              ? llvm::ConstantInt::get(argument.getType(), 4) // the current rounding mode
                              : static_cast<llvm::Value*>(&argument));
    llvm::CallInst* const call = builder.CreateCall(intrinsic, arguments);
    if (type->getReturnType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// The back end exits if it has no instruction for one.
TEST(Lower, IntrinsicsNeedTheFeaturesOfTheTable) {
  size_t count = 0;
  Job job = job_of(all_intrinsics(count));
  job.target = *target::cpu_by_name("x86_64", "x86-64");
  EXPECT_GT(count, 300u);
  for (const Form form : {Form::working, Form::object}) {
    job.form = form;
    const auto object = lower(job);
    ASSERT_TRUE(object) << object.error().message;
  }
}

TEST(Lower, NamesUnitAndModuleOfDamagedBitcode) {
  Job job = job_of("define void @f() { ret void }");
  for (size_t size : {size_t(0), size_t(3), job.bitcode.size() / 2, job.bitcode.size() - 8}) {
    Job damaged = job;
    damaged.bitcode.resize(size);
    const auto object = lower(damaged);
    ASSERT_FALSE(object) << size;
    EXPECT_EQ(object.error().kind, ErrorKind::integrity);
    EXPECT_THAT(object.error().message, HasSubstr("a.c (module sha256:"));
  }
}

// A hostile module must not copy a file of this machine into an image, however it writes the directive.
TEST(Lower, AssemblyOpensNoFile) {
  const char* const hostile[] = {
      R"(module asm ".data\0A.incbin \22/etc/hostname\22")",
      R"(module asm ".data\0A.InClUdE \22/etc/hostname\22")",
      R"(module asm ".macro m x\0A.inc\\x \22/etc/hostname\22\0A.endm\0A.data\0Am bin")",
      R"(define void @f() { call void asm sideeffect ".in{cbin|cbin} \22/etc/hostname\22", ""() ret void })",
      R"(define void @f() { call void asm sideeffect ".inc$|bin \22/etc/hostname\22", ""() ret void })",
      R"(@bin = global i32 0
         define void @f() { call void asm sideeffect ".inc${0:P} \22/etc/hostname\22", "i"(ptr @bin) ret void })",
  };
  for (const char* text : hostile) {
    const auto object = lower(job_of(text));
    EXPECT_FALSE(object) << text;
  }
  // And afterwards files can be opened again.
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_GE(fd, 0);
  close(fd);
}

TEST(Lower, RefusedAssemblyIsAnErrorOfTheModule) {
  const auto object = lower(job_of("module asm \"nonsense\""));
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, ErrorKind::failed);
}

TEST(LowerAll, ManyJobsFewWorkers) {
  std::map<size_t, Object> objects;
  const auto done = lower_all(
      9,
      [](size_t i) -> Result<Job> {
        return job_of("define i32 @f" + std::to_string(i) + "() { ret i32 " + std::to_string(i) + " }");
      },
      [&](size_t i, Object object) -> Result<void> {
        objects[i] = std::move(object);
        return {};
      },
      {.workers = 2});
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(objects.size(), 9u);
  EXPECT_EQ(objects[4].bytes, lower(job_of("define i32 @f4() { ret i32 4 }"))->bytes);
}

TEST(LowerAll, AWorkerThatDiesIsAnErrorThatNamesTheModule) {
  Job job = job_of("define void @f() { ret void }");
  job.options.codegen["OptimizationLevel"] = 1;
  const auto run = [&](const Job& bad) {
    return lower_all(
        3, [&](size_t i) -> Result<Job> { return i == 1 ? bad : job; },
        [](size_t, const Object&) { return Result<void>(); }, {.workers = 2});
  };
  ASSERT_TRUE(run(job));
  Job hostile = job;
  hostile.bitcode = "BC\xC0\xDE junk";
  const auto refused = run(hostile);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
  // A call that the back end cannot select ends the process that tries.
  const Job crash = job_of(
      "declare void @llvm.aarch64.clrex()\ndefine void @f() { call void @llvm.aarch64.clrex() ret void }");
  const auto died = run(crash);
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().kind, ErrorKind::failed); // the module itself may be valid
  EXPECT_THAT(died.error().message, AllOf(HasSubstr("a.c (module sha256:"), HasSubstr("fault of xaas")));
}

// The assembler would write gigabytes, for a long time.
constexpr const char* endless = "module asm \".rept 2000000000\\0A.byte 1\\0A.endr\"";

TEST(LowerAll, AModuleThatTakesTooLongIsAnErrorThatNamesIt) {
  const auto over = lower_all(
      1, [](size_t) -> Result<Job> { return job_of(endless); },
      [](size_t, const Object&) { return Result<void>(); }, {.workers = 1, .memory = 0, .cpu_seconds = 0.1});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, ErrorKind::failed);
  EXPECT_THAT(over.error().message, AllOf(HasSubstr("a.c (module sha256:"), HasSubstr("CPU time")));
}

// False under an emulator of system calls, which ignores RLIMIT_DATA.
bool data_is_limited() {
  constexpr size_t size = 64 << 20;
  rlimit before{};
  getrlimit(RLIMIT_DATA, &before);
  const rlimit low{1 << 20, before.rlim_max};
  setrlimit(RLIMIT_DATA, &low);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  setrlimit(RLIMIT_DATA, &before);
  if (memory != MAP_FAILED)
    munmap(memory, size);
  return memory == MAP_FAILED;
}

TEST(LowerAll, AModuleThatNeedsTooMuchMemoryIsTriedAloneAndThenAnErrorThatNamesIt) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "with AddressSanitizer, memory has no limit";
#endif
  if (!data_is_limited())
    GTEST_SKIP() << "this machine, an emulator, has no limit of memory";
  size_t finished = 0;
  const auto over = lower_all(
      4,
      [](size_t i) -> Result<Job> {
        return job_of(i == 1 ? endless : "define i32 @f() { ret i32 " + std::to_string(i) + " }");
      },
      [&](size_t, const Object&) {
        ++finished;
        return Result<void>();
      },
      {.workers = 2, .memory = 160 << 20});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, ErrorKind::failed);
  EXPECT_THAT(over.error().message, AllOf(HasSubstr("a.c (module sha256:"), HasSubstr("memory")));
  EXPECT_EQ(finished, 3u); // the others first
}

// A line of assembly makes an object of any size. (The assembler builds it in memory first, and 32 MiB are
// quick.)
TEST(LowerAll, AModuleThatMakesTooMuchIsAnErrorThatNamesItAndTheLimit) {
  Job job = job_of("module asm \".fill 0x2000000,1,0\"");
  const auto over = lower_all(
      1, [&](size_t) -> Result<Job> { return job; }, [](size_t, const Object&) { return Result<void>(); },
      {.workers = 1, .object = 1 << 20});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, ErrorKind::failed);
  EXPECT_THAT(over.error().message, AllOf(HasSubstr("a.c (module sha256:"), HasSubstr("bytes allowed")));
  job = job_of("module asm \".fill 0x2000,1,0\"");
  const auto here = lower(job, {.bytes = 0x1000});
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().kind, ErrorKind::failed);
  EXPECT_THAT(here.error().message, AllOf(HasSubstr("a.c (module sha256:"), HasSubstr("4096 bytes")));
}

TEST(Lower, ForThinLto) {
  Job job = job_of("define internal void @g() \"xaas-plain\" { ret void }\n"
                   "define void @f() { call void @g() ret void }");
  job.form = Form::thin_lto;
  const auto bitcode = lower(job);
  ASSERT_TRUE(bitcode) << bitcode.error().message;
  llvm::LLVMContext context;
  const llvm::MemoryBufferRef buffer(bitcode->bytes, "a.c");
  auto info = llvm::getBitcodeLTOInfo(buffer);
  ASSERT_TRUE(static_cast<bool>(info));
  EXPECT_TRUE(info->IsThinLTO);
  EXPECT_TRUE(info->HasSummary);
  auto module = llvm::parseBitcodeFile(buffer, context);
  ASSERT_TRUE(static_cast<bool>(module));
  for (const llvm::Function& function : **module) {
    EXPECT_EQ(function.getFnAttribute("target-cpu").getValueAsString(), "haswell")
        << function.getName().str();
    EXPECT_TRUE(function.getFnAttribute("target-features").getValueAsString().contains("+avx2"));
  }

  // A definition that is reachable only by its section; one that only the compiler reads.
  Job special =
      job_of("@table = constant i32 1, section \"table\"\n"
             "@own = internal constant i32 2, section \"table\"\n"
             "@text = private constant [2 x i8] c\"x\\00\", section \"llvm.metadata\"\n"
             "@seen = constant i32 3, section \"llvm.metadata\"\n"
             "@llvm.used = appending global [1 x ptr] [ptr @own], section \"llvm.metadata\"\n"
             "@llvm.compiler.used = appending global [1 x ptr] [ptr @f], section \"llvm.metadata\"\n"
             "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
             "[{ i32, ptr, ptr } { i32 101, ptr @f, ptr @own }]\n"
             "@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] "
             "[{ ptr, ptr, ptr, i32, ptr } { ptr @f, ptr @text, ptr @text, i32 1, ptr null }], "
             "section \"llvm.metadata\"\n"
             "define internal void @f() { ret void }");
  special.form = Form::thin_lto;
  const auto kept = lower(special);
  ASSERT_TRUE(kept) << kept.error().message;
  auto special_module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(kept->bytes, "a.c"), context);
  ASSERT_TRUE(static_cast<bool>(special_module));
  std::set<std::string> used;
  llvm::SmallVector<llvm::GlobalValue*> values;
  for (const bool by_compiler : {false, true}) {
    values.clear();
    llvm::collectUsedGlobalVariables(**special_module, values, by_compiler);
    for (const llvm::GlobalValue* value : values)
      used.insert((by_compiler ? "compiler " : "all ") + value->getName().str());
  }
  EXPECT_THAT(used, ElementsAre("all own", "compiler f", "compiler table"));

  Job directive = job_of("define void @f() { call void asm \".byte 144\", \"\"() ret void }");
  directive.form = Form::thin_lto;
  const auto object = lower(directive);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->bytes.substr(0, 4), "\177ELF");
}

TEST(Lower, SaysWhatTheSourceAskedForItself) {
  Job job =
      job_of("define void @f() \"xaas-target\"=\"target:avx512f\" { ret void }\n"
             "define void @g() \"xaas-target\"=\"target:avx2\" { call void asm \"\", \"\"() ret void }");
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->own.features, Contains("avx512f"));
  EXPECT_THAT(object->own.features, Not(Contains("avx2"))); // Haswell has it
  EXPECT_FALSE(object->own.assembly);
  job.unit.machine.features = {"+sse4a"};
  EXPECT_THAT(lower(job)->own.features, Contains("sse4a"));
  EXPECT_TRUE(lower(job_of("define void @f() { call void asm \"nop\", \"\"() ret void }"))->own.assembly);

  const auto again = parse_object(to_bytes(*object));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->own, object->own);
  EXPECT_EQ(again->bytes, object->bytes);
  EXPECT_TRUE(parse_object("\n0\n0\n0\n0\nELF"));
  for (const char* damaged : {"", "asm", "what\n0\n0\n0\n0\nELF", " nofeature\n0\n0\n0\n0\nELF", "asm\nELF",
                              "\n1\nELF", "\n0\n1\nELF", "\n0\n0\n1\nELF", "\n0\n0\n0\nELF", "\n0\n0\n1\n9:a",
                              "\n-1\n", "\n99999999999999999999\n"})
    EXPECT_FALSE(parse_object(damaged)) << damaged;
}

TEST(Lower, SaysWhatAnObjectWants) {
  const Job job = job_of("declare void @callee()\n"
                         "define void @copy(ptr %a, ptr %b, i64 %n) {\n"
                         "  call void @callee()\n"
                         "  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)\n"
                         "  ret void\n"
                         "}\n"
                         "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n");
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->wanted, IsSupersetOf({"callee", "memcpy"}));
  EXPECT_EQ(parse_object(to_bytes(*object))->wanted, object->wanted);

  Job names = job;
  names.form = Form::symbols;
  const auto symbols = lower(names);
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_THAT(symbols->wanted, ElementsAre("callee"));
  const auto defined = parse_names(symbols->bytes);
  ASSERT_TRUE(defined) << defined.error().message;
  EXPECT_THAT(*defined, ElementsAre("copy"));
}

TEST(Lower, NamesMayHaveAnyCharacter) {
  const std::set<std::string> names = {"", "a b", "a\nb", "1:c", std::string("d\0e", 3)};
  const auto again = parse_names(to_bytes(names));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, names);
  EXPECT_FALSE(parse_names(to_bytes(names) + "x"));
}

} // namespace

} // namespace xaas::lower
