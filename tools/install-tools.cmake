# install-tools.cmake -- man pages and shell completions, at `make install`.
# `tools` is the program runnel-tools; `mandir` and `datadir` are absolute.

# Writes what runnel-tools prints to a file below DESTDIR.
function(print_to file)
    set(file $ENV{DESTDIR}${file})
    get_filename_component(dir ${file} DIRECTORY)
    file(MAKE_DIRECTORY ${dir})
    execute_process(COMMAND ${tools} ${ARGN} OUTPUT_FILE ${file}
        RESULT_VARIABLE result)
    if(result)
        message(FATAL_ERROR "${tools} ${ARGN}: ${result}")
    endif()
    message(STATUS "Installing: ${file}")
endfunction()

execute_process(COMMAND ${tools} --commands OUTPUT_VARIABLE lines)
string(REGEX MATCHALL "[^\n]+" lines "${lines}")
foreach(line ${lines})
    string(REGEX REPLACE " .*" "" name "${line}")
    print_to(${mandir}/man1/runnel-${name}.1 --man ${name})
endforeach()
print_to(${datadir}/bash-completion/completions/runnel completion bash)
print_to(${datadir}/zsh/site-functions/_runnel completion zsh)
print_to(${datadir}/fish/vendor_completions.d/runnel.fish completion fish)
