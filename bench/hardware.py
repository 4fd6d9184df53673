# SPDX-License-Identifier: Apache-2.0
"""Names the machine that measures, for bench/results/HARDWARE/."""
import re
import subprocess


def hardware():
    output = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    fields = {name.strip(): value.strip() for name, value in (line.split(":", 1) for line in output.splitlines())}
    flags = fields.get("Flags", "").split()
    interesting = ["avx2", "avx512f", "avx512_bf16", "avx512_vnni", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
                   "asimd", "bf16", "sve"]
    model = re.sub(r"\((R|TM)\)", "", fields["Model name"])
    return {"model": f"{model}, family {fields.get('CPU family', '?')} model {fields.get('Model', '?')}",
            "cores": int(fields["CPU(s)"]), "instruction_sets": [flag for flag in interesting if flag in flags]}


def folder_name(machine):
    return re.sub(r"[^a-z0-9]+", "-", f"{machine['model']} {machine['cores']} cores".lower()).strip("-")
