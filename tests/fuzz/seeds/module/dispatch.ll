target triple = "x86_64-pc-linux-gnu"
@chosen = ifunc i32 (i32), ptr @resolve
define internal i32 @plain(i32 %a) { ret i32 %a }
define internal i32 @wide(i32 %a) "xaas-target"="target:avx512f" {
  %v = insertelement <16 x i32> zeroinitializer, i32 %a, i32 3
  %s = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %v)
  ret i32 %s
}
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
define internal ptr @resolve() {
  %id = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},0,2"(i32 7, i32 0)
  %b = extractvalue { i32, i32, i32, i32 } %id, 1
  %bit = and i32 %b, 65536
  %has = icmp ne i32 %bit, 0
  %f = select i1 %has, ptr @wide, ptr @plain
  ret ptr %f
}
