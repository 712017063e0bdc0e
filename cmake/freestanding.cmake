# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What every file of the core is compiled with: no OS, no exceptions, no RTTI, no hidden
# thread-safety locks around statics.
add_library(freehca_freestanding INTERFACE)
target_compile_options(freehca_freestanding INTERFACE
  -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # An exchange is instructions, not a call of libgcc's.
  target_compile_options(freehca_freestanding INTERFACE -mno-outline-atomics)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang 14 wants the experimental coroutine support that GCC's <coroutine> guards by this macro.
  target_compile_definitions(freehca_freestanding INTERFACE __cpp_impl_coroutine=201902L)
endif()

# freehca_core_library(NAME [BY_FOLDERS] SOURCES... DEPENDS...): a library of the core in each
# access flavour. BY_FOLDERS: FREEHCA_FEW_FILES=HOSTED holds for it as for hosted parts.
# NAME: plain loads and stores, which ships.
# NAME_routed: each access is a call (the in-process model).
# NAME_registers_routed: register accesses are calls, memory is accessed directly (a program with
# its adapter inside). It is built only for what links it.
function(freehca_core_library name)
  cmake_parse_arguments(arg "BY_FOLDERS" "" "SOURCES;DEPENDS" ${ARGN})
  foreach(flavour direct routed registers_routed)
    if(flavour STREQUAL "direct")
      set(target ${name})
      set(suffix "")
      set(as_shipped AS_SHIPPED)
      if(arg_BY_FOLDERS)
        set(as_shipped "")
      endif()
    else()
      set(target ${name}_${flavour})
      set(suffix "_${flavour}")
      set(as_shipped "")
    endif()
    if(arg_SOURCES)
      add_library(${target} STATIC ${arg_SOURCES})
      set(scope PUBLIC)
      freehca_few_files(${target} ${as_shipped})
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:freehca_warnings>
                                              $<BUILD_INTERFACE:freehca_freestanding>)
    else()
      add_library(${target} INTERFACE)
      set(scope INTERFACE)
    endif()
    target_include_directories(${target} ${scope}
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
    if(flavour STREQUAL "routed")
      target_compile_definitions(${target} ${scope} FREEHCA_ACCESS_ROUTED=1)
    elseif(flavour STREQUAL "registers_routed")
      target_compile_definitions(${target} ${scope} FREEHCA_ACCESS_REGISTERS_ROUTED=1)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON POSITION_INDEPENDENT_CODE ON)
    elseif(FREEHCA_INCOHERENT_DMA)
      # Of whoever includes the headers, too: half of the calls are inline.
      target_compile_definitions(${target} ${scope} FREEHCA_INCOHERENT_DMA=1)
    endif()
    foreach(dependency ${arg_DEPENDS})
      target_link_libraries(${target} ${scope} ${dependency}${suffix})
    endforeach()
  endforeach()
endfunction()
