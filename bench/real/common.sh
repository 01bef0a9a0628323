# Functions of the scripts in this directory, which source it with their arguments.
# Needs apt-get (no root, and no change to the system). Works in the given directory (default: a
# temporary one) with the command in FORETELL (default: a release build of this tree).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ -z "${FORETELL:-}" ]; then
    cargo build --release --locked --quiet --manifest-path "$root/Cargo.toml" --package foretell --package foretell-rt
fi
foretell=${FORETELL:-$root/target/release/foretell}
cd "$work"

# fetch PACKAGE VERSION: unpacks the source package of Debian 12 without Debian's changes.
fetch() {
    mkdir -p "$work/lists/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" >sources.list
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    "${apt[@]}" source --download-only "$1=$2"
    tar xf "$1"_*.orig.tar.*z
}

# job COMMAND ARGS...: compares the outputs without and with recording byte by byte, then predicts
# everything, verifies every witness, and replays the first findings (MOST_REPLAYS, default 20).
job() {
    "$@" >plain.out
    "$foretell" record -o run.ft -- "$@" >recorded.out
    cmp plain.out recorded.out
    echo "output: byte-identical"
    local status=0 TIMEFORMAT="prediction: %U s of processor time"
    time "$foretell" predict run.ft --json run.json >predicted.txt || status=$?
    [ $status -le 1 ]
    tail -n 7 predicted.txt
    "$foretell" verify run.ft run.json
    for finding in $(grep -o '"id":"[^"]*"' run.json | cut -d '"' -f 4 | head -n "${MOST_REPLAYS:-20}"); do
        # Status 2: the run left the schedule; the line says where.
        "$foretell" replay run.ft "$finding" -- "$@" || true
    done
}
