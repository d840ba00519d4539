target triple = "x86_64-pc-linux-gnu"
$shared = comdat any
@state = thread_local global i64 0
@shared = linkonce_odr global i32 7, comdat
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]
declare i32 @__gxx_personality_v0(...)
declare void @may_throw(i32)
define internal void @start() {
  store i64 1, ptr @state
  ret void
}
define i32 @guarded(i32 %a) personality ptr @__gxx_personality_v0 {
  invoke void @may_throw(i32 %a) to label %fine unwind label %caught
fine:
  %v = load i32, ptr @shared
  ret i32 %v
caught:
  %pad = landingpad { ptr, i32 } catch ptr null
  %what = extractvalue { ptr, i32 } %pad, 1
  ret i32 %what
}
