# Alisio. `make run` and `make test` do all their set-up; `make help` lists the rest.
#
# Variables: CC=gcc|clang  SAN=1 (address and undefined behaviour sanitizers)  PORTABLE=1 (every
# non-Linux branch)  PREFIX=/usr/local  T=part of the tests

CC ?= gcc
PREFIX ?= /usr/local
SAN ?=
PORTABLE ?=
V ?=

ifeq ($(origin CC),default)
CC := gcc
endif
B := build$(if $(SAN),/san)$(if $(PORTABLE),/portable)$(if $(findstring clang,$(CC)),/clang)

VERSION := 0.1.0
Q := $(if $(V),,@)
PKG_CONFIG ?= pkg-config

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIC
LINK_HARDEN := -Wl,-z,relro,-z,now
OPT := -O2 -g
ifdef SAN
OPT := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
HARDEN := -fPIC
SAN_LINK := -fsanitize=address,undefined
endif
DEFS := -D_GNU_SOURCE -DAL_VERSION_TEXT='"$(VERSION)"' $(if $(PORTABLE),-DAL_PORTABLE) -DAL_TEST_HOOKS
CFLAGS_ALL = -std=c11 $(OPT) $(WARN) $(HARDEN) -fvisibility=hidden $(DEFS) -Ihost -Ihost/include -MMD -MP $(CFLAGS)

# What each room may link, as docs/dependencies.md says.
PKGS_base := libcrypto libxxhash libutf8proc
PKGS_data := sqlite3 libarchive expat
PKGS_jail := libseccomp
PKGS_prim := libuv libcurl sqlite3 libarchive md4c termkey
PKGS_core := lua5.4 libuv
PKGS_alisio := $(sort $(PKGS_base) $(PKGS_prim) $(PKGS_core))
PKGS_engine := $(sort $(PKGS_base) $(PKGS_data) $(PKGS_jail))
PKGS_jailexe := $(sort $(PKGS_base) $(PKGS_jail))
PKGS_all := $(sort $(PKGS_alisio) $(PKGS_engine))

src = $(wildcard host/$(1)/*.c)
obj = $(patsubst host/%.c,$(B)/obj/%.o,$(call src,$(1)))

OBJ_base := $(call obj,base)
OBJ_data := $(call obj,data)
OBJ_jail := $(call obj,jail)
OBJ_host := $(OBJ_base) $(call obj,prim) $(call obj,core) $(call obj,bind)


.PHONY: all
.DEFAULT_GOAL := all
programs := $(if $(wildcard host/app/alisio.c),$(B)/alisio) \
  $(patsubst host/app/%.c,$(B)/libexec/alisio/%,$(wildcard host/app/engine.c host/app/jail.c))
all: $(programs)

$(B)/obj/%.o: host/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(shell $(PKG_CONFIG) --cflags $(PKGS_all)) -c $< -o $@

link = $(Q)$(CC) $(OPT) $(LINK_HARDEN) $(LDFLAGS) -o $@ $(1) -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(2)) $(3)

$(B)/alisio: $(B)/obj/app/alisio.o $(OBJ_host) $(B)/obj/assets.o
	@mkdir -p $(@D)
	$(call link,$^,$(PKGS_alisio),-lm -ldl -lpthread)

$(B)/libexec/alisio/engine: $(B)/obj/app/engine.o $(OBJ_base) $(OBJ_data) $(OBJ_jail)
	@mkdir -p $(@D)
	$(call link,$^,$(PKGS_engine),-lm -lpthread)

# The jail starts with every child: from archives it takes the objects it uses, so that it does not
# load the libraries of the others.
$(B)/obj/jail.a: $(OBJ_base) $(OBJ_jail)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libexec/alisio/jail: $(B)/obj/app/jail.o $(B)/obj/jail.a
	@mkdir -p $(@D)
	$(call link,$^,$(PKGS_jailexe),-lm)

# Assets: every Lua, Python and page file, embedded with its SHA-256.
ASSET_FILES := $(sort $(shell find lua stdlib vendor/assets -type f \( -name '*.lua' -o -name '*.py' -o -name '*.css' -o -name '*.js' -o -name '*.html' -o -name '*.svg' -o -name '*.txt' -o -name '*.md' \) 2>/dev/null))

$(B)/assets.S: host/core/assets.sh $(ASSET_FILES)
	@mkdir -p $(@D)
	$(Q)sh host/core/assets.sh $(ASSET_FILES) > $@.tmp && mv $@.tmp $@

$(B)/obj/assets.o: $(B)/assets.S
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@

# Unit tests: one program a file, linked with everything but the mains.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
OBJ_assets := $(if $(wildcard host/core/assets.sh),$(B)/obj/assets.o)
OBJ_unit := $(OBJ_host) $(OBJ_data) $(OBJ_jail) $(OBJ_assets)

$(B)/unit/%: tests/unit/%.c $(OBJ_unit)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Itests/unit $(shell $(PKG_CONFIG) --cflags $(PKGS_all) cmocka) $(LDFLAGS) $< $(OBJ_unit) \
	  -o $@ -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(PKGS_all) cmocka) -lm -ldl -lpthread

.PHONY: unit
unit: $(UNIT_BIN)

.PHONY: clean
clean:
	rm -rf build

-include $(wildcard $(B)/obj/*/*.d $(B)/unit/*.d)
include $(wildcard host/*.mk tests/*.mk)
