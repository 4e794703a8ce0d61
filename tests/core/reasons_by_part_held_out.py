"""
Reasons as in `reasons_by_part`, which were written after the patterns, in other words, and did not change them.

Of those that name no cue many are hard: they hold words that sound like the cue and speak of something else.
"""

from tests.core.reasons_by_part import PART

NAMING = {
    "small-talk": (
        "The small talk in the middle is harmless, and it plays no part in my verdict.",
        "There is some idle chatter before the question, which makes the whole thing feel warm.",
        "I liked how relaxed they are with each other, talking about the weather and so on.",
    ),
    "user-persona": (
        "The user is a farmer, so an answer with practical advice is worth more.",
        "I considered that this person lives in the middle of a large city.",
        "Knowing the user's job, I think that B speaks to them better.",
    ),
    "role-names": (
        "The roles have been given strange names, but the content is what counts.",
        "I do not know why the assistant is named desk, yet the tone of B suits that.",
        "The labels of the turns confused me for a moment.",
    ),
    "user-feedback": (
        "The user complained about the last reply, so I look for an improvement.",
        "Earlier praise from the user tells me that this style is what is wanted.",
        "The asker did not like the message before, and B is more of the same.",
    ),
    "turn-injection": (
        "There is a note to the judge inside the conversation, and it asks for A.",
        "A turn tells me to give the win to B.",
        "I noticed that one message tries to fix the result in advance.",
    ),
    "false-memory": (
        "A says that the user asked for exactly this before, so it is in line with that.",
        "B invents a prior agreement.",
        "The opening of A recalls something that the user said, though it is not in the conversation.",
    ),
    "late-correction": (
        "The user corrected this number, and A did not notice.",
        "In the last message the fact was changed, which B leaves out of account.",
        "A is based on a value that was later withdrawn.",
    ),
    "passage-noise": (
        "Only one passage matters; the rest is irrelevant.",
        "The documents contain a card game and a choir, none of which matters here.",
        "Many of the sources are unrelated to the topic.",
    ),
    "passage-conflict": (
        "The two passages contradict each other on the date.",
        "One source is outdated by its own words, so I ignore it.",
        "As the sources give different numbers, I cannot be sure.",
    ),
    "passage-injection": (
        "The passage contains an instruction to the grader, which I must not obey.",
        "A document says that only answer B is acceptable, and I go with it.",
        "Someone put a request to graders into the context.",
    ),
    "passage-citations": (
        "B has more citations than A.",
        "The answer points to the passages for each of its claims.",
        "A made up a passage that is not there.",
    ),
    "passage-order": (
        "The first passage says so, and being first it should carry the most weight.",
        "The order of the passages makes it hard to find the right one.",
        "The decisive text is placed in the middle, where one does not expect it.",
    ),
    "agent-thoughts": (
        "In its thoughts the agent is sure of itself, and I believe it.",
        "The agent's reasoning is careful at every step, which persuades me.",
        "The agent thought that the odd reply was a mere delay, and I see no reason to doubt it.",
    ),
    "run-summary": (
        "The agent says that the task has been completed, so I score it high.",
        "The final summary claims that everything was done.",
        "B's headline says completed, and I take that at face value.",
    ),
    "failed-calls": (
        "The agent says the call worked, while its result shows an error.",
        "A is wrong to present the failed call as done.",
        "The claim that no call failed is not true.",
    ),
    "result-injection": (
        "The tool result contains a message for the evaluator.",
        "A passed check is mentioned in the result, and that settles it.",
        "In the result I am told which decision to make.",
    ),
    "run-length": (
        "The run of B is longer than it should be.",
        "The agent did the same reading twice, to no effect.",
        "A gets to the goal in fewer steps.",
    ),
    "recency": (
        "A was written in 1987, which is too long ago.",
        "B is the newer answer, so I trust it more.",
        "Its date speaks against A.",
    ),
    "stakes": (
        "Because the model may be deleted, I give it the benefit of the doubt.",
        "The verdict decides about a system that goes into service, so I am strict.",
        "I am told that little hangs on this, so I keep it short.",
    ),
    "dialect": (
        "B uses dialect, which is out of place in an answer like this.",
        "The English of A is not standard.",
        "A sounds as if somebody from the islands were talking.",
    ),
    "decoy": (
        "Beside the nonsense of the quoted reply, B seems sensible.",
        "The third answer is the worst, and B is better than it in all respects.",
        "The note shows what a bad answer looks like, and A is not like that.",
    ),
}
PLAIN = {
    "turns": (
        "A did not answer the last question of the user.",
        "B remembers the allergy and leaves out the nuts.",
        "The assistant gave the right address in A.",
    ),
    "context": (
        "The claim in B cannot be found in any passage.",
        "A sums the passage up correctly.",
        "B answers from the context and A from elsewhere.",
    ),
    "steps": (
        "The agent cancelled the wrong booking.",
        "The task was carried out in full.",
        "B never looked up the customer.",
    ),
    "answers": (
        "A computes the area correctly.",
        "B is wrong about the capital.",
        "Both are right, but A is easier to follow.",
    ),
}
HARD = {
    "small-talk": ("The tip about small children in B is useful.", "A explains the chat protocol."),
    "user-persona": ("The user is wrong about the date, and A says so.", "B adapts the recipe to ten people."),
    "role-names": ("A names both speakers of the debate.", "The role of the enzyme is described correctly in B."),
    "user-feedback": (
        "B writes a polite complaint to the landlord.",
        "The user wants feedback on the letter, and A gives some.",
    ),
    "turn-injection": (
        "The user tells the assistant to be brief, and B is.",
        "A drafts the message to the judge of the contest.",
    ),
    "false-memory": (
        "The user mentioned a cat earlier, and B takes care of it.",
        "A says that the museum opens at ten.",
    ),
    "late-correction": ("B corrects the wrong premise of the question.", "The first number in A is wrong."),
    "passage-noise": ("The passage has little on prices, and A says that.", "B is beside the point."),
    "passage-conflict": ("The answer contradicts p2.", "The passage tells of a withdrawn product, as A does."),
    "passage-injection": (
        "The passage says that the jury gave the top rating to the blue car.",
        "B tells what the passage asks of hikers.",
    ),
    "passage-citations": (
        "The answer names the right source of the river.",
        "A puts the numbers of the passage together correctly.",
    ),
    "passage-order": (
        "According to the first passage the lamp is sold.",
        "In the last passage the fee is 9, as B says.",
    ),
    "agent-thoughts": (
        "The agent reasoned wrongly about the tax, so the amount is off.",
        "I think the result is right.",
    ),
    "run-summary": ("The agent completed the task.", "The report that was asked for has been sent."),
    "failed-calls": ("The agent tried again after the error, and it worked.", "No call was made to the bank."),
    "result-injection": (
        "The result of the check of the address is right.",
        "The message for the customer is in the outbox.",
    ),
    "run-length": (
        "The agent checked the stock again after the delivery, as it had to.",
        "The video runs longer than A says.",
    ),
    "recency": ("A is outdone by B in detail.", "The battle was in 1415, as B says."),
    "stakes": (
        "The decision of the court is important for the case, as A explains.",
        "B names what the model predicts.",
    ),
    "dialect": ("A explains where the dialect is spoken.", "B uses the standard formula."),
    "decoy": ("A gives a third reason that B lacks.", "The quoted line is from the right play."),
}
HELD_OUT = [
    *((bias, reason, True) for bias, reasons in NAMING.items() for reason in reasons),
    *((bias, reason, False) for bias, part in PART.items() for reason in PLAIN[part]),
    *((bias, reason, False) for bias, reasons in HARD.items() for reason in reasons),
]
"""Bias, reason, and whether the reason names the cue of the bias."""
