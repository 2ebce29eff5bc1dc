#!/bin/bash
# sdk_go.sh -- the published Go client works against the server.
. "$(dirname "$0")/../sdk/lib.sh"

# The sums of the modules are made beside the program, not kept with the
# sources.  What is there is not fetched again.
install()
{
    cp "$sources"/* "$kit/" && cd "$kit" && timeout 400 go build -o program .
}

sdk_begin go
sdk_need go
export GOMODCACHE=$kit/mod GOCACHE=$kit/cache GOWORK=off
export GOFLAGS='-modcacherw -mod=mod -buildvcs=false'
sdk_install install
sdk_run "$kit/program"
