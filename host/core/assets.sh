#!/bin/sh
# Writes the assembler file that puts assets into the binary: assets.sh FILE... > assets.S
# Layout, read by core/loader.c: u32 count, then for each file, by name, four u32: where its name, its
# bytes and its SHA-256 (hex) stand from the start, and its size. Distances only, so nothing of it
# has to be relocated when the program starts.
set -eu
LC_ALL=C
export LC_ALL

case $(uname -s) in
Darwin) symbol=_al_assets section='__TEXT,__const' hide=.private_extern tail= ;;
*) symbol=al_assets section='.rodata,"a",%progbits' hide=.hidden
   tail='.section .note.GNU-stack,"",%progbits' ;;
esac

if command -v sha256sum >/dev/null 2>&1; then hash=sha256sum; else hash='shasum -a 256'; fi

files=$(for file; do echo "$file"; done | sort)
set -- $files

echo "    .section $section"
echo "    .globl $symbol"
echo "    $hide $symbol"
echo "    .balign 16"
echo "$symbol:"
echo "    .long $#"
i=0
for file; do
    echo "    .long Lname$i - $symbol, Lbytes$i - $symbol, Lsha$i - $symbol, Lend$i - Lbytes$i"
    i=$((i + 1))
done
i=0
[ $# -eq 0 ] || $hash "$@" | while read -r sha file; do
    echo "Lname$i: .asciz \"$file\""
    echo "Lsha$i: .asciz \"$sha\""
    echo "Lbytes$i: .incbin \"$file\""
    echo "Lend$i: .byte 0"
    i=$((i + 1))
done
[ -z "$tail" ] || echo "    $tail"
