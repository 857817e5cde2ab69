"""A plain reading of the run file's records, independent of `pytscope.runs`."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

FORMATS = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}


def records(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """Every record of intact bytes, its checksum verified."""
    out, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        line = data[at:end]
        header = json.loads(line)
        body = b""
        at = end + 1
        if "len" in header:
            body = data[at : at + header["len"]]
            at += header["len"]
            assert data[at : at + 1] == b"\n"
            at += 1
        assert zlib.crc32(body, zlib.crc32(line[: line.rindex(b',"crc":')])) == header["crc"]
        out.append((header, body))
    return out


def steps(header: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
    """The steps of a `steps` record: segments, scalars, meta."""
    n, pats = header["n"], header["pats"]
    which = list(body[:n]) if len(pats) > 1 else [0] * n
    at = n if len(pats) > 1 else 0
    rows: list[list[dict[str, Any]]] = []
    for count, columns, *meta in pats:
        made: list[dict[str, Any]] = [
            {"segments": [], "scalars": {}, "bytes": {}, "meta": meta[0] if meta else {}}
            for _ in range(count)
        ]
        for kind, name, dtype in columns:
            size = struct.calcsize(f"<{count}{FORMATS[dtype]}")
            values = struct.unpack(f"<{count}{FORMATS[dtype]}", body[at : at + size])
            at += size
            for row, value in zip(made, values, strict=True):
                if kind == "p":
                    row["segments"].append((name, value))
                elif kind == "b":
                    row["bytes"][name] = value
                else:
                    row["scalars"][name] = value
        rows.append(made)
    assert at == len(body)
    places = [iter(made) for made in rows]
    return [{"step": header["step"] + i, **next(places[p])} for i, p in enumerate(which)]


def attempt(data: bytes) -> dict[str, Any]:
    """One attempt's startup, steps, late logs, events and end."""
    out: dict[str, Any] = {"startup": None, "steps": [], "events": [], "end": None, "open": []}
    for header, body in records(data):
        kind = header["b"]
        if kind == "steps":
            out["steps"] += [{"t0": header["t0"], **row} for row in steps(header, body)]
        elif kind == "event" and header["kind"] == "startup":
            out["startup"] = [tuple(s) for s in header["segments"]]
        elif kind == "event" and header["kind"] == "log" and header["step"] is not None:
            row = next(r for r in out["steps"] if r["step"] == header["step"])
            row["scalars"].update(header["values"])
        elif kind == "event":
            out["events"].append(header)
        elif kind == "open":
            out["open"].append(header)
        elif kind in {"run", "end"}:
            out[kind] = header
    return out
