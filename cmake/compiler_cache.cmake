# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# Objects come out of ccache where it is installed. Paths inside the checkout are made relative and
# the folder of the build does not count, so that one cache serves every checkout.
find_program(FREEHCA_CCACHE ccache NO_CACHE)
if(FREEHCA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FREEHCA_CCACHE})
endif()
