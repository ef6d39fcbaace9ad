"""What a session knows: the values of the form, the answer to them, the link to them, and what a click changes."""

from sharing.form.link_versions import LINK_VERSION
from sharing.form.presets import defaults
from ui.state.answers import (
    FormAnswer,
    PageOutcome,
    answer_of,
    last_answer,
    model,
    outcome,
    plan_of,
    ready,
    untouched,
    warm_up,
)
from ui.state.changes import (
    add_own_gpu,
    apply_fix,
    ask_for_latency,
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
    use_price_book,
    use_scenario,
    use_trace,
)
from ui.state.costs import COST_BOOK, as_costs, with_costs
from ui.state.link import (
    address_of,
    address_parameters,
    enter,
    hold,
    holds_form,
    is_at,
    link,
    link_notes,
    write_address,
)
from ui.state.values import (
    BENCHMARK,
    CONFIG,
    PRICE_BOOK,
    TRACE,
    benchmark,
    config_fault,
    price_book,
    refuse_config,
    restricted,
    take_back_config,
    trace,
    use_config,
    value,
    values,
    write,
)
from ui.state.views import bring, linked, texts_in_link, wrong_in_link
from ui.state.waiting import place_told, waiting_sentence
