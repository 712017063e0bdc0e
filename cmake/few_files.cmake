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

# freehca_join(TARGET SOURCE GROUP [SOURCE GROUP]...): the target compiles the sources of a group as
# one, by a generated source. It includes them by relative paths, so that it is the same in every
# checkout and its object comes out of ccache. CMake's own UNITY_BUILD writes absolute paths.
# A class of a source lies in an unnamed namespace, which g++ takes for a fault of a header.
function(freehca_join target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(here ${target} SOURCE_DIR)
  get_target_property(folder ${target} BINARY_DIR)
  set(arguments ${ARGN})
  set(groups)
  while(arguments)
    list(POP_FRONT arguments source group)
    # What holds for one source alone is no matter of its group.
    set(alone)
    foreach(property SKIP_UNITY_BUILD_INCLUSION COMPILE_DEFINITIONS COMPILE_OPTIONS)
      get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
      if(value)
        set(alone ON)
      endif()
    endforeach()
    if(NOT alone)
      list(APPEND groups ${group})
      list(APPEND of_${group} ${source})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    list(LENGTH of_${group} count)
    if(count GREATER 1)
      set(text "")
      foreach(source ${of_${group}})
        get_filename_component(path ${source} ABSOLUTE BASE_DIR ${here})
        file(RELATIVE_PATH path ${folder}/Unity ${path})
        string(APPEND text "#include \"${path}\"\n")
      endforeach()
      set(joined ${folder}/Unity/${target}_${group}.cpp)
      # Written only if it changes.
      file(CONFIGURE OUTPUT ${joined} CONTENT "${text}" @ONLY)
      list(REMOVE_ITEM sources ${of_${group}})
      list(APPEND sources ${joined})
    endif()
  endforeach()
  # cmake/warnings.cmake asks for FREEHCA_JOINED.
  set_target_properties(${target} PROPERTIES SOURCES "${sources}" FREEHCA_JOINED ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# freehca_few_files(TARGET [AS_SHIPPED]): its sources, folder by folder. AS_SHIPPED: it is a library
# of the core as it ships.
function(freehca_few_files target)
  if(NOT FREEHCA_FEW_FILES
     OR (FREEHCA_FEW_FILES STREQUAL "HOSTED" AND "${ARGN}" STREQUAL "AS_SHIPPED"))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(here ${target} SOURCE_DIR)
  set(groups)
  foreach(source ${sources})
    if(source MATCHES "[.]cpp$")
      get_filename_component(path ${source} ABSOLUTE BASE_DIR ${here})
      file(RELATIVE_PATH path ${here} ${path})
      get_filename_component(group ${path} DIRECTORY)
      string(MAKE_C_IDENTIFIER "in_${group}" group)
      list(APPEND groups ${source} ${group})
    endif()
  endforeach()
  freehca_join(${target} ${groups})
endfunction()

# freehca_few_test_files(TARGET [INITIALS...]): a program of tests. Its sources are compiled
# together: those with one of these initials each time ("a-e"), or all of them.
function(freehca_few_test_files target)
  if(NOT FREEHCA_FEW_FILES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(initials_of_groups ${ARGN})
  if(NOT initials_of_groups)
    set(initials_of_groups "a-z")
  endif()
  set(groups)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    foreach(initials ${initials_of_groups})
      if(name MATCHES "^[${initials}].*[.]cpp$")
        string(MAKE_C_IDENTIFIER "${initials}" group)
        list(APPEND groups ${source} ${group})
      endif()
    endforeach()
  endforeach()
  freehca_join(${target} ${groups})
endfunction()

# freehca_compile_quickly(TARGET...): programs that do not ship, and libraries of tools, that spend
# little time in their own sources and in templates of headers. If a program and a library both have
# a template, the linker takes the program's copy. In a program of -O0, the library's JSON reader is
# therefore -O0 too.
function(freehca_compile_quickly)
  freehca_compile_quickly_sanitized(${ARGN})
  freehca_compile_quickly_unsanitized(${ARGN})
endfunction()

# freehca_compile_quickly_sanitized(TARGET...): with sanitizers alone, where clang takes twice as
# long to optimise these as to compile them without. In few files they have no line tables, which
# take a tenth of the time. A report of a sanitizer then has the names of their functions alone.
function(freehca_compile_quickly_sanitized)
  if(FREEHCA_SANITIZE AND NOT FREEHCA_FUZZ)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -O0 $<$<BOOL:${FREEHCA_FEW_FILES}>:-g0>)
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

# freehca_optimise_sanitized(SOURCE...): with sanitizers alone. Sources of a program that is
# compiled quickly. Their tests repeat them so often that optimisation saves more than it costs.
# They are compiled alone, since clang takes no precompiled header of another -O. Call it before the
# target is made.
function(freehca_optimise_sanitized)
  if(FREEHCA_SANITIZE AND NOT FREEHCA_FUZZ)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
    freehca_apart(${ARGN})
  endif()
endfunction()
