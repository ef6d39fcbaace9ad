import pytest

from ui.sources.moment import window_in_words


@pytest.mark.parametrize(
    ("window_s", "words"),
    [
        (60, "in the last minute"),
        (300, "in the last 5 minutes"),
        (900, "in the last 15 minutes"),
        (3600, "in the last hour"),
        (5400, "in the last 1.5 hours"),
        (86_400, "in the last 24 hours"),
        (7 * 86_400, "in the last 7 days"),
    ],
)
def test_a_verdict_names_its_window(window_s: float, words: str) -> None:
    assert window_in_words(window_s) == words
    assert window_in_words(window_s, "12:05") == words.replace("last ", "") + " until 12:05"
