"""What plays a model for fault_server.py: a function of the request gives the reply.

`streams` answers with the recorded stream that is named like the model asked for. `report` plays a
model that summarizes sales.csv into report.md and draws a chart, in the shape of the quirk it is told;
it refuses, with status 400, a conversation that does not come back as it has to.
"""
import json
import re


def streams(wanted):
    def play(request):
        name = json.loads(request["body"])["model"]
        return {"file": f"tests/data/openai/{name}.sse", "cut": wanted.get("cut")}
    return play


SQL = "SELECT region, round(sum(total), 2) AS total FROM data GROUP BY region ORDER BY region"
CHART = """
import csv
from alisio_runtime import input_dir, output_dir, svg
totals = {}
with open(input_dir() / "sales.csv", newline="", encoding="utf-8") as f:
    for row in csv.DictReader(f):
        totals[row["region"]] = totals.get(row["region"], 0) + float(row["total"])
chart = svg.bar(sorted(totals), [totals[k] for k in sorted(totals)], title="Sales by region")
(output_dir() / "chart.svg").write_text(chart, encoding="utf-8")
print("drew", len(totals), "bars")
"""


class Refused(Exception):
    pass


def expect(holds, why):
    if not holds:
        raise Refused(why)


class Report:
    """The model of one conversation at a time; its calls are numbered by the turns that called."""

    def __init__(self, wanted):
        self.quirk = wanted.get("quirk", "plain")
        self.cut = wanted.get("cut")
        self.asked = 0

    def __call__(self, request):
        self.asked += 1
        body = json.loads(request["body"])
        busy = {"status_429": {"status": 429, "headers": {"Retry-After": "0"}, "body": '{"error":{"message":"slow down"}}'},
                "status_503": {"status": 503, "headers": {"Retry-After": "0"}, "body": "busy"},
                "overloaded": {"body": 'data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n'},
                "reset": {"raw": True, "body": "", "end": "reset"}}.get(self.quirk)
        if busy and self.asked % 2:
            return busy
        try:
            self.check(body)
            text, calls = self.turn(body["messages"])
        except Refused as error:
            return {"status": 400, "type": "application/json", "body": json.dumps({"error": {"message": str(error)}})}
        return {"body": encode(text, calls, self.quirk), "cut": self.cut}

    def check(self, body):
        """Every server wants these; the quirk of some is to want more."""
        expect(body["stream"] is True and "parallel_tool_calls" not in body, "stream, and no parallel_tool_calls")
        used = any(m["role"] == "tool" for m in body["messages"])
        waiting = []
        for message in body["messages"]:
            if message["role"] == "tool":
                expect(message["tool_call_id"] in waiting, "a result without its call")
                waiting.remove(message["tool_call_id"])
                continue
            expect(not waiting, "a call without its result")
            if message["role"] == "assistant":
                calls = message.get("tool_calls", [])
                waiting = [call["id"] for call in calls]
                expect(len(set(waiting)) == len(calls), "two calls with one id")
                for call in calls:
                    expect(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments that are no object")
                    if self.quirk == "thought_signature":
                        said = call.get("extra_content", {}).get("google", {}).get("thought_signature")
                        expect(said == "sig/" + call["function"]["name"], f"the signature came back as {said}")
                if self.quirk == "reasoning" and used:
                    expect(message.get("reasoning_content") == "Hm, let me see.", "the reasoning did not come back")
        expect(not waiting, "a call without its result")

    def turn(self, messages):
        results = [m["content"] for m in messages if m["role"] == "tool"]
        turns = sum(1 for m in messages if m["role"] == "assistant" and m.get("tool_calls"))
        if self.quirk in ("unknown_tool", "bad_arguments"):
            if turns == 0:
                return "", [("fly_to_the_moon", {}) if self.quirk == "unknown_tool" else ("data_inspect", '{"path": sales')]
            expect("There is no tool" in results[0] or "not a JSON object" in results[0], "it was not told of its mistake")
            turns, results = turns - 1, results[1:]
        if turns == 0:
            return "I will look at the file first.", [("data_inspect", {"path": "sales.csv"}), ("list_files", {"path": "."})]
        if turns == 1:
            found = re.search(r"\bds_[0-9a-z]{26}\b", results[0])
            expect(found, "data_inspect told no id: " + results[0][:200])
            return "", [("data_query", {"datasetId": found.group(), "sql": SQL})]
        if turns == 2:
            report = "# Sales\n\nTotals by region, señora:\n\n```\n" + results[2] + "\n```\n"
            return "", [("artifact_create", {"fileName": "report.md", "title": "Sales", "text": report})]
        if turns == 3:
            return "", [("python_run", {"title": "Sales by region", "code": CHART, "inputs": ["sales.csv"]})]
        return "The report is report.md, the chart is chart.svg.", []


# --- how it is said ---

def pieces(text, size=9):
    return [text[i:i + size] for i in range(0, len(text), size)]


def heads(calls, quirk):
    """The deltas of tool_calls, in the shape of the quirk."""
    for i, (name, given) in enumerate(calls):
        said = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        index = {} if quirk in ("index_missing", "nothing_but_names") else {"index": 0 if quirk == "index_zero" else i}
        key = {} if quirk in ("id_missing", "nothing_but_names") else {"id": f"call_{name}_{i}", "type": "function"}
        more = {"extra_content": {"google": {"thought_signature": "sig/" + name}}} if quirk == "thought_signature" else {}
        if quirk == "args_object" and isinstance(given, dict):
            yield {**index, **key, **more, "function": {"name": name, "arguments": given}}
            continue
        if quirk == "args_quoted" and isinstance(given, dict):
            said = json.dumps(said)
        first = "{}" if quirk == "args_placeholder" else ""
        named = {} if quirk == "name_late" else {"name": name}
        yield {**index, **key, **more, "function": {**named, "arguments": first}}
        for piece in pieces(said):
            again = {"name": name} if quirk == "name_repeated" else {}
            yield {**index, **(key if quirk == "id_repeated" else {}), "function": {**again, "arguments": piece}}
        if quirk == "name_late":
            yield {**index, "function": {"name": name, "arguments": ""}}
        if quirk == "args_repeated":
            yield {**index, **key, "function": {"name": name, "arguments": said}}


def chunks(text, calls, quirk):
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

    def chunk(delta, finish=None, **more):
        if quirk == "usage_everywhere":
            more["usage"] = usage
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", **more,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": None})
    if quirk == "choices_null":
        yield {**chunk({}), "choices": None}
    if quirk == "reasoning":
        yield chunk({"reasoning_content": "Hm, let "})
        yield chunk({"reasoning_content": "me see."})
    for piece in pieces(text, 4):
        yield chunk({"content": piece})
    for delta in heads(calls, quirk):
        yield chunk({"tool_calls": [delta]})
    yield chunk({}, "tool_calls" if calls and quirk != "finish_stop" else "stop")
    yield {**chunk({}), "choices": [], "usage": usage}


