# Compressed images, with a name and options of ptxas, as nvcc makes them; then another fat binary, as in a program of
# two units.
  .data
  .long 0xba55ed50
  .short 1, 16
  .quad file_end - file
file:
  .short 2, 0x0101
  .long 64
  .quad cubin_end - cubin
  .long 13, 0
  .short 8, 1
  .long 90, 0, 0
  .quad 0x8011, 0, 3440
cubin:
  .quad 0x551c0c7060fd2fb5, 0x00004600
cubin_end:
  .short 1, 0x0101
  .long ptx - cubin_end
  .quad ptx_end - ptx
  .long 20, 72
  .short 0, 9
  .long 90, 64, 6
  .quad 0x2011, 0, 190
  .asciz "foo.cu"
  .balign 8
  .long 80, 4
  .asciz "-O3 "
  .balign 8
ptx:
  .byte 0xf3, 0x52
  .ascii ".version 7.8\n.targ"
  .balign 8
ptx_end:
  .short 8, 0x0101
  .long 64
  .quad 16
  .long 9, 0
  .short 65, 1
  .long 100, 0, 0
  .quad 0x18011, 0xe11a71ce, 2476
  .quad 0x1234567812345678, 0x12
file_end:
  .long 0xba55ed50
  .short 1, 16
  .quad 0
