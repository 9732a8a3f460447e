# What `cmake --install` puts where. bin/ and lib/ stand beside each other, as in the build folder: the program finds the tracer
# and the viewer from its own place. Components: programs, api, docs, python and, for
# scripts/package.sh alone, tests.
set(STEPSCOPE_PROGRAMS stepscope stepscope-viewer stepscope-tracer stepscope-exit stepscope-mpi stepscope-cuda)

# What scripts/demo.sh runs.
add_custom_target(demo_programs)
foreach(program ${STEPSCOPE_PROGRAMS})
  if(TARGET ${program})
    add_dependencies(demo_programs ${program})
    stepscope_installed(${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT programs LIBRARY DESTINATION lib COMPONENT programs)
  endif()
endforeach()

# For programs that are to be traced: find_package(stepscope), pkg-config, or -I include.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_BINARY_DIR}/package-config)
configure_package_config_file(cmake/package/stepscopeConfig.cmake.in ${package_folder}/stepscopeConfig.cmake
  INSTALL_DESTINATION lib/cmake/stepscope NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${package_folder}/stepscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/package/stepscope.pc.in ${package_folder}/stepscope.pc @ONLY)

install(DIRECTORY ${api_folder}/stepscope DESTINATION include COMPONENT api)
install(TARGETS stepscope_annotate EXPORT stepscope)
install(EXPORT stepscope NAMESPACE stepscope:: FILE stepscopeTargets.cmake DESTINATION lib/cmake/stepscope COMPONENT api)
install(FILES ${package_folder}/stepscopeConfig.cmake ${package_folder}/stepscopeConfigVersion.cmake cmake/nvtx_headers.cmake
  DESTINATION lib/cmake/stepscope COMPONENT api)
install(FILES ${package_folder}/stepscope.pc DESTINATION share/pkgconfig COMPONENT api)
# Manual pages and completions are made of the program's own definitions, the desktop entry opens .stepscope files.
if(TARGET stepscope)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    function(write_output file)
      get_filename_component(folder \"\${prefix}/\${file}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND $<TARGET_FILE:stepscope> \${ARGN} OUTPUT_FILE \"\${prefix}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    write_output(share/bash-completion/completions/stepscope completion bash)
    write_output(share/zsh/vendor-completions/_stepscope completion zsh)
    write_output(share/fish/vendor_completions.d/stepscope.fish completion fish)
    execute_process(COMMAND $<TARGET_FILE:stepscope> man --all \"\${prefix}/share/man/man1\" COMMAND_ERROR_IS_FATAL ANY)
    find_program(gzip gzip)
    file(GLOB pages \"\${prefix}/share/man/man1/stepscope*.1\")
    if(gzip AND pages)
      execute_process(COMMAND \${gzip} -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
    endif()
  " COMPONENT docs)
endif()
if(TARGET stepscope-viewer)
  install(FILES cmake/package/stepscope.desktop DESTINATION share/applications COMPONENT docs)
  install(FILES cmake/package/stepscope.xml DESTINATION share/mime/packages COMPONENT docs)
  install(FILES cmake/package/stepscope.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT docs)
endif()

# The pages lie as in the repository, so that their links work.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION share/doc/stepscope COMPONENT docs)
install(FILES LICENSE DESTINATION share/doc/stepscope RENAME copyright COMPONENT docs)
install(DIRECTORY docs/guide docs/reference docs/design docs/images DESTINATION share/doc/stepscope/docs COMPONENT docs)
install(DIRECTORY examples DESTINATION share/doc/stepscope COMPONENT docs USE_SOURCE_PERMISSIONS)

if(STEPSCOPE_PORTABLE)
  # The viewer shares its process with the system's graphics drivers. With a C++ library of its own inside it cannot force an
  # older one on them (the tracer is always built so). The program needs the carried one anyway, for oneDNN.
  if(TARGET stepscope-viewer)
    target_link_options(stepscope-viewer PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  get_property(test_programs GLOBAL PROPERTY STEPSCOPE_TEST_PROGRAMS)
  # The bundle has the tests of what another machine, its GPU and its libraries can change. What is computed alike everywhere was
  # tested where it was built; those tests would be half of the bundle.
  list(FILTER test_programs EXCLUDE REGEX
    "^(import|export|export_tables|query|gate|synth|cuda_emulation|cuda_emulator|cuda_bfloat16|viewer|viewer_program|slurm|command_line|reports|analyzer|collective_dumps|[a-z]+_program)_tests?$")
  if(test_programs)
    install(TARGETS ${test_programs} RUNTIME DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
  # Programs that tests start, and documents that tests hold against the code.
  if(TARGET traced_program)
    install(TARGETS traced_program ending_program RUNTIME DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
  if(TARGET fake_nvidia)
    install(TARGETS fake_nvidia fake_nvidia_of_other_name fake_nvidia_without_functions LIBRARY DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
  if(TARGET counting_plugin)
    install(TARGETS counting_plugin old_counting_plugin LIBRARY DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
  if(TARGET stand_in_probe)
    install(TARGETS stand_in_probe RUNTIME DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
  install(FILES docs/reference/FINDINGS.md docs/reference/ANALYSIS_JSON.md docs/reference/QUERY.md DESTINATION docs/reference COMPONENT tests EXCLUDE_FROM_ALL)
  install(FILES docs/guide/TUNE.md DESTINATION docs/guide COMPONENT tests EXCLUDE_FROM_ALL)
  foreach(folder data golden)
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${folder})
      install(DIRECTORY tests/${folder} DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
    endif()
  endforeach()
  install(PROGRAMS tests/support/run_bundled_tests.sh DESTINATION tests RENAME run.sh COMPONENT tests EXCLUDE_FROM_ALL)
endif()

# cpack -G DEB --config build/release/CPackConfig.cmake: a package for the Debian or Ubuntu that it is built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stepscope)
set(CPACK_PACKAGE_CONTACT "The Stepscope authors <stepscope@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL programs api docs python)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, python3")
include(CPack)
