#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times beam search of transformers with a base model of random weights in bf16, as `edgewise bench decode` does, and
prints JSON: output tokens per second by the way in which the model runs. --list prints these ways only."""
import argparse
import json
import random
import statistics
import time

VOCABULARY, OUTPUT_TOKENS, BEAM = 10_000, 16, 4
WAYS = ("eager", "torch.compile")
SIZES = {  # size, feed-forward, heads, layers of the encoder and of the decoder
    "tiny": (128, 256, 4, 4),
    "base": (512, 2048, 8, 6),
}


def make_model(torch, size, device):
    import transformers  # pylint: disable=import-outside-toplevel
    state, feed_forward, heads, layers = SIZES[size]
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=state, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=feed_forward,
        decoder_ffn_dim=feed_forward, max_position_embeddings=64, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, forced_eos_token_id=None)
    torch.manual_seed(1)
    return transformers.MarianMTModel(config).to(device, torch.bfloat16).eval()


def read_batches(torch, arguments):
    """Returns padded batches of random tokens, a token and a quarter for each word of the file."""
    generator = random.Random(1)
    with open(arguments.input, encoding="utf-8") as file:
        lengths = [len(line.split()) * 5 // 4 + 1 for line in file]
    batches = []
    for begin in range(0, len(lengths), arguments.batch):
        tokens = [torch.tensor([generator.randrange(2, VOCABULARY) for _ in range(length - 1)] + [1])
                  for length in lengths[begin:begin + arguments.batch]]
        padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True).to(arguments.device)
        batches.append((padded, (padded != 0).long()))
    return batches


def translate(model, batches):
    for tokens, mask in batches:
        output = model.generate(tokens, attention_mask=mask, num_beams=BEAM, do_sample=False,
                                min_new_tokens=OUTPUT_TOKENS, max_new_tokens=OUTPUT_TOKENS)
        output.cpu()  # waits for the GPU


def measure(torch, way, arguments):
    model = make_model(torch, arguments.size, arguments.device)
    if way == "torch.compile":
        model.forward = torch.compile(model.forward)
    batches = read_batches(torch, arguments)
    translate(model, batches)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        translate(model, batches)
        seconds.append(time.perf_counter() - begin)
    sentences = sum(len(tokens) for tokens, _ in batches)
    return {"output_tokens_per_second": sentences * OUTPUT_TOKENS / statistics.median(seconds)}


def main():
    parser = argparse.ArgumentParser(description="Times beam search of transformers.")
    parser.add_argument("--list", action="store_true", help="print the ways in which the model runs, and measure nothing")
    parser.add_argument("--input", help="a file of sentences, which give the lengths of inputs")
    parser.add_argument("--device", default="cuda", help="a device of PyTorch (default: cuda)")
    parser.add_argument("--size", choices=SIZES, default="base", help="the size of the model (default: base)")
    parser.add_argument("--batch", type=int, default=256, help="the number of sentences of a batch (default: 256)")
    arguments = parser.parse_args()
    if arguments.list:
        print(json.dumps(WAYS))
        return
    import torch  # pylint: disable=import-outside-toplevel
    import transformers  # pylint: disable=import-outside-toplevel
    results = {"torch": torch.__version__, "transformers": transformers.__version__}
    for way in WAYS:
        try:
            results[way] = measure(torch, way, arguments)
        except Exception as error:  # pylint: disable=broad-exception-caught  # a version may not compile the model
            results[way] = {"error": str(error).splitlines()[0]}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
