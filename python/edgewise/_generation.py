# SPDX-License-Identifier: Apache-2.0
"""The results of Generator.generate."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeneratedText:
    """A continuation of a prompt.

    text: the continuation, without the prompt
    finish_reason: "end" (the model ended the text), "stop" (a stop string) or "length" (max_tokens)
    tokens: the number of its tokens, the last one included
    """

    text: str
    finish_reason: str
    tokens: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Generation:
    """The continuations of a prompt.

    samples: as many continuations as the option samples says
    prompt_tokens: the number of tokens of the prompt, with the token that begins a text
    """

    samples: list[GeneratedText]
    prompt_tokens: int

    @property
    def text(self) -> str:
        """The text of the first continuation."""
        return self.samples[0].text

    def __str__(self) -> str:
        return self.text
