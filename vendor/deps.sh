#!/bin/sh
# Installs what is missing: deps.sh build MODULE... | deps.sh test
#
# It looks for commands, pkg-config modules and headers, never for package names, so that what a
# machine has from elsewhere counts. With apt-get and the right to use it, it installs; elsewhere it
# prints the line to type and fails. It needs nothing but a POSIX shell, and no terminal.
set -u
what=$1
shift
apt= rpm= arch= brew= missing=

have() {
    case $1 in
    cmd) command -v "$2" ;;
    pc) command -v "${PKG_CONFIG:-pkg-config}" && "${PKG_CONFIG:-pkg-config}" --exists "$2" ;;
    header) echo "#include <$2>" | "${CC:-cc}" -E - ;;
    python) python3 -c "import $2" || /usr/bin/python3 -c "import $2" ;;
    fuzzer) ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*.a ;;
    esac >/dev/null 2>&1
}

# need KIND NAME DEBIAN FEDORA ARCH HOMEBREW ("-": comes with the system or with another)
need() {
    have "$1" "$2" && return
    missing="$missing $2"
    [ "$3" = - ] || apt="$apt $3"
    [ "$4" = - ] || rpm="$rpm $4"
    [ "$5" = - ] || arch="$arch $5"
    [ "$6" = - ] || brew="$brew $6"
}

build_needs() {
    need cmd "${CC:-gcc}" "${CC:-gcc}" "${CC:-gcc}" "${CC:-gcc}" -
    need header stdio.h libc6-dev glibc-devel glibc -
    need cmd make make make make make
    need cmd pkg-config pkg-config pkgconf-pkg-config pkgconf pkgconf
    need cmd python3 python3 python3 python python3
    # Scripts may require "cjson"; where it is no package of the system they do without.
    ! command -v apt-get >/dev/null || need pc lua5.4-cjson lua-cjson-dev - - -
    for module; do
        case $module in
        expat) need pc expat libexpat1-dev expat-devel expat expat ;;
        libarchive) need pc libarchive libarchive-dev libarchive-devel libarchive libarchive ;;
        libcrypto) need pc libcrypto libssl-dev openssl-devel openssl openssl@3 ;;
        libcurl) need pc libcurl libcurl4-openssl-dev libcurl-devel curl curl ;;
        libseccomp) need pc libseccomp libseccomp-dev libseccomp-devel libseccomp - ;;
        libutf8proc) need pc libutf8proc libutf8proc-dev utf8proc-devel libutf8proc utf8proc ;;
        libuv) need pc libuv libuv1-dev libuv-devel libuv libuv ;;
        libxxhash) need pc libxxhash libxxhash-dev xxhash-devel xxhash xxhash ;;
        *-cjson) ;;
        lua*) need pc "$module" liblua5.4-dev lua-devel lua lua ;;
        md4c) need pc md4c libmd4c-dev md4c-devel md4c md4c ;;
        sqlite3) need pc sqlite3 libsqlite3-dev sqlite-devel sqlite sqlite ;;
        termkey) need pc termkey libtermkey-dev libtermkey-devel libtermkey libtermkey ;;
        zlib) need pc zlib zlib1g-dev zlib-devel zlib zlib ;;
        *) echo "deps.sh: no package is known for $module" >&2; exit 1 ;;
        esac
    done
}

test_needs() {
    need pc cmocka libcmocka-dev libcmocka-devel cmocka cmocka
    need cmd lua5.4 lua5.4 lua lua lua
    need cmd busted lua-busted lua-busted lua-busted luarocks
    need cmd luacheck lua-check luacheck luacheck luacheck
    need cmd clang clang clang clang llvm
    need fuzzer fuzzer libclang-rt-dev compiler-rt compiler-rt -
    need cmd clang-format clang-format clang-tools-extra clang clang-format
    need cmd tmux tmux tmux tmux tmux
    need cmd strace strace strace strace -
    need cmd prlimit util-linux util-linux util-linux -
    need cmd sqlite3 sqlite3 sqlite sqlite sqlite
    need cmd zstd zstd zstd zstd zstd
    need cmd zsh zsh zsh zsh zsh
    # Writers of workbooks; where they are no package of the system, tests with them are skipped.
    ! command -v apt-get >/dev/null || need python openpyxl python3-openpyxl - - -
    ! command -v apt-get >/dev/null || need python xlsxwriter python3-xlsxwriter - - -
    ! command -v apt-get >/dev/null || need python ensurepip python3-venv - - -
    need cmd fish fish fish fish fish
    need cmd node nodejs nodejs nodejs node
    need cmd npm npm npm npm node
}

look() {
    apt= rpm= arch= brew= missing=
    if [ "$what" = build ]; then build_needs "$@"; else test_needs; fi
}

tell() {
    echo "Missing for the $what:$missing. Install it with one of"
    [ -z "$apt" ] || echo "  sudo apt-get install -y$apt"
    [ -z "$rpm" ] || echo "  sudo dnf install -y$rpm"
    [ -z "$arch" ] || echo "  sudo pacman -S --needed$arch"
    [ -z "$brew" ] || echo "  brew install$brew"
} >&2

look "$@"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo -n'; fi
if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! $sudo true 2>/dev/null; }; then
    tell
    exit 1
fi

# The lists may be fresh already, from the call before this one.
mkdir -p build
echo "Installing$apt (output in build/deps.log)"
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
install='apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends'
{
    { [ -n "$(find build/apt-updated -mmin -60 2>/dev/null)" ] || { $sudo apt-get update && touch build/apt-updated; }; } &&
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive $install $apt
} </dev/null >build/deps.log 2>&1 || {
    tail -n 15 build/deps.log >&2
    echo "apt-get failed; its whole output is in build/deps.log" >&2
    tell
    exit 1
}
look "$@"
[ -z "$missing" ] || { tell; exit 1; }
