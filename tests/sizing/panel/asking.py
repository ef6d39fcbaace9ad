"""A question of the panel, answered by the product and judged."""

from dataclasses import dataclass

from sizing import plan
from sizing.question.understand import understand
from tests.sizing.panel.answers import Answer, alternatives, first_choice
from tests.sizing.panel.question import Question
from tests.sizing.panel.rules import Case, broken

BESIDE = 24
"""Alternatives that a plan lists for the rules that compare with them: as many as a page shows."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A first choice, why an expert does not accept it, and the rules for every plan that it breaks."""

    question: Question
    answer: Answer | None
    refused: tuple[str, ...]
    rules: dict[str, list[str]]

    @property
    def accepted(self) -> bool:
        return not self.refused and not self.rules

    def __str__(self) -> str:
        lines = [f"{self.question.name}: {self.answer or 'nothing serves'}"]
        lines += [f"  refused: {fault}" for fault in self.refused]
        lines += [f"  {rule}: {fault}" for rule, faults in self.rules.items() for fault in faults]
        return "\n".join([*lines, f"  An expert: {' '.join(self.question.why.split())}"])


def judged(question: Question) -> Verdict:
    """The question, answered by whole plans as a customer gets them."""
    found = plan(question.scenario, alternatives=BESIDE).model_dump(mode="json")
    first = first_choice(found)
    rules: dict[str, list[str]] = {}
    if first is not None:
        model = understand(question.scenario).model
        rules = broken(Case(scenario=question.scenario, model=model, first=first, others=alternatives(found)))
    return Verdict(question=question, answer=first, refused=tuple(question.refuses(first)), rules=rules)
