# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Objects come out of ccache where it is installed. Paths inside the checkout are made relative and
# the folder of the build does not count, so that one cache serves every checkout. ccache demands
# the sloppiness for precompiled headers: nothing here asks for the time of day. ccache takes the
# list of included files from the compiler. Without CCACHE_DEPEND it runs the preprocessor for that,
# which is a fifth of the time of a compilation.
find_program(FREEHCA_CCACHE ccache NO_CACHE)
if(FREEHCA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
          ${FREEHCA_CCACHE})
endif()

# Nor does an object depend on where the checkout lies: the model's archive is part of the key under
# which a QEMU is kept.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

# freehca_precompile(TARGET HEADER...): the headers that nearly every source of the target reads,
# read once. By clang alone: g++'s form of them is so large that little is won. A source still
# includes what it uses, since g++ and clang-tidy read it without.
function(freehca_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # With a time in them, no object is ever taken out of the cache.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
