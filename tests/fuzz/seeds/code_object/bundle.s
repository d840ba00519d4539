# A bundle with a code object, and one without any behind it. The assembler finds the code object beside its output (-I).
  .data
bundle:
  .ascii "__CLANG_OFFLOAD_BUNDLE__"
  .quad 2
  .quad 4096, 0, host_end - host
host:
  .ascii "host-x86_64-unknown-linux-gnu-"
host_end:
  .quad 4096, object_end - object, device_end - device
device:
  .ascii "hipv4-amdgcn-amd-amdhsa--gfx90a"
device_end:
  .zero 4096 - (. - bundle)
object:
  .incbin "object"
object_end:
  .zero (4096 - (. - bundle) % 4096) % 4096
  .ascii "__CLANG_OFFLOAD_BUNDLE__"
  .quad 1
  .quad 4096, 0, 30
  .ascii "host-x86_64-unknown-linux-gnu-"
