"""
Print how likely a model finds answers, in nats a token: `python tests/slow/vllm_truth.py FOLDER < PAIRS`.

PAIRS is a JSON list of questions with answers. A token counts that overlaps with the answer. Needs torch and
transformers; vLLM is not asked, and calm is not used.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(folder: str) -> None:
    """Print a JSON list of log-perplexities."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found = []
    for question, answer in json.load(sys.stdin):
        chat = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        text = tokenizer.apply_chat_template(chat, tokenize=False, continue_final_message=True)
        coded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True, add_special_tokens=False)
        start = text.rfind(answer)
        with torch.no_grad():
            scores = torch.log_softmax(model(coded.input_ids).logits[0], -1)
        own = [n for n, (begin, end) in enumerate(coded.offset_mapping[0].tolist()) if end > start and begin < end]
        logprobs = [scores[n - 1, coded.input_ids[0, n]].item() for n in own]
        found.append(-sum(logprobs) / len(logprobs))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
