"""Prefect tasks whose function is JAX's: conducted and compiled ahead, on their worker's devices.

    task.py, recognised.py     what the author writes, and what is recognised
    function.py, process.py    the function as it travels, and what a process keeps of it
    running.py                 one call: prepare, wait for memory, run, tell
    admission.py, memory.py    who may use how much of a device
    arrays.py                  results handed over as they are

Nothing here imports JAX before a JAX task runs.
"""
