# PTX for sm_90a, and a cubin for sm_100f that has a section .nv.compat.
  .data
  .long 0xba55ed50
  .short 1, 16
  .quad file_end - file
file:
  .short 1, 0x0101
  .long ptx - ptx_header
  .quad ptx_end - ptx
  .long 0, 64
  .short 8, 7
  .long 90, 0, 0
  .quad 0x100011, 0, 0
  .long 72, 0
  .quad 0
  .equ ptx_header, file
ptx:
  .ascii ".version 7.8\n.target sm_90a\n.address_size 64\n"
  .byte 0
  .balign 8
ptx_end:
  .short 2, 0x0101
  .long cubin - ptx_end
  .quad cubin_end - cubin
  .long 0, 64
  .short 8, 1
  .long 100, 0, 0
  .quad 0x1200011, 0, 0
  .long 72, 8
  .byte 0
  .byte 2, 9, 0, 0, 2, 2, 1, 0
  .balign 8
cubin:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8
  .fill 7
  .short 2, 190
  .long 1
  .quad 0, 0, sections - cubin
  .long 0x06006402
  .short 64, 0, 0, 64, 3, 1
names:
  .ascii "\0.shstrtab\0.nv.compat\0"
names_end:
compatible:
  .byte 2, 9, 0, 0, 2, 2, 1, 0
compatible_end:
  .balign 8
sections:
  .fill 8, 8, 0
  .long 1, 3
  .quad 0, 0, names - cubin, names_end - names, 0, 1, 0
  .long 11, 0x70000086
  .quad 0, 0, compatible - cubin, compatible_end - compatible, 0, 4, 0
cubin_end:
file_end:
