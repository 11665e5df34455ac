# Alisio. `make run` and `make test` do all their set-up themselves; `make help` lists the rest.
#
# Variables: CC=gcc|clang  SAN=1 (address and undefined behaviour sanitizers)  PORTABLE=1 (the branch
# of every other system)  RELEASE=1 (no hooks for tests)  T=part of the tests  V=1 (show commands)
# PREFIX=/usr/local  DESTDIR=

ifeq ($(origin CC),default)
CC := $(if $(FUZZ),clang,gcc)
endif
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config
SAN ?=
PORTABLE ?=
RELEASE ?=
V ?=

VERSION := 0.1.0
Q := $(if $(V),,@)
# For targets that build on their own: as many jobs as processors, unless make was told already.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(or $(shell nproc 2>/dev/null),2))
OS := $(shell uname -s)
MACHINE := $(shell uname -m)
B := build$(if $(SAN),/san)$(if $(PORTABLE),/portable)$(if $(RELEASE),/release)$(if $(FUZZ),/fuzz$(FUZZ),$(if $(findstring clang,$(CC)),/clang))

.DEFAULT_GOAL := all
.PHONY: all help clean

# --- flags ---

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
DEFS := -D_GNU_SOURCE -DAL_VERSION_TEXT='"$(VERSION)"' $(if $(PORTABLE),-DAL_PORTABLE) $(if $(RELEASE),,-DAL_TEST_HOOKS)
ifdef FUZZ
MODE := $(FUZZ) -g -fsanitize=address,undefined,fuzzer-no-link -fno-omit-frame-pointer -fno-sanitize-recover=undefined
else ifneq ($(SAN),)
MODE := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DLUAI_ASSERT
else
MODE := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong $(if $(filter x86_64 i%86,$(MACHINE)),-fcf-protection)
endif
ifeq ($(OS),Darwin)
LINK := -Wl,-dead_strip_dylibs
SHARED = -dynamiclib -install_name $(PREFIX)/lib/$(SONAME)
SONAME := libalisio.0.dylib
SOLINK := libalisio.dylib
SYS_LIBS := -lm -lpthread
else
LINK := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
PIE := -pie
SHARED = -shared -Wl,-soname,$(SONAME)
SONAME := libalisio.so.0
SOLINK := libalisio.so
SYS_LIBS := -lm -ldl -lpthread
endif

# --- libraries, room by room: docs/dependencies.md says what each is for ---

LUA := $(or $(shell for p in lua5.4 lua-5.4 lua54 lua; do $(PKG_CONFIG) --exists $$p 2>/dev/null && echo $$p && break; done),lua5.4)
PKGS_base := libcrypto libxxhash libutf8proc
PKGS_data := sqlite3 libarchive expat zlib
PKGS_jail := $(if $(PORTABLE)$(filter-out Linux,$(OS)),,libseccomp)
PKGS_prim := libuv libcurl sqlite3 libarchive md4c termkey
CJSON := $(shell $(PKG_CONFIG) --exists $(LUA)-cjson 2>/dev/null && echo $(LUA)-cjson)
DEFS += $(if $(CJSON),-DAL_CJSON)
PKGS_core := $(LUA) libuv
PKGS_alisio := $(sort $(PKGS_base) $(PKGS_prim) $(PKGS_core) $(CJSON))
PKGS_engine := $(sort $(PKGS_base) $(PKGS_data) $(PKGS_jail))
PKGS_jailexe := $(sort $(PKGS_base) $(PKGS_jail))
PKGS_all := $(sort $(PKGS_alisio) $(PKGS_engine))

