"""What a session knows: the values of the form, the answer to them, the link to them, and what a click changes."""

from ui.form.presets import defaults
from ui.state.answers import Answer, Outcome, last_answer, model, outcome, plan_of, untouched, warm_up
from ui.state.changes import (
    add_own_gpu,
    apply_fix,
    choose_model,
    consider_all,
    consider_only_measured,
    load_preset,
    remove_benchmark,
    remove_trace,
    replace_in,
    use_benchmark,
    use_candidate,
    use_deployment,
    use_trace,
)
from ui.state.link import LINK_VERSION, address_of, enter, is_at, link, link_notes, write_address
from ui.state.values import BENCHMARK, CONFIG, TRACE, benchmark, restricted, trace, value, values
from ui.state.views import linked, wrong_in_link

__all__ = [
    "BENCHMARK",
    "CONFIG",
    "LINK_VERSION",
    "TRACE",
    "Answer",
    "Outcome",
    "add_own_gpu",
    "address_of",
    "apply_fix",
    "benchmark",
    "choose_model",
    "consider_all",
    "consider_only_measured",
    "defaults",
    "enter",
    "is_at",
    "last_answer",
    "link",
    "link_notes",
    "linked",
    "load_preset",
    "model",
    "outcome",
    "plan_of",
    "remove_benchmark",
    "remove_trace",
    "replace_in",
    "restricted",
    "trace",
    "untouched",
    "use_benchmark",
    "use_candidate",
    "use_deployment",
    "use_trace",
    "value",
    "values",
    "warm_up",
    "write_address",
    "wrong_in_link",
]
