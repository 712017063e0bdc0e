/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright the freehca authors */
/* What lwIP asks of a compiler and a C library. The image has no C library: The headers
   in the folder libc declare the functions that lwIP calls. */
#ifndef FREEHCA_WEB_ARCH_CC_H
#define FREEHCA_WEB_ARCH_CC_H

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_LIMITS_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_NO_CTYPE_H 1
/* As a C library has it. lwIP's own definition differs from those of C++ headers. */
typedef __PTRDIFF_TYPE__ ssize_t;
#define SSIZE_MAX __PTRDIFF_MAX__

#define BYTE_ORDER LITTLE_ENDIAN

#ifdef __cplusplus
extern "C" {
#endif
/* Prints the text, switches the adapter's access to memory off, and ends the image as failed. */
__attribute__((noreturn)) void freehca_web_assertion_failed(const char* text);
/* Memory for lwIP's heap, set before lwip_init(). */
extern unsigned char* freehca_web_heap;
/* The initial sequence number of a TCP connection. */
__UINT32_TYPE__ freehca_web_sequence_number(void);
#ifdef __cplusplus
}
#endif

#define LWIP_PLATFORM_ASSERT(text) freehca_web_assertion_failed(text)
#define LWIP_PLATFORM_DIAG(arguments)
#define LWIP_HOOK_TCP_ISN(local, local_port, remote, remote_port) freehca_web_sequence_number()

#endif
