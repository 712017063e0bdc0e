# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
target_link_libraries(freehca_bare PUBLIC freehca_device_tree)
