# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
target_link_libraries(freehca_bare PUBLIC freehca_device_tree)
target_include_directories(freehca_bare PRIVATE ${architecture}/src)
if(NOT FREEHCA_BOARD)
  target_sources(freehca_bare PRIVATE ${architecture}/device_tree/board.cpp)
endif()
