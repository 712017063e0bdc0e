# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The presets turn this on. Off by default: a newer compiler of a user may know warnings that no
# compiler of ours has.
option(FREEHCA_WERROR "Make each warning of the compiler an error" OFF)
add_library(freehca_warnings INTERFACE)
target_compile_options(freehca_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast -Wundef
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align $<$<BOOL:${FREEHCA_WERROR}>:-Werror>)
# Where the sources of a folder are compiled as one, a name may also hide one of another source.
target_compile_options(freehca_warnings INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:FREEHCA_JOINED>>>:-Wshadow>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 g++ 12 takes "text" + std::string for a copy that overlaps itself (GCC's bugs 105329 and
  # 105651, mended in GCC 13).
  target_compile_options(freehca_warnings INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
endif()

if(FREEHCA_SANITIZE OR FREEHCA_SANITIZE_THREADS)
  # Programs with sanitizers are large: lld links them in less than half of the time.
  find_program(FREEHCA_LLD ld.lld NO_CACHE)
  if(FREEHCA_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(FREEHCA_SANITIZE)
  # The model has no RTTI, so a test that looks at an object of its by the type of the vptr finds
  # none.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=vptr
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(FREEHCA_SANITIZE_THREADS)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(FREEHCA_FUZZ)
  # What inputs are compared with is not followed: it took a third of the time, and the inputs name
  # the numbers that matter by themselves. Checks of each pointer that is used, but for the address
  # sanitizer's, are left to the replay of the corpus.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp,indirect-calls
                      -fno-sanitize=alignment,null,object-size,pointer-overflow)
endif()
