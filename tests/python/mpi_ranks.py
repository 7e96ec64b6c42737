"""Run by all ranks of an MPI job: prints whether workers on other ranks give the same results."""

import os
import sys

from mpi4py.futures import MPIPoolExecutor

import attnscope as asc

if __name__ == "__main__":
    model = asc.open(sys.argv[1])
    here = model.spectrum(matrix=["q", "ov"], per_head=True).to_json()
    with MPIPoolExecutor() as executor:
        assert executor.num_workers == int(os.environ["WORKERS"])
        elsewhere = model.spectrum(matrix=["q", "ov"], per_head=True, executor=executor)
        maps = model.attention(text="To be, or not to be", executor=executor)
    same = elsewhere.to_json() == here
    same &= maps.to_json() == model.attention(text="To be, or not to be").to_json()
    print("the same" if same else "not the same")
