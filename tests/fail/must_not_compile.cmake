# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
#
# cmake -DCOMPILER= -DFILE= -DFLAGS= -P: see CMakeLists.txt. Debug builds and release builds both
# refuse, so the file is compiled with and without NDEBUG.
file(STRINGS ${FILE} lines REGEX "^// EXPECT: ")
list(LENGTH lines count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${FILE} has ${count} EXPECT lines")
endif()
string(REGEX REPLACE "^// EXPECT: " "" expected "${lines}")

foreach(build "" "-DNDEBUG")
  set(command ${COMPILER} -std=c++20 -ffreestanding -fno-exceptions -fno-rtti -fsyntax-only ${build} ${FLAGS} ${FILE})
  execute_process(COMMAND ${command} -DFREEHCA_MAKE_IT_RIGHT RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "made right, it does not compile (${build}):\n${said}")
  endif()
  execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(result EQUAL 0)
    message(FATAL_ERROR "it compiles, and must not (${build})")
  endif()
  if(NOT said MATCHES "${expected}")
    message(FATAL_ERROR "refused, but not for \"${expected}\" (${build}):\n${said}")
  endif()
endforeach()
