# The viewer's page for builds that do not come through ./run: `pip install .` in a fresh clone must bring it along too.
# Without Node.js or a network the build goes on, and the viewer says what is missing.

if(NOT TOUCHSTONE_BUILD_WEB OR EXISTS "${TOUCHSTONE_WEB_BUNDLE}/viewer.html")
  return()
endif()
find_program(TOUCHSTONE_NPM npm)
if(NOT TOUCHSTONE_NPM)
  message(WARNING "npm not found: the viewer will be missing; install Node.js 18.18 or newer (Debian: nodejs npm)")
  return()
endif()
message(STATUS "Making the viewer's page with npm")
foreach(arguments IN ITEMS "ci;--ignore-scripts;--no-audit;--no-fund" "run;build;--;--outDir;${TOUCHSTONE_WEB_BUNDLE}")
  execute_process(COMMAND "${TOUCHSTONE_NPM}" ${arguments} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/web"
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(WARNING "npm could not make the viewer's page, so the viewer will be missing:\n${output}")
    return()
  endif()
endforeach()
