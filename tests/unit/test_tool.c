#include "core/tool.h"
#include "lua_host.h"
#include "unit.h"

#define PRELUDE                                                                                    \
    "local tool = require 'std.tool'\n"                                                            \
    "local task = require 'std.task'\n"                                                            \
    "local function def(more)\n"                                                                   \
    "  local d = { name = 'add', description = 'adds', effect = 'read', input = {},\n"             \
    "    run = function(input, call) return input.a + input.b, call end }\n"                       \
    "  for k, v in pairs(more or {}) do d[k] = v end\n"                                            \
    "  return d\n"                                                                                 \
    "end\n"                                                                                        \
    "local function same(a, b) if a ~= b then error(tostring(a) .. ' is not ' .. tostring(b), 2) " \
    "end end\n"

static void passes(void **state, const char *body)
{
    char *text, *why;

    assert_true(asprintf(&text, "%sreturn { main = function()\n%s\nend }", PRELUDE, body) > 0);
    int code = run_lua(*state, text, &why);
    if (why)
        print_error("%s\n", why);
    free(why);
    free(text);
    assert_int_equal(code, 0);
}

static void refuses_without_a_gate(void **state)
{
    passes(state, "tool.register(def { run = function() error 'it ran' end })\n"
                  "local r, message, id = tool.call('add', { a = 1, b = 2 }, {})\n"
                  "same(r, nil) same(id, 'permission_denied') assert(#message > 0)\n"
                  "r, message, id = tool.call('other', {}, {})\n"
                  "same(id, 'not_found') assert(message:find 'other')");
}

static void runs_only_on_true(void **state)
{
    passes(state, "local answer\n"
                  "tool.register(def())\n"
                  "tool.set_gate(function(step)\n"
                  "  same(step.tool.name, 'add') same(step.tool.run, nil) same(step.input.a, 1)\n"
                  "  same(step.call, 'the call')\n"
                  "  return table.unpack(answer, 1, 3) end)\n"
                  "for _, refusal in ipairs { {}, { false }, { 1 }, { 'yes' }, { {} } } do\n"
                  "  answer = refusal\n"
                  "  local r, message, id = tool.call('add', { a = 1, b = 2 }, 'the call')\n"
                  "  same(r, nil) same(id, 'permission_denied') assert(#message > 0)\n"
                  "end\n"
                  "answer = { nil, 'not today', 'cancelled' }\n"
                  "local r, message, id = tool.call('add', { a = 1, b = 2 }, 'the call')\n"
                  "same(r, nil) same(message, 'not today') same(id, 'cancelled')\n"
                  "answer = { true }\n"
                  "local sum, call = tool.call('add', { a = 1, b = 2 }, 'the call')\n"
                  "same(sum, 3) same(call, 'the call')");
}

static void waits_in_the_gate_and_in_the_tool(void **state)
{
    passes(
        state,
        "tool.set_gate(function() task.sleep(1) return true end)\n"
        "tool.register(def { run = function(input) task.sleep(1) return 'a', nil, input.a end })\n"
        "local r = table.pack(tool.call('add', { a = 5 }, {}))\n"
        "same(r.n, 3) same(r[1], 'a') same(r[3], 5)");
}

static void unwinds_what_the_gate_or_the_tool_raises(void **state)
{
    passes(state,
           "local gate = true\n"
           "tool.set_gate(function() if gate then error('gate broke', 0) end return true end)\n"
           "tool.register(def { run = function() task.sleep(1) error('tool broke', 0) end })\n"
           "local ok, err = pcall(tool.call, 'add', {}, {})\n"
           "same(ok, false) same(err, 'gate broke')\n"
           "gate = false\n"
           "ok, err = pcall(tool.call, 'add', {}, {})\n"
           "same(ok, false) same(err, 'tool broke')");
}

static void runs_what_the_gate_was_shown(void **state)
{
    passes(state,
           "tool.register(def { run = function() return 'first' end })\n"
           "tool.set_gate(function()\n"
           "  tool.remove 'add'\n"
           "  tool.register(def { effect = 'process', run = function() return 'second' end })\n"
           "  return true end)\n"
           "same(tool.call('add', {}, {}), 'first')");
}

static void hands_out_copies_without_run(void **state)
{
    passes(state,
           "tool.register(def { name = 'b', extra = 'kept' }) tool.register(def { name = 'a' })\n"
           "local got = tool.get 'b'\n"
           "same(got.run, nil) same(got.extra, 'kept')\n"
           "got.effect = 'process' same(tool.get('b').effect, 'read')\n"
           "local list = tool.list()\n"
           "same(#list, 2) same(list[1].name, 'a') same(list[2].name, 'b') same(list[1].run, nil)\n"
           "same(tool.get 'c', nil)\n"
           "tool.remove 'a' same(#tool.list(), 1) tool.remove 'a'");
}

static void refuses_wrong_definitions(void **state)
{
    passes(
        state,
        "local wrong = { { name = 'A' }, { name = '' }, { name = ('a'):rep(65) }, { name = 1 },\n"
        "  { description = false }, { effect = 'harmless' }, { run = 'x' } }\n"
        "for _, more in ipairs(wrong) do same(pcall(tool.register, def(more)), false) end\n"
        "same(#tool.list(), 0)\n"
        "tool.register(def()) local ok, err = pcall(tool.register, def())\n"
        "same(ok, false) assert(err:find 'already')\n"
        "tool.set_gate(print) same(pcall(tool.set_gate, print), false)");
}

static void lets_a_cancel_through(void **state)
{
    passes(state,
           "tool.set_gate(function() return true end)\n"
           "local closed\n"
           "tool.register(def { run = function()\n"
           "  local _ <close> = setmetatable({}, { __close = function() task.sleep(1) closed = "
           "true end })\n"
           "  task.sleep(10000) end })\n"
           "local t = task.spawn(tool.call, 'add', {}, {})\n"
           "task.sleep(1) t:cancel()\n"
           "local ok, err = t:wait() same(ok, nil) same(err, 'cancelled') same(closed, true)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refuses_without_a_gate, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(runs_only_on_true, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(waits_in_the_gate_and_in_the_tool, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(unwinds_what_the_gate_or_the_tool_raises, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(runs_what_the_gate_was_shown, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(hands_out_copies_without_run, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(refuses_wrong_definitions, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(lets_a_cancel_through, lua_host_open, lua_host_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
