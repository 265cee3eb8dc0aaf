"""FastAPI and ONNX Runtime without batching: what people write first.

One uvicorn worker a core, as FastAPI's page on deployment has it; the photograph is the raw body.
"""

from __future__ import annotations

from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool

from benchmarks.peers.chain import Chain, settings

SETTINGS = settings()
app = FastAPI()
chain = Chain(SETTINGS["threads"], SETTINGS["reduced"])


@app.post("/classify")
async def classify(request: Request) -> Any:
    """Classes, scores and labels of one photograph."""
    encoded = await request.body()
    if SETTINGS["thread_pool"]:
        return (await run_in_threadpool(chain, [encoded]))[0]
    return chain([encoded])[0]


if __name__ == "__main__":
    uvicorn.run(
        "benchmarks.peers.fastapi.server:app",
        port=SETTINGS["ports"][0],
        workers=SETTINGS["workers"],
        log_level="warning",
        access_log=False,
    )
