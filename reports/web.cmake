# stepscope_report_script(script hash): the report page's script, bundled by esbuild from web/ with the pinned packages of
# package-lock.json, all inside the build folder. Without node, npm or the packages both files are empty: the report then has its
# tables and no charts.
function(stepscope_report_script script_variable hash_variable)
  set(folder ${CMAKE_BINARY_DIR}/report-web)
  set(script ${folder}/out/report.js)
  set(${script_variable} ${script} PARENT_SCOPE)
  set(${hash_variable} ${script}.sha256 PARENT_SCOPE)
  set(web ${CMAKE_CURRENT_SOURCE_DIR}/web)
  set(STEPSCOPE_REPORT_WEB "" CACHE INTERNAL "Where the report page's packages are installed; empty without them")
  file(MAKE_DIRECTORY ${folder}/out)
  find_program(STEPSCOPE_NODE node)
  find_program(STEPSCOPE_NPM npm)
  set(missing "")
  if(NOT STEPSCOPE_NODE OR NOT STEPSCOPE_NPM)
    set(missing "node and npm were not found; install them")
  else()
    # The packages are installed once for every change of the lock file.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web}/package-lock.json)
    file(SHA256 ${web}/package-lock.json wanted)
    set(installed "")
    if(EXISTS ${folder}/installed)
      file(READ ${folder}/installed installed)
    endif()
    if(NOT installed STREQUAL wanted)
      message(STATUS "Stepscope: installing the report page's packages (npm ci)")
      file(COPY ${web}/package.json ${web}/package-lock.json DESTINATION ${folder})
      execute_process(COMMAND ${STEPSCOPE_NPM} ci --no-audit --no-fund --ignore-scripts --loglevel=error
        WORKING_DIRECTORY ${folder} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE npm_error TIMEOUT 600)
      if(NOT failed)
        execute_process(COMMAND ${folder}/node_modules/.bin/esbuild --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE npm_error)
      endif()
      if(failed)
        string(STRIP "${npm_error}" npm_error)
        set(missing "npm ci failed (${npm_error}); check the network and configure again")
      else()
        file(WRITE ${folder}/installed ${wanted})
      endif()
    endif()
  endif()
  if(missing)
    message(STATUS "Stepscope: HTML reports will have tables and no charts: ${missing}")
    file(CONFIGURE OUTPUT ${script} CONTENT "")
    file(CONFIGURE OUTPUT ${script}.sha256 CONTENT "")
    return()
  endif()
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*.ts)
  add_custom_command(OUTPUT ${script} ${script}.sha256
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}/src
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${web}/src ${folder}/src
    COMMAND ${CMAKE_COMMAND} -E copy ${web}/bundle.mjs ${web}/tsconfig.json ${folder}
    COMMAND ${STEPSCOPE_NODE} bundle.mjs ${script}
    DEPENDS ${web_sources} ${web}/bundle.mjs ${web}/tsconfig.json ${folder}/installed
    WORKING_DIRECTORY ${folder} COMMENT "Bundling the report page's script" VERBATIM)
  set(STEPSCOPE_REPORT_WEB ${folder} CACHE INTERNAL "")
endfunction()
