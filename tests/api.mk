# Programs that embed the host and see only alisio.h (and uv.h, for their own loops).
API := $(patsubst tests/api/%.c,$(B)/api/%,$(wildcard tests/api/*.c)) $(B)/api/own_loop_static \
  $(B)/api/embedding_1 $(B)/api/embedding_2
API_CFLAGS = -std=c11 $(MODE) $(WARN) -D_GNU_SOURCE -Ihost/include $(shell $(PKG_CONFIG) --cflags libuv) $(CFLAGS)

.PHONY: api
api: $(API)

$(B)/$(SOLINK): $(B)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

$(B)/api/%: tests/api/%.c tests/api/api.h host/include/alisio.h $(B)/$(SOLINK)
	$(Q)mkdir -p $(@D) && $(CC) $(API_CFLAGS) $< -o $@ $(LDFLAGS) -L$(B) -lalisio -Wl,-rpath,$(abspath $(B)) \
	  $(shell $(PKG_CONFIG) --libs libuv) -lpthread

# The programs of docs/embedding.md.
$(B)/api/embedding_%.c: docs/embedding.md
	$(Q)mkdir -p $(@D) && awk -v n=$* '/^```c$$/ { i++; on = i == n; next } /^```$$/ { on = 0 } on' $< >$@

$(B)/api/embedding_%: $(B)/api/embedding_%.c host/include/alisio.h $(B)/$(SOLINK)
	$(Q)$(CC) $(API_CFLAGS) $< -o $@ $(LDFLAGS) -L$(B) -lalisio -Wl,-rpath,$(abspath $(B)) \
	  $(shell $(PKG_CONFIG) --libs libuv) -lpthread

$(B)/api/own_loop_static: tests/api/own_loop.c tests/api/api.h host/include/alisio.h $(B)/libalisio.a
	$(Q)mkdir -p $(@D) && $(CC) $(API_CFLAGS) $< -o $@ $(LDFLAGS) $(B)/libalisio.a $(LIBS_alisio) $(SYS_LIBS)
