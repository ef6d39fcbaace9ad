"""A model known by its size only: plausible shape, exact size, stated assumptions, clear refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import InvalidScenario
from sizing.catalog import model_from_size


@given(st.floats(0.05, 20_000))
def test_any_size_gives_a_model_of_exactly_that_size(params_b):
    model = model_from_size("a model", params_b)
    embedding = model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2)
    attention = 2 * model.hidden_size * model.head_dim * (model.heads + model.kv_heads)
    mlp = 3 * model.hidden_size * model.intermediate_size
    assert model.params_total == pytest.approx(params_b * 1e9)
    assert embedding + model.layers * (attention + mlp) == pytest.approx(model.params_total, rel=0.01)
    assert model.kv_elements_full == 2 * model.layers * model.kv_heads * model.head_dim
    assert model.assumptions


@pytest.mark.parametrize(
    ("params_b", "layers", "hidden"), [(7, 32, 4096), (70, 80, 8192), (175, 96, 12288), (405, 126, 16384)]
)
def test_the_shape_is_close_to_published_models_of_that_size(params_b, layers, hidden):
    """Llama 2 7B, Llama 3 70B, GPT-3 175B, Llama 3.1 405B: layers x width within a fifth."""
    model = model_from_size("a model", params_b)
    assert model.layers * model.hidden_size == pytest.approx(layers * hidden, rel=0.2)


def test_keys_and_values_are_shared_from_20_billion_parameters_on():
    assert model_from_size("small", 19.9).attention == "mha"
    large = model_from_size("NeMo 43B GPT", 43)
    assert (large.attention, large.kv_heads) == ("gqa", 8)
    assert large.max_context is None
    assert any("8 KV heads" in said for said in large.assumptions)


def test_what_is_given_is_kept_and_no_longer_assumed():
    model = model_from_size("NeMo 43B GPT", 43, layers=48, hidden_size=8192, heads=64, kv_heads=64, max_context=4096)
    shape = (model.layers, model.hidden_size, model.heads, model.kv_heads, model.head_dim, model.max_context)
    assert shape == (48, 8192, 64, 64, 128, 4096)
    assert not any("layers of width" in said or "KV heads" in said for said in model.assumptions)


@pytest.mark.parametrize("params_b", [0, -1, 0.01, 1e12, float("nan"), float("inf"), "43", None, True, [43]])
def test_a_size_out_of_range_is_refused(params_b):
    with pytest.raises(InvalidScenario, match=r"between 0.05 and 20,000"):
        model_from_size("a model", params_b)


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        ({"layers": 0}, "layers must be"),
        ({"heads": "x"}, "heads must be"),
        ({"hidden_size": 1.5}, "hidden_size must be"),
        ({"layer": 3}, "Did you mean layers"),
        ({"zzz": 3}, "Known: layers"),
        ({"layers": 2000}, "lower layers"),
        ({"heads": 8, "kv_heads": 16}, "lower kv_heads"),
        ({"max_context": float("nan")}, "max_context must be"),
    ],
)
def test_overrides_out_of_range_are_refused(overrides, match):
    with pytest.raises(InvalidScenario, match=match):
        model_from_size("a model", 43, **overrides)
