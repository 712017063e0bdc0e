# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# A build from nothing spends most of its time on headers that each source reads again. With
# FREEHCA_FEW_FILES the sources of a folder are compiled as one: what `./dev demo --vfio-user` does.
# What ships is built source by source.
option(FREEHCA_FEW_FILES "Compile the sources of a folder as one, where they allow it" OFF)

# freehca_apart(SOURCE...): they have names of their own that others of their folder have too, and
# are compiled one by one all the same. To be said before the target is made.
function(freehca_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# freehca_few_files(TARGET): its sources, folder by folder.
function(freehca_few_files target)
  if(NOT FREEHCA_FEW_FILES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
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
