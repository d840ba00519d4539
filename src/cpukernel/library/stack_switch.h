// From one stack to another, for each architecture.
//
// Sources: System V ABI, AMD64 supplement, "Registers"; Procedure Call Standard for the Arm 64-bit
// Architecture, "Register usage".
#pragma once

#include "system.h"

// Keeps the registers that a function must not change on the stack, stores where it ends, and goes on at
// `to`, which is such a place. MXCSR, the x87 control word and FPCR are not among them: no code of kernels
// changes them, and what it calls puts them back, so that all fibers have the same. Shadow stacks are off,
// because the kernels' objects are not marked for them.
__attribute__((visibility("hidden"))) void xaas_switch_stack(void** from, void* to);
#if defined(__x86_64__)
enum { kept_words = 6 };
__asm__(".pushsection .text\n"
        ".hidden xaas_switch_stack\n"
        ".globl xaas_switch_stack\n"
        ".type xaas_switch_stack, @function\n"
        "xaas_switch_stack:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  retq\n"
        ".size xaas_switch_stack, .-xaas_switch_stack\n"
        ".popsection\n");
// A place that xaas_switch_stack() goes on at, below `top`: it returns to `function`, whose stack is aligned
// as a call leaves it.
static void* new_place(char* top, void (*function)(void)) {
  void** place = (void**)top - 2;
  place[0] = (void*)function;
  place[1] = NULL; // that it would return to
  return memset(place - kept_words, 0, kept_words * sizeof(void*));
}
#elif defined(__aarch64__)
enum { kept_words = 20 };
__asm__(".pushsection .text\n"
        ".hidden xaas_switch_stack\n"
        ".globl xaas_switch_stack\n"
        ".type xaas_switch_stack, @function\n"
        "xaas_switch_stack:\n"
        "  stp x29, x30, [sp, #-160]!\n"
        "  stp x19, x20, [sp, #16]\n  stp x21, x22, [sp, #32]\n  stp x23, x24, [sp, #48]\n"
        "  stp x25, x26, [sp, #64]\n  stp x27, x28, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #16]\n  ldp x21, x22, [sp, #32]\n  ldp x23, x24, [sp, #48]\n"
        "  ldp x25, x26, [sp, #64]\n  ldp x27, x28, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  ldp x29, x30, [sp], #160\n"
        "  ret\n"
        ".size xaas_switch_stack, .-xaas_switch_stack\n"
        ".popsection\n");
static void* new_place(char* top, void (*function)(void)) {
  void** place = memset((void**)top - kept_words, 0, kept_words * sizeof(void*));
  place[1] = (void*)function; // x30
  return place;
}
#else
#error "xaas_switch_stack() is missing for this architecture"
#endif
