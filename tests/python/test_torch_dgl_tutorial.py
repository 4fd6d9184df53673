# SPDX-License-Identifier: Apache-2.0
"""The script that runs the code of DGL's tutorial repairs the gaps of a page, and the program trains.

EDGEWISE_TUTORIAL_TEXTS names texts of the tutorial, separated by colons, whose programs train, too.
"""
import os
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from conftest import SOURCE  # noqa: E402

# Code with the shape of the tutorial's, and the gaps of a page whose links are lost.
PAGE = '''
A heading

class MultiHeadAttention(nn.Module):
    def __init__(self, h, size):
        super().__init__()
        self.h, self.k = h, size // h
        self.maps = clones(nn.Linear(size, size), 4)

    def get(self, x, fields="qkv"):
        return {name: self.maps["qkv".index(name)](x).view(len(x), self.h, self.k) for name in fields}

    def get_o(self, x):
        return self.maps[3](x.reshape(len(x), -1))

Some text (with parentheses) between.

def src_dot_dst(src, dst, out):
    def func(edges):
        return {out: (edges.src[src] * edges.dst[dst]).sum(-1, keepdim=True)}

    return func

def scaled_exp(field, scale):
    def func(edges):
        return {field: th.exp(([field] / scale).clamp(-5, 5))}

    return func

class Encoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.N, self.layers, self.norm = N, clones(layer, N), LayerNorm(layer.size)

    def pre_func(self, i, fields='qkv'):
        layer = self.layers[i]
        def func(nodes):
            x =['x']
            return layer.self_attn.get(layer.sublayer[0].norm(x), fields)
        return func

    def post_func(self, i):
        layer = self.layers[i]
        def func(nodes):
            x, wv, z =['x'],['wv'],['z']
            x = x + layer.sublayer[0].dropout(layer.self_attn.get_o(wv / z))
            return {'x': self.norm(layer.sublayer[1](x, layer.feed_forward))}
        return func

class Decoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.N, self.layers, self.norm = N, clones(layer, N), LayerNorm(layer.size)

    def pre_func(self, i, fields='qkv', l=0):
        layer = self.layers[i]
        def func(nodes):
            x =['x']
            if fields == 'kv':
                norm_x = x # a comment
                norm_x = layer.sublayer[l].norm(x)
            return layer.self_attn.get(norm_x, fields)
        return func

    def post_func(self, i, l=0):
        layer = self.layers[i]
        def func(nodes):
            x, wv, z =['x'],['wv'],['z']
            x = x + layer.sublayer[l].dropout(layer.self_attn.get_o(wv / z))
            return {'x': self.norm(layer.sublayer[2](x, layer.feed_forward)) if l == 1 else x}
        return func

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, pos_enc, generator, h, d_k):
        super().__init__()
        self.encoder, self.decoder, self.pos_enc, self.generator = encoder, decoder, pos_enc, generator
        self.src_embed, self.tgt_embed, self.d_k = src_embed, tgt_embed, d_k

    def step(self, g, eids, pre, post):
        for func, nids in pre:
            g.apply_nodes(func, nids)
        g.apply_edges(src_dot_dst('k', 'q', 'score'), eids)
        g.apply_edges(scaled_exp('score', np.sqrt(self.d_k)))
        # the call is missing
                    [fn.src_mul_edge('v', 'score', 'v'), fn.copy_edge('score', 'score')],
                    [fn.sum('v', 'wv'), fn.sum('score', 'z')])
        for func, nids in post:
            g.apply_nodes(func, nids)

    def forward(self, graph):
        g, nids, eids = graph.g, graph.nids, graph.eids
        for name, embed, tokens in (('enc', self.src_embed, graph.src), ('dec', self.tgt_embed, graph.tgt)):
            g.nodes[nids[name]].data['x'] = self.pos_enc.dropout(embed(tokens[0]) + self.pos_enc(tokens[1]))
        enc, dec = nids['enc'], nids['dec']
        self.step(g, eids['ee'], [(self.encoder.pre_func(0), enc)], [(self.encoder.post_func(0), enc)])
        self.step(g, eids['dd'], [(self.decoder.pre_func(0), dec)], [(self.decoder.post_func(0), dec)])
        self.step(g, eids['ed'], [(self.decoder.pre_func(0, 'q', 1), dec), (self.decoder.pre_func(0, 'kv', 1), enc)],
                  [(self.decoder.post_func(0, 1), dec)])
        return self.generator(g.ndata['x'][dec])

More text.

from tqdm import tqdm
from modules import make_model

def run_epoch(data_iter, model, loss_compute, is_train=True):
    for i, g in tqdm(enumerate(data_iter)):
        with th.set_grad_enabled(is_train):
            loss_compute(model(g), g.tgt_y, g.n_tokens)
    losses.append((loss_compute.avg_loss, model.training))

losses = []
devices = ['cpu']
dataset = get_dataset("copy")
criterion = LabelSmoothing(dataset.vocab_size, padding_idx=dataset.pad_id, smoothing=0.1)
model = make_model(dataset.vocab_size, dataset.vocab_size, N=1, dim_model=32, dim_ff=32, h=2)
model, criterion =[0]),[0])
model_opt = NoamOpt(32, 1, 20, th.optim.Adam(model.parameters(), lr=1e-3))

for epoch in range(4):
    print('Training...')
    run_epoch(dataset(graph_pool, mode='train', batch_size=32, devices=devices), model,
              SimpleLossCompute(criterion, model_opt))
    print('Evaluating...')
    run_epoch(dataset(graph_pool, mode='valid', batch_size=32, devices=devices), model,
              SimpleLossCompute(criterion, None), is_train=False)

Text after the program.
'''


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "python/examples"))
    monkeypatch.delitem(sys.modules, "dgl_tutorial_gaps", raising=False)
    import dgl_tutorial
    import dgl_tutorial_gaps

    monkeypatch.setitem(dgl_tutorial_gaps.sizes, "valid", 64)
    return dgl_tutorial


def test_the_program_of_a_page_with_gaps_trains(script, capsys):
    program = script.make_program(PAGE, epochs=2)
    assert "x = nodes.data['x']\n" in program and "edges.data[field]" in program
    assert "        g.send_and_recv(eids,\n" in program and "            else:\n" in program
    names = script.run(program, pairs=256)
    losses = names["losses"]
    assert [training for _, training in losses] == [True, False, True, False]
    assert losses[3][0] < losses[1][0] < losses[0][0] + 0.5
    assert "output tokens a second" in capsys.readouterr().out


def test_a_text_without_the_tutorial_is_an_error(script):
    text = "^dgl_tutorial: the text has no MultiHeadAttention, needs the tutorial's code$"
    with pytest.raises(SystemExit, match=text):
        script.make_program("Some text.\n")


@pytest.mark.parametrize("path", [path for path in os.environ.get("EDGEWISE_TUTORIAL_TEXTS", "").split(":") if path])
def test_the_tutorial_trains(script, path, capsys):
    names = script.run(script.make_program(pathlib.Path(path).read_text(), epochs=2), pairs=2560)
    assert names["model"].encoder.N == 1
    output = capsys.readouterr().out.split()
    losses = [float(output[i + 2]) for i, word in enumerate(output) if word == "average"]
    assert len(losses) == 4 and losses[3] < losses[1] < losses[0]
