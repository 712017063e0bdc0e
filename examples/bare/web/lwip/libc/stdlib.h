/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright the freehca authors */
/* lwIP includes this header. It calls no function of it in this configuration. */
#ifndef FREEHCA_WEB_STDLIB_H
#define FREEHCA_WEB_STDLIB_H

int atoi(const char* text);

#endif
