# What `make install` puts where, and the library for programs that embed the host.

LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share

$(B)/libalisio.a: $(OBJ_host)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/$(SONAME): $(OBJ_host)
	$(call link,$(SHARED),$(LIBS_alisio))

# The man page and the completions are made by the program, from the tables its --help is made from.
# Built anew without the hooks for tests. Everything goes below DESTDIR, which is empty or absolute.
.PHONY: install install-files uninstall
install: ## installs below PREFIX (and DESTDIR): programs, library, header, man page, completions
	@$(MAKE) --no-print-directory $(JOBS) RELEASE=1 install-files

install-files: all $(B)/libalisio.a $(B)/$(SONAME)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/alisio $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(DATADIR)/man/man1 $(DESTDIR)$(DATADIR)/doc/alisio \
	  $(DESTDIR)$(DATADIR)/bash-completion/completions $(DESTDIR)$(DATADIR)/zsh/site-functions \
	  $(DESTDIR)$(DATADIR)/fish/vendor_completions.d
	install -m 755 $(B)/alisio $(DESTDIR)$(PREFIX)/bin/alisio
	install -m 755 $(B)/libexec/alisio/engine $(B)/libexec/alisio/jail $(DESTDIR)$(PREFIX)/libexec/alisio/
	install -m 644 host/include/alisio.h $(DESTDIR)$(PREFIX)/include/alisio.h
	install -m 644 $(B)/libalisio.a $(DESTDIR)$(LIBDIR)/libalisio.a
	install -m 755 $(B)/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/$(SOLINK)
	for module in alisio alisio-static; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@REQUIRES@|$(PKGS_alisio)|' \
	    -e 's|@LIBS@|$(SYS_LIBS)|' host/$$module.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$$module.pc || exit 1; done
	$(B)/alisio help --man >$(DESTDIR)$(DATADIR)/man/man1/alisio.1
	$(B)/alisio help --completion bash >$(DESTDIR)$(DATADIR)/bash-completion/completions/alisio
	$(B)/alisio help --completion zsh >$(DESTDIR)$(DATADIR)/zsh/site-functions/_alisio
	$(B)/alisio help --completion fish >$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/alisio.fish
	install -m 644 LICENSE $(DESTDIR)$(DATADIR)/doc/alisio/LICENSE

uninstall: ## removes what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/alisio $(DESTDIR)$(PREFIX)/include/alisio.h $(DESTDIR)$(LIBDIR)/libalisio.a \
	  $(DESTDIR)$(LIBDIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SOLINK) $(DESTDIR)$(LIBDIR)/pkgconfig/alisio.pc \
	  $(DESTDIR)$(LIBDIR)/pkgconfig/alisio-static.pc $(DESTDIR)$(DATADIR)/man/man1/alisio.1 $(DESTDIR)$(DATADIR)/bash-completion/completions/alisio \
	  $(DESTDIR)$(DATADIR)/zsh/site-functions/_alisio $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/alisio.fish
	rm -rf $(DESTDIR)$(PREFIX)/libexec/alisio $(DESTDIR)$(DATADIR)/doc/alisio
