#!/usr/bin/env python3
"""A scripted HTTP server that says exactly the bytes a test wrote down, cut and delayed at will.

Prints its port on the first line; ends with the process that started it, or on POST /_quit.

  POST /_script   {"replies": [REPLY...], "model": NAME}: what the next requests get, in order, and
                  what the log forgets. Once the replies are used up the last one is repeated; with
                  "model" the player of that name (players.py) answers instead.
  GET  /_log      the requests since then: [{"method", "path", "headers", "body", "seconds"}]

A REPLY (all fields optional):
  status 200, headers {}, type "text/event-stream"
  body "text" | file "tests/data/openai/x.sse" | base64 "..."
  raw             true: the body is all that is sent, status line and headers included
  cut             bytes of one write (default: all at once); pieces [n, ...] instead: the sizes of
                  the first writes
  delay           seconds between two writes
  after           N: only the first N bytes are sent
  end             "close" (default), "reset", "hang" (until the peer leaves): what follows the last byte
  length          true: with a Content-Length; else the end of the connection ends the body
  wait            seconds before the first byte
"""
import asyncio
import base64
import json
import os
import socket
import ssl
import struct
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Script:
    def __init__(self):
        self.replies, self.at, self.log, self.player = [], 0, [], None

    def load(self, wanted):
        self.__init__()
        self.replies = wanted.get("replies", [])
        if wanted.get("model"):
            import players
            self.player = players.PLAYERS[wanted["model"]](wanted)

    def reply(self, request):
        if self.at < len(self.replies):
            self.at += 1
            return self.replies[self.at - 1]
        if self.player:
            return self.player(request)
        if self.replies:
            return self.replies[-1]
        return {"status": 500, "type": "text/plain", "body": "no script"}


script = Script()
done = None


def body_of(reply):
    if "file" in reply:
        with open(os.path.join(ROOT, reply["file"]), "rb") as f:
            return f.read()
    if "base64" in reply:
        return base64.b64decode(reply["base64"])
    return reply.get("body", "").encode()


def bytes_of(reply):
    body = body_of(reply)
    if "after" in reply:
        body = body[:reply["after"]]
    if reply.get("raw"):
        return b"", body
    headers = {"Content-Type": reply.get("type", "text/event-stream"), "Connection": "close"}
    if reply.get("length"):
        headers["Content-Length"] = str(len(body_of(reply)))
    headers.update(reply.get("headers", {}))
    head = f"HTTP/1.1 {reply.get('status', 200)} Scripted\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode() + b"\r\n", body


async def send(reader, writer, reply):
    head, body = bytes_of(reply)
    await asyncio.sleep(reply.get("wait", 0))
    writer.write(head)
    await writer.drain()
    pieces, at = list(reply.get("pieces", [])), 0
    while at < len(body):
        size = pieces.pop(0) if pieces else reply.get("cut") or len(body)
        writer.write(body[at:at + size])
        await writer.drain()
        at += size
        if at < len(body):
            # without a pause the kernel would glue the pieces together again
            await asyncio.sleep(reply.get("delay", 0))
    end = reply.get("end", "close")
    if end == "hang":
        await reader.read()
    if end == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return {"method": method, "path": path, "headers": headers,
            "body": body.decode("utf-8", "replace"), "seconds": time.monotonic()}


def control(request):
    """The answer to a request for the server itself, or None."""
    path = request["path"]
    if path == "/_script":
        script.load(json.loads(request["body"]))
        return {"type": "application/json", "body": "{}"}
    if path == "/_log":
        return {"type": "application/json", "body": json.dumps(script.log)}
    if path == "/_quit":
        done.set()
        return {"type": "application/json", "body": "{}"}
    return None


async def serve(reader, writer):
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        request = await read_request(reader)
        reply = control(request)
        if not reply:
            script.log.append(request)
            reply = script.reply(request)
        await send(reader, writer, reply)
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
        pass  # the peer left, or the server ends
    finally:
        writer.close()


async def main():
    global done
    done = asyncio.Event()
    tls = None
    if len(sys.argv) > 2 and sys.argv[1] == "--tls":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[2])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=64 * 1024 * 1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    parent = os.getppid()
    while not done.is_set() and os.getppid() == parent:
        try:
            await asyncio.wait_for(done.wait(), 0.25)
        except asyncio.TimeoutError:
            pass


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
