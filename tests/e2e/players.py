"""What plays a model for fault_server.py: a function of the request gives the reply."""
import json


def streams(wanted):
    """The recorded stream that is named like the model that was asked for."""
    def play(request):
        name = json.loads(request["body"])["model"]
        return {"file": f"tests/data/openai/{name}.sse", "cut": wanted.get("cut")}
    return play


PLAYERS = {"streams": streams}
