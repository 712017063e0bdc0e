# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# The Debian package `freehca`: the programs and their manual pages (`./dev package`). They are a
# component of their own, which `cmake --install` leaves out unless it is asked for by name, since
# it installs what programs are built with.
include(GNUInstallDirs)
set(packaged_programs)
foreach(program hcactl hcactl-record hcactl-vfio-user freehca-device freehca-switch)
  if(TARGET ${program})
    list(APPEND packaged_programs ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs EXCLUDE_FROM_ALL)
  endif()
endforeach()
add_custom_target(packaged_programs)
add_dependencies(packaged_programs ${packaged_programs})

# Debian wants pages and changelogs compressed without a time in them, and the licence. Its own
# changelog has the package's version; ours, which is no changelog of Debian's form, stands beside.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
configure_file(cmake/package.changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian @ONLY)
set(package_files ${CMAKE_CURRENT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${package_files})
file(GLOB pages CONFIGURE_DEPENDS docs/man/*.1)
# The launcher and its library are not packaged yet.
list(FILTER pages EXCLUDE REGEX "/freehca-run[.]1$")
set(compressed)
foreach(page ${pages} ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md
             ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian)
  get_filename_component(name ${page} NAME)
  if(name STREQUAL "CHANGELOG.md")
    set(name changelog)
  endif()
  add_custom_command(OUTPUT ${package_files}/${name}.gz COMMAND sh -c "gzip -9nc \"$1\" >\"$2\"" sh ${page} ${package_files}/${name}.gz
                     DEPENDS ${page} VERBATIM)
  list(APPEND compressed ${package_files}/${name}.gz)
endforeach()
# hcactl's page tells of the programs beside it, too.
foreach(name hcactl-record hcactl-vfio-user)
  add_custom_command(OUTPUT ${package_files}/${name}.1.gz
                     COMMAND ${CMAKE_COMMAND} -E create_symlink hcactl.1.gz ${package_files}/${name}.1.gz
                     DEPENDS ${package_files}/hcactl.1.gz VERBATIM)
  list(APPEND compressed ${package_files}/${name}.1.gz)
endforeach()
add_custom_target(package_files DEPENDS ${compressed})
add_dependencies(packaged_programs package_files)
install(DIRECTORY ${package_files}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.1.gz")
install(FILES ${package_files}/changelog.gz ${package_files}/changelog.Debian.gz
        DESTINATION share/doc/freehca COMPONENT programs EXCLUDE_FROM_ALL)
install(FILES cmake/package.copyright DESTINATION share/doc/freehca RENAME copyright COMPONENT programs
        EXCLUDE_FROM_ALL)
install(FILES cmake/package.lintian DESTINATION share/lintian/overrides RENAME freehca COMPONENT programs
        EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME freehca)
set(CPACK_PACKAGE_CONTACT "the freehca authors <freehca@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "modelled RDMA adapters as programs, and a tool for real ones")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL programs)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_NAME freehca)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "freehca-device is a modelled ConnectX-2, ConnectX-3 or ConnectX-3 Pro adapter
in a process of its own, for QEMU and other clients of vfio-user.
freehca-switch joins the cables of such adapters. hcactl drives adapters,
modelled or real, from one process.")
include(CPack)