def encode(text, calls, quirk):
    """The whole stream as text."""
    out = []
    for chunk in chunks(text, calls, quirk):
        said = json.dumps(chunk, ensure_ascii=False)
        if quirk == "data_lines":
            said = said.replace(', "choices"', ',\ndata: "choices"')
        if quirk == "keepalives":
            out.append(": keepalive\n\n:\n\ndata: : keepalive\n\ndata:\n\nevent: keepalive\n\n")
        out.append(("data:" if quirk == "no_space" else "data: ") + said + "\n\n")
    if quirk != "no_done":
        out.append("data: [DONE]\n\n")
    stream = "".join(out)
    if quirk == "bom":
        stream = "\ufeff" + stream
    return stream.replace("\n", {"crlf": "\r\n", "cr": "\r"}.get(quirk, "\n"))


QUIRKS = ["plain", "index_missing", "index_zero", "nothing_but_names", "id_missing", "id_repeated", "name_late",
          "name_repeated", "args_object", "args_quoted", "args_placeholder", "args_repeated", "finish_stop",
          "choices_null", "usage_everywhere", "no_done", "reasoning", "thought_signature", "crlf", "cr", "bom",
          "no_space", "data_lines", "keepalives", "status_429", "status_503", "overloaded", "reset", "unknown_tool",
          "bad_arguments"]
PLAYERS = {"streams": streams, "report": Report}
