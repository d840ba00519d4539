target triple = "x86_64-pc-linux-gnu"
@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
declare double @llvm.fmuladd.f64(double, double, double)
define internal i32 @pick(i32 %i) noinline {
  %at = getelementptr [4 x i32], ptr @table, i64 0, i32 %i
  %v = load i32, ptr %at, !tbaa !0
  ret i32 %v
}
define double @dot(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %px = getelementptr double, ptr %x, i64 %i
  %py = getelementptr double, ptr %y, i64 %i
  %a = load double, ptr %px
  %b = load double, ptr %py
  %t = call reassoc double @llvm.fmuladd.f64(double %a, double %b, double %s)
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !3
done:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  %k = call i32 @pick(i32 1)
  %f = sitofp i32 %k to double
  %q = fadd double %r, %f
  ret double %q
}
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2}
!2 = !{!"root"}
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.mustprogress"}
