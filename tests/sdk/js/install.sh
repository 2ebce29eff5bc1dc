# install.sh -- sourced by the suites of the JavaScript client: gets its packages.

# What is there is not fetched again.
install()
{
    cmp -s "$sources/package.json" "$kit/installed" && return
    cp "$sources/package.json" "$kit/" && cd "$kit" &&
        timeout 400 npm install --no-package-lock --no-audit --no-fund &&
        cp package.json installed
}

sdk_begin js
sdk_need node
sdk_need npm
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    sdk_skip 'the client needs node 20 or later'
fi
sdk_install install
