# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A build from nothing spends most of its time on headers that each source reads again. With
# FREEHCA_FEW_FILES=ON the sources of a folder are compiled as one: what `./dev demo --vfio-user`
# does, and the builds of a whole `./dev test`. FREEHCA_FEW_FILES=HOSTED compiles the core as it
# ships, source by source: its recorded figures are those of such a build. OFF, the default, is what
# is quick for one changed source.
# The test layering.sources_alone compiles alone what was compiled together: nothing else shows an
# include that a source forgot.
set(FREEHCA_FEW_FILES OFF CACHE STRING "Compile the sources of a folder as one: OFF, ON or HOSTED")

# freehca_apart(SOURCE...): they have names of their own that others of their folder have too, and
# are compiled one by one all the same. To be said before the target is made.
function(freehca_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# freehca_few_files(TARGET [AS_SHIPPED]): its sources, folder by folder. AS_SHIPPED: it is a library
# of the core as it ships. A class of a source lies in an unnamed namespace, which g++ takes for a
# fault of a header.
function(freehca_few_files target)
  if(NOT FREEHCA_FEW_FILES OR (FREEHCA_FEW_FILES STREQUAL "HOSTED" AND "${ARGN}" STREQUAL "AS_SHIPPED"))
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(here ${target} SOURCE_DIR)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${here})
    file(RELATIVE_PATH path ${here} ${path})
    get_filename_component(group ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${group}" group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "in_${group}")
  endforeach()
endfunction()

# freehca_few_test_files(TARGET [INITIALS...]): a program of tests. Its sources are compiled
# together: those with one of these initials each time ("a-e"), or all of them.
function(freehca_few_test_files target)
  if(NOT FREEHCA_FEW_FILES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(groups ${ARGN})
  if(NOT groups)
    set(groups "a-z")
  endif()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    foreach(initials ${groups})
      if(name MATCHES "^[${initials}].*[.]cpp$")
        string(MAKE_C_IDENTIFIER "${initials}" group)
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                    PROPERTIES UNITY_GROUP "${group}")
      endif()
    endforeach()
  endforeach()
endfunction()

# freehca_compile_quickly(TARGET...): programs that do not ship, and that spend little time in their
# own sources and in templates of headers. If a program and a library both have a template, the
# linker takes the program's copy: in a program of -O0 the library's JSON reader is -O0 too.
function(freehca_compile_quickly)
  freehca_compile_quickly_sanitized(${ARGN})
  freehca_compile_quickly_unsanitized(${ARGN})
endfunction()

# freehca_compile_quickly_sanitized(TARGET...): with sanitizers alone, where clang takes twice as
# long to optimise these as to compile them without.
function(freehca_compile_quickly_sanitized)
  if(FREEHCA_SANITIZE AND NOT FREEHCA_FUZZ)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -O0)
    endforeach()
  endif()
endfunction()

# freehca_compile_quickly_unsanitized(TARGET...): without sanitizers alone, where g++ takes twice as
# long for -O2 as for -Og.
function(freehca_compile_quickly_unsanitized)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_BUILD_TYPE STREQUAL Debug
     AND NOT FREEHCA_SANITIZE AND NOT FREEHCA_SANITIZE_THREADS)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -Og)
    endforeach()
  endif()
endfunction()
