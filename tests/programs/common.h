#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))
#define A(...) __attribute__((__VA_ARGS__))
#ifdef __cplusplus
#define C extern "C"
#else
#define C
#endif
