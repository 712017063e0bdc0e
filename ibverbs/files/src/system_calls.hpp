// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions of the C library that the library's own parts call.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstddef>

#include "system_call.hpp"

namespace freehca::ibverbs_files {

inline constinit system_call<int(int, const char*, int, ...)> system_openat{"openat"};
inline constinit system_call<int(int, const char*, struct stat*, int)> system_fstatat{"fstatat"};
inline constinit system_call<int(int, struct stat*)> system_fstat{"fstat"};
inline constinit system_call<ssize_t(const char*, char*, std::size_t)> system_readlink{"readlink"};
inline constinit system_call<DIR*(int)> system_fdopendir{"fdopendir"};
inline constinit system_call<struct dirent*(DIR*)> system_readdir{"readdir"};
inline constinit system_call<int(DIR*)> system_closedir{"closedir"};

}  // namespace freehca::ibverbs_files
