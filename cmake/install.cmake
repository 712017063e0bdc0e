# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What `cmake --install` puts in place: headers, static libraries, a package for find_package() with
# the components core, vfio, vfio_user and in_process, and the same for pkg-config. The core of the
# first two is that of plain accesses, that of the others the one whose accesses are calls. A
# program has one of them; the linker refuses both (hal/access_flavour.hpp).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/freehca)

# freehca_install_export(NAME TARGETS... HEADERS...): libraries, and the folders that their headers
# are in.
function(freehca_install_export name)
  cmake_parse_arguments(arg "" "" "TARGETS;HEADERS" ${ARGN})
  foreach(target ${arg_TARGETS})
    string(REPLACE "freehca_" "" exported ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
  endforeach()
  install(TARGETS ${arg_TARGETS} EXPORT freehca_${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(folder ${arg_HEADERS})
    install(DIRECTORY ${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endforeach()
  install(EXPORT freehca_${name} NAMESPACE freehca:: FILE freehca-${name}.cmake
          DESTINATION ${package_folder})
endfunction()

# freehca_install_component(NAME TARGETS... HEADERS...): the same, and the file for pkg-config.
function(freehca_install_component component)
  freehca_install_export(${component} ${ARGN})
  string(REPLACE "_" "-" name freehca-${component}.pc)
  file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(cmake/${name}.in ${name} @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

add_library(freehca_core INTERFACE)
target_link_libraries(freehca_core INTERFACE freehca_easy freehca_interfaces freehca_network freehca_hca
                                       freehca_work_requests freehca_texts)
target_compile_features(freehca_core INTERFACE cxx_std_20)
freehca_install_component(core
  TARGETS freehca_core freehca_easy freehca_interfaces freehca_network freehca_hca freehca_work_requests freehca_texts
          freehca_queues freehca_firmware_cmds freehca_hal freehca_hal_headers freehca_layouts
  HEADERS faces/easy faces/interfaces faces/texts network hca work_requests queues firmware_cmds hal hal/layouts)

if(TARGET freehca_vfio_host)
  # What the ports of hosted programs share.
  freehca_install_export(process_memory TARGETS freehca_process_memory)

  add_library(freehca_vfio INTERFACE)
  target_link_libraries(freehca_vfio INTERFACE freehca_vfio_blocking freehca_vfio_host freehca_core)
  freehca_install_component(vfio
    TARGETS freehca_vfio freehca_vfio_blocking freehca_blocking_over_vfio freehca_vfio_host
    HEADERS vfio_host vfio_host/blocking)

  # What the next two components share.
  freehca_install_export(routed
    TARGETS freehca_easy_routed freehca_interfaces_routed freehca_network_routed freehca_hca_routed
            freehca_work_requests_routed freehca_queues_routed freehca_firmware_cmds_routed
            freehca_hal_routed)

  add_library(freehca_vfio_user INTERFACE)
  target_link_libraries(freehca_vfio_user INTERFACE freehca_vfio_user_blocking freehca_vfio_user_host
                                                    freehca_easy_routed freehca_interfaces_routed
                                                    freehca_network_routed freehca_hca_routed
                                                    freehca_work_requests_routed freehca_texts)
  target_compile_features(freehca_vfio_user INTERFACE cxx_std_20)
  freehca_install_component(vfio_user
    TARGETS freehca_vfio_user freehca_vfio_user_blocking freehca_vfio_user_host freehca_vfio_user_client
            freehca_vfio_user_protocol freehca_descriptor
    HEADERS vfio_user/host vfio_user/client vfio_user/protocol wires/descriptor)

  # The build's own programs name the faces that they use.
  target_link_libraries(freehca_in_process INTERFACE
    $<INSTALL_INTERFACE:freehca::easy_routed> $<INSTALL_INTERFACE:freehca::interfaces_routed>
    $<INSTALL_INTERFACE:freehca::network_routed>)
  target_compile_features(freehca_in_process INTERFACE cxx_std_20)
  freehca_install_component(in_process
    TARGETS freehca_in_process freehca_pci_configuration freehca_model freehca_packets
    HEADERS hal/targets/in_process qemu/model)
  install(FILES examples/in_process/in_process_host.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/freehca/blocking)
endif()

configure_package_config_file(cmake/freehca-config.cmake.in freehca-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(freehca-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/freehca-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/freehca-config-version.cmake
        DESTINATION ${package_folder})
