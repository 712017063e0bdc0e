# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What `cmake --install` puts in place: headers, static libraries, a package for find_package() with
# the components core and vfio, and the same for pkg-config. The core is that of plain accesses.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/freehca)

# freehca_install_component(NAME TARGETS... HEADERS...): libraries, and the folders that their
# headers are in.
function(freehca_install_component component)
  cmake_parse_arguments(arg "" "" "TARGETS;HEADERS" ${ARGN})
  foreach(target ${arg_TARGETS})
    string(REPLACE "freehca_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${arg_TARGETS} EXPORT freehca_${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(folder ${arg_HEADERS})
    install(DIRECTORY ${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endforeach()
  install(EXPORT freehca_${component} NAMESPACE freehca:: FILE freehca-${component}.cmake
          DESTINATION ${package_folder})
  file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(cmake/freehca-${component}.pc.in freehca-${component}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/freehca-${component}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

add_library(freehca_core INTERFACE)
target_link_libraries(freehca_core INTERFACE freehca_hca)
target_compile_features(freehca_core INTERFACE cxx_std_20)
freehca_install_component(core
  TARGETS freehca_core freehca_hca freehca_queues freehca_firmware_cmds freehca_hal freehca_layouts
  HEADERS hca queues firmware_cmds hal hal/layouts)

if(TARGET freehca_vfio_host)
  add_library(freehca_vfio INTERFACE)
  target_link_libraries(freehca_vfio INTERFACE freehca_vfio_blocking freehca_vfio_host freehca_core)
  freehca_install_component(vfio TARGETS freehca_vfio freehca_vfio_blocking freehca_vfio_host
                            HEADERS vfio_host vfio_host/blocking)
endif()

configure_package_config_file(cmake/freehca-config.cmake.in freehca-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(freehca-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/freehca-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/freehca-config-version.cmake
        DESTINATION ${package_folder})
