# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# For programs: what they print with --version.
add_library(freehca_version INTERFACE)
target_compile_definitions(freehca_version INTERFACE FREEHCA_VERSION="${PROJECT_VERSION}")
