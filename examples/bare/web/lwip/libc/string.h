/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright the freehca authors */
/* The functions of a C library that lwIP calls. The first four are in
   hal/targets/bare/src/memory.cpp, the others in lwip_port.cpp. */
#ifndef FREEHCA_WEB_STRING_H
#define FREEHCA_WEB_STRING_H

void* memcpy(void* to, const void* from, __SIZE_TYPE__ bytes);
void* memmove(void* to, const void* from, __SIZE_TYPE__ bytes);
void* memset(void* to, int value, __SIZE_TYPE__ bytes);
int memcmp(const void* a, const void* b, __SIZE_TYPE__ bytes);
__SIZE_TYPE__ strlen(const char* text);
int strncmp(const char* a, const char* b, __SIZE_TYPE__ most);

#endif