# Asked once, when the first command needs it: `make deps` runs where there is no pkg-config yet.
once = $(eval $(1) := $$(shell $(2)))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(PKG_CONFIG) --cflags $(PKGS_all))
LIBS_alisio = $(call once,LIBS_alisio,$(PKG_CONFIG) --libs $(PKGS_alisio))
LIBS_engine = $(call once,LIBS_engine,$(PKG_CONFIG) --libs $(PKGS_engine))
LIBS_jail = $(call once,LIBS_jail,$(PKG_CONFIG) --libs $(PKGS_jailexe))
LIBS_all = $(call once,LIBS_all,$(PKG_CONFIG) --libs $(PKGS_all))

CFLAGS_ALL = -std=c11 $(MODE) $(WARN) -fPIC -fvisibility=hidden $(DEFS) -Ihost -Ihost/include $(PKG_CFLAGS) -MMD -MP $(CFLAGS)

# --- programs ---

obj = $(patsubst host/%.c,$(B)/obj/%.o,$(wildcard host/$(1)/*.c))

OBJ_base := $(call obj,base)
OBJ_data := $(call obj,data)
OBJ_jail := $(call obj,jail)
OBJ_host := $(OBJ_base) $(call obj,prim) $(call obj,core) $(call obj,bind) $(B)/obj/assets.o

HELPERS := $(patsubst host/app/%.c,$(B)/libexec/alisio/%,$(filter-out %/alisio.c,$(wildcard host/app/*.c)))

all: $(B)/alisio $(HELPERS) ## builds the programs into build/

# Other flags, other objects.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','"'"',$(CC) $(CFLAGS_ALL))' | cmp -s - $@ || echo '$(subst ','"'"',$(CC) $(CFLAGS_ALL))' >$@

$(B)/obj/%.o: host/%.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

# $(call link,what else,libraries): every object and archive behind the target
link = $(Q)mkdir -p $(@D) && $(CC) $(MODE) $(1) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LINK) $(2) $(SYS_LIBS)

$(B)/alisio: $(B)/obj/app/alisio.o $(OBJ_host)
	$(call link,$(PIE),$(LIBS_alisio))

$(B)/libexec/alisio/engine: $(B)/obj/app/engine.o $(OBJ_base) $(OBJ_data) $(OBJ_jail)
	$(call link,$(PIE),$(LIBS_engine))

# The jail starts with every child: of an archive it takes the objects it uses, and so it does not
# load the libraries of the others.
$(B)/obj/jail.a: $(OBJ_base) $(OBJ_jail)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libexec/alisio/jail: $(B)/obj/app/jail.o $(B)/obj/jail.a
	$(call link,$(PIE),$(LIBS_jail))

# --- assets: every Lua, Python and page file, inside the program with its SHA-256 ---

ASSETS := $(sort $(shell find lua stdlib vendor/assets -type f \( -name '*.lua' -o -name '*.py' -o -name '*.css' \
  -o -name '*.js' -o -name '*.html' -o -name '*.svg' -o -name '*.txt' -o -name '*.md' \) 2>/dev/null))

# The list changes when a file goes away, too.
$(B)/assets.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(ASSETS) | cmp -s - $@ || printf '%s\n' $(ASSETS) >$@

$(B)/assets.S: host/core/assets.sh $(B)/assets.list $(ASSETS)
	$(Q)sh host/core/assets.sh $(ASSETS) >$@.tmp && mv $@.tmp $@

$(B)/obj/assets.o: $(B)/assets.S
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@

.PHONY: FORCE
FORCE:

# --- set-up and a first run ---

.PHONY: deps run
deps: ## installs what building and running need
	@sh vendor/deps.sh build $(PKGS_all)

run: deps ## builds, then makes a report and a chart from a sales file in build/demo
	@echo "Building"
	@$(MAKE) --no-print-directory $(JOBS) all
	@sh examples/demo.sh $(B)

include tests/tests.mk
include $(wildcard host/*.mk)

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
	@sed -n '3,5s/^# //p' Makefile

clean: ## removes everything that was built
	rm -rf build

-include $(wildcard $(B)/obj/*/*.d $(B)/unit/*.d $(B)/fuzz_*.d)
